"""The gateway of a worker: its limits are shares of those that the driver keeps for all workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

from evenhand.cluster.lent_budget import LentBudget, LentReservation
from evenhand.cluster.messages import Request, Settled, Spent
from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.drive.driver import Deadline
from evenhand.engine.breaker import Breaker, Outage, Patience
from evenhand.engine.budget import Reservation
from evenhand.engine.compact_sets import BloomFilter
from evenhand.engine.concurrency_limit import OUTAGE, LimitClosed
from evenhand.engine.gateway import Abandoned, Asking, Entry, Gateway
from evenhand.engine.question_costs import Question, question_of
from evenhand.models.embedded.catalogue import PREFIX
from evenhand.models.prices import PriceBook
from evenhand.models.rate_limit import RateLimit
from evenhand.models.retry import BUDGET
from evenhand.store.store import Store


class LeasedAsking(Asking):
    """The questions of one evaluation; what they may cost is reserved by the driver."""

    __slots__ = ()

    async def _reserve(self, ask: Ask, deadline: Deadline) -> Reservation | None:
        gateway = self._gateway
        if not gateway.budget.limits_cost or not isinstance(gateway, LeasedGateway):
            return None
        self._require_leave()
        began = time.monotonic()
        try:
            return await gateway.reserved(question_of(ask, gateway.prices.price_of(ask.judge.name)))
        except LimitClosed as closed:
            raise Abandoned(str(closed)) from None
        finally:
            deadline.put_off(time.monotonic() - began)

    async def _is_own(self, answer: Unanswered, client: ModelClient, breaker: Breaker, outages: int) -> bool:
        """Return whether a failure is the question's own, by what all workers know of the provider.

        A provider that other workers wait for is waited for here too: the question is put anew, and waits for its
        turn until the provider is back. One that is back already answers a probe, as if it had never been gone.
        """
        gateway = self._gateway
        if Failure.of(answer.error).kind not in OUTAGE or not isinstance(gateway, LeasedGateway):
            return await super()._is_own(answer, client, breaker, outages)
        if gateway.is_held_elsewhere(client):
            return False
        knew_it = breaker.lane.answered
        if not await super()._is_own(answer, client, breaker, outages):
            return False
        await gateway.news()
        if gateway.is_held_elsewhere(client) or breaker.outages != outages:
            return False
        return knew_it or await super()._is_own(answer, client, breaker, outages)


class LeasedGateway(Gateway):
    """Asks on behalf of a worker; replies in the cache, calls and requests per minute are the driver's to give."""

    def __init__(
        self,
        *,
        prices: PriceBook,
        places: int,
        slow_start: bool,
        patience: Patience,
        is_limited: bool,
        limits_cost: bool,
        remembered: BloomFilter | None,
        changed: asyncio.Event,
    ) -> None:
        self.lent = LentBudget(is_limited=is_limited, limits_cost=limits_cost, asked=changed.set)
        self._is_limited = is_limited
        self._changed = changed
        self.outages: list[tuple[str, Outage]] = []
        self.unsent: list[Request] = []
        self.questions: list[tuple[int, Question]] = []
        self.used: list[tuple[str, str, float, float]] = []
        self.look_ups: dict[str, asyncio.Future[Mapping[str, Any] | None]] = {}
        self.unasked: list[str] = []
        self._through: dict[int, asyncio.Future[None]] = {}
        self._number = 0
        self._held_elsewhere: set[str] = set()
        self._answered_elsewhere: set[str] = set()
        self._gone: dict[str, str] = {}
        self._is_told = False
        # Those who wait for news: until the next report, and after it until the orders that follow.
        self.awaiting_news: list[asyncio.Future[None]] = []
        self._awaiting_orders: list[asyncio.Future[None]] = []
        super().__init__(
            cast("Store", None),  # there is none here, and without the cache nobody looks for it
            budget=self.lent,
            prices=prices,
            concurrency=places,
            slow_start=slow_start,
            use_cache=False,
            patience=patience,
            tell=self._note_outage,
        )
        self._use_cache = remembered is not None
        if remembered is not None:
            self.remembered = remembered

    @property
    def spent(self) -> Spent:
        """What was used so far."""
        budget = self.lent
        return Spent(
            calls=budget.calls,
            faults=budget.faults,
            cost=budget.cost,
            cost_is_known=budget.cost_is_known,
            cached=self.cached,
            abandoned_calls=self.abandoned_calls,
            abandoned_cost=self.abandoned_cost,
        )

    def _rate_of(self, client: ModelClient, account: str) -> RateLimit | None:
        """Return a limit that is asked for at the driver; any, where there is a budget, so that all wait for it."""
        rpm, tpm = getattr(client, "rpm", None), getattr(client, "tpm", None)
        if rpm is None and tpm is None and not self._is_limited:
            return None
        key = (account, client.name)
        return self._rates.setdefault(key, LentRate(self, account, client.name, rpm=rpm, tpm=tpm))

    def asking(self, sample: int, where: str = "") -> Asking:
        """Begin to ask for one evaluation."""
        return LeasedAsking(self, sample, where)

    async def reserved(self, question: Question) -> Reservation:
        """Wait until the driver has reserved what a question may cost; raises ``LimitClosed`` when the run ends."""
        self._number += 1
        number = self._number
        self.questions.append((number, question))
        try:
            await self._passed(number)
        except BaseException:  # it may have been reserved meanwhile
            self.lent.settled.append(Settled(number))
            raise
        reservation = LentReservation(question, 0.0)
        reservation.number = number
        return reservation

    async def _passed(self, number: int) -> None:
        """Wait until the driver lets a request or a question pass."""
        self._changed.set()
        turn = self._through[number] = asyncio.get_running_loop().create_future()
        try:
            await turn
        finally:
            del self._through[number]
        if self.ending is not None:
            raise LimitClosed(self.ending)

    async def pass_rate(self, rate: RateLimit, tokens: float) -> None:
        """Wait until the driver lets a request through; raises ``LimitClosed`` when the run ends."""
        await self.lent.promise(lambda: self.ending)
        assert isinstance(rate, LentRate)  # noqa: S101 - made above
        if rate.is_free:
            return
        self._number += 1
        request = Request(self._number, rate.account, rate.model, rate.rpm, rate.tpm, tokens)
        self.unsent.append(request)
        await self._passed(request.number)

    def let_through(self, numbers: Sequence[int]) -> None:
        """Let requests begin that the limits allow."""
        for number in numbers:
            if (turn := self._through.get(number)) is not None and not turn.done():
                turn.set_result(None)

    async def look_up(self, key: str) -> Mapping[str, Any] | None:
        """Look for a reply in the driver's cache."""
        found = self.look_ups.get(key)
        if found is None:
            found = self.look_ups[key] = asyncio.get_running_loop().create_future()
            self.unasked.append(key)
            self._changed.set()
        return await asyncio.shield(found)

    def found(self, replies: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Take in what the driver's cache has."""
        for key, reply in replies.items():
            if (waiting := self.look_ups.pop(key, None)) is not None and not waiting.done():
                waiting.set_result(reply)

    def _wait_for_nobody(self) -> None:
        super()._wait_for_nobody()
        self.note_report()
        self.note_news()
        self.lent.wake()
        self.let_through(list(self._through))

    def _note_outage(self, outage: Outage) -> None:
        """Note that a provider is gone, or is back, for the driver and with it all other workers."""
        for account, breaker in self._breakers.items():
            if breaker.outage is outage:
                self._gone[outage.model] = account
        self.outages.append((self._gone.get(outage.model, outage.model), outage))
        self._changed.set()

    def stop(self, why: str) -> None:
        """Ask nothing any more. A lack of lent calls is no reason: the driver knows whether the budget is used up."""
        if Failure.of(why).kind != BUDGET or self._is_told:
            super().stop(why)

    def stop_as_told(self, why: str) -> None:
        """Ask nothing any more, since the driver says so."""
        self._is_told = True
        self.stop(why)

    async def _probe(self, client: ModelClient) -> Reply | Unanswered | None:
        try:
            await self.lent.promise(lambda: self.ending)
        except LimitClosed:
            return None
        return await super()._probe(client)

    async def news(self) -> None:
        """Wait for orders that the driver gives after the next report: they say what other workers found out."""
        if self.ending is not None:
            return
        informed = asyncio.get_running_loop().create_future()
        self.awaiting_news.append(informed)
        self._changed.set()
        await informed

    def note_report(self) -> None:
        """Note that a report was made: the orders after it are news."""
        self._awaiting_orders += self.awaiting_news
        self.awaiting_news = []

    def note_news(self) -> None:
        """Let those go on who wait for news, since the orders after a report have been followed."""
        informed, self._awaiting_orders = self._awaiting_orders, []
        for each in informed:
            if not each.done():
                each.set_result(None)

    def is_held_elsewhere(self, client: ModelClient) -> bool:
        """Return whether another worker waits for the provider of this client."""
        return getattr(client, "account", client.name) in self._held_elsewhere

    def note_answered(self, accounts: Sequence[str]) -> None:
        """Note that these accounts gave a reply to another worker: if they are silent now, that is an outage."""
        for account in accounts:
            self._answered_elsewhere.add(account)
            if (lane := self.lanes.get(account)) is not None:
                lane.answered = True

    def hold(self, accounts: Sequence[str]) -> None:
        """Ask nobody at these accounts: another worker found their provider gone."""
        for account in accounts:
            self._held_elsewhere.add(account)
            if (lane := self.lanes.get(account)) is not None and lane.doubt is None:
                lane.hold()

    def release(self, accounts: Sequence[str]) -> None:
        """Ask again at these accounts: what failed meanwhile failed for everybody."""
        for account in accounts:
            if account in self._held_elsewhere:
                self._held_elsewhere.discard(account)
                breaker = self._breakers.get(account)
                if breaker is not None and breaker.outage is None and breaker.lane.closed is None:
                    breaker.outages += 1
                    breaker.lane.release(answered=True)

    def entry_of(self, client: ModelClient) -> Entry:
        """Return what is known of a client, by other workers too: one whose provider is gone is held from the start."""
        is_new = id(client) not in self._clients
        entry = super().entry_of(client)
        if is_new:
            account, lane = getattr(client, "account", client.name), entry.breaker.lane
            lane.answered = lane.answered or account in self._answered_elsewhere
            if account in self._held_elsewhere:
                lane.hold()
        return entry

    @property
    def refusals(self) -> dict[str, str | None]:
        """By account that was asked: what it said that never said anything else."""
        return {
            account: None
            if breaker.suspect is None or (error := breaker.lane.only_refused) is None
            else f"{breaker.suspect.name}: {error}"
            for account, breaker in self._breakers.items()
        }

    @property
    def waits(self) -> bool:
        """Whether something here waits for the driver."""
        return bool(self._through or self.look_ups or self.lent.wanted)

    @property
    def waiting_for_providers(self) -> int:
        """How many questions are at a provider now, or wait for its limits; a model of the cluster is no provider."""
        lanes = (lane.wanted for account, lane in self.lanes.items() if not account.startswith(PREFIX))
        return sum(lanes) + len(self._through)


class LentRate(RateLimit):
    """The limits per minute of a model, which the driver keeps."""

    def __init__(
        self, gateway: LeasedGateway, account: str, model: str, *, rpm: float | None, tpm: float | None
    ) -> None:
        super().__init__(clock=time.monotonic)
        self._gateway = gateway
        self.account = account
        self.model = model
        self.rpm = rpm
        self.tpm = tpm

    @property
    def is_free(self) -> bool:
        """Whether requests need not be asked for."""
        return self.rpm is None and self.tpm is None

    def settle(self, estimated: float, used: float) -> None:
        """Note what a request took, for the driver."""
        if not self.is_free:
            self._gateway.used.append((self.account, self.model, estimated, used))
