"""The runs in progress on this server: a few at once, each as a task on its event loop."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from evenhand.domain.errors import ConflictError, EvenhandError, RunBusyError, RunNotFoundError, StoreError
from evenhand.domain.prompt import FieldError
from evenhand.domain.run import BATCH, RunRecord, RunStatus
from evenhand.engine.execution import runner_for
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import begin, fill, undo
from evenhand.engine.runner import Runner
from evenhand.server.problems import Problem
from evenhand.server.runs.progress import AT_WORK, live_progress, progress_in
from evenhand.server.runs.requests import require_all_offered, taken_up
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.settings import ServerSettings
from evenhand.store.results import count_standings
from evenhand.store.store import Store


@dataclass(frozen=True, slots=True)
class Planner:
    """Plans runs. A key and the run that it names are stored together; the cases follow, page by page.

    So a request that is sent again gets the same run, though that may still be planning. An error in a case is raised
    for the first request only; then there is no run, and the key is free.
    """

    store: Store
    _mine: threading.Lock = field(default_factory=threading.Lock)

    def planned(
        self, job: Callable[[], Job], scope: Scope, *, key: str | None, asked: Any
    ) -> tuple[RunRecord, Job | None]:
        """Return a planned run with its job; for a repeated request, the run of the first one and no job."""
        # Of several requests at once, one reads the test cases; the transaction keeps other processes out.
        with self._mine if key is not None else contextlib.nullcontext():
            earlier = self.store.idempotency_keys.outcome(key, asked)
            if earlier is not None:
                return self.store.runs.find(earlier), None
            made = job()
            identity, is_new = self.store.idempotency_keys.once(key, asked, lambda: begin(self.store, made, scope).id)
        run = self.store.runs.find(identity)
        if not is_new:
            return run, None
        try:
            return fill(self.store, run, made, scope), made
        except Exception:
            with contextlib.suppress(StoreError):  # the first error is the one to report
                self._undo(run, key)
            raise

    def _undo(self, run: RunRecord, key: str | None) -> None:
        def forget() -> None:
            undo(self.store, run)
            self.store.idempotency_keys.forget(key)

        self.store.atomically(forget)


MOST_AT_ONCE: Final = 4
# Beside these, of runs that ask in batches: they take memory.
MOST_IN_BATCHES: Final = 8
MOST_WAITING: Final = 100
# Of event streams; further clients poll the progress.
MOST_STREAMS: Final = 100
# For a run here, and for one of another process, which has to be counted in the store.
WATCH_SECONDS: Final = 0.5
POLL_SECONDS: Final = 1.0
# How long requests in flight may take when the server shuts down, and then their replies to be stored.
CLOSING_SECONDS: Final = 0.8

SERVER_STOPPED: Final = "the server was stopped; resume the run here or with: evenhand resume {}"

_log = logging.getLogger("evenhand.server")


@dataclass(slots=True)
class Work:
    """A run in progress here: queued, running, or just ended."""

    run: RunRecord
    runner: Runner
    task: asyncio.Task[None] | None = None
    asks_in_batches: bool = False
    is_waiting: bool = True
    is_stopping: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    # The verdicts it had when it was resumed.
    before: Mapping[str, int] = field(default_factory=dict)

    def progress(self) -> dict[str, Any]:
        """Return the progress of the run, which costs the run nothing."""
        progress = live_progress(self.run, self.runner.progress, self.before)
        return progress | {"waiting": self.is_waiting, "stopping": self.is_stopping}


class RunManager:
    """Starts, resumes, cancels and watches runs. It belongs to one event loop; threads may call ``progress``."""

    def __init__(
        self,
        store: Store,
        settings: ServerSettings,
        summaries: SummaryCache | None = None,
        runner_for: Callable[..., Runner] = runner_for,
    ) -> None:
        self._store = store
        self._runner_for = runner_for
        self._summaries = summaries or SummaryCache()
        self._settings = settings
        self._planner = Planner(store)
        self._work: dict[str, Work] = {}
        self._taking_up: set[str] = set()
        self._places = asyncio.Semaphore(MOST_AT_ONCE)
        self._batch_places = asyncio.Semaphore(MOST_IN_BATCHES)
        self._streams_end = asyncio.Event()
        self._is_closed = False
        self._streams = 0
        # The runs that the end of the server interrupted.
        self.left: list[str] = []

    async def start(
        self, job: Callable[[], Job], scope: Scope, pace: Pace, *, key: str | None = None, asked: Any = None
    ) -> tuple[RunRecord, bool]:
        """Plan a run and start it in the background; an error in the job is raised, and nothing is stored.

        With a ``key``, a repeated request (``asked``) returns the run of the first one, and False as the second value.
        """
        self._require_room()
        self._require_one_process(pace)

        def offered() -> Job:
            made = job()
            require_all_offered(made.definition, self._settings)
            return made

        run, made = await asyncio.to_thread(self._planner.planned, offered, scope, key=key, asked=asked)
        return (run, False) if made is None else (self.drive(run, made, pace), True)

    async def resume(self, run_id: str, change: Callable[[Pace], Pace] = lambda usual: usual) -> RunRecord:
        """Resume a run; refused if it is finished, in progress, or imported.

        ``change`` takes the pace at which it would be resumed, and returns the one to use.
        """
        self._require_room()
        run = await asyncio.to_thread(self._store.runs.find, run_id)
        # A claim keeps other processes out, but not a second resume here: it would mark a run that is just ending.
        if run.id in self._work or run.id in self._taking_up:
            raise RunBusyError(f"run {run.id} is already in progress")
        self._taking_up.add(run.id)
        try:
            run, job, pace = await asyncio.to_thread(
                taken_up, self._store, run, lambda usual: self._require_one_process(change(usual))
            )
            before = await asyncio.to_thread(count_standings, self._store, run)
            return self.drive(run, job, pace, before)
        finally:
            self._taking_up.discard(run.id)

    def drive(self, run: RunRecord, job: Job, pace: Pace, before: Mapping[str, int] | None = None) -> RunRecord:
        """Start a run in the background that is planned and claimed by this process; ``before`` are its verdicts."""
        if run.id in self._work:  # another request was quicker
            raise RunBusyError(f"run {run.id} is already in progress")
        runner = self._runner_for(
            self._store,
            run,
            job,
            pace,
            on_outage=lambda outage: _log.warning("run %s: %s", run.id, outage),
            on_note=lambda told: _log.info("run %s: %s", run.id, told),
        )
        work = Work(run, runner, asks_in_batches=pace.batch, before=before or {})
        self._work[run.id] = work
        work.task = asyncio.create_task(self._run_in_turn(work), name=f"run {run.id}")
        work.task.add_done_callback(functools.partial(self._on_done, work))
        return run

    async def cancel(self, run_id: str) -> RunRecord:
        """Cancel a run: evaluations in flight may finish, nothing new starts, and the run can be resumed."""
        run = await asyncio.to_thread(self._store.runs.find, run_id)
        work = self._work.get(run.id)
        if work is None:
            if await asyncio.to_thread(self._store.runs.in_hand, run):
                raise RunBusyError(f"run {run.id} is in progress in another process; stop it there")
            raise ConflictError(f"run {run.id} is not in progress, so there is nothing to cancel")
        self._stop(work)
        return run

    async def stopped(self, run: RunRecord) -> None:
        """Stop a run that is in progress here, if it is, and return when it has ended."""
        if (work := self._work.get(run.id)) is not None:
            self._stop(work)
            await work.ended.wait()
        elif await asyncio.to_thread(self._store.runs.in_hand, run):
            raise RunBusyError(f"run {run.id} is in progress in another process; stop it there")

    def progress(self, run_id: str) -> dict[str, Any] | None:
        """Return the progress of a run, whichever process runs it; None if there is no such run."""
        work = self._work.get(run_id)
        if work is not None:
            return work.progress()
        try:
            run = self._store.runs.find(run_id)
            return progress_in(self._store, run, self._summaries, self._settings.page_wait_seconds)
        except RunNotFoundError:
            return None

    @property
    def is_crowded(self) -> bool:
        """Whether there are as many streams as allowed."""
        return self._streams >= MOST_STREAMS

    async def watch(self, run_id: str) -> AsyncIterator[dict[str, Any]]:
        """Yield the progress of a run, at most twice a second, until it or the server ends."""
        with self.streaming():
            async for progress in self._progress_updates(run_id):
                yield progress

    @contextlib.contextmanager
    def streaming(self) -> Iterator[None]:
        """Count a stream for as long as it is open."""
        self._streams += 1
        try:
            yield
        finally:
            self._streams -= 1

    async def pause(self, seconds: float) -> bool:
        """Wait so long between two events of a stream; return whether it goes on, which it does not at shutdown."""
        await _wait_for_first([self._streams_end.wait()], seconds)
        return not self._streams_end.is_set()

    def progress_here(self) -> dict[str, dict[str, Any]]:
        """Return the progress of the runs of this process, by their ids."""
        return {run_id: work.progress() for run_id, work in list(self._work.items())}

    async def _progress_updates(self, run_id: str) -> AsyncIterator[dict[str, Any]]:
        while True:
            work = self._work.get(run_id)
            if work is None:
                progress = await asyncio.to_thread(self.progress, run_id)
                if progress is None:
                    return
            else:
                progress = work.progress()
            yield progress
            if progress["status"] not in AT_WORK:
                return
            ended = [self._streams_end.wait()] + ([] if work is None else [work.ended.wait()])
            await _wait_for_first(ended, POLL_SECONDS if work is None else WATCH_SECONDS)
            if self._streams_end.is_set():
                return
            if work is not None and work.ended.is_set():
                yield work.progress()
                return

    def end_streams(self) -> None:
        """End all streams at once: a server that shuts down does not wait for them."""
        self._streams_end.set()

    async def close(self) -> None:
        """Stop all runs soon: requests in flight get a moment to finish, and all runs can be resumed."""
        self._is_closed = True
        self.end_streams()
        at_work = [work.run.id for work in self._work.values() if not work.is_stopping]
        for work in list(self._work.values()):
            self._stop(work)
        tasks = [work.task for work in self._work.values() if work.task is not None]
        if not tasks:
            return
        _, slow = await asyncio.wait(tasks, timeout=CLOSING_SECONDS)
        for task in slow:
            task.cancel()
        if slow:
            await asyncio.wait(slow, timeout=CLOSING_SECONDS)
        await asyncio.to_thread(self._say_why, at_work)

    def _say_why(self, were_at_work: list[str]) -> None:
        """Note in the runs that the shutdown interrupted how to resume them."""
        for identity in were_at_work:
            with contextlib.suppress(EvenhandError):  # it is marked already, only with another reason
                run = self._store.runs.find(identity)
                if run.status is RunStatus.INTERRUPTED:
                    self._store.runs.mark(run, RunStatus.INTERRUPTED, SERVER_STOPPED.format(run.id))
                    self.left.append(run.id)

    def _stop(self, work: Work) -> None:
        if work.is_stopping:
            return
        work.is_stopping = True
        if work.is_waiting and work.task is not None:
            work.task.cancel()
        else:
            work.runner.interrupt()

    def _require_room(self) -> None:
        """Refuse another run if too many are queued, or the server is shutting down."""
        wait = {"retry-after": "30"}
        if self._is_closed:
            why = "start the run again when it is back"
            raise Problem(503, "The server is shutting down", why, headers=wait)
        if len(self._work) >= MOST_AT_ONCE + MOST_WAITING:
            why = f"{len(self._work)} runs are in progress or waiting; start this one when some have ended"
            raise Problem(503, "Too many runs", why, headers=wait)

    def _require_one_process(self, pace: Pace) -> Pace:
        """Refuse batches where runs are judged by several processes: one gathers the questions of a batch."""
        if pace.batch and self._settings.on is not None:
            why = f"this server judges on {self._settings.on}, and one process gathers the questions of a batch"
            raise FieldError(BATCH, f"{why}; leave out batch, or start the server without --on")
        return pace

    async def _run_in_turn(self, work: Work) -> None:
        # Who waits for batches does so for hours, and takes no time from others.
        async with self._batch_places if work.asks_in_batches else self._places:
            work.is_waiting = False
            work.run = await work.runner.run()

    def _on_done(self, work: Work, task: asyncio.Task[None]) -> None:
        """Record how a run ended, even if its task was cancelled before it began."""
        if task.cancelled() or task.exception() is not None:
            if not task.cancelled():  # an error is this run's, and not the server's
                _log.error("run %s failed", work.run.id, exc_info=task.exception())
            self._mark_ended(work)
        work.is_waiting = work.is_stopping = False
        self._work.pop(work.run.id, None)
        work.ended.set()

    def _mark_ended(self, work: Work) -> None:
        """Mark a run that was never started, or whose runner could not do so, so that it can be resumed or deleted."""
        try:
            work.run = self._store.runs.find(work.run.id)
            if work.run.status in AT_WORK:
                why = "it was interrupted" if work.is_waiting else "it failed"
                work.run = self._store.runs.mark(work.run, RunStatus.INTERRUPTED, why)
        except EvenhandError:
            work.run = replace(work.run, status=RunStatus.INTERRUPTED, reason="it failed")


async def _wait_for_first(waits: list[Any], seconds: float) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks, return_exceptions=True)
