"""Drift from Python: whether a judge has changed, on the same answers then and now."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.api.runs import execution_of
from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.domain.run import RunRecord
    from evenhand.engine.execution import Watcher
    from evenhand.engine.run import Run
    from evenhand.engine.store_location import PlaceLike
    from evenhand.store.store import Store
    from evenhand.trust.anchors import AnchorSet
    from evenhand.trust.drift import DriftReport


def drift(
    then: Run | str | os.PathLike[str],
    now: Run | str | None = None,
    *,
    evaluator: str | None = None,
    max_drop: float | None = None,
    usual_flips: float | None = None,
    anyway: bool = False,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    progress: bool | Watcher = False,
) -> DriftReport:
    """Say whether a judge has changed: by the answers that people labelled, judged then and now.

    >>> from evenhand import Case, Contains, drift, evaluate
    >>> cases = [Case(id=f"case-{number}", candidate_answer="Paris") for number in range(60)]
    >>> before, after = (evaluate(cases, Contains(value="Paris"), store=None) for _ in range(2))
    >>> found = drift(before, after)
    >>> found.outcome, found.flips, found.labelled
    ('ok', 0, False)

    ``then`` is a ``Run``, the id of one, or the file of a judge card, ``"card.json"``. ``now`` is a run that judged the
    same answers since. Without it they are judged again by what the run has stored, past the cache, in a run of their
    own, for which ``concurrency``, ``max_calls``, ``max_cost``, ``timeout`` and ``progress`` are as in ``evaluate``; a
    run whose evaluators were made in Python is judged again by that program, which names both runs here.

    ``max_drop`` is by how much the agreement with people may fall, by default the suite's, or 0.05; ``usual_flips``
    which share of verdicts differs between two runs of an unchanged judge, by default 0.06. Raises ``ConfigError``
    where answers, cases or definitions have changed, unless ``anyway`` is set.
    """
    from evenhand.engine.job import Pace  # noqa: PLC0415 - the engine and its store are loaded when there is a run
    from evenhand.engine.run import Run  # noqa: PLC0415
    from evenhand.engine.store_location import StoreLocation  # noqa: PLC0415
    from evenhand.suites.drift import anchor_job, drift_between, limits_of  # noqa: PLC0415

    for run in (then, now):
        if run is not None and not isinstance(run, Run | str | os.PathLike):
            raise ConfigError(f"drift takes runs, or their ids as text, not {run!r:.80}")
    place = then._place if isinstance(then, Run) else StoreLocation.of(store)  # a run shows no store to its users
    if now is None:
        pace = Pace.of(concurrency=concurrency, max_calls=max_calls, max_cost=max_cost, use_cache=False)
        with place.opened(to_read=True) as opened:
            opened.require_writable()
            origin, anchors = _anchors(opened, then.id if isinstance(then, Run) else then, evaluator)
            if origin is None:
                raise ConfigError(
                    f"run {anchors.run}, of which the card is, is not in this database; name a run that judged since"
                )
            limits_of(origin, max_drop=max_drop, usual_flips=usual_flips)  # a mistake is to cost nothing
            job, scope = anchor_job(opened, origin, anchors)
            job = replace(job, timeout=timeout or job.timeout)
            execution = execution_of(
                job, scope, pace, store=place, progress=progress, on=on, workers=workers, worker_env=worker_env
            )
        now = execution.run_and_wait()
    else:
        with place.opened(to_read=True) as opened:
            _, anchors = _anchors(opened, then.id if isinstance(then, Run) else then, evaluator)
    after = Run.open(now, store=store) if isinstance(now, str) else now
    limits = limits_of(after.record, max_drop=max_drop, usual_flips=usual_flips)
    with after.opened_store() as opened:
        return drift_between(opened, anchors, after.record, limits, anyway=anyway)


def _anchors(store: Store, then: str | os.PathLike[str], evaluator: str | None) -> tuple[RunRecord | None, AnchorSet]:
    """Return the anchors as they were judged then, and the run that has them, if it is here."""
    from evenhand.profiles.job import require_suite  # noqa: PLC0415
    from evenhand.suites.drift import anchors_of, is_card, read_card, run_of_card  # noqa: PLC0415
    from evenhand.trust.limits import TrustLimits  # noqa: PLC0415

    if not isinstance(then, str) or is_card(then):
        anchors = read_card(then)
        if evaluator not in (None, anchors.evaluator):
            raise ConfigError(
                f"evaluator is {evaluator!r:.80}, and the card is of {anchors.evaluator or 'whole cases'}"
            )
        return run_of_card(store, anchors), anchors
    run = store.runs.find(then)
    require_suite(run)
    return run, anchors_of(store, run, evaluator=evaluator or TrustLimits.of(run.definition.get("trust")).evaluator)
