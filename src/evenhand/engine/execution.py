"""The start of every run: the runner with its observers, and for programs a whole run from plan to result."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeAlias

from evenhand.domain.early_decision import stopped_decided
from evenhand.domain.errors import RunStoppedError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.drive import background, telemetry
from evenhand.drive.loop_watch import LoopWatch
from evenhand.engine.breaker import OutageObserver
from evenhand.engine.carry_over import go_on_with_batches
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.never_scored import Confirm
from evenhand.engine.plan import plan
from evenhand.engine.run import Progress, Run
from evenhand.engine.runner import Observer, Runner
from evenhand.engine.store_location import StoreLocation
from evenhand.engine.telemetry import TracedRunner
from evenhand.reports.phrases import counted
from evenhand.store.store import Store

_log = logging.getLogger(__name__)

# Called every now and then with the progress of the run.
Watcher: TypeAlias = Callable[[Progress], None]

WATCH_SECONDS: Final = 0.5
# Beyond the time that pending requests have after an interrupt, to store their replies.
_STORING_SECONDS: Final = 5.0


def runner_for(
    store: Store,
    run: RunRecord,
    job: Job,
    pace: Pace,
    *,
    on_outage: OutageObserver,
    observers: Sequence[Observer] = (),
    confirm: Confirm | None = None,
    on_note: Callable[[str], None] | None = None,
) -> Runner:
    """Return the runner of a run: one that emits spans and events where the program has OpenTelemetry set up."""
    found = telemetry.current()
    make = Runner if found is None else functools.partial(TracedRunner, telemetry=found)
    return make(store, run, job, pace, observers=observers, tell=on_outage, confirm=confirm, on_note=on_note)


# Makes the runner of a run, as ``runner_for`` does; what it needs for that lasts as long as the run.
Place: TypeAlias = Callable[[], contextlib.AbstractContextManager[Callable[..., Runner]]]


class Execution:
    """A run that is planned but not started. Planning reads the cases, in the thread of the caller.

    With ``enforce``, a run that does not pass raises ``GatesFailed`` once everything is stored.
    """

    def __init__(
        self,
        job: Job,
        *,
        scope: Scope,
        pace: Pace,
        place: StoreLocation,
        progress: bool | Watcher | None = None,
        on: Place | None = None,
        enforce: bool = False,
    ) -> None:
        self._on = on or (lambda: contextlib.nullcontext(runner_for))
        self._enforce = enforce
        self._job = job
        self._pace = pace
        self._place = place
        self._watcher = _show_progress if progress is True else progress or None
        with contextlib.ExitStack() as opening:
            self._store = opening.enter_context(place.opened())
            planned = plan(self._store, job, scope)
            self._run = go_on_with_batches(self._store, planned) if pace.batch else planned
            self._closing = opening.pop_all()

    async def run(self) -> Run:
        """Run to the end; when cancelled, let pending requests finish and leave a run that can be resumed."""
        with self._closing, contextlib.ExitStack() as lasting:
            on = self._on()
            make = await asyncio.to_thread(on.__enter__)  # it may start processes, and others are on this loop
            lasting.push(on.__exit__)
            runner = make(
                self._store,
                self._run,
                self._job,
                self._pace,
                on_outage=lambda outage: _log.warning("%s", outage),
                on_note=lambda told: _log.info("%s", told),
            )
            with LoopWatch(lambda block: _log.warning("%s; stack: %s", block, ", ".join(block.stack))):
                async with self._watcher_of(runner):
                    record = await self._drive(runner)
        run = Run(record, self._place)
        if record.status is RunStatus.STOPPED and not stopped_decided(record):
            raise RunStoppedError(f"run {record.id} stopped: {record.reason}", run=run)
        if self._enforce:
            run.raise_if_failed()
        return run

    def run_and_wait(self) -> Run:
        """Run on the background loop; Ctrl-C stores the run as interrupted first, a second one does not wait."""
        return background.run(self.run(), patience=self._pace.drain_seconds + _STORING_SECONDS)

    async def _drive(self, runner: Runner) -> RunRecord:
        working = asyncio.create_task(runner.run())
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            runner.interrupt()
            while not working.done():  # soon: the runner abandons what does not finish
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([working])
            working.exception()
            raise

    @contextlib.asynccontextmanager
    async def _watcher_of(self, runner: Runner) -> AsyncIterator[None]:
        if self._watcher is None:
            yield
            return
        watching = asyncio.create_task(_watch(runner, self._watcher))
        try:
            yield
            self._watcher(runner.progress)
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching


async def _watch(runner: Runner, watcher: Watcher) -> None:
    while True:
        await asyncio.sleep(WATCH_SECONDS)
        watcher(runner.progress)


def _show_progress(progress: Progress) -> None:
    """Write the progress of a run over the line before."""
    errors = f", {progress.errors:,} judge errors" if progress.errors else ""
    paused = ", paused" if progress.paused else ""
    batches = f", waiting for {counted(len(progress.batches), 'batch', 'batches')}" if progress.batches else ""
    end = "\n" if progress.done >= progress.total else ""
    sys.stderr.write(f"\r{progress.done:,} of {progress.total:,} evaluations{errors}{paused}{batches} {end}")
    sys.stderr.flush()
