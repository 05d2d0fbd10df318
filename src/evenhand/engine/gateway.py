"""The way to the judges during a run: through the cache, the budget, and the concurrency limit of each account."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.contract import Contract, FieldContract
from evenhand.domain.evaluation import MAX_RAW, Attempt, usage_dict
from evenhand.domain.failure import Failure
from evenhand.domain.json_codec import usage_from
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.drive.driver import Deadline, ask_now
from evenhand.engine.breaker import PROBE, PROBE_SECONDS, Breaker, OutageObserver, Patience
from evenhand.engine.budget import Budget
from evenhand.engine.compact_sets import BloomFilter
from evenhand.engine.concurrency_limit import OUTAGE, REFUSED, ConcurrencyLimit, LimitClosed
from evenhand.engine.identity import canonical, hashed
from evenhand.models.prices import PriceBook
from evenhand.models.retry import BUDGET
from evenhand.store.replies import FoundReply
from evenhand.store.rows import reply_row
from evenhand.store.store import Store

# Replies that were read by other rules are other replies.
_READING = 1
# How often a question is asked anew after an outage: one that brings its provider down must come to an end.
_MOST_ANEW = 3
_INTERRUPTED = "it was interrupted"


class Abandoned(Exception):  # noqa: N818 - a question that is not asked is nobody's failure
    """The run stops: this question is not asked, and its evaluation stays to be done."""


class Gateway:
    """Asks judges on behalf of a run. ``stopped`` says why it does not any more."""

    def __init__(
        self,
        store: Store,
        *,
        budget: Budget,
        prices: PriceBook,
        concurrency: int,
        use_cache: bool = True,
        patience: Patience | None = None,
        tell: OutageObserver | None = None,
    ) -> None:
        self._store = store
        self.prices = prices
        self._concurrency = concurrency
        self._use_cache = use_cache
        self.remembered = BloomFilter(store.reply_keys() if use_cache else ())
        self.budget = budget
        self.stopped: str | None = None
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
        # By object, which is kept, so that no other can come to have its number.
        self._clients: dict[int, tuple[ModelClient, Breaker, bytes | None]] = {}

    def asking(self, sample: int) -> Asking:
        """Begin to ask for one evaluation."""
        return Asking(self, sample)

    def entry_of(self, client: ModelClient) -> tuple[ModelClient, Breaker, bytes | None]:
        """Return the breaker of a client's lane, and its identity for the cache: without one, it is not cached."""
        entry = self._clients.get(id(client))
        if entry is None:
            account = getattr(client, "account", client.name)
            most = max(1, min(self._concurrency, getattr(client, "at_once", self._concurrency)))
            if (breaker := self._breakers.get(account)) is None:
                lane = self.lanes[account] = ConcurrencyLimit(most, is_probed=True)
                breaker = self._breakers[account] = Breaker(
                    lane, probe=self._probe, stop=self.stop, tell=self._tell, patience=self._patience
                )
            identity = getattr(client, "identity", None) if self._use_cache else None
            cache_identity = canonical(identity) if isinstance(identity, (str, Mapping)) else None
            entry = self._clients[id(client)] = (client, breaker, cache_identity)
        return entry

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
        self._wait_for_nobody()

    def drain(self) -> None:
        """Begin no other evaluation, and wait for no provider that is gone."""
        self.draining = True
        self._wait_for_nobody()

    def _wait_for_nobody(self) -> None:
        for breaker in self._breakers.values():
            breaker.give_up(self.ending or _INTERRUPTED)

    async def close(self) -> None:
        """End what is still under way."""
        for breaker in self._breakers.values():
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

    __slots__ = ("_begun", "_calls", "_gateway", "_kept", "_sample", "cost")

    def __init__(self, gateway: Gateway, sample: int) -> None:
        self._gateway = gateway
        self._sample = sample
        self._kept: list[tuple[str, str, Reply]] = []
        self._begun = False
        self._calls = 0
        self.cost: float | None = 0.0

    async def ask(self, ask: Ask, deadline: Deadline) -> Reply | Unanswered:
        """Ask a judge, or find that it was asked before."""
        gateway = self._gateway
        client, breaker, identity = gateway.entry_of(ask.judge)
        lane = breaker.lane
        key = None
        if identity is not None:
            key = cache_key(identity, ask, self._sample)
            if key in gateway.remembered and (stored := await gateway.look_up(key)) is not None:
                gateway.cached += 1
                return reply_from(stored)
        anew = 0
        before: tuple[Attempt, ...] = ()
        while True:
            if not lane.enter_at_once():
                await self._turn(lane, deadline)
            outages, began, answer = breaker.outages, time.monotonic(), None
            try:
                self._require_leave()
                answer = await self.send(ask, client, deadline)
            finally:  # whatever happens, the turn is given back
                lane.leave(answer)
            if isinstance(answer, Reply):
                break
            own = await self._is_own(answer, client, breaker, outages)
            if own or anew == _MOST_ANEW:
                break
            # The provider is back: all over again, in as much time as the case had.
            deadline.put_off(time.monotonic() - began)
            anew, before = anew + 1, (*before, *answer.attempts)
        if before:
            answer = replace(answer, attempts=(*before, *answer.attempts))
        return answer if isinstance(answer, Unanswered) else self._note(answer, ask, key)

    def _note(self, reply: Reply, ask: Ask, key: str | None) -> Reply:
        """Note a reply for the cache, or shorten one that is too long to be used."""
        if len(reply.text) > MAX_RAW and ask.contract is not None:
            # No verdict is that long. It will be asked for again, and what cannot be used need not be held meanwhile.
            *earlier, last = reply.attempts
            return replace(reply, attempts=(*earlier, last.shortened()))
        if key is not None and (reply.finish == "stop" or ask.max_tokens == 1):  # one token is all it was to say
            self._kept.append((key, ask.judge.name, reply))
        return reply

    async def send(self, ask: Ask, client: ModelClient, deadline: Deadline) -> Reply | Unanswered:
        """Put a question, and account for what it took: whatever happens, the budget has it back."""
        gateway = self._gateway
        calls = gateway.budget.begin()
        sent: tuple[Attempt, ...] | None = None
        cost: float | None = None
        try:
            answer = await ask_now(ask if calls is None else replace(ask, allowance=calls), deadline)
            sent = answer.attempts
            cost = self._cost_of(client, sent)
        finally:
            if sent is None:
                gateway.budget.give_up()
            else:
                gateway.budget.end(calls, sent, cost=cost)
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

    @staticmethod
    async def _turn(lane: ConcurrencyLimit, deadline: Deadline) -> None:
        """Wait for a turn in the lane; the time that takes is not the case's."""
        began = time.monotonic()
        try:
            await lane.enter()
        except LimitClosed as closed:
            raise Abandoned(str(closed)) from None
        deadline.put_off(time.monotonic() - began)

    def _require_leave(self) -> None:
        """Return up where nothing may be asked any more, or not for an evaluation that was not begun."""
        gateway = self._gateway
        if used_up := gateway.budget.used_up:
            gateway.stop(Failure(BUDGET, used_up))
        if gateway.stopped is not None or (gateway.draining and not self._begun):
            raise Abandoned(gateway.ending)
        self._begun = True

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
        rows: list[tuple[Any, ...]] = []
        for key, model, reply in self._kept:
            for place, attempt in enumerate(attempts):
                if attempt is reply.attempts[-1] and attempt.error is None:
                    if attempt.raw == reply.text:
                        rest = first_token_to(reply) if reply.first_token else None
                        rows.append(FoundReply(key, model, place, len(reply.text), rest))
                    else:  # it is nowhere else in these words
                        rows.append(reply_row(key, model, reply_to(reply)))
                    break
        return rows


def cache_key(identity: bytes, ask: Ask, sample: int) -> str:
    """Hash everything that decides on a reply, and the number of the sample; what is of any length comes with it."""
    form = "" if ask.contract is None else _contract_form(ask.contract)
    settings = f"{_READING} {sample} {ask.sample} {ask.top_logprobs} {ask.room} {ask.max_tokens}"
    messages = ask.messages
    # Often the longest, and the same for all cases. Not with further keys: True and 1 are equal, and not the same.
    if messages and messages[0].role == "system" and not messages[0].more:
        key = _beginning(identity, form, settings, messages[0]).copy()
        messages = messages[1:]
    else:
        key = _beginning(identity, form, settings).copy()
    for message in messages:
        key.update(_message_bytes(message))
    return key.hexdigest()


@functools.lru_cache(maxsize=16)
def _beginning(identity: bytes, form: str, settings: str, first: Message | None = None) -> hashlib.blake2b:
    head = f"{len(identity)} {len(form)} {settings} ".encode()
    return hashed(b"".join((head, identity, form.encode(), b"" if first is None else _message_bytes(first))))


def _message_bytes(message: Message) -> bytes:
    role, content = message.role, message.content
    more = canonical(message.more).decode() if message.more else ""
    return f"{len(role)} {len(content)} {len(more)} {role}{content}{more}".encode("utf-8", "surrogatepass")


def _contract_form(contract: Contract) -> str:
    written = contract.written if isinstance(contract, FieldContract) else None
    return orjson.dumps([contract.name, contract.schema()]).decode() if written is None else written


def reply_to(reply: Reply) -> dict[str, Any]:
    """Write a reply for the cache."""
    last = reply.attempts[-1]
    stated = {} if last.model is None else {"model": last.model}
    return {"text": reply.text, "usage": usage_dict(last.usage), **stated, **first_token_to(reply)}


def first_token_to(reply: Reply) -> dict[str, Any]:
    """Write what a reply has beside its words: the alternatives for its first token, if any."""
    choices = [[choice.token, choice.logprob] for choice in reply.first_token]
    return {"first_token": choices} if choices else {}


def reply_from(stored: Mapping[str, Any]) -> Reply:
    """Read a reply from the cache; its one attempt says that it is from there."""
    attempt = Attempt(
        kind="reply",
        raw=stored["text"],
        usage=usage_from(stored["usage"]),
        cached=True,
        model=stored.get("model"),
    )
    choices = tuple(TokenChoice(token=token, logprob=chance) for token, chance in stored.get("first_token", ()))
    return Reply(text=stored["text"], attempts=(attempt,), first_token=choices)
