"""Work on a run from the command line: progress, journal, signals, and the report at the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any, Final

import typer

from evenhand.cli.console import Console, last_words
from evenhand.cli.options import RunOptions, called, is_typed
from evenhand.cli.runs import progress
from evenhand.cli.runs.finish import end, report_of
from evenhand.cli.runs.journal import Journal, journal
from evenhand.domain.errors import RunBusyError
from evenhand.domain.gates import ExitCode
from evenhand.domain.run import RunRecord
from evenhand.drive.loop_watch import LoopWatch
from evenhand.engine import telemetry
from evenhand.engine.breaker import Outage
from evenhand.engine.budget import Limits
from evenhand.engine.job import DEFAULT_CONCURRENCY, DEFAULT_OUTAGE_SECONDS, Job, Pace
from evenhand.engine.runner import Runner
from evenhand.reports.phrases import counted
from evenhand.reports.report import Report, format_of
from evenhand.store.location import without_password
from evenhand.store.store import Store

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# Not on all systems. It comes when the terminal is closed, from the shell and from the system, and says so twice.
HANGUP: Final[signal.Signals | None] = getattr(signal, "SIGHUP", None)


def heard_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a program: that of a terminal that was closed only where nobody ignores it.

    Whoever starts a program under ``nohup`` wants it to go on.
    """
    if HANGUP is None or signal.getsignal(HANGUP) == signal.SIG_IGN:
        return _SIGNALS
    return (*_SIGNALS, HANGUP)


class Interrupts:
    """Listens for signals while it is entered.

    While nobody wants to be told, the first signal is a ``KeyboardInterrupt``. ``farewell`` is what is said when the
    second one comes.

    Python's own handlers are used, and not the event loop's: they work on all systems, and they are heard while a
    function keeps the loop busy.
    """

    def __init__(self) -> None:
        self.farewell = "left at once"
        self._count = 0
        self._tell: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        # Only there are signals heard; a program that calls the command elsewhere looks after them itself.
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._heard) for one in heard_signals()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    @contextlib.contextmanager
    def telling(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While inside, call a function of this event loop at the first signal."""
        loop = asyncio.get_running_loop()

        def pass_on() -> None:
            loop.call_soon_threadsafe(interrupt)

        self._tell = pass_on
        try:
            yield
        finally:
            self._tell = None

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        if number == HANGUP and self._count:
            return  # nobody is impatient: who could be has gone
        self._count += 1
        if self._count > 1:
            last_words(f"evenhand: {self.farewell}")
            os._exit(ExitCode.INTERRUPTED)
        if self._tell is None:
            raise KeyboardInterrupt
        self._tell()


WATCH_SECONDS = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One command at work: where it tells what, and how it hears that it shall stop."""

    console: Console
    journal: Journal
    interrupts: Interrupts
    outputs: Sequence[str]
    json: bool
    db: str | None

    def again(self, run: RunRecord) -> str:
        """Return the command that goes on with a run; ``db`` is part of it where it was typed."""
        place = "" if self.db is None else f" --db {shlex.quote(without_password(self.db))}"
        return f"evenhand resume {run.id}{place}"

    def work_on(
        self, store: Store, run: RunRecord, job: Job, pace: Pace, *, also: Callable[[Report], None] | None = None
    ) -> ExitCode:
        """Work on a run until it ends, report how it ended, and return the exit code; ``also`` gets the report, too."""
        expected, done = store.extent(run)
        if job.following is not None:
            expected = job.following.total(store, run)
        left = f", of which {done:,} are there already" if done else ""
        left += "; those that ended in an error are done again" if done and pace.retry_errors else ""
        self.console.note(f"run {run.id}: {counted(expected, 'evaluation')}{left}")
        self.interrupts.farewell = f"left at once; go on with: {self.again(run)}"
        self.journal.began(run, evaluations=expected, done=done, concurrency=pace.concurrency)
        try:
            ended = asyncio.run(self._work(store, run, job, pace))
        except RunBusyError:  # another process goes on with it
            raise
        except Exception:
            self.console.error(f"the run broke off; when that is mended, go on with: {self.again(run)}")
            raise
        return self.end(store, ended, also=also)

    def end(self, store: Store, run: RunRecord, *, also: Callable[[Report], None] | None = None) -> ExitCode:
        """Report how a run ended, and return the exit code."""
        report = report_of(store, run)
        code = end(report, self.console, again=self.again(run), outputs=self.outputs, json=self.json)
        if also is not None:
            also(report)
        return code

    def _tell_outage(self, outage: Outage) -> None:
        self.console.note(str(outage))
        self.journal.outage(outage)

    async def _work(self, store: Store, run: RunRecord, job: Job, pace: Pace) -> RunRecord:
        traced = telemetry.observer(run_id=run.id)
        observers = [self.journal.observe] if traced is None else [self.journal.observe, traced]
        runner = Runner(store, run, job, pace, observers=observers, tell=self._tell_outage)

        def stop() -> None:
            seconds = f"{pace.drain_seconds:.0f} s"
            self.console.note(f"stopping: what is under way may take up to {seconds}; Ctrl-C again leaves at once")
            self.journal.interrupted()
            runner.interrupt()

        helpers = [asyncio.create_task(_watch(runner, self.journal))]
        if not self.console.quiet:
            helpers.append(asyncio.create_task(progress.show(lambda: runner.progress, self.console)))
        try:
            with self.interrupts.telling(stop), LoopWatch(self.journal.blocked) as watch:
                ended = await runner.run()
        finally:
            for one in helpers:
                one.cancel()
            await asyncio.gather(*helpers, return_exceptions=True)
        if watch.longest is not None:
            self.console.note(f"warning: {watch.longest}, and all else waited; --log-file keeps the stack")
        self.journal.ended(ended, runner.progress)
        return ended


async def _watch(runner: Runner, notes: Journal) -> None:
    while True:
        notes.watch(runner.gateway.lanes)
        await asyncio.sleep(WATCH_SECONDS)


def pace_of(manner: RunOptions, usual_concurrency: int | None) -> Pace:
    """Return the pace that the options ask for; ``usual_concurrency`` is what the suite says."""
    return Pace(
        concurrency=manner.concurrency or usual_concurrency or DEFAULT_CONCURRENCY,
        limits=Limits(max_calls=manner.max_calls, max_cost=manner.max_cost),
        use_cache=not manner.no_cache,
        retry_errors=manner.retry_errors,
        outage_timeout=DEFAULT_OUTAGE_SECONDS if manner.outage_timeout is None else manner.outage_timeout,
    )


@contextlib.contextmanager
def session(ctx: typer.Context, manner: RunOptions) -> Iterator[Session]:
    """Begin to work: what could go wrong about reports and journal goes wrong here, before anything is asked."""
    for path in manner.output or ():
        format_of(path)
    console = Console(quiet=manner.quiet)
    kept = journal(manner.log_file, console, verbose=manner.verbose, called=called(ctx, "log_file"))
    with kept as notes, Interrupts() as interrupts:
        yield Session(
            console=console,
            journal=notes,
            interrupts=interrupts,
            outputs=tuple(manner.output or ()),
            json=manner.json,
            db=manner.db if is_typed(ctx, "db") else None,
        )
