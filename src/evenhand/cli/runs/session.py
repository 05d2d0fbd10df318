"""Work on a run from the command line: progress, journal, signals, and the report at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import typer

from evenhand.cli.console import Console, write_from_signal
from evenhand.cli.options import PaceOptions, display_name
from evenhand.cli.runs import progress
from evenhand.cli.runs.finish import finish, report_of
from evenhand.cli.runs.journal import Journal, open_journal
from evenhand.cli.runs.labels import add_given_labels
from evenhand.cli.telemetry import sent_telemetry
from evenhand.domain.errors import ConfigError, RunBusyError
from evenhand.domain.exit_code import ExitCode, worst
from evenhand.domain.run import RunRecord
from evenhand.drive.loop_watch import LoopWatch
from evenhand.engine.breaker import Outage
from evenhand.engine.execution import runner_for
from evenhand.engine.job import Job, Pace
from evenhand.engine.never_scored import NeverScored
from evenhand.engine.runner import Runner
from evenhand.engine.store_location import run_command
from evenhand.reports.phrases import counted
from evenhand.reports.report import Report, format_of
from evenhand.store.store import Store

if TYPE_CHECKING:
    from evenhand.cluster.ray_cluster import RayCluster

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# Not on all systems. When a terminal is closed it comes twice: from the shell and from the system.
HANGUP: Final[signal.Signals | None] = getattr(signal, "SIGHUP", None)


def handled_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a program; a hangup only if it is not ignored, as under ``nohup``."""
    if HANGUP is None or signal.getsignal(HANGUP) == signal.SIG_IGN:
        return _SIGNALS
    return (*_SIGNALS, HANGUP)


class Interrupts:
    """Handles signals while it is entered.

    The first signal calls the function of ``on_interrupt``, or raises ``KeyboardInterrupt`` where there is none. The
    second one prints ``farewell`` and exits at once.

    Python's own handlers are used, and not the event loop's: they work on all systems, and while a function keeps the
    loop busy.
    """

    def __init__(self) -> None:
        self.farewell = "stopped at once"
        self._count = 0
        self._interrupt: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        # Only the main thread gets signals; a program that calls the command in another one handles them itself.
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._handle) for number in handled_signals()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)

    @contextlib.contextmanager
    def on_interrupt(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While entered, call a function on this event loop at the first signal."""
        loop = asyncio.get_running_loop()

        def pass_on() -> None:
            loop.call_soon_threadsafe(interrupt)

        self._interrupt = pass_on
        try:
            yield
        finally:
            self._interrupt = None

    def _handle(self, number: int, _frame: FrameType | None) -> None:
        if number == HANGUP and self._count:
            return  # the user is gone, so this is no second Ctrl-C
        self._count += 1
        if self._count > 1:
            write_from_signal(f"evenhand: {self.farewell}")
            os._exit(ExitCode.INTERRUPTED)
        if self._interrupt is None:
            raise KeyboardInterrupt
        self._interrupt()


WATCH_SECONDS = 0.1

WhenDone: TypeAlias = Callable[[Report], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A command that works on a run: where it prints and logs, and how it is interrupted."""

    console: Console
    journal: Journal
    interrupts: Interrupts
    outputs: Sequence[str]
    json: bool
    db: str
    on: str | None = None
    workers: int | None = None
    worker_env: tuple[str, ...] = ()

    def resume_command(self, run: RunRecord) -> str:
        """Return the command that resumes a run."""
        return run_command("resume", run.id, self.db)

    def work_on(
        self, store: Store, run: RunRecord, job: Job, pace: Pace, *, when_done: WhenDone | None = None
    ) -> ExitCode:
        """Work on a run until it ends, report the result, and return the exit code; ``when_done`` gets the report."""
        return self.end(store, self.judge(store, run, job, pace), when_done=when_done)

    def judge(self, store: Store, run: RunRecord, job: Job, pace: Pace) -> RunRecord:
        """Work on a run until it ends, and return it; nothing is reported."""
        expected, done = store.extent(run)
        if job.following is not None:
            expected = job.following.total(store, run)
        state = f", {done:,} already done" if done else ""
        state += "; errors are retried" if done and pace.retry_errors else ""
        self.console.note(f"run {run.id}: {counted(expected, 'evaluation')}{state}")
        self.interrupts.farewell = f"stopped at once; resume with: {self.resume_command(run)}"
        self.journal.began(run, evaluations=expected, done=done, concurrency=pace.concurrency)
        try:
            with self._cluster(job) as cluster:
                return asyncio.run(self._work(store, run, job, pace, cluster))
        except RunBusyError:  # another process works on it
            raise
        except Exception as error:
            error.add_note(f"The run failed. Fix the cause, then resume with: {self.resume_command(run)}")
            raise

    def require_reachable(self) -> None:
        """Refuse a cluster that cannot be reached, before a run is stored for it."""
        if self.on is not None:
            from evenhand.cluster.ray_connection import require_reachable  # noqa: PLC0415 - few runs need it

            require_reachable(self.on)

    @contextlib.contextmanager
    def _cluster(self, job: Job) -> Iterator[RayCluster | None]:
        """Connect to the cluster that judges, or start it; None where this process does."""
        if self.on is None:
            yield None
            return
        from evenhand.cluster.ray_cluster import ray_cluster  # noqa: PLC0415 - few runs need it

        with ray_cluster(self.on, workers=self.workers, folder=job.folder, variables=self.worker_env) as cluster:
            yield cluster

    def end(self, store: Store, run: RunRecord, *, when_done: WhenDone | None = None) -> ExitCode:
        """Report the result of a run, and return the exit code."""
        labelled = add_given_labels(store, run, self.console)
        report = report_of(store, run)
        code = finish(
            report, self.console, resume_command=self.resume_command(run), outputs=self.outputs, json=self.json
        )
        if when_done is not None:
            when_done(report)
        return worst([code, labelled])

    def _report_outage(self, outage: Outage) -> None:
        self.console.note(str(outage))
        self.journal.outage(outage)

    async def _confirm(self, never_scored: NeverScored) -> bool:
        self.console.note(never_scored.failure.message)
        return await self.console.ask("Continue anyway?")

    async def _work(self, store: Store, run: RunRecord, job: Job, pace: Pace, cluster: RayCluster | None) -> RunRecord:
        options: dict[str, Any] = {
            "observers": [self.journal.observe] if self.journal.is_read else [],
            "on_outage": self._report_outage,
            "confirm": self._confirm if self.console.can_ask else None,
            "on_note": self.console.note,
        }
        runner: Runner
        if cluster is None:
            runner = runner_for(store, run, job, pace, **options)
        else:
            from evenhand.cluster.traced_runner import cluster_runner_for  # noqa: PLC0415 - few runs need it

            runner = judging = cluster_runner_for(cluster, store, run, job, pace, **options)
            self.console.note(f"on Ray: {counted(judging.workers, 'worker')} on {counted(cluster.nodes, 'node')}")

        def stop() -> None:
            seconds = f"{pace.drain_seconds:.0f} s"
            self.console.note(
                f"stopping: pending requests may take up to {seconds}; press Ctrl-C again to stop at once"
            )
            self.journal.interrupted()
            runner.interrupt()

        helpers = [asyncio.create_task(_watch(runner, self.journal))]
        if not self.console.quiet:
            helpers.append(asyncio.create_task(progress.show(lambda: runner.progress, self.console)))
        try:
            with self.interrupts.on_interrupt(stop), LoopWatch(self.journal.blocked) as watch:
                ended = await runner.run()
        finally:
            for helper in helpers:
                helper.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
        if watch.longest is not None:
            self.console.note(f"warning: {watch.longest}, and everything else waited; --log-file records the stack")
        self.journal.ended(ended, runner.progress)
        return ended


async def _watch(runner: Runner, journal: Journal) -> None:
    while True:
        journal.watch(runner.gateway.lanes)
        await asyncio.sleep(WATCH_SECONDS)


def pace_of(options: PaceOptions, suite_concurrency: int | None = None, *, batch: bool = False) -> Pace:
    """Return the pace that the options ask for; ``suite_concurrency`` is what the suite has, for single requests."""
    return Pace.of(
        concurrency=options.concurrency or (None if batch else suite_concurrency),
        batch=batch,
        max_calls=options.max_calls,
        max_cost=options.max_cost,
        use_cache=not options.no_cache,
        retry_errors=options.retry_errors,
        outage_timeout=options.outage_timeout,
        max_consecutive_errors=options.max_consecutive_errors,
    )


@contextlib.contextmanager
def open_session(ctx: typer.Context, options: PaceOptions) -> Iterator[Session]:
    """Open a session; an unknown report format or a log file that cannot be opened is an error before any work."""
    for path in options.output or ():
        format_of(path)
    if options.on is not None:
        from evenhand.cluster.ray_connection import check_place  # noqa: PLC0415 - few commands need it

        check_place(options.on, options.worker_env or ())
    elif options.workers is not None:
        raise ConfigError(f"{display_name(ctx, 'workers')} is for runs on Ray; give --on ray with it")
    elif options.worker_env:
        raise ConfigError(f"{display_name(ctx, 'worker_env')} is for runs on Ray; give --on ray with it")
    console = Console(quiet=options.quiet)
    log_name = display_name(ctx, "log_file")
    with (
        open_journal(options.log_file, console, verbose=options.verbose, option=log_name) as journal,
        Interrupts() as interrupts,
        sent_telemetry(console),
    ):
        yield Session(
            console=console,
            journal=journal,
            interrupts=interrupts,
            outputs=tuple(options.output or ()),
            json=options.json,
            db=options.db,
            on=options.on,
            workers=options.workers,
            worker_env=tuple(options.worker_env or ()),
        )
