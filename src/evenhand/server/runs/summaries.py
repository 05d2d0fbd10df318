"""The numbers of runs as pages show them: computed once, in the background where that takes long."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Final, Generic, TypeAlias, TypeVar

from evenhand.domain.comparison import Comparison, TargetComparison
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import GateResult
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import is_ranking
from evenhand.domain.summary import Summary
from evenhand.engine.labelled import all_gates, cards_are_kept, labelled_overview
from evenhand.engine.overview import kept_overview, report_from
from evenhand.engine.target_comparison import compare_targets
from evenhand.profiles.ranking.outcome import ranking_outcome
from evenhand.reports.overview import Overview
from evenhand.reports.phrases import Standing
from evenhand.reports.report import Report
from evenhand.store.results import count_evaluations
from evenhand.store.store import Store

Value = TypeVar("Value")


class BackgroundCache(Generic[Value]):
    """The last values that were requested, and those that are being computed.

    >>> BackgroundCache(2).get("answer", lambda: 42)
    42
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._mine = threading.Lock()
        self._values: OrderedDict[Hashable, Future[Value]] = OrderedDict()

    def has(self, key: Hashable) -> bool:
        """Return whether a value is available."""
        with self._mine:
            future = self._values.get(key)
        return future is not None and future.done() and future.exception() is None

    def get(self, key: Hashable, make: Callable[[], Value], seconds: float | None = None) -> Value:
        """Return a value; raise ``TimeoutError`` if that takes longer, and compute it in the background."""
        with self._mine:
            future = self._values.get(key)
            if future is None:
                future = self._values[key] = Future()
                # A daemon: shutdown does not wait for numbers.
                threading.Thread(target=self._work, args=(key, make, future), daemon=True).start()
                while len(self._values) > self._most:
                    self._values.popitem(last=False)
            else:
                self._values.move_to_end(key)
        return future.result(seconds)

    def _work(self, key: Hashable, make: Callable[[], Value], future: Future[Value]) -> None:
        try:
            future.set_result(make())
        except ConfigError as error:  # a refusal is a result
            future.set_exception(error)
        except Exception as error:
            with self._mine:
                self._values.pop(key, None)
            future.set_exception(error)


# A few kilobytes each.
MOST_NUMBERS: Final = 256
# These may hold every case that changed.
MOST_COMPARISONS: Final = 8

Key: TypeAlias = tuple[str, str, float | None, int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """The overview of a run, the outcome of its gates, and that of a ranking in words: its groups have no scores."""

    overview: Overview
    gates: tuple[GateResult, ...]
    outcome: str = ""

    @classmethod
    def of(cls, store: Store, run: RunRecord) -> Numbers:
        """Return what is stored of a run, or read its results once; memory stays flat."""
        overview = labelled_overview(store, run)
        outcome = ranking_outcome(store, run, overview) if is_ranking(run.definition) else ""
        return cls(overview=overview, gates=all_gates(store, run, overview.summary), outcome=outcome)

    @property
    def summary(self) -> Summary:
        """The numbers of the cases and of each evaluator."""
        return self.overview.summary

    @property
    def bins(self) -> Sequence[Mapping[Standing, int]]:
        """The histogram of the scores."""
        return self.overview.bins

    def report(self, store: Store, run: RunRecord) -> Report:
        """Return what the writers of files need."""
        return report_from(store, run, self.overview, self.gates)


class SummaryCache:
    """Summaries and comparisons that were requested before, each kept until something more is judged."""

    def __init__(self) -> None:
        self._numbers: BackgroundCache[Numbers] = BackgroundCache(MOST_NUMBERS)
        self._comparisons: BackgroundCache[Comparison] = BackgroundCache(MOST_COMPARISONS)
        self._targets: BackgroundCache[TargetComparison | None] = BackgroundCache(MOST_COMPARISONS)
        self._cells: BackgroundCache[tuple[str, ...]] = BackgroundCache(MOST_COMPARISONS)

    def has(self, store: Store, run: RunRecord) -> bool:
        """Return whether the numbers of a run are known in its current state."""
        if self._numbers.has(state_of(store, run)):
            return True
        overview = kept_overview(store, run)
        return overview is not None and cards_are_kept(store, run, overview.summary)

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

    def cell(
        self,
        store: Store,
        runs: tuple[RunRecord, RunRecord],
        find: Callable[[], tuple[str, ...]],
        seconds: float,
        *how: str,
    ) -> tuple[str, ...]:
        """Return the cases of two runs that ``how`` says; raise ``TimeoutError`` if that takes longer."""
        return self._cells.get((*(state_of(store, run) for run in runs), *how), find, seconds)

    def targets(
        self, store: Store, run: RunRecord, seconds: float, *, baseline: str | None = None, evaluator: str | None = None
    ) -> TargetComparison | None:
        """Compare the targets of a run, None where it has one; raise ``TimeoutError`` if that takes longer."""
        state = (state_of(store, run), str(baseline), str(evaluator))
        return self._targets.get(
            state, lambda: compare_targets(store, run, baseline=baseline, evaluator=evaluator), seconds
        )


def state_of(store: Store, run: RunRecord) -> Key:
    """Return a key that changes once something in a run is judged, or judged again, or labelled."""
    labels = store.labels.state(run)
    return run.id, run.status.value, run.finished, count_evaluations(store, run), "" if labels is None else labels.key
