"""One sample of a case: its answer is made, its evaluators judge it, and the rows are handed to whoever keeps them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from evenhand.domain.case import Case
from evenhand.domain.errors import ScriptExhaustedError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase
from evenhand.drive.driver import drive
from evenhand.engine.concurrency_limit import is_refusal
from evenhand.engine.gateway import Abandoned, Gateway
from evenhand.engine.identity import Fingerprints, digest_of, evaluation_key
from evenhand.engine.job import Job
from evenhand.engine.targets.base import Target
from evenhand.engine.work import Todo, Work, answer_place, evaluation_place
from evenhand.store.rows import answer_row, dumps, evaluation_row


class Keeper(Protocol):
    """Who keeps what was found: the runner, which commits it, or a worker elsewhere, which sends it there.

    Both methods return when the rows are safe.
    """

    @property
    def is_stopping(self) -> bool:
        """Whether no other evaluation should begin."""
        ...

    @property
    def undecided(self) -> asyncio.Future[bool] | None:
        """What is to be waited for before anything begins."""
        ...

    async def keep_answer(
        self, planned: PlannedCase, made: MadeAnswer, row: tuple[Any, ...], replies: list[Any]
    ) -> None:
        """Keep an answer of the target."""
        ...

    async def keep_evaluation(
        self, planned: PlannedCase, todo: Todo, judgment: Judgment, row: tuple[Any, ...], replies: list[Any]
    ) -> None:
        """Keep an evaluation."""
        ...


class CaseHand:
    """Does what is to be done about samples of cases, through a gateway, and reads no store.

    ``free_places`` are lent to cases with several things to do.
    """

    def __init__(self, job: Job, gateway: Gateway, run: int, keeper: Keeper) -> None:
        self._job = job
        self._gateway = gateway
        self._run = run
        self._keeper = keeper
        self._fingerprints = Fingerprints()
        self._target = "" if job.target is None else digest_of(job.target.description())
        self.free_places = 0

    async def sample(self, work: Work) -> None:
        """Get the answer, if the target is to make it, and let all evaluators judge it."""
        planned, sample, todo, made = work
        case = planned.case
        if self._job.target is not None and case.candidate_answer is None:
            if made is None or (made.error is not None and (todo[0].round > 0 or is_refusal(made.error))):
                made = await self._answer(planned, sample, 0 if made is None else made.round + 1)
            if made is None:
                return
            if made.error is not None:
                await self.fail(planned, todo, Failure("no_answer", f"the target failed: {made.error}"))
                return
            case = made.put_into(case)
        if len(todo) == 1:
            await self._evaluation(planned, todo[0], case)
        else:
            await self._each([partial(self._evaluation, planned, task, case) for task in todo])

    async def _each(self, parts: Sequence[Callable[[], Coroutine[Any, Any, None]]]) -> None:
        """Do several things about a case: one after the other in the worker's place, and in others that are free."""
        waiting = iter(parts)

        async def go_on() -> None:
            for part in waiting:
                await part()

        async def go_on_in_another_place() -> None:
            try:
                await go_on()
            finally:
                self.free_places += 1

        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(min(len(parts) - 1, self.free_places)):
                    self.free_places -= 1
                    group.create_task(go_on_in_another_place())
                await go_on()
        except BaseExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _answer(self, planned: PlannedCase, sample: int, number: int) -> MadeAnswer | None:
        """Let the target answer a case, and commit that before anything depends on it; None if the run stops."""
        assert self._job.target is not None  # noqa: S101 - the caller looked
        if self._keeper.is_stopping:
            return None
        asking = self._gateway.asking(sample, answer_place(planned.position, sample, number))
        try:
            async with self._gateway.local_place():
                made = await self._make(self._job.target, planned.case, asking.ask)
        except (Abandoned, asyncio.CancelledError) as stop:
            asking.abandon()
            if isinstance(stop, Abandoned):
                return None
            raise
        # A model's price is known here; what a program or a function cost, only it knows.
        cost = made.cost if self._job.target.client_for(planned.case) is None else asking.cost
        made = replace(made, sample=sample, round=number, cost=cost)
        row = answer_row(self._run, planned.position, made)
        await self._keeper.keep_answer(planned, made, row, asking.to_keep(made.attempts))
        return made

    async def _make(self, target: Target, case: Case, ask: Any) -> MadeAnswer:
        """Let the target answer; if it crashes, that is its failed answer."""
        try:
            made = await drive(target.steps(case), timeout=self._job.timeout, ask=ask)
            if not isinstance(made, MadeAnswer):
                raise TypeError(f"steps must return a MadeAnswer, not {type(made).__name__}")
        except (Abandoned, ScriptExhaustedError):
            raise
        except (Exception, SystemExit) as error:  # targets are anybody's code
            return MadeAnswer(text=None, error=_crash(error))
        return made

    async def fail(self, planned: PlannedCase, todo: Sequence[Todo], error: Failure) -> None:
        """Record that a case could not be judged, for a reason that is none of its evaluators'."""
        for task in todo:
            failed = Evaluation.with_error(evaluator=task.evaluator.name, type=task.evaluator.type, error=error)
            await self._keep(planned, task, failed, cost=0.0, seconds=0.0, replies=[])

    async def _evaluation(self, planned: PlannedCase, todo: Todo, case: Case) -> None:
        """Make one evaluation and commit it."""
        if self._keeper.undecided is not None:
            await asyncio.wait([self._keeper.undecided])
        if self._keeper.is_stopping:
            return
        asking = self._gateway.asking(
            todo.sample, evaluation_place(planned.position, todo.place, todo.sample, todo.round)
        )
        began = time.perf_counter()
        evaluator = todo.evaluator
        try:
            async with self._gateway.local_place():
                evaluation = await drive(evaluator.steps(case), timeout=self._job.timeout, ask=asking.ask)
            if not isinstance(evaluation, Evaluation):
                raise TypeError(f"steps must return an Evaluation, not {type(evaluation).__name__}")
            content = dumps(evaluation.as_dict())  # here, since details may have what no file can hold
        except (Abandoned, asyncio.CancelledError) as stop:
            asking.abandon()
            if isinstance(stop, Abandoned):
                return
            raise
        except ScriptExhaustedError:
            raise
        except (Exception, SystemExit) as error:  # evaluators are anybody's code
            evaluation = Evaluation.with_error(evaluator=evaluator.name, type=evaluator.type, error=_crash(error))
            content = None
        seconds = time.perf_counter() - began - asking.waited
        replies = asking.to_keep(evaluation.attempts)
        await self._keep(planned, todo, evaluation, content, cost=asking.cost, seconds=seconds, replies=replies)

    async def _keep(
        self,
        planned: PlannedCase,
        todo: Todo,
        evaluation: Evaluation,
        content: str | None = None,
        *,
        cost: float | None,
        seconds: float,
        replies: list[tuple[Any, ...]],
    ) -> None:
        judgment = Judgment(
            evaluation=evaluation,
            weight=todo.evaluator.weight,
            required=todo.evaluator.required,
            sample=todo.sample,
            round=todo.round,
            key=evaluation_key(planned.hash, self._fingerprints.of(todo.evaluator), self._target, todo.sample),
            cost=cost,
            seconds=seconds,
        )
        row = evaluation_row(self._run, planned.position, todo.place, judgment, content)
        await self._keeper.keep_evaluation(planned, todo, judgment, row, replies)


def _crash(error: BaseException) -> str:
    return Failure("crashed", f"{type(error).__name__}: {error}")
