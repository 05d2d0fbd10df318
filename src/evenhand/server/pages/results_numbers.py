"""The numbers of a run as its pages show them, counted once for as long as nothing is added to it."""

from __future__ import annotations

import logging
import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from evenhand.domain.gates import GateResult, Gates
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Summary
from evenhand.reports.charts import BINS, bin_of
from evenhand.reports.report import Report
from evenhand.reports.standing import Standing
from evenhand.reports.summary import Summarizer
from evenhand.store.store import Store

_log = logging.getLogger("evenhand.server")

# A handful of kilobytes each.
MOST_KEPT: Final = 256

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
    """Numbers of runs that were asked for before. Of a run that goes on they are counted anew each time."""

    def __init__(self) -> None:
        self._mine = threading.Lock()
        self._known: OrderedDict[_Key, Numbers] = OrderedDict()
        self._under_way: dict[_Key, threading.Thread] = {}

    def has(self, store: Store, run: RunRecord) -> bool:
        """Tell whether the numbers of a run are known as it stands."""
        return _state(store, run) in self._known

    def of(self, store: Store, run: RunRecord) -> Numbers:
        """Give the numbers of a run, however long that takes."""
        if run.status in (RunStatus.PLANNING, RunStatus.RUNNING):
            return Numbers.of(store, run)
        key = _state(store, run)
        return self._recalled(key) or self._count(key, store, run)

    def soon(self, store: Store, run: RunRecord, seconds: float) -> Numbers | None:
        """Give the numbers of a run that does not go on, or None where that takes longer; then they are counted on."""
        key = _state(store, run)
        if (found := self._recalled(key)) is not None:
            return found
        with self._mine:
            counting = self._under_way.get(key)
            if counting is None:
                # A daemon: nobody waits for numbers when the server ends.
                counting = threading.Thread(target=self._count_aside, args=(key, store, run), daemon=True)
                self._under_way[key] = counting
                counting.start()
        counting.join(seconds)
        return self._recalled(key)

    def _recalled(self, key: _Key) -> Numbers | None:
        with self._mine:
            if key in self._known:
                self._known.move_to_end(key)
            return self._known.get(key)

    def _count(self, key: _Key, store: Store, run: RunRecord) -> Numbers:
        found = Numbers.of(store, run)  # outside the lock: others need not wait for a large run
        with self._mine:
            self._known[key] = found
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        return found

    def _count_aside(self, key: _Key, store: Store, run: RunRecord) -> None:
        try:
            self._count(key, store, run)
        except Exception as error:
            _log.info("run %s was not counted: %s", run.id, error)
        finally:
            with self._mine:
                self._under_way.pop(key, None)


def _state(store: Store, run: RunRecord) -> _Key:
    """Say how a run stands, so that it differs once something was judged in it, or judged again."""
    ((judged,),) = store.database.rows("SELECT COUNT(*) FROM evaluations WHERE run = ?", [run.number])
    return run.id, run.status.value, run.finished, int(judged)
