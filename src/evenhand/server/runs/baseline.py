"""Runs of the same suite or prompt, the baseline among them, and how two runs compare."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.domain.comparison import STANDINGS, Change, Comparison, RunsComparison
from evenhand.domain.errors import ConflictError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import is_ranking
from evenhand.domain.summary import Summary
from evenhand.engine.comparison import Side
from evenhand.engine.overview import overview_of
from evenhand.engine.runs_comparison import compare_several
from evenhand.profiles.job import require_scores
from evenhand.reports.phrases import Standing
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.results import case_positions
from evenhand.store.store import Store
from evenhand.store.transfer import BASELINE
from evenhand.suites.definition_diff import judging_differences
from evenhand.suites.run_settings import compare_sides
from evenhand.workspace.prompt_run import PROMPT

# How many runs are searched for the previous one.
_NEAR: Final = 200


def of_prompt(run: RunRecord) -> str | None:
    """Return the id of the prompt that a run tried, if it is such a run."""
    prompt = run.definition.get(PROMPT)
    return str(prompt.get("id")) if isinstance(prompt, dict) else None


def lineage(run: RunRecord) -> tuple[str, str]:
    """Say what a run is a run of: a prompt, a suite's file, or what a program calls by its name."""
    if (prompt := of_prompt(run)) is not None:
        return "prompt", prompt
    return ("suite", run.source) if run.source is not None else ("program", run.name)


class HollowRunError(ConflictError):
    """A run without a single score was to become a baseline."""


def is_baseline(run: RunRecord) -> bool:
    """Return whether others are held against a run."""
    return run.options.get(BASELINE) is True


def baseline_of(store: Store, run: RunRecord) -> RunRecord | None:
    """Return the baseline of a run; None if there is none, or the run is the baseline itself."""
    return (
        next((pinned for pinned in _pinned(store, run) if pinned.id != run.id), None) if not is_baseline(run) else None
    )


def pin(store: Store, run: RunRecord, *, anyway: bool = False) -> RunRecord:
    """Make a run the baseline of its suite or prompt, in place of any other; one without a score only ``anyway``."""
    if run.status is not RunStatus.FINISHED:
        raise ConflictError(f"run {run.id} is not finished ({run.status.value}), so it cannot be a baseline")
    if is_ranking(run.definition):
        raise ConflictError(f"run {run.id} is a ranking, whose scores are not compared, so it cannot be a baseline")
    if not anyway and is_hollow(run, overview_of(store, run).summary):
        raise HollowRunError(
            f"nothing was scored in run {run.id}: every case ended in an error; retry them, or set anyway"
        )

    def replace_pinned() -> None:
        for pinned in _pinned(store, run):
            _mark(store, pinned, is_pinned=False)
        _mark(store, store.runs.find(run.id), is_pinned=True)

    store.atomically(replace_pinned, exclusive=True)
    return store.runs.find(run.id)


def is_hollow(run: RunRecord, summary: Summary) -> bool:
    """Return whether a run has finished with errors and without a single score."""
    cases = summary.cases
    return run.status is RunStatus.FINISHED and cases.errors > 0 and cases.decided == 0


def unpin(store: Store, run: RunRecord) -> None:
    """Stop using a run as the baseline."""
    store.atomically(lambda: _mark(store, store.runs.find(run.id), is_pinned=False), exclusive=True)


def run_before(store: Store, run: RunRecord) -> RunRecord | None:
    """Find the last finished run of the same suite or prompt before this one; scores of rankings are not compared."""
    if is_ranking(run.definition):
        return None
    near = store.runs.newest(_NEAR)
    earlier = (other for other in near if other.number < run.number and other.status is RunStatus.FINISHED)
    return next((other for other in earlier if lineage(other) == lineage(run)), None)


def earlier_run(store: Store, run: RunRecord) -> RunRecord | None:
    """Return the run that this one is held against: the baseline, or else the last one before it."""
    return baseline_of(store, run) or run_before(store, run)


def newest_pair(newest_first: Iterable[RunRecord]) -> tuple[str, str] | None:
    """Find the two newest runs that can be compared; return their ids, A and then the newer B."""
    seen: dict[tuple[str, str], list[RunRecord]] = {}
    for run in newest_first:
        if run.status is RunStatus.FINISHED and not is_ranking(run.definition):
            later = seen.setdefault(lineage(run), [])
            for newer in later:
                if not judging_differences(run.definition, newer.definition):
                    return run.id, newer.id
            later.append(run)
    return None


def _pinned(store: Store, run: RunRecord) -> list[RunRecord]:
    marked = store.runs.with_option(BASELINE)
    return [other for other in marked if is_baseline(other) and lineage(other) == lineage(run)]


def _mark(store: Store, run: RunRecord, *, is_pinned: bool) -> None:
    options = {name: value for name, value in run.options.items() if name != BASELINE}
    options |= {BASELINE: True} if is_pinned else {}
    store.runs.set_options(run, options)


_IDS_AT_ONCE: Final = 500
MOST_CHANGES: Final = 100
# How many runs are compared with one: as many comparisons as are kept.
MOST_OTHERS: Final = 8
SCORED: Final = ("pass", "borderline", "fail")
BROKEN: Final = "broken"
_WAYS: Final = {"worse": "To a worse verdict", "better": "To a better verdict", BROKEN: "No longer scored"}


def compare_in_background(
    counts: SummaryCache,
    store: Store,
    runs: tuple[RunRecord, RunRecord],
    *,
    seconds: float,
    evaluator: str | None = None,
    most_changes: int | None = MOST_CHANGES,
    anyway: bool = False,
    models: tuple[str | None, str | None] = (None, None),
) -> Comparison:
    """Compare run B with run A; raise ``TimeoutError`` after so many seconds, and continue in the background.

    ``most_changes`` limits how many changed cases are listed; None lists all. ``models`` chooses one in each run.
    """
    a, b = runs
    for run in runs:
        require_scores(run)

    def compare() -> Comparison:
        return compare_sides(
            Side(store=store, run=a, model=models[0]),
            Side(store=store, run=b, model=models[1]),
            evaluator=evaluator,
            limit=most_changes,
            anyway=anyway,
        )

    how = (str(evaluator or ""), str(most_changes), str(anyway), *(str(model or "") for model in models))
    return counts.comparison(store, runs, compare, seconds, *how)


def compare_several_in_background(
    counts: SummaryCache,
    store: Store,
    a: RunRecord,
    others: Sequence[RunRecord],
    *,
    seconds: float,
    evaluator: str | None = None,
    anyway: bool = False,
    models: tuple[str | None, str | None] = (None, None),
) -> RunsComparison:
    """Compare each of several runs with run A; raise ``TimeoutError`` as soon as one of them takes too long."""

    def compare(run: RunRecord) -> Comparison:
        return compare_in_background(
            counts,
            store,
            (a, run),
            seconds=seconds,
            evaluator=evaluator,
            most_changes=0,
            anyway=anyway,
            models=models,
        )

    return compare_several(a, others, compare, evaluator=evaluator)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChanges:
    """How many cases got a worse verdict, a better one, or an error in place of a score."""

    worse: int
    better: int
    broken: int

    @classmethod
    def of(cls, comparison: Comparison) -> VerdictChanges:
        """Count them in a comparison."""
        rows = [dict(zip(STANDINGS, row, strict=True)) for row in comparison.subject.transitions]
        table = dict(zip(STANDINGS, rows, strict=True))
        pairs = [(before, after) for before in SCORED for after in SCORED]
        return cls(
            worse=sum(table[before][after] for before, after in pairs if is_worse(before, after)),
            better=sum(table[before][after] for before, after in pairs if is_worse(after, before)),
            broken=sum(table[before]["error"] for before in SCORED),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFilter:
    """Which changes to show: from one verdict, to another, or all that got worse or better (``way``)."""

    before: str
    after: str
    way: str

    @property
    def is_any(self) -> bool:
        """Whether it leaves any out."""
        return bool(self.before or self.after or self.way in _WAYS)

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of an address that ask for it."""
        return {"before": self.before, "after": self.after, "way": self.way}

    @property
    def words(self) -> str:
        """A description of it."""
        if self.way in _WAYS:
            return _WAYS[self.way]
        before, after = (
            Standing(standing).word if standing in STANDINGS else "anything" for standing in (self.before, self.after)
        )
        return f"From {before} to {after}"

    @property
    def cells(self) -> frozenset[tuple[str, str]]:
        """The cells whose cases have the same verdict in both runs, or none in one of them; empty for changes."""
        if self.way == BROKEN:
            return frozenset((standing, "error") for standing in SCORED)
        cell = (self.before, self.after)
        is_change = self.before != self.after and all(standing in SCORED for standing in cell)
        return frozenset() if is_change or not all(standing in STANDINGS for standing in cell) else frozenset([cell])

    def takes(self, change: Change) -> bool:
        """Return whether it includes a change."""
        before, after = change.standing_a, change.standing_b
        turned = {"worse": is_worse(before, after), "better": is_worse(after, before)}
        return self.before in ("", before) and self.after in ("", after) and turned.get(self.way, True)


def is_worse(before: str, after: str) -> bool:
    """Return whether a verdict became worse; an error is not a verdict."""
    return before in SCORED and after in SCORED and SCORED.index(after) > SCORED.index(before)


def became_worse(
    counts: SummaryCache, store: Store, runs: tuple[RunRecord, RunRecord], *, seconds: float
) -> tuple[int, ...]:
    """Return the positions of the cases of run B that have a worse verdict than in run A."""
    comparison = compare_in_background(counts, store, runs, seconds=seconds, most_changes=None)
    worse = [change.case_id for change in comparison.changes if is_worse(change.standing_a, change.standing_b)]
    pages = (worse[first : first + _IDS_AT_ONCE] for first in range(0, len(worse), _IDS_AT_ONCE))
    return tuple(position for page in pages for position in case_positions(store, [runs[1]], page).values())
