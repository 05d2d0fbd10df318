"""Asking in batches: questions of many evaluations are gathered, submitted together, and waited for.

Before a batch is submitted, the store has its key and its requests; before an answer is used, the store has the answer.
So no question is submitted twice, whenever the process ends.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Final, TypeVar

from evenhand.domain.ask import Ask
from evenhand.domain.errors import ConfigError, EvenhandError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.run import RunRecord
from evenhand.engine.batch_costs import BatchCosts
from evenhand.engine.batch_lane import BatchLane, BatchQuestion
from evenhand.engine.batch_reply import kept_reply, number_in, reply_of
from evenhand.engine.batch_submission import BatchAtProvider, BatchFailedError, BatchRefusedError
from evenhand.engine.budget import Budget
from evenhand.engine.cached_replies import cache_key
from evenhand.engine.concurrency_limit import LimitClosed
from evenhand.engine.identity import canonical
from evenhand.engine.local_places import LocalPlaces
from evenhand.models.batches.catalogue import batch_protocol_of
from evenhand.models.batches.server import BatchResult
from evenhand.models.client import HttpModel
from evenhand.models.prices import PriceBook
from evenhand.models.retry import BUDGET, TransportFault
from evenhand.store.batches import INTENDED, SUBMITTED, StoredBatch
from evenhand.store.store import Store

Result = TypeVar("Result")

# How many evaluations run on this machine at once, while the others wait for a batch.
LOCAL_EVALUATIONS: Final = 32
# How often it is seen to whether all evaluations wait.
_GATHER_SECONDS: Final = 0.05
# How long a submission that is under way may take after an interrupt.
_SUBMISSION_SECONDS: Final = 8.0
# A batch is written, and sent, as a whole; one that would be larger becomes several.
_MOST_BYTES: Final = 2_000_000
# The class of the reason why a run stops that its batches stopped.
BATCH: Final = "batch"


class NotInBatchError(Exception):
    """A question has no answer from a batch, and is to be asked by itself."""


class BatchQueue:
    """Asks for a run. ``busy`` says how many evaluations are under way, and ``tell`` is told what happens.

    One that does not ``submit`` reads the batches of an earlier process, and leaves the rest to be asked one by one.
    """

    def __init__(
        self,
        store: Store,
        run: RunRecord,
        *,
        budget: Budget,
        prices: PriceBook,
        stop: Callable[[str], None],
        busy: Callable[[], int],
        tell: Callable[[str], None] | None,
        submits: bool = True,
    ) -> None:
        self.run = run
        self.submits = submits
        self._store = store
        self._budget = budget
        self.costs = BatchCosts(budget, prices)
        self._stop = stop
        self._busy = busy
        self._tell = tell or (lambda _: None)
        self._ended: str | None = None
        self._given_up = False
        # By item, the key of the batch that it is in.
        self._items = store.provider_batches.items(run)
        self._batches = {batch.key: batch for batch in store.provider_batches.of(run, pending=True)}
        self._lanes: dict[tuple[str, str], BatchLane] = {}
        self._waiting: dict[str, BatchQuestion] = {}
        # By evaluation, the items of the answers that it has.
        self._used: dict[str, list[str]] = {}
        self.places = LocalPlaces(LOCAL_EVALUATIONS if submits else busy() + LOCAL_EVALUATIONS)
        self._queued = asyncio.Event()
        self._gathering: asyncio.Task[None] | None = None
        self._followed: dict[str, asyncio.Task[None]] = {}
        self._submitting: set[asyncio.Task[None]] = set()

    def __contains__(self, item: str) -> bool:
        return item in self._items

    def asked_for(self, evaluation: str) -> tuple[tuple[int, str], ...]:
        """Return the run and the items of the answers that an evaluation had, which is about to be committed."""
        return tuple((self.run.number, item) for item in self._used.pop(evaluation, ()))

    @property
    def _is_waited_for(self) -> bool:
        """Whether something is submitted, or about to be, whose end will be heard of."""
        return bool(self._submitting) or any(key in self._followed for key in self._batches)

    @property
    def pending(self) -> tuple[StoredBatch, ...]:
        """The batches that are not over."""
        return tuple(self._batches.values())

    def item_of(self, ask: Ask, sample: int, where: str) -> str:
        """Return what tells a question from all others of the run, in whichever process it is asked."""
        identity = getattr(ask.judge, "identity", None)
        key = cache_key(canonical(identity) if identity is not None else b"", ask, sample)
        return hashlib.blake2b(f"{where} {key}".encode(), digest_size=20).hexdigest()

    async def ask(self, ask: Ask, item: str, evaluation: str) -> Reply | Unanswered:
        """Ask a question, or wait for its answer that is under way. Raises ``LimitClosed`` and ``NotInBatchError``."""
        try:
            model, protocol = batch_protocol_of(ask.judge)
        except ConfigError as error:
            self._stop(Failure(BATCH, str(error)))
            raise LimitClosed(str(error)) from None
        answered: asyncio.Future[Reply | Unanswered] = asyncio.get_running_loop().create_future()
        question = BatchQuestion(item=item, ask=ask, model=model, form=model.form, answered=answered)
        self._used.setdefault(evaluation, []).append(item)
        kept = (
            await self._with_store(self._store.provider_batches.answer_to, self.run, item)
            if item in self._items
            else None
        )
        if kept is not None:
            self._budget.submit(0.0)
            return self._settled(question, reply_of(kept))
        if self._ended is not None:
            raise LimitClosed(self._ended)
        place = (model.name, model.endpoint.url)
        if (lane := self._lanes.get(place)) is None:
            lane = self._lanes[place] = BatchLane(BatchAtProvider(model, protocol))
        self._waiting[item] = question
        if (key := self._items.get(item)) is None:
            lane.queued.append(question)
            self._wake()
        else:
            self.costs.expect(question)
            self._budget.submit(question.expected)
            if key not in self._followed:
                self._follow(key, self._resume(lane, self._batches[key]))
        async with self.places.left(evaluation):
            return await question.answered

    def stop(self, why: str) -> None:
        """Submit nothing any more; what is submitted is waited for."""
        self._ended = self._ended or why
        for lane in self._lanes.values():
            self._refuse(list(lane.queued), why)
            lane.queued.clear()

    def give_up(self, why: str) -> None:
        """Wait for nothing any more: what is submitted stays with the provider until the run is resumed."""
        self._given_up = True
        self.stop(why)
        for task in self._followed.values():
            task.cancel()
        self._refuse(list(self._waiting.values()), why)

    async def close(self) -> None:
        """End what is under way; a batch that is being submitted has a little time to get its id."""
        if self._submitting:
            await asyncio.wait(self._submitting, timeout=_SUBMISSION_SECONDS)
        tasks = [*self._submitting, *self._followed.values(), *([self._gathering] if self._gathering else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _wake(self) -> None:
        self._queued.set()
        if self._gathering is None:
            self._gathering = asyncio.create_task(self._gather())

    async def _gather(self) -> None:
        """Submit what is queued whenever all evaluations wait: until then, others may join."""
        while True:
            await self._queued.wait()
            while self.places.away < self._busy():  # noqa: ASYNC110 - nobody tells when a worker ends
                await asyncio.sleep(_GATHER_SECONDS)
            self._queued.clear()
            try:
                for lane in list(self._lanes.values()):
                    while lane.queued and await self._submit(lane):
                        if lane.queued and self._submitting:  # the requests of one batch are in memory at a time
                            await asyncio.wait(self._submitting)
            except EvenhandError as error:  # what cannot be stored is not submitted
                self._stop(Failure(BATCH, str(error)))

    async def _submit(self, lane: BatchLane) -> bool:
        """Submit as many of the queued questions as fit into one batch, and are within the budget; return whether any.

        What may be too much stays queued while others are to be answered: these may cost less than they might.
        """
        key, protocol = f"eh-{secrets.token_hex(10)}", lane.provider.protocol
        questions: list[BatchQuestion] = []
        lines: list[bytes] = []
        size, most = 0, min(protocol.limits.size, _MOST_BYTES)
        while lane.queued and len(questions) < protocol.limits.requests:
            question = lane.queued[0]
            line = b"" if question.answered.done() else self._line(question, f"{key}-{len(questions)}", lane)
            if not line:
                lane.queued.popleft()
                continue
            if questions and size + len(line) > most:
                break
            is_alone = not questions and not self._is_waited_for
            if why := self.costs.reserve(question, is_alone=is_alone):
                if is_alone or self._budget.used_up is not None:
                    self._stop(Failure(BUDGET, why))  # which empties the queue
                break
            lane.queued.popleft()
            questions.append(question)
            lines.append(line)
            size += len(line) + 1
        if not questions:
            return False
        items = [question.item for question in questions]
        await self._with_store(self._store.provider_batches.intend, self.run, key, lane.provider.model.name, items)
        self._items.update(dict.fromkeys(items, key))
        batch = StoredBatch(key, lane.provider.model.name, None, INTENDED, len(items), time.time())
        self._batches[key] = batch
        task = asyncio.create_task(self._create(lane, batch, lines))
        self._submitting.add(task)
        task.add_done_callback(self._submitting.discard)
        return True

    def _line(self, question: BatchQuestion, custom_id: str, lane: BatchLane) -> bytes:
        """Write a question for a batch; empty where it cannot be asked, and has been answered with that."""
        question.form = question.model.form
        try:
            line = lane.provider.protocol.line(custom_id, question.model.encode(question.ask, question.form))
        except TransportFault as fault:
            failed = Attempt(kind="transport", error=fault.failure)
            question.answered.set_result(Unanswered(error=fault.failure, attempts=(failed,)))
            return b""
        self.costs.expect(question)
        return bytes(memoryview(line))  # a copy: what orjson returns keeps up to ten times the room of its text

    async def _create(self, lane: BatchLane, batch: StoredBatch, lines: list[bytes]) -> None:
        try:
            identity = await lane.provider.create(batch.key, lines, since=batch.created)
        except EvenhandError as error:
            questions = self._questions(batch.key)
            if isinstance(error, BatchRefusedError):
                await self._drop(batch.key)
            self._fail(questions, error)
            return
        await self._named(batch, identity)
        self._tell(f"batch {identity}: {len(lines):,} {'request' if len(lines) == 1 else 'requests'} to {batch.model}")
        if not self._given_up:
            self._follow(batch.key, self._read(lane, batch.key, identity))

    async def _named(self, batch: StoredBatch, identity: str) -> None:
        await self._with_store(self._store.provider_batches.name, batch.key, identity)
        self._batches[batch.key] = batch._replace(id=identity, state=SUBMITTED)

    def _follow(self, key: str, work: Coroutine[Any, Any, None]) -> None:
        self._followed[key] = asyncio.create_task(work)

    async def _resume(self, lane: BatchLane, batch: StoredBatch) -> None:
        """Go on with a batch of an earlier process; one that was never named is looked for, else submitted anew."""
        identity = batch.id
        if identity is None:
            try:
                identity = await lane.provider.find(batch.key, since=batch.created, requests=batch.requests)
            except EvenhandError as error:
                self._fail(self._questions(batch.key), error)
                return
            if identity is None:
                self._ask_again(lane, await self._drop(batch.key))
                return
            await self._named(batch, identity)
        self._tell(f"batch {identity} is from before: {batch.requests:,} requests to {batch.model}")
        await self._read(lane, batch.key, identity)

    async def _read(self, lane: BatchLane, key: str, identity: str) -> None:
        """Wait for a batch, store its answers, then hand them out; what was not answered is asked again."""
        provider = lane.provider
        try:
            state = await provider.ended(identity)
            results = await provider.results(identity, state)
            unanswered = await self._with_store(self._store.provider_batches.unanswered, key)
            faults: dict[str, TransportFault] = {}
            answers: dict[str, Reply] = {}
            unstored: dict[str, dict[str, Any]] = {}
            for result in results:
                item = unanswered.pop(number_in(result.id, key), None)  # the first counts, and none that is not ours
                if item is None:
                    continue
                outcome = self._outcome(item, result, provider.model)
                if isinstance(outcome, TransportFault):
                    faults[item] = outcome
                    continue
                answers[item] = outcome
                unstored[item] = kept_reply(outcome)
                if len(unstored) == _PAGE:
                    await self._with_store(self._store.provider_batches.answer, self.run, unstored)
                    unstored = {}
            await self._with_store(self._store.provider_batches.answer, self.run, unstored)
        except EvenhandError as error:
            is_lost = isinstance(error, BatchFailedError)
            self._fail(await self._drop(key) if is_lost else self._questions(key), error)
            return
        missing = TransportFault("no_result", "the batch is over and has no result of this request", retryable=True)
        faults |= dict.fromkeys(unanswered.values(), missing)
        await self._with_store(self._store.provider_batches.end, key)
        del self._batches[key]
        for item in faults:
            self._items.pop(item, None)
        for item, reply in answers.items():
            if (question := self._waiting.get(item)) is not None:
                self._answer(question, reply)
        again = [
            self._failed(question, fault) for item, fault in faults.items() if (question := self._waiting.get(item))
        ]
        self._ask_again(lane, [question for question in again if question is not None])

    def _outcome(self, item: str, result: BatchResult, model: HttpModel) -> Reply | TransportFault:
        if isinstance(result.outcome, TransportFault):
            return result.outcome
        question = self._waiting.get(item)
        try:
            if question is None:  # of an earlier process, and not asked yet by this one
                reply = model.read(result.outcome, Ask(messages=(), judge=model), model.generation)
            else:
                reply = question.model.read(result.outcome, question.ask, question.form)
        except TransportFault as fault:
            return fault
        return replace(reply, attempts=(replace(reply.attempts[-1], batch=True),))

    def _answer(self, question: BatchQuestion, answer: Reply | Unanswered) -> None:
        if not question.answered.done():
            question.answered.set_result(self._settled(question, answer))
        self._waiting.pop(question.item, None)

    def _settled(self, question: BatchQuestion, answer: Reply | Unanswered) -> Reply | Unanswered:
        self._items.pop(question.item, None)
        return self.costs.settle(question, answer)

    def _failed(self, question: BatchQuestion, fault: TransportFault) -> BatchQuestion | None:
        """Record that a request in a batch failed; return the question if it is to be asked again."""
        failed = Attempt(kind="transport", error=fault.failure, batch=True)
        if not fault.retryable or len(question.failed) + 1 >= question.model.policy.max_transport_attempts:
            self._answer(question, Unanswered(error=fault.failure, attempts=(failed,)))
            return None
        self.costs.give_back(question)
        question.failed.append(failed)
        return question

    def _ask_again(self, lane: BatchLane, questions: list[BatchQuestion]) -> None:
        if self._ended is not None:
            self._refuse(questions, self._ended)
        elif not self.submits:
            self._refuse(questions, NotInBatchError())
        else:
            lane.queued.extend(questions)
            if any(each.queued for each in self._lanes.values()):  # also what waited for the money of others
                self._wake()

    async def _drop(self, key: str) -> list[BatchQuestion]:
        """Forget a batch that does not exist, and return its questions: nothing of it was asked."""
        questions = self._questions(key)
        await self._with_store(self._store.provider_batches.drop, key)
        self._batches.pop(key, None)
        self._items = {item: batch for item, batch in self._items.items() if batch != key}
        for question in questions:
            self.costs.give_back(question)
        return questions

    def _fail(self, questions: list[BatchQuestion], error: EvenhandError) -> None:
        self._stop(Failure(BATCH, str(error)))
        self._refuse(questions, str(error))

    def _questions(self, key: str) -> list[BatchQuestion]:
        return [question for item, question in self._waiting.items() if self._items.get(item) == key]

    def _refuse(self, questions: list[BatchQuestion], why: str | NotInBatchError) -> None:
        for question in questions:
            self._waiting.pop(question.item, None)
            if not question.answered.done():
                question.answered.set_exception(LimitClosed(why) if isinstance(why, str) else why)

    async def _with_store(self, act: Callable[..., Result], *args: Any) -> Result:
        return act(*args) if self._store.commits_quickly else await asyncio.to_thread(act, *args)


_PAGE: Final = 500
