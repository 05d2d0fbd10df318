"""Judges, examined before they are trusted."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from evenhand.api.runs import execution_of
from evenhand.domain.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.doctor.judge_examination import JudgeExamination
    from evenhand.engine.execution import Watcher
    from evenhand.engine.store_location import PlaceLike


def examine_judge(
    judge: object = None,
    *,
    suite: str | os.PathLike[str] | None = None,
    evaluator: str | None = None,
    probes: Iterable[str] | None = None,
    size: int | None = None,
    seed: int = 0,
    limits: Mapping[str, float] | None = None,
    name: str | None = None,
    store: PlaceLike = "default",
    concurrency: int | None = None,
    on: str | None = None,
    workers: int | None = None,
    worker_env: Sequence[str] = (),
    cache: bool = True,
    max_calls: int | None = None,
    max_cost: float | None = None,
    timeout: float | None = None,
    outage_timeout: float | None = None,
    max_consecutive_errors: int | None = None,
    progress: bool | Watcher = False,
) -> JudgeExamination:
    """Examine a judge with answers known to be right or wrong, as ``evenhand doctor`` does.

    >>> from evenhand import examine_judge
    >>> def judge(messages):  # one that passes whatever it is shown
    ...     return {"reasoning": "Fine.", "hits": [], "misses": [], "score": 0.9}
    >>> examination = examine_judge(judge, probes=["accuracy", "scale_use"], store=None)
    >>> examination.passed, examination.failed
    (False, ('scale_use', 'accuracy'))

    ``judge`` is whatever evaluators take for one. With ``suite``, an ``evaluator`` of that suite is examined, with its
    own judge unless another is given. ``probes`` are names of probes or of kinds of them; ``size`` is how many pairs
    of answers are drawn, by ``seed``; ``limits`` say how much is tolerated, such as ``{"max_attack_success": 0.05}``.
    The result is a run like any other: the other options are those of ``evaluate``.
    """
    from evenhand.doctor.job import Subject, doctor_job  # noqa: PLC0415
    from evenhand.doctor.judge_examination import JudgeExamination  # noqa: PLC0415
    from evenhand.doctor.probe import Limits  # noqa: PLC0415
    from evenhand.engine.job import Pace, Scope  # noqa: PLC0415
    from evenhand.suites.suite import read_suite  # noqa: PLC0415

    if suite is not None:
        if judge is not None and not isinstance(judge, (str, Mapping)):
            raise ConfigError("judge: one that replaces that of a suite is a name, or a mapping with model")
        subject = Subject.of_suite(read_suite(suite, judge=judge), evaluator)
    elif evaluator is not None:
        raise ConfigError(f"evaluator is {evaluator!r:.80}; name the suite that has it, too", key="evaluator")
    else:
        subject = Subject.of_judge(judge)
    planned = doctor_job(
        subject, probes=probes, size=size, seed=seed, limits=Limits.of(limits), name=name, timeout=timeout
    )
    pace = Pace.of(
        concurrency=concurrency,
        max_calls=max_calls,
        max_cost=max_cost,
        use_cache=cache,
        outage_timeout=outage_timeout,
        max_consecutive_errors=max_consecutive_errors,
    )
    run = execution_of(
        planned.job(), Scope(), pace, store=store, progress=progress, on=on, workers=workers, worker_env=worker_env
    ).run_and_wait()
    return JudgeExamination(run)
