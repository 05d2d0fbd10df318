"""The summaries of runs as the pages show them, computed once until something is added to the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from evenhand.domain.comparison import Comparison
from evenhand.domain.gates import GateResult, Gates
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Summary
from evenhand.engine.overview import kept_overview, overview_of, report_from
from evenhand.reports.overview import Overview
from evenhand.reports.phrases import Standing, counted
from evenhand.reports.report import Report
from evenhand.server.runs.background_cache import BackgroundCache
from evenhand.store.results import count_evaluations
from evenhand.store.store import Store

# A few kilobytes each.
MOST_NUMBERS: Final = 256
# These may hold every case that changed.
MOST_COMPARISONS: Final = 8

Key: TypeAlias = tuple[str, str, float | None, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The overview of a run, and the outcome of its gates."""

    overview: Overview
    gates: tuple[GateResult, ...]

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> Numbers:
        """Return what is stored of a run, or read its results once; memory stays flat."""
        overview = overview_of(store, run)
        return cls(overview=overview, gates=Gates.of(run.definition.get("gates")).check(overview.summary))

    @property
    def summary(self) -> Summary:
        """The numbers of the cases and of each evaluator."""
        return self.overview.summary

    @property
    def bins(self) -> Sequence[Mapping[Standing, int]]:
        """The histogram of the scores."""
        return self.overview.bins

    @property
    def ranking_sentence(self) -> str:
        """The outcome of a ranking in words: its groups have no scores."""
        cases = self.summary.cases
        sentence = f"{counted(self.overview.ranked, 'profile')} ranked in {counted(cases.scored, 'group')}"
        return sentence if cases.scored == cases.n else f"{sentence} of {cases.n:,}"

    def report(self, store: Store, run: RunRecord) -> Report:
        """Return what the writers of files need."""
        return report_from(store, run, self.overview, self.gates)


class SummaryCache:
    """Summaries and comparisons that were requested before, each kept until something more is judged."""

    def __init__(self) -> None:
        self._numbers: BackgroundCache[Numbers] = BackgroundCache(MOST_NUMBERS)
        self._comparisons: BackgroundCache[Comparison] = BackgroundCache(MOST_COMPARISONS)

    def has(self, store: Store, run: RunRecord) -> bool:
        """Return whether the numbers of a run are known in its current state."""
        return self._numbers.has(state_of(store, run)) or kept_overview(store, run) is not None

    def of(self, store: Store, run: RunRecord, seconds: float | None = None) -> Numbers:
        """Return the numbers of a run; raise ``TimeoutError`` if that takes longer, and continue in the background."""
        if run.status in (RunStatus.PLANNING, RunStatus.RUNNING):
            return Numbers.of(store, run)
        return self._numbers.get(state_of(store, run), lambda: Numbers.of(store, run), seconds)

    def comparison(
        self,
        store: Store,
        runs: tuple[RunRecord, RunRecord],
        compare: Callable[[], Comparison],
        seconds: float,
        *how: str,
    ) -> Comparison:
        """Return a comparison of two runs, as ``how`` says; raise ``TimeoutError`` if that takes longer."""
        return self._comparisons.get((*(state_of(store, run) for run in runs), *how), compare, seconds)


def state_of(store: Store, run: RunRecord) -> Key:
    """Return a key that changes once something in a run is judged, or judged again."""
    return run.id, run.status.value, run.finished, count_evaluations(store, run)
