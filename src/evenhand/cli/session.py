"""What `run` and `resume` share: working on a run, with progress, a journal, Ctrl-C, and a report at the end."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import typer

from evenhand.cli import progress
from evenhand.cli.console import Console
from evenhand.cli.ending import end, report_of
from evenhand.cli.interrupts import Interrupts
from evenhand.cli.journal import Journal, journal
from evenhand.cli.manner import Manner
from evenhand.cli.options import called, is_typed
from evenhand.domain.errors import RunBusyError
from evenhand.domain.gates import ExitCode
from evenhand.domain.run import RunRecord
from evenhand.drive.loop_watch import LoopWatch
from evenhand.engine import telemetry
from evenhand.engine.breaker import Outage
from evenhand.engine.budget import Limits
from evenhand.engine.job import DEFAULT_CONCURRENCY, DEFAULT_OUTAGE_SECONDS, Job, Pace
from evenhand.engine.runner import Runner
from evenhand.reports.formats import format_of
from evenhand.reports.numbers import counted
from evenhand.store.location import without_password
from evenhand.store.store import Store

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
        """Give the command that goes on with a run; ``db`` is part of it where it was typed."""
        place = "" if self.db is None else f" --db {shlex.quote(without_password(self.db))}"
        return f"evenhand resume {run.id}{place}"

    def work_on(self, store: Store, run: RunRecord, job: Job, pace: Pace) -> ExitCode:
        """Work on a run until it ends, tell how it ended, and give the exit code."""
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
        return self.end(store, ended)

    def end(self, store: Store, run: RunRecord) -> ExitCode:
        """Tell how a run ended, and give the exit code."""
        report = report_of(store, run)
        return end(report, self.console, again=self.again(run), outputs=self.outputs, json=self.json)

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


def pace_of(manner: Manner, usual_concurrency: int | None) -> Pace:
    """Give the pace that the options ask for; ``usual_concurrency`` is what the suite says."""
    return Pace(
        concurrency=manner.concurrency or usual_concurrency or DEFAULT_CONCURRENCY,
        limits=Limits(max_calls=manner.max_calls, max_cost=manner.max_cost),
        use_cache=not manner.no_cache,
        retry_errors=manner.retry_errors,
        outage_timeout=DEFAULT_OUTAGE_SECONDS if manner.outage_timeout is None else manner.outage_timeout,
    )


@contextlib.contextmanager
def session(ctx: typer.Context, manner: Manner) -> Iterator[Session]:
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
