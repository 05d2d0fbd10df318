"""A run from beginning to end, for programs: planned where it is called, driven on a loop, given back to be read."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Final, TypeAlias

from evenhand.domain.errors import RunStoppedError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.drive import background
from evenhand.drive.loop_watch import LoopWatch
from evenhand.engine import telemetry
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.run import Progress, Run
from evenhand.engine.runner import Runner
from evenhand.engine.store_location import StoreLocation

_log = logging.getLogger(__name__)

# Told now and then how the run is getting on.
Watcher: TypeAlias = Callable[[Progress], None]

WATCH_SECONDS: Final = 0.5
# Beyond the time that questions under way are given, for what they brought to be stored.
_STORING_SECONDS: Final = 5.0


class Execution:
    """A run that is planned and not yet driven. Planning reads the cases, in the thread of whoever gave them."""

    def __init__(
        self, job: Job, *, scope: Scope, pace: Pace, place: StoreLocation, progress: bool | Watcher | None = None
    ) -> None:
        self._job = job
        self._pace = pace
        self._place = place
        self._watcher = _line if progress is True else progress or None
        with contextlib.ExitStack() as opening:
            self._store = opening.enter_context(place.opened())
            self._run = plan(self._store, job, scope)
            self._closing = opening.pop_all()

    async def run(self) -> Run:
        """Drive the run to its end; when this is cancelled, what is under way may end, and the run can be resumed."""
        with self._closing:
            observer = telemetry.observer(run_id=self._run.id)
            runner = Runner(
                self._store,
                self._run,
                self._job,
                self._pace,
                observers=() if observer is None else (observer,),
                tell=lambda outage: _log.warning("%s", outage),
            )
            with LoopWatch(lambda block: _log.warning("%s; stack: %s", block, ", ".join(block.stack))):
                async with self._watching(runner):
                    record = await self._driven(runner)
        run = Run(record, self._place)
        if record.status is RunStatus.STOPPED:
            raise RunStoppedError(f"run {record.id} stopped: {record.reason}", run=run)
        return run

    def run_and_wait(self) -> Run:
        """Drive the run on the background loop; Ctrl-C stores it as interrupted first, a second one does not wait."""
        return background.run(self.run(), patience=self._pace.drain_seconds + _STORING_SECONDS)

    async def _driven(self, runner: Runner) -> RunRecord:
        working = asyncio.create_task(runner.run())
        try:
            return await asyncio.shield(working)
        except asyncio.CancelledError:
            runner.interrupt()
            while not working.done():  # soon: the runner gives up what does not end
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait([working])
            working.exception()
            raise

    @contextlib.asynccontextmanager
    async def _watching(self, runner: Runner) -> AsyncIterator[None]:
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


def _line(progress: Progress) -> None:
    """Write how far a run has come, over the line before."""
    errors = f", {progress.errors:,} judge errors" if progress.errors else ""
    paused = ", paused" if progress.paused else ""
    end = "\n" if progress.done >= progress.total else ""
    sys.stderr.write(f"\r{progress.done:,} of {progress.total:,} evaluations{errors}{paused} {end}")
    sys.stderr.flush()
