"""Comparing two stored runs: refusing what cannot be compared, and going through both, case by case (SPEC-T1)."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.domain.comparison import Comparison
from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.case_scores import judged_cases
from evenhand.engine.overview import overview_of
from evenhand.engine.run import Run
from evenhand.reports.paired_cases import JudgedCase, PairedSummarizer
from evenhand.reports.phrases import counted
from evenhand.store.store import Store

_MOST_TOLD: Final = 5
ANYWAY: Final = "to compare them anyway: --anyway, or anyway=True in Python"


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two runs, in the store that has it."""

    store: Store
    run: RunRecord

    def cases(self) -> Iterator[JudgedCase]:
        """Return the cases in suite order, each with no more than a comparison needs."""
        return judged_cases(self.store, self.run)

    def judges(self) -> Mapping[str, tuple[str, ...]]:
        """Name the judges of each evaluator that has some."""
        return overview_of(self.store, self.run).judges


@contextlib.contextmanager
def opened(run: Run) -> Iterator[Side]:
    """Open the store of a run, to read it as it is by now."""
    with run._place.opened(to_read=True) as store:  # a run shows no store to its users
        yield Side(store=store, run=store.runs.find(run.id))


def compare_runs(
    a: Side,
    b: Side,
    *,
    differing: Sequence[str] = (),
    evaluator: str | None = None,
    limit: int | None = None,
    anyway: bool = False,
) -> Comparison:
    """Compare run B with run A; ``differing`` is what their definitions say differently on how to judge.

    Both are read once, side by side. Where they have the same cases in the same order, next to nothing is kept; a case
    that stands elsewhere in the other run waits for it, as a few numbers.
    """
    if a.run.id == b.run.id:
        raise ConfigError(f"run {a.run.id} cannot be compared with itself; name two runs, see: evenhand runs")
    notes = [_unfinished(side.run, anyway=anyway) for side in (a, b) if side.run.status is not RunStatus.FINISHED]
    if differing:
        _refuse(a.run, b.run, differing, anyway=anyway)
    comparing = PairedSummarizer(evaluator=evaluator, limit=limit)
    unlike: list[str] = []
    reclustered = 0
    for one, other in joined(a.cases(), b.cases()):
        comparing.add(one, other)
        if one is not None and other is not None:
            reclustered += one.cluster != other.cluster
            if one.judged_by != other.judged_by:
                unlike.append(one.id)
    if not comparing.in_common:
        raise ConfigError(
            f"runs {a.run.id} and {b.run.id} have no case in common: no id is in both; a case without an id is "
            "named by its content, its answer included, so give the cases ids"
        )
    found = [*differing, *_other_judges(a, b), *_unlike(unlike)]
    if found:
        _refuse(a.run, b.run, found, anyway=anyway)
    return Comparison(
        a=a.run,
        b=b.run,
        cases=comparing.cases(),
        evaluators=comparing.evaluators(),
        evaluator=evaluator,
        changes=comparing.changes(),
        changed=comparing.changed,
        differing=tuple(found),
        notes=(*notes, *_notes(a.run, b.run, reclustered)),
    )


def joined(a: Iterable[JudgedCase], b: Iterable[JudgedCase]) -> Iterator[tuple[JudgedCase | None, JudgedCase | None]]:
    """Bring together the cases of two runs by their ids; those that only one of them has come last, by themselves."""
    waiting_a: dict[str, JudgedCase] = {}
    waiting_b: dict[str, JudgedCase] = {}
    for one, other in itertools.zip_longest(a, b):
        if one is not None and other is not None and one.id == other.id:
            yield one, other
            continue
        if one is not None:
            if (met := waiting_b.pop(one.id, None)) is not None:
                yield one, met
            else:
                waiting_a[one.id] = one.settled()
        if other is not None:
            if (met := waiting_a.pop(other.id, None)) is not None:
                yield met, other
            else:
                waiting_b[other.id] = other.settled()
    yield from ((one, None) for one in waiting_a.values())
    yield from ((None, other) for other in waiting_b.values())


def _unfinished(run: RunRecord, *, anyway: bool) -> str:
    """Say that a run is not finished; refuse it unless it is wanted anyway."""
    what = f"run {run.id} is not finished ({run.status.value})"
    if not anyway:
        raise IncomparableError(f"{what}; resume with: evenhand resume {run.id}", advice=ANYWAY)
    return f"{what}: what is not judged yet is in no number"


def _refuse(a: RunRecord, b: RunRecord, differing: Sequence[str], *, anyway: bool) -> None:
    """Refuse to compare scores that do not mean the same."""
    if not anyway:
        why = f"{a.id} (A) and {b.id} (B) were not judged by the same definition"
        raise IncomparableError(why, differing=differing, advice=ANYWAY)


def _other_judges(a: Side, b: Side) -> Iterator[str]:
    """Name the evaluators that other models judged for: a definition may leave the judge to the environment."""
    theirs = b.judges()
    for name, judges in a.judges().items():
        others = theirs.get(name, judges)
        if judges != others:
            yield f"judge of {name}: {', '.join(judges)} in A, {', '.join(others)} in B"


def _unlike(ids: Sequence[str]) -> Iterator[str]:
    if ids:
        told = ", ".join(f"{one!r:.60}" for one in ids[:_MOST_TOLD]) + (" …" if len(ids) > _MOST_TOLD else "")
        what = "question, reference, expected outcome, schema, rubrics or evaluators of its own"
        is_judged = "1 case is" if len(ids) == 1 else f"{len(ids):,} cases are"
        yield f"{is_judged} judged by something else ({what}): {told}"


def _notes(a: RunRecord, b: RunRecord, reclustered: int) -> Iterator[str]:
    if a.version != b.version:
        yield f"A was judged by evenhand {a.version}, B by {b.version}, whose prompts may differ"
    if a.repeat != b.repeat:
        yield f"each case was judged {counted(a.repeat, 'time')} in A, {counted(b.repeat, 'time')} in B"
    if reclustered:
        have = "case has" if reclustered == 1 else "cases have"
        yield f"{reclustered:,} {have} another cluster in B; those of A count, where it has any"
