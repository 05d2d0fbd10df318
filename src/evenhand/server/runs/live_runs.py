"""All runs in progress, in this process or another: the store is read once a second, however many watch."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.server.runs.manager import POLL_SECONDS, WATCH_SECONDS, RunManager
from evenhand.server.runs.progress import AT_WORK, with_actual_status
from evenhand.store.store import Store

# A stream says something this often even if nothing changes: a page that hears nothing knows that something is wrong.
HEARTBEAT_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """The runs in progress at a moment. A page that shows another ``state`` has to be fetched again."""

    state: str = ""
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)


def in_progress(store: Store) -> list[RunRecord]:
    """Return the runs that a live process has, the newest first."""
    return [
        run for run in (with_actual_status(store, run) for run in store.runs.in_progress()) if run.status in AT_WORK
    ]


def state_of_runs(runs: Iterable[RunRecord]) -> str:
    """Return which runs are in progress, and how far, in one word each.

    >>> state_of_runs([])
    ''
    """
    return " ".join(f"{run.id}:{run.status.value}" for run in runs)


@dataclass(slots=True)
class _Pace:
    """How fast a run of another process goes, as far as it was watched."""

    since: float
    done_then: int

    def of(self, progress: dict[str, Any], now: float) -> dict[str, Any]:
        """Return a run's progress with the rate and the time left."""
        done = progress["done"] - self.done_then
        if done <= 0 or now <= self.since:
            return progress
        rate = done / (now - self.since)
        return progress | {"rate": round(rate, 3), "eta": round((progress["total"] - progress["done"]) / rate, 1)}


class LiveRuns:
    """Watches all runs in progress. It belongs to the event loop of its manager."""

    def __init__(self, store: Store, manager: RunManager, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._manager = manager
        self._clock = clock
        self._reading = asyncio.Lock()
        self._read_at: float | None = None
        self._read = LiveState()
        self._paces: dict[str, _Pace] = {}

    async def now(self) -> LiveState:
        """Return the runs in progress: those of this process as they are now, the others as of a second ago."""
        async with self._reading:
            if self._is_out_of_date():
                self._read = await asyncio.to_thread(self._read_store)
                self._read_at = self._clock()
        here = self._manager.progress_here()
        runs = {run_id: here.get(run_id, progress) for run_id, progress in self._read.runs.items()}
        return LiveState(state=self._read.state, runs=runs)

    async def watch(self, run_id: str | None = None) -> AsyncIterator[LiveState]:
        """Yield the runs in progress, or one of them, when something has changed and every few seconds."""
        with self._manager.streaming():
            last, said_at = None, 0.0
            while True:
                found = only(await self.now(), run_id)
                if found != last or self._clock() - said_at >= HEARTBEAT_SECONDS:
                    last, said_at = found, self._clock()
                    yield found
                if not await self._manager.pause(WATCH_SECONDS):
                    return

    def _is_out_of_date(self) -> bool:
        """Whether the store was read long ago, or before a run of this process began."""
        if self._read_at is None or self._clock() - self._read_at >= POLL_SECONDS:
            return True
        return any(run_id not in self._read.runs for run_id in self._manager.progress_here())

    def _read_store(self) -> LiveState:
        """Read which runs are in progress, and the progress of those that are not here."""
        found = in_progress(self._store)
        here, now, runs = self._manager.progress_here(), self._clock(), {}
        for run in found:
            progress = here.get(run.id) or self._manager.progress(run.id)
            if progress is not None:
                pace = self._paces.setdefault(run.id, _Pace(now, progress["done"]))
                runs[run.id] = progress if progress["rate"] is not None else pace.of(progress, now)
        self._paces = {run_id: pace for run_id, pace in self._paces.items() if run_id in runs}
        return LiveState(state=state_of_runs(found), runs=runs)


def only(found: LiveState, run_id: str | None) -> LiveState:
    """Return what is known of one run; of all of them, if none is named."""
    if run_id is None:
        return found
    state = " ".join(word for word in found.state.split() if word.startswith(f"{run_id}:"))
    return LiveState(state=state, runs={name: runs for name, runs in found.runs.items() if name == run_id})
