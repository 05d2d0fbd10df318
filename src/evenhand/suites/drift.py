"""A judge held against itself: its anchors judged again past the cache, and two runs compared on the same anchors."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from evenhand.domain.errors import ConfigError, IncomparableError, RunNotFoundError, UnknownNameError
from evenhand.domain.label import Label
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.engine.anchors import all_anchors, anchors_called, labelled_anchors
from evenhand.engine.carry_over import require_own
from evenhand.engine.comparison import ANYWAY
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import EarlierAnswers
from evenhand.reports.phrases import counted
from evenhand.store.results import case_positions, planned_at
from evenhand.store.store import Store
from evenhand.store.transfer import IMPORTED
from evenhand.suites.definition_diff import judging_differences
from evenhand.suites.suite import job_of_run
from evenhand.suites.text_file import require_file
from evenhand.trust.anchors import JUDGING, Anchor, AnchorSet
from evenhand.trust.drift import DriftLimits, DriftReport, compare_anchors
from evenhand.trust.limits import TrustLimits

# The option of a run that judges the anchors of another one again: which, by which evaluator, and where its suite is.
DRIFT: Final = "drift"
_AT_ONCE: Final = 100
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorScope(Scope):
    """The scope of a run that judges anchors of the run ``of`` again: past the cache, also when it is resumed."""

    of: str
    evaluator: str | None
    source: str | None

    def as_dict(self) -> dict[str, Any]:
        """Return the scope as plain JSON values."""
        again = {"of": self.of, "evaluator": self.evaluator, "source": self.source}
        return Scope.as_dict(self) | {"no_cache": True, DRIFT: again}


def drift_of(run: RunRecord) -> Mapping[str, Any] | None:
    """Return which run's anchors a run judges again, under ``of``; None if it is another kind of run."""
    again = run.options.get(DRIFT)
    return again if isinstance(again, Mapping) and isinstance(again.get("of"), str) else None


def limits_of(run: RunRecord, *, max_drop: float | None = None, usual_flips: float | None = None) -> DriftLimits:
    """Return the limits that are given, or those of the run's suite, or the usual ones."""
    own = TrustLimits.of(run.definition.get("trust")).max_drop if max_drop is None else max_drop
    given = {"max_drop": own, "usual_flips": usual_flips}
    return DriftLimits(**{name: value for name, value in given.items() if value is not None})


def is_card(then: object) -> bool:
    """Return whether what is named is the file of a judge card, rather than a run."""
    return isinstance(then, os.PathLike) or (isinstance(then, str) and then.lower().endswith(".json"))


def read_card(path: str | os.PathLike[str]) -> AnchorSet:
    """Return the anchors of a judge card that was written as JSON."""
    import orjson  # noqa: PLC0415 - not for those who only name runs

    file = Path(path)
    require_file(file)
    try:
        card = orjson.loads(file.read_bytes())
    except ValueError as error:
        raise ConfigError(f"{file}: this is no judge card: it is not JSON ({error})") from None
    except OSError as error:
        raise ConfigError(f"{file}: it cannot be read: {error.strerror}") from None
    return AnchorSet.of_card(card, name=str(file))


def run_of_card(store: Store, anchors: AnchorSet) -> RunRecord | None:
    """Return the run that a card is of; None if the database does not have it."""
    try:
        run = store.runs.find(anchors.run)
    except RunNotFoundError:
        return None
    return run if run.id == anchors.run else None


def anchors_of(
    store: Store, run: RunRecord, *, evaluator: str | None = None, labels: Iterable[Label] | None = None
) -> AnchorSet:
    """Return the labelled cases of a run as anchors; all of its cases if no label counts."""
    found = labelled_anchors(store, run, evaluator=evaluator, labels=labels)
    if not found.cases:
        found = all_anchors(store, run, evaluator=evaluator)
    if not found.cases:
        raise ConfigError(f"run {run.id} has no answers that could be judged again")
    return found


def anchor_job(store: Store, run: RunRecord, anchors: AnchorSet) -> tuple[Job, AnchorScope]:
    """Return the job of judging the anchors of a run again: the same answers, by what the run has stored."""
    require_own(run)
    if run.options.get(IMPORTED):
        raise ConfigError(
            f"run {run.id} was imported, and might use programs and addresses of others; judge its answers with a "
            f"suite of yours, evenhand run SUITE --answers-from {run.id} --no-cache, then: evenhand drift {run.id} last"
        )
    if (again := drift_of(run)) is not None:
        raise ConfigError(
            f"run {run.id} judged the anchors of run {again['of']} again; to judge them once more: evenhand drift "
            f"{again['of']}; to see what it found: evenhand drift {again['of']} {run.id}"
        )
    there = anchors_called(store, run, [anchor.case for anchor in anchors.cases], evaluator=anchors.evaluator)
    changed = [*_differing(anchors, run, there), *_changed(anchors, {anchor.case: anchor for anchor in there.cases})]
    if changed:
        raise IncomparableError(
            f"run {run.id} is not what it was when the card was made",
            differing=changed,
            advice="make a new card: evenhand calibrate RUN -o card.json",
        )
    job = replace(
        job_of_run(store, run, with_target=False),
        name=f"{run.name} (drift)",
        source=None,
        suite=run.source,
        cases=lambda: _answered(store, run, anchors),
    )
    _require_judge(run, job)
    scope = AnchorScope(
        # Where each sample has an answer of its own, people read the first, and it was judged once.
        repeat=1 if anchors.own_answers else run.repeat,
        label=f"drift of {run.id}",
        of=run.id,
        evaluator=anchors.evaluator,
        source=run.source,
    )
    return job, scope


def _require_judge(run: RunRecord, job: Job) -> None:
    """Refuse a run whose judge was an object of a program: what is stored of it is only a description."""
    try:
        job.evaluators_for(next(iter(job.cases())))
    except UnknownNameError:
        if run.source is not None:
            raise
        raise ConfigError(
            f"run {run.id} was judged by a program's own judge, which is not here; judge the answers again by that "
            "program, without the cache, and name both runs"
        ) from None


def resumed_job(store: Store, run: RunRecord) -> Job:
    """Return the job of a run that judges anchors again, from what it stored."""
    again = drift_of(run) or {}
    if run.status is RunStatus.PLANNING:
        raise ConfigError(
            f"the anchors of run {run.id} were not all read; start again with: evenhand drift {again.get('of')}, and "
            f"delete this run with: evenhand runs delete {run.id}"
        )
    return replace(
        job_of_run(store, replace(run, source=again.get("source")), with_target=False),
        source=None,
        suite=again.get("source"),
    )


def _answered(store: Store, run: RunRecord, anchors: AnchorSet) -> Iterator[PlannedCase]:
    answers = EarlierAnswers(store, run)
    names = iter([anchor.case for anchor in anchors.cases])
    while some := list(itertools.islice(names, _AT_ONCE)):
        positions = {name: position for (_, name), position in case_positions(store, [run], some).items()}
        planned = planned_at(store, run, list(positions.values()))
        yield from (answers.put_into(planned[positions[name]]) for name in some)


def drift_of_runs(
    store: Store,
    then: RunRecord,
    now: RunRecord,
    *,
    evaluator: str | None = None,
    max_drop: float | None = None,
    anyway: bool = False,
) -> DriftReport:
    """Compare two runs of a store on the anchors of the first, by the labels that are stored with it."""
    limits = limits_of(now, max_drop=max_drop)
    whose = evaluator or TrustLimits.of(then.definition.get("trust")).evaluator
    return drift_between(store, anchors_of(store, then, evaluator=whose), now, limits, anyway=anyway)


def drift_between(
    store: Store, then: AnchorSet, now: RunRecord, limits: DriftLimits, *, anyway: bool = False
) -> DriftReport:
    """Hold the verdicts of a run against those that the same anchors had then.

    Refused are answers and cases that have changed, another definition of how to judge, replies from the cache, and a
    run that is not finished. With ``anyway``, what can be compared is, and notes say what differs.
    """
    if now.id == then.run:
        raise ConfigError(
            f"run {now.id} cannot be held against itself; to judge its anchors again: evenhand drift {now.id}"
        )
    after = anchors_called(store, now, [anchor.case for anchor in then.cases], evaluator=then.evaluator)
    notes: list[str] = []
    left_out = Counter[str]()
    known = {anchor.case: anchor for anchor in after.cases}
    fitting = [(anchor, known[anchor.case]) for anchor in then.cases if _fits(anchor, known.get(anchor.case), left_out)]
    problems = [*_differing(then, now, after), *_changed(then, known), *_not_anew(now, after)]
    if problems and not anyway:
        why = f"run {now.id} does not judge the anchors of run {then.run} as that did"
        raise IncomparableError(why, differing=problems, advice=ANYWAY)
    notes += problems
    before = replace(then, cases=tuple(anchor for anchor, _ in fitting))
    report = compare_anchors(before, [anchor for _, anchor in fitting], after, limits, (*notes, *_notes(then, after)))
    return replace(report, left_out={**left_out, **report.left_out}, labelled=then.labelled)


def _fits(then: Anchor, now: Anchor | None, left_out: Counter[str]) -> bool:
    if now is None:
        left_out["not there now"] += 1
    elif now.answer != then.answer:
        left_out["with another answer"] += 1
    elif now.terms != then.terms:
        left_out["edited"] += 1
    else:
        return True
    return False


def _changed(then: AnchorSet, known: Mapping[str, Anchor]) -> Iterator[str]:
    """Name the anchors that are not what they were."""
    gone = [anchor.case for anchor in then.cases if anchor.case not in known]
    there = [(anchor, known[anchor.case]) for anchor in then.cases if anchor.case in known]
    answers = [one.case for one, other in there if one.answer != other.answer]
    edited = [one.case for one, other in there if one.answer == other.answer and one.terms != other.terms]
    yield from _named(gone, "is not in it, or has no answer there")
    yield from _named(answers, "has another answer")
    yield from _named(edited, "has another question, reference or other text by which it is judged")


def _named(cases: Sequence[str], what: str) -> Iterator[str]:
    for case in cases[:_MOST_NAMED]:
        yield f"case {case!r:.200} {what}"
    if len(cases) > _MOST_NAMED:
        yield f"and {len(cases) - _MOST_NAMED:,} more, each of which {what}"


def _differing(then: AnchorSet, now: RunRecord, after: AnchorSet) -> Iterator[str]:
    judging = {key: now.definition.get(key) for key in JUDGING}
    yield from judging_differences(then.definition, judging, sides=("then", "now"))
    if then.judges and after.judges and then.judges != after.judges:
        yield f"judge: {', '.join(then.judges)} then, {', '.join(after.judges)} now"


def _not_anew(now: RunRecord, after: AnchorSet) -> Iterator[str]:
    """Say which verdicts were not made now."""
    if now.status is not RunStatus.FINISHED:
        yield f"it is not finished ({now.status.value}); resume with: evenhand resume {now.id}"
    if after.cached:
        yield (
            f"{counted(after.cached, 'anchor')} of {len(after.cases):,} got replies from the cache, which say nothing "
            "of the judge as it is now; judge with --no-cache"
        )


def _notes(then: AnchorSet, after: AnchorSet) -> Iterator[str]:
    if then.models and after.models and then.models != after.models:
        yield f"the judge replied as {', '.join(then.models)} then, and as {', '.join(after.models)} now"
    if not after.judges:
        yield "no judge model was asked: what was compared are the verdicts of checks or programs"
