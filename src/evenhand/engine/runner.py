"""Driving a run: case by case from the store to the judges and back into the store."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from evenhand.domain.errors import RunBusyError, StoreError
from evenhand.domain.evaluation import Status
from evenhand.domain.failure import Failure
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.engine.answer_watch import AnswerWatch
from evenhand.engine.breaker import PROBE_INTERVALS, OutageObserver, Patience
from evenhand.engine.budget import Budget
from evenhand.engine.case_processor import CaseProcessor
from evenhand.engine.committer import Committer
from evenhand.engine.cost_forecast import CaseCosts
from evenhand.engine.early_stop import EarlyStop, early_stop_of
from evenhand.engine.gateway import Gateway
from evenhand.engine.job import Job, Pace
from evenhand.engine.never_scored import Confirm, NeverScoredWatch
from evenhand.engine.overview import LiveOverview
from evenhand.engine.plan import extend
from evenhand.engine.run import Progress, stop_reason
from evenhand.engine.work import Todo, Work, answer_place, drawn_work, evaluation_place, remaining_work
from evenhand.models.retry import RetryPolicy
from evenhand.store.results import case_at
from evenhand.store.run_owner import HEARTBEAT_SECONDS
from evenhand.store.store import Store

# How many of the stored cases of a resumed run are read for what they cost.
_CASES_TO_LEARN_FROM: Final = 1000

Result = TypeVar("Result")
# Told of each evaluation once it is committed.
Observer: TypeAlias = Callable[[PlannedCase, Judgment], None]


class Runner:
    """Brings a planned run to its end, or as far as it goes."""

    def __init__(
        self,
        store: Store,
        run: RunRecord,
        job: Job,
        pace: Pace,
        *,
        observers: Sequence[Observer] = (),
        tell: OutageObserver | None = None,
        confirm: Confirm | None = None,
        on_note: Callable[[str], None] | None = None,
        probe_intervals: RetryPolicy = PROBE_INTERVALS,
    ) -> None:
        self._store = store
        self._run = run
        self._job = job
        self._pace = pace
        self._observers = observers
        self._on_note = on_note
        self.budget = Budget(pace.limits)
        self.gateway = Gateway(
            store,
            budget=self.budget,
            prices=job.prices,
            concurrency=pace.concurrency,
            slow_start=pace.slow_start,
            use_cache=pace.use_cache,
            patience=Patience(seconds=pace.outage_timeout, intervals=probe_intervals),
            tell=tell,
        )
        self._progress = Progress()
        self._costs = CaseCosts(run.repeat)
        # Of a run that began with nothing: the others are read when they have ended.
        self._overview: LiveOverview | None = None
        # What cannot be kept need not be asked for either.
        self._committer = Committer(store, failed=lambda error: self.gateway.stop(Failure("store", str(error))))
        self._answers = AnswerWatch(stop=self.gateway.stop, tell=on_note)
        self._never_scored = NeverScoredWatch(pace.max_consecutive_errors, stop=self.gateway.stop, confirm=confirm)
        # A worker holds its place until what it does is committed, so that no more than these are lost with the
        # process. Places that no worker needs are lent to cases with several things to do.
        self._processor = self._processor_of(run)
        self._workers: list[asyncio.Task[None]] = []
        self._reading = asyncio.Lock()
        self._interrupted = False
        # What stops a run whose gates are decided, where that is wanted.
        self._early: EarlyStop | None = None
        # Whether all is planned that there will be.
        self._whole = job.following is None

    def _processor_of(self, run: RunRecord) -> CaseProcessor:
        return CaseProcessor(self._job, self.gateway, run.number, self)

    @property
    def progress(self) -> Progress:
        """How the run is getting on, up to now: also what was asked and given up."""
        progress, budget = self._progress, self.budget
        progress.calls, progress.faults, progress.cached = budget.calls, budget.faults, self.gateway.cached
        progress.cost = budget.cost if budget.cost_is_known else None
        progress.forecast = self._costs.forecast(progress.total - progress.done, spent=budget.cost)
        progress.paused = self._paused
        if (batches := self.gateway.batches) is not None:
            progress.batches, progress.batch_saving = batches.pending, batches.costs.saving
        return progress

    async def run(self) -> RunRecord:
        """Work until all is done, the run stops, or somebody interrupts it; return the run as it is then.

        Raises ``RunBusyError`` when another process has taken the run over.
        """
        await self._with_store(self._store.runs.alive, self._run)  # who waited for long may have lost it
        expected, judged = await self._with_store(self._store.extent, self._run)
        following = self._job.following
        total = expected if following is None else max(expected, following.total(self._store, self._run))
        self._progress = Progress(total=total, done=judged)
        self._overview = LiveOverview(self._run) if judged == 0 else None
        heart = asyncio.create_task(self._beat())
        try:
            await self._begin_batches()
            if judged:
                await asyncio.to_thread(self._learn_costs)
            self._early = await asyncio.to_thread(  # it reads the whole run
                early_stop_of, self._store, self._run, self._job, self.gateway, retry_errors=self._pace.retry_errors
            )
            await self._judge_all(resuming=judged > 0)
        except BaseException:
            self._give_up()
            await asyncio.gather(*self._workers, return_exceptions=True)
            await self._committer.settle()
            with contextlib.suppress(StoreError):  # the first trouble is the one to report
                await self._with_store(self._mark, RunStatus.INTERRUPTED, "it failed")
            raise
        finally:
            heart.cancel()
            await asyncio.wait([heart])
            await self.gateway.close()
        return await self._with_store(self._mark_end)

    def _learn_costs(self) -> None:
        """Learn from what the run has stored what its cases cost; the first of a long run will do."""
        self._costs.learn_from(itertools.islice(self._store.results(self._run), _CASES_TO_LEARN_FROM))

    async def _begin_batches(self) -> None:
        """Ask in batches if that is wanted; if not, those of an earlier process are read: they are paid for."""
        submits = self._pace.batch
        asked = {} if submits else await self._with_store(self._store.provider_batches.items, self._run)
        if submits or asked:
            self.gateway.ask_in_batches(
                self._run,
                busy=lambda: self._pace.concurrency - self._processor.free_places,
                tell=self._on_note,
                submits=submits,
            )

    async def _with_store(self, act: Callable[..., Result], *args: Any) -> Result:
        """Use the store: on the loop if that is quick, else in a thread, since a connection may have to be replaced."""
        return act(*args) if self._store.commits_quickly else await asyncio.to_thread(act, *args)

    async def _judge_all(self, *, resuming: bool) -> None:
        """Judge the cases that are planned, then those that follow from what was found, until none do."""
        first = 0
        while True:
            self._workers = self._begin(first, resuming=resuming)
            await self._end_of_workers()
            await self.gateway.settle_refusals()
            if self._whole or self.is_stopping or self._refused is not None:
                return
            first, resuming = self._run.cases, False
            # In a thread: what follows may take long to work out, and others are on this loop.
            extended = await asyncio.to_thread(extend, self._store, self._run, self._job)
            if extended is None:
                self._whole = True
                return
            self._run = extended

    def _begin(self, first: int, *, resuming: bool) -> list[asyncio.Task[None]]:
        """Begin to work on the cases from the ``first`` on, and return those who do it."""
        how = {"resuming": resuming, "retry_errors": self._pace.retry_errors}
        if self._early is None:
            work = remaining_work(self._store, self._run, self._job, first=first, **how)
        else:
            work = drawn_work(self._store, self._run, self._job, self._early.order, **how)
        count = min(self._pace.concurrency, max((self._run.cases - first) * self._run.repeat, 1))
        self._processor.free_places = self._pace.concurrency - count
        return [asyncio.create_task(self._worker(work)) for _ in range(count)]

    def interrupt(self) -> None:
        """Take no more work. What is under way may end; soon it is given up."""
        if not self._interrupted:
            self._interrupted = True
            self._never_scored.give_up()
            self.gateway.drain()
            asyncio.get_running_loop().call_later(self._pace.drain_seconds, self._give_up)

    def _give_up(self) -> None:
        for worker in self._workers:
            worker.cancel()

    @property
    def undecided(self) -> asyncio.Future[bool] | None:
        """The question to the user that is still open; nothing should begin before it is answered."""
        return self._never_scored.undecided

    @property
    def is_stopping(self) -> bool:
        """Whether no other evaluation should begin."""
        return self._interrupted or self.gateway.stopped is not None

    @property
    def _refused(self) -> str | None:
        return self.gateway.refused

    @property
    def _paused(self) -> str | None:
        return self.gateway.paused

    @property
    def _is_decided(self) -> bool:
        return self._early is not None and self._early.is_over

    async def _end_of_workers(self) -> None:
        done, _ = await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        failures = [error for worker in done if not worker.cancelled() and (error := worker.exception()) is not None]
        if failures:
            raise failures[0]
        await self._committer.settle()  # also what was handed in by those who were given up since

    def _mark_end(self) -> RunRecord:
        expected, judged = self._store.extent(self._run)
        if (early := self._early) is not None and early.is_over and judged < expected:
            return self._store.atomically(lambda: self._mark(RunStatus.STOPPED, early.keep(self._store)))
        if (refused := self._refused) is not None:
            self.gateway.stop(refused)
        # Of errors to be done again, a stop may have left some.
        elif self._whole and judged >= expected and not (self.is_stopping and self._pace.retry_errors):
            return self._mark(RunStatus.FINISHED)
        if self.gateway.stopped is not None:
            return self._mark(RunStatus.STOPPED, stop_reason(self.gateway.stopped, self.progress))
        return self._mark(
            RunStatus.INTERRUPTED, "; ".join(["it was interrupted", *(batch.words for batch in self.progress.batches)])
        )

    def _mark(self, status: RunStatus, reason: str = "") -> RunRecord:
        """Say how the run ended, and what it took that is in no evaluation."""
        if calls := self.gateway.abandoned_calls:
            self._store.runs.abandon(self._run, calls, self.gateway.abandoned_cost)
        ended = self._store.runs.mark(self._run, status, reason)
        if self._overview is not None:  # in a commit of its own: a run that lost it is read when somebody looks at it
            self._overview.keep(self._store, ended)
        return ended

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            try:
                await self._with_store(self._store.runs.alive, self._run)
            except RunBusyError as lost:  # nothing of it could be kept
                self.gateway.stop(str(lost))
                self._give_up()
                return
            except StoreError:  # whoever commits will hear of it
                continue

    async def _worker(self, work: Iterator[Work]) -> None:
        try:
            while (item := await self._next(work)) is not None:
                if self.undecided is not None:
                    await asyncio.wait([self.undecided])
                if self.is_stopping or self._is_decided:
                    return
                await self._processor.sample(item)
        finally:
            self._processor.free_places += 1

    async def _next(self, work: Iterator[Work]) -> Work | None:
        """Return what is to be done next; it may have to be read from the store, by one worker at a time."""
        if self._store.commits_quickly and not self._reading.locked():
            return next(work, None)
        async with self._reading:
            return await asyncio.to_thread(next, work, None)

    async def keep_answer(
        self, planned: PlannedCase, made: MadeAnswer, row: tuple[Any, ...], replies: list[Any]
    ) -> None:
        """Commit an answer of the target."""
        asked = () if (batches := self.gateway.batches) is None else batches.asked_for(answer_place(*row[1:4]))
        await self._committer.commit(answers=(row,), replies=replies, asked=asked)
        self._costs.add_answer(planned, made.cost)
        self._answers.look_at(planned.case.id or "", made)
        if self._overview is not None:
            self._overview.add_answer(planned, made, row[-1])

    async def keep_evaluation(
        self, planned: PlannedCase, todo: Todo, judgment: Judgment, row: tuple[Any, ...], replies: list[Any]
    ) -> None:
        """Commit an evaluation, and tell everybody who watches the run."""
        asked = () if (batches := self.gateway.batches) is None else batches.asked_for(evaluation_place(*row[1:5]))
        await self._committer.commit(evaluations=(row,), replies=replies, asked=asked)
        if self._overview is not None:
            self._overview.add_evaluation(planned, todo.place, judgment, row[-1])
        await self._note(planned, judgment)

    async def _note(self, planned: PlannedCase, judgment: Judgment) -> None:
        """Take note of an evaluation that was committed."""
        self._progress.add(judgment)
        self._costs.add(planned, judgment)
        if self._early is not None and self._early.is_whole_after_one_more(planned.position):
            self._early.add(await self._with_store(case_at, self._store, self._run, planned.position))
        for observer in self._observers:
            observer(planned, judgment)
        evaluation = judgment.evaluation
        if evaluation.status is Status.SCORED:
            self._never_scored.scored(evaluation.evaluator)
        elif evaluation.status is Status.ERROR:
            await self._never_scored.failed(planned.case.id or "", evaluation)
