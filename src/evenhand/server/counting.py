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
from evenhand.profiles.undertaken import is_ranking
from evenhand.reports.charts import BINS, bin_of
from evenhand.reports.numbers import counted
from evenhand.reports.report import Report
from evenhand.reports.standing import Standing
from evenhand.reports.summary import Summarizer
from evenhand.server.aside import Aside
from evenhand.server.groups_shown import members_of
from evenhand.store.store import Store

# A handful of kilobytes each.
MOST_NUMBERS: Final = 256
# These may hold every case that changed.
MOST_COMPARISONS: Final = 8

Key: TypeAlias = tuple[str, str, float | None, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What a run came to: its summary, how its scores spread, what its gates say; ``ranked`` counts ranked profiles."""

    summary: Summary
    bins: Sequence[Mapping[Standing, int]]
    gates: tuple[GateResult, ...]
    ranked: int | None = None

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> Numbers:
        """Go through the results of a run once; memory stays flat."""
        whole = Summarizer()
        bins: list[Counter[Standing]] = [Counter() for _ in range(BINS)]
        ranked: set[str] | None = set() if is_ranking(run.definition) else None
        for result in store.results(run):
            whole.add(result)
            standing = Standing.of_case(result)
            if standing.scored:
                bins[bin_of(result.outcome.score or 0.0)][standing] += 1
                if ranked is not None:
                    ranked.update(one["id"] for one in members_of(result.case.metadata))
        summary = whole.summary()
        return cls(
            summary=summary,
            bins=bins,
            gates=Gates.of(run.definition.get("gates")).check(summary),
            ranked=None if ranked is None else len(ranked),
        )

    @property
    def ranking_sentence(self) -> str:
        """Say what a ranking came to: that its groups were ranked is all that their scores say."""
        cases = self.summary.cases
        told = f"{counted(self.ranked or 0, 'profile')} ranked in {counted(cases.scored, 'group')}"
        return told if cases.scored == cases.n else f"{told} of {cases.n:,}"

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
        return self._numbers.has(state_of(store, run))

    def of(self, store: Store, run: RunRecord, seconds: float | None = None) -> Numbers:
        """Give the numbers of a run; raises ``TimeoutError`` where that takes longer, and counts on."""
        if run.status in (RunStatus.PLANNING, RunStatus.RUNNING):
            return Numbers.of(store, run)
        return self._numbers.get(state_of(store, run), lambda: Numbers.of(store, run), seconds)

    def compared(
        self,
        store: Store,
        runs: tuple[RunRecord, RunRecord],
        compare: Callable[[], Comparison],
        seconds: float,
        *how: str,
    ) -> Comparison:
        """Give a comparison of two runs, as ``how`` says; raises ``TimeoutError`` where that takes longer."""
        return self._comparisons.get((*(state_of(store, run) for run in runs), *how), compare, seconds)


def state_of(store: Store, run: RunRecord) -> Key:
    """Say how a run stands, so that it differs once something was judged in it, or judged again."""
    ((judged,),) = store.database.rows("SELECT COUNT(*) FROM evaluations WHERE run = ?", [run.number])
    return run.id, run.status.value, run.finished, int(judged)
