"""The numbers of a run as its pages show them, counted once for as long as nothing is added to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from evenhand.domain.comparison import Comparison
from evenhand.domain.gates import GateResult, Gates
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Summary
from evenhand.reports.charts import BINS, bin_of
from evenhand.reports.report import Report
from evenhand.reports.standing import Standing
from evenhand.reports.summary import Summarizer
from evenhand.server.aside import Aside
from evenhand.store.store import Store

# A handful of kilobytes each.
MOST_NUMBERS: Final = 256
# These may hold every case that changed.
MOST_COMPARISONS: Final = 8

_Key: TypeAlias = tuple[str, str, float | None, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What a run came to: its summary, how its scores spread, and what its gates say."""

    summary: Summary
    bins: Sequence[Mapping[Standing, int]]
    gates: tuple[GateResult, ...]

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> Numbers:
        """Go through the results of a run once; memory stays flat."""
        whole = Summarizer()
        bins: list[Counter[Standing]] = [Counter() for _ in range(BINS)]
        for result in store.results(run):
            whole.add(result)
            standing = Standing.of_case(result)
            if standing.scored:
                bins[bin_of(result.outcome.score or 0.0)][standing] += 1
        summary = whole.summary()
        return cls(summary=summary, bins=bins, gates=Gates.of(run.definition.get("gates")).check(summary))

    def report(self, store: Store, run: RunRecord) -> Report:
        """Give what the writers of files need."""
        return Report(run=run, summary=self.summary, gates=self.gates, results=lambda: store.results(run))


class Counted:
    """Numbers of runs that were asked for before, and comparisons: each for as long as nothing is judged in between."""

    def __init__(self) -> None:
        self._numbers: Aside[Numbers] = Aside(MOST_NUMBERS)
        self._comparisons: Aside[Comparison] = Aside(MOST_COMPARISONS)

    def has(self, store: Store, run: RunRecord) -> bool:
        """Tell whether the numbers of a run are known as it stands."""
        return self._numbers.has(_state(store, run))

    def of(self, store: Store, run: RunRecord, seconds: float | None = None) -> Numbers:
        """Give the numbers of a run; raises ``TimeoutError`` where that takes longer, and counts on."""
        if run.status in (RunStatus.PLANNING, RunStatus.RUNNING):
            return Numbers.of(store, run)
        return self._numbers.get(_state(store, run), lambda: Numbers.of(store, run), seconds)

    def compared(
        self,
        store: Store,
        runs: tuple[RunRecord, RunRecord],
        compare: Callable[[], Comparison],
        seconds: float,
        *how: str,
    ) -> Comparison:
        """Give a comparison of two runs, as ``how`` says; raises ``TimeoutError`` where that takes longer."""
        return self._comparisons.get((*(_state(store, run) for run in runs), *how), compare, seconds)


def _state(store: Store, run: RunRecord) -> _Key:
    """Say how a run stands, so that it differs once something was judged in it, or judged again."""
    ((judged,),) = store.database.rows("SELECT COUNT(*) FROM evaluations WHERE run = ?", [run.number])
    return run.id, run.status.value, run.finished, int(judged)
