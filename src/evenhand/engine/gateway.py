"""The way to the judges during a run: through the cache, the budget, and the concurrency limit of each account."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.evaluation import Attempt
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.run import RunRecord
from evenhand.drive.driver import Deadline, ask_now
from evenhand.engine.batch_queue import BatchQueue, NotInBatchError
from evenhand.engine.breaker import PROBE, PROBE_SECONDS, Breaker, OutageObserver, Patience
from evenhand.engine.budget import Budget, Reservation
from evenhand.engine.cached_replies import KeptReplies, cache_key, reply_from
from evenhand.engine.compact_sets import BloomFilter
from evenhand.engine.concurrency_limit import OUTAGE, REFUSED, ConcurrencyLimit, LimitClosed
from evenhand.engine.identity import canonical
from evenhand.engine.lane_turn import LaneTurn
from evenhand.engine.question_costs import question_of
from evenhand.models.prices import PriceBook
from evenhand.models.rate_limit import RateLimit
from evenhand.models.retry import BUDGET
from evenhand.store.store import Store

# How often a question is asked anew after an outage: one that brings its provider down must come to an end.
_MOST_ANEW = 3
_INTERRUPTED = "it was interrupted"


class Abandoned(Exception):  # noqa: N818 - a question that is not asked is nobody's failure
    """The run stops: this question is not asked, and its evaluation stays to be done."""


class Entry(NamedTuple):
    """A client, the breaker of its lane, its identity for the cache (None: not cached), and its limit per minute."""

    client: ModelClient
    breaker: Breaker
    identity: bytes | None
    rate: RateLimit | None


class Gateway:
    """Asks judges on behalf of a run. ``stopped`` says why it does not any more."""

    def __init__(
        self,
        store: Store,
        *,
        budget: Budget,
        prices: PriceBook,
        concurrency: int,
        slow_start: bool = True,
        use_cache: bool = True,
        patience: Patience | None = None,
        tell: OutageObserver | None = None,
    ) -> None:
        self._store = store
        self.prices = prices
        self._concurrency = concurrency
        self._slow_start = slow_start
        self._use_cache = use_cache
        self.remembered = BloomFilter(store.reply_keys() if use_cache else ())
        self.budget = budget
        self.stopped: str | None = None
        self.put = ask_now
        self.batches: BatchQueue | None = None
        # Evaluations that were begun may go on to their end, and no others.
        self.draining = False
        self.cached = 0
        # What was asked for evaluations that were given up.
        self.abandoned_calls = 0
        self.abandoned_cost: float | None = 0.0
        self.lanes: dict[str, ConcurrencyLimit] = {}
        self._patience = patience or Patience()
        self._tell = tell
        self._breakers: dict[str, Breaker] = {}
        self._rates: dict[tuple[str, str], RateLimit] = {}
        # By object, which is kept, so that no other can come to have its number.
        self._clients: dict[int, Entry] = {}
        self._ended = asyncio.Event()

    def ask_in_batches(self, run: RunRecord, **how: Any) -> None:
        """Ask everything in batches, in a way that ``BatchQueue`` describes."""
        self.batches = BatchQueue(self._store, run, budget=self.budget, prices=self.prices, stop=self.stop, **how)

    def local_place(self) -> contextlib.AbstractAsyncContextManager[None]:
        """Take a place for an evaluation; only where they are asked in batches is there a limit to these."""
        return contextlib.nullcontext() if self.batches is None else self.batches.places.taken()

    def asking(self, sample: int, where: str = "") -> Asking:
        """Begin to ask for one evaluation; ``where`` tells it from all others of the run."""
        return Asking(self, sample, where)

    def entry_of(self, client: ModelClient) -> Entry:
        """Return what the gateway knows of a client."""
        entry = self._clients.get(id(client))
        if entry is None:
            account = getattr(client, "account", client.name)
            most = max(1, min(self._concurrency, getattr(client, "at_once", self._concurrency)))
            if (breaker := self._breakers.get(account)) is None:
                lane = self.lanes[account] = ConcurrencyLimit(most, slow_start=self._slow_start, is_probed=True)
                breaker = self._breakers[account] = Breaker(
                    lane, probe=self._probe, stop=self.stop, tell=self._tell, patience=self._patience
                )
            identity = getattr(client, "identity", None) if self._use_cache else None
            cache_identity = canonical(identity) if isinstance(identity, (str, Mapping)) else None
            rate = self._rate_of(client, account)
            entry = self._clients[id(client)] = Entry(client, breaker, cache_identity, rate)
        return entry

    def _rate_of(self, client: ModelClient, account: str) -> RateLimit | None:
        """Return the limit per minute of a model, which all who ask it on the same account share."""
        rpm, tpm = getattr(client, "rpm", None), getattr(client, "tpm", None)
        if rpm is None and tpm is None:
            return None
        return self._rates.setdefault((account, client.name), RateLimit(rpm=rpm, tpm=tpm))

    async def pass_rate(self, rate: RateLimit, tokens: float) -> None:
        """Wait until the limits per minute allow a request; raises ``LimitClosed`` when the run ends meanwhile."""
        while (seconds := rate.take(tokens)) > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._ended.wait()
            if self.ending is not None:
                raise LimitClosed(self.ending)

    @property
    def paused(self) -> str | None:
        """Say which provider is gone and waited for, if one is."""
        return next((str(breaker.outage) for breaker in self._breakers.values() if breaker.outage is not None), None)

    @property
    def refused(self) -> str | None:
        """What the account of a model said that never said anything else; few cases do not close its lane."""
        for breaker in self._breakers.values():
            if breaker.suspect is not None and (error := breaker.lane.only_refused) is not None:
                return f"{breaker.suspect.name}: {error}"
        return None

    async def settle_refusals(self) -> None:
        """Find out, of accounts that only ever refused, whether that was for the sake of their few cases."""
        for breaker in self._breakers.values():
            if breaker.suspect is None or breaker.lane.only_refused is None or self.ending is not None:
                continue
            breaker.lane.doubt = breaker.lane.only_refused
            with contextlib.suppress(LimitClosed):
                await breaker.settle(breaker.suspect, breaker.lane.only_refused)

    @property
    def ending(self) -> str | None:
        """Why no other evaluation is begun, if so."""
        return self.stopped or (_INTERRUPTED if self.draining else None)

    def stop(self, why: str) -> None:
        """Ask nothing any more."""
        self.stopped = self.stopped or why
        if self.batches is not None:
            self.batches.stop(self.stopped)
        self._wait_for_nobody()

    def drain(self) -> None:
        """Begin no other evaluation, and wait for no provider that is gone."""
        self.draining = True
        if self.batches is not None:
            self.batches.give_up(_INTERRUPTED)
        self._wait_for_nobody()

    def _wait_for_nobody(self) -> None:
        self._ended.set()
        self.budget.wake()
        for breaker in self._breakers.values():
            breaker.give_up(self.ending or _INTERRUPTED)

    async def close(self) -> None:
        """End what is still under way."""
        if self.batches is not None:
            await self.batches.close()
        for breaker in self._breakers.values():
            breaker.lane.end_pause()
            await breaker.close()

    async def _probe(self, client: ModelClient) -> Reply | Unanswered | None:
        """Send the small question, once; None where nothing may be sent any more. It is counted as any other."""
        if used_up := self.budget.used_up:
            self.stop(Failure(BUDGET, used_up))
        if self.ending is not None:
            return None
        asking = self.asking(0)
        try:
            return await asking.send(Ask(messages=PROBE, judge=client, sent_once=True), client, Deadline(PROBE_SECONDS))
        finally:
            asking.abandon()  # it belongs to no evaluation

    async def look_up(self, key: str) -> Mapping[str, Any] | None:
        """Look for a reply in the cache."""
        if self._store.commits_quickly:
            return self._store.reply(key)
        return await asyncio.to_thread(self._store.reply, key)


class Asking:
    """The questions of one evaluation: what they cost, and the replies that the cache may keep."""

    __slots__ = ("_begun", "_calls", "_gateway", "_kept", "_sample", "_where", "asked", "cost", "waited")

    def __init__(self, gateway: Gateway, sample: int, where: str = "") -> None:
        self._gateway = gateway
        self._sample = sample
        self._where = where
        # How many questions went into batches, and how many seconds their answers took.
        self.asked = 0
        self.waited = 0.0
        self._kept = KeptReplies()
        self._begun = False
        self._calls = 0
        self.cost: float | None = 0.0

    async def ask(self, ask: Ask, deadline: Deadline) -> Reply | Unanswered:
        """Ask a judge, or find that it was asked before."""
        gateway = self._gateway
        client, breaker, identity, rate = gateway.entry_of(ask.judge)
        key = None if identity is None else cache_key(identity, ask, self._sample)
        if gateway.batches is not None:
            with contextlib.suppress(NotInBatchError):
                return await self._ask_in_batch(ask, key, deadline, gateway.batches)
        if key is not None and (cached := await self._from_cache(key)) is not None:
            return cached
        anew = 0
        before: tuple[Attempt, ...] = ()
        while True:
            reservation = await self._reserve(ask, deadline)
            turn, answer = LaneTurn(gateway, breaker.lane, rate, ask, deadline), None
            try:
                if not turn.enter_at_once():
                    await turn.enter()
                outages, began = breaker.outages, time.monotonic()
                self._require_leave()
                self._begun = True
                answer = await self.send(ask, client, deadline, turn, reservation)
            except LimitClosed as closed:
                raise Abandoned(str(closed)) from None
            finally:  # whatever happens, the turn and what was reserved are given back
                turn.leave(answer)
                gateway.budget.release(reservation)
            if isinstance(answer, Reply):
                break
            if turn.is_lost and gateway.ending is not None:
                raise Abandoned(gateway.ending)
            own = await self._is_own(answer, client, breaker, outages)
            if own or anew == _MOST_ANEW:
                break
            # The provider is back: all over again, in as much time as the case had.
            deadline.put_off(time.monotonic() - began)
            anew, before = anew + 1, (*before, *answer.attempts)
        if before:
            answer = replace(answer, attempts=(*before, *answer.attempts))
        return answer if isinstance(answer, Unanswered) else self._kept.note(answer, ask, key)

    async def _from_cache(self, key: str) -> Reply | None:
        if key not in self._gateway.remembered or (stored := await self._gateway.look_up(key)) is None:
            return None
        self._gateway.cached += 1
        return reply_from(stored)

    async def _ask_in_batch(
        self, ask: Ask, key: str | None, deadline: Deadline, batches: BatchQueue
    ) -> Reply | Unanswered:
        """Ask together with others. What was submitted before, and is paid for, comes before the cache."""
        item = batches.item_of(ask, self._sample, f"{self._where} {self.asked}")
        self.asked += 1
        if item not in batches:
            if not batches.submits:
                raise NotInBatchError
            if key is not None and (cached := await self._from_cache(key)) is not None:
                return cached
            self._require_leave()
        began = time.monotonic()
        try:
            answer = await batches.ask(ask, item, self._where)
        except LimitClosed as closed:
            raise Abandoned(str(closed)) from None
        finally:
            waited = time.monotonic() - began
            self.waited += waited
            deadline.put_off(waited)
        self._begun = True
        self._calls += len(answer.attempts)
        cost = self._cost_of(ask.judge, answer.attempts)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        return answer if isinstance(answer, Unanswered) else self._kept.note(answer, ask, key)

    async def _reserve(self, ask: Ask, deadline: Deadline) -> Reservation | None:
        """Reserve what a question may cost, where dollars are limited; wait while others may leave enough for it."""
        budget = self._gateway.budget
        if not budget.limits_cost:
            return None
        question, began = question_of(ask, self._gateway.prices.price_of(ask.judge.name)), time.monotonic()
        while True:
            self._require_leave()
            if (reservation := budget.reserve(question)) is not None:
                deadline.put_off(time.monotonic() - began)
                return reservation
            if (why := budget.refusal(question)) is not None:
                self._gateway.stop(Failure(BUDGET, why))
            else:
                await budget.changed()

    async def send(
        self,
        ask: Ask,
        client: ModelClient,
        deadline: Deadline,
        turn: LaneTurn | None = None,
        reservation: Reservation | None = None,
    ) -> Reply | Unanswered:
        """Put a question, and account for what it took: whatever happens, the budget has it back."""
        gateway = self._gateway
        calls = gateway.budget.begin()
        sent: tuple[Attempt, ...] | None = None
        cost: float | None = None
        try:
            answer = await gateway.put(ask if calls is None else replace(ask, allowance=calls), deadline, turn)
            sent = answer.attempts
            cost = self._cost_of(client, sent)
            if cost:
                answer = replace(answer, attempts=gateway.prices.priced(client.name, sent))
        finally:
            if sent is None:
                gateway.budget.give_up(reservation)
            else:
                gateway.budget.end(calls, sent, cost=cost, reservation=reservation)
            self._calls += 1 if sent is None else len(sent)  # one at least, and nobody knows what became of it
            self.cost = None if self.cost is None or cost is None else self.cost + cost
        return answer

    def _cost_of(self, client: ModelClient, sent: tuple[Attempt, ...]) -> float | None:
        try:
            return self._gateway.prices.cost_of(client.name, sent)
        except Exception:  # what cannot be reckoned is unknown, and the reply is kept
            return None

    def abandon(self) -> None:
        """Abandon the evaluation; what it took is counted all the same."""
        gateway = self._gateway
        gateway.abandoned_calls += self._calls
        cost_before = gateway.abandoned_cost
        gateway.abandoned_cost = None if cost_before is None or self.cost is None else cost_before + self.cost

    def _require_leave(self) -> None:
        """Return up where nothing may be asked any more, or not for an evaluation that was not begun."""
        gateway = self._gateway
        if used_up := gateway.budget.used_up:
            gateway.stop(Failure(BUDGET, used_up))
        if gateway.stopped is not None or (gateway.draining and not self._begun):
            raise Abandoned(gateway.ending)

    async def _is_own(self, answer: Unanswered, client: ModelClient, breaker: Breaker, outages: int) -> bool:
        """Return whether a failure is the question's own, or that of an outage which is over: then it is asked anew.

        Give up where it is everybody's: the account is refused, the provider does not come back, or the budget is
        used up. ``outages`` is how many were over when the question was put.
        """
        gateway, lane, kind = self._gateway, breaker.lane, Failure.of(answer.error).kind
        if kind == BUDGET:
            gateway.stop(Failure(BUDGET, str(gateway.budget.used_up)))
            raise Abandoned(answer.error)
        if lane.closed is not None:
            if gateway.ending is None:
                gateway.stop(f"{client.name}: {lane.closed}")
            raise Abandoned(lane.closed)
        if kind in REFUSED:
            breaker.suspect = client
        if not breaker.concerns(answer):
            return True
        if gateway.ending is not None:
            breaker.give_up(gateway.ending)
            raise Abandoned(gateway.ending)
        if kind not in OUTAGE or breaker.outages == outages:
            try:
                await breaker.settle(client, answer.error)
            except LimitClosed as closed:
                raise Abandoned(str(closed)) from None
        return kind not in OUTAGE or breaker.outages == outages

    def to_keep(self, attempts: tuple[Attempt, ...]) -> list[tuple[Any, ...]]:
        """Return what the cache may keep: of the replies, those that the evaluation found no fault with (SPEC-S5)."""
        return self._kept.rows(attempts)
