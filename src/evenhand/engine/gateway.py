"""The way to the judges during a run: through the cache, the budget, and the lane of each account."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import orjson

from evenhand.domain.ask import Ask, Message
from evenhand.domain.contract import Contract, FieldContract
from evenhand.domain.evaluation import MAX_RAW, Attempt, usage_dict
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.domain.seams import ModelClient
from evenhand.domain.stored import usage_from
from evenhand.drive.driver import Deadline, ask_now
from evenhand.engine.budget import Budget
from evenhand.engine.identity import canonical, hashed
from evenhand.engine.lane import Lane, LaneClosed
from evenhand.engine.remembered import Remembered
from evenhand.models.prices import PriceBook
from evenhand.models.retry import BUDGET
from evenhand.store.replies import FoundReply
from evenhand.store.rows import reply_row
from evenhand.store.store import Store

# Replies that were read by other rules are other replies.
_READING = 1


class Abandoned(Exception):  # noqa: N818 - a question that is not asked is nobody's failure
    """The run stops: this question is not asked, and its evaluation stays to be done."""


class Gateway:
    """Asks judges on behalf of a run. ``stopped`` says why it does not any more."""

    def __init__(
        self, store: Store, *, budget: Budget, prices: PriceBook, concurrency: int, use_cache: bool = True
    ) -> None:
        self._store = store
        self.prices = prices
        self._concurrency = concurrency
        self._use_cache = use_cache
        self.remembered = Remembered(store.reply_keys() if use_cache else ())
        self.budget = budget
        self.stopped: str | None = None
        # Evaluations that were begun may go on to their end, and no others.
        self.draining = False
        self.cached = 0
        # What was asked for evaluations that were given up.
        self.abandoned_calls = 0
        self.abandoned_cost: float | None = 0.0
        self.lanes: dict[str, Lane] = {}
        # By object, which is kept, so that no other can come to have its number.
        self._clients: dict[int, tuple[ModelClient, Lane, bytes | None]] = {}

    def asking(self, sample: int) -> Asking:
        """Begin to ask for one evaluation."""
        return Asking(self, sample)

    def known(self, client: ModelClient) -> tuple[ModelClient, Lane, bytes | None]:
        """Give the lane of a client, and its identity for the cache: one that does not say it is not cached."""
        found = self._clients.get(id(client))
        if found is None:
            account = getattr(client, "account", client.name)
            most = max(1, min(self._concurrency, getattr(client, "at_once", self._concurrency)))
            lane = self.lanes.setdefault(account, Lane(most))
            identity = getattr(client, "identity", None) if self._use_cache else None
            said = canonical(identity) if isinstance(identity, (str, Mapping)) else None
            found = self._clients[id(client)] = (client, lane, said)
        return found

    @property
    def refused(self) -> str | None:
        """What the account of a model said that never said anything else; few cases do not close its lane."""
        said = ((client.name, lane.only_refused) for client, lane, _ in self._clients.values())
        return next((f"{name}: {error}" for name, error in said if error is not None), None)

    def stop(self, why: str) -> None:
        """Ask nothing any more."""
        self.stopped = self.stopped or why

    async def look_up(self, key: str) -> Mapping[str, Any] | None:
        """Look for a reply in the cache."""
        if self._store.database.quick:
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
        client, lane, identity = gateway.known(ask.judge)
        key = None
        if identity is not None:
            key = cache_key(identity, ask, self._sample)
            if key in gateway.remembered and (known := await gateway.look_up(key)) is not None:
                gateway.cached += 1
                return reply_from(known)
        if not lane.enter_at_once():
            await self._turn(lane, deadline)
        if used_up := gateway.budget.used_up:
            gateway.stop(f"{BUDGET}: {used_up}")
        if gateway.stopped is not None or (gateway.draining and not self._begun):
            lane.leave(None)
            raise Abandoned(gateway.stopped or "it was interrupted")
        self._begun = True
        calls = gateway.budget.begin()
        try:
            answer = await ask_now(ask if calls is None else replace(ask, allowance=calls), deadline)
        except BaseException:
            gateway.budget.give_up()
            lane.leave(None)
            self._calls, self.cost = self._calls + 1, None  # one at least, and nobody knows what became of it
            raise
        cost = gateway.prices.cost_of(client.name, answer.attempts)
        self._calls += len(answer.attempts)
        self.cost = None if self.cost is None or cost is None else self.cost + cost
        gateway.budget.end(calls, answer.attempts, cost=cost)
        lane.leave(answer)
        if isinstance(answer, Unanswered):
            self._check(answer, lane, client.name)
        elif len(answer.text) > MAX_RAW and ask.contract is not None:
            # No verdict is that long. It will be asked for again, and what cannot be used need not be held meanwhile.
            *before, last = answer.attempts
            answer = replace(answer, attempts=(*before, last.shortened()))
        elif key is not None and (answer.finish == "stop" or ask.max_tokens == 1):  # one token is all it was to say
            self._kept.append((key, client.name, answer))
        return answer

    def abandon(self) -> None:
        """Give the evaluation up; what it took is counted all the same."""
        gateway = self._gateway
        gateway.abandoned_calls += self._calls
        known = gateway.abandoned_cost
        gateway.abandoned_cost = None if known is None or self.cost is None else known + self.cost

    @staticmethod
    async def _turn(lane: Lane, deadline: Deadline) -> None:
        """Wait for a turn in the lane; the time that takes is not the case's."""
        began = time.monotonic()
        try:
            await lane.enter()
        except LaneClosed as closed:
            raise Abandoned(str(closed)) from None
        deadline.put_off(time.monotonic() - began)

    def _check(self, answer: Unanswered, lane: Lane, name: str) -> None:
        """Give up where it is not this case's trouble: the account is refused, or the budget is used up."""
        gateway = self._gateway
        if answer.error.startswith(f"{BUDGET}:"):
            gateway.stop(f"{BUDGET}: {gateway.budget.used_up}")
            raise Abandoned(answer.error)
        if lane.closed is not None:
            gateway.stop(f"{name}: {lane.closed}")
            raise Abandoned(lane.closed)

    def to_keep(self, attempts: tuple[Attempt, ...]) -> list[tuple[Any, ...]]:
        """Give what the cache may keep: of the replies, those that the evaluation found no fault with (SPEC-S5)."""
        found: list[tuple[Any, ...]] = []
        for key, model, reply in self._kept:
            for place, attempt in enumerate(attempts):
                if attempt is reply.attempts[-1] and attempt.error is None:
                    if attempt.raw == reply.text:
                        rest = first_token_to(reply) if reply.first_token else None
                        found.append(FoundReply(key, model, place, len(reply.text), rest))
                    else:  # it stands nowhere else in these words
                        found.append(reply_row(key, model, reply_to(reply)))
                    break
        return found


def cache_key(identity: bytes, ask: Ask, sample: int) -> str:
    """Hash everything that decides on a reply, and the number of the sample; what is of any length comes with it."""
    form = "" if ask.contract is None else _form(ask.contract)
    settings = f"{_READING} {sample} {ask.sample} {ask.top_logprobs} {ask.room} {ask.max_tokens}"
    messages = ask.messages
    # Often the longest, and the same for all cases. Not with further keys: True and 1 are equal, and not the same.
    if messages and messages[0].role == "system" and not messages[0].more:
        key = _beginning(identity, form, settings, messages[0]).copy()
        messages = messages[1:]
    else:
        key = _beginning(identity, form, settings).copy()
    for message in messages:
        key.update(_written(message))
    return key.hexdigest()


@functools.lru_cache(maxsize=16)
def _beginning(identity: bytes, form: str, settings: str, first: Message | None = None) -> hashlib.blake2b:
    head = f"{len(identity)} {len(form)} {settings} ".encode()
    return hashed(b"".join((head, identity, form.encode(), b"" if first is None else _written(first))))


def _written(message: Message) -> bytes:
    role, content = message.role, message.content
    more = canonical(message.more).decode() if message.more else ""
    return f"{len(role)} {len(content)} {len(more)} {role}{content}{more}".encode("utf-8", "surrogatepass")


def _form(contract: Contract) -> str:
    written = contract.written if isinstance(contract, FieldContract) else None
    return orjson.dumps([contract.name, contract.schema()]).decode() if written is None else written


def reply_to(reply: Reply) -> dict[str, Any]:
    """Write a reply for the cache."""
    last = reply.attempts[-1]
    return {"text": reply.text, "usage": usage_dict(last.usage), **first_token_to(reply)}


def first_token_to(reply: Reply) -> dict[str, Any]:
    """Write what a reply has beside its words: the alternatives for its first token, if any."""
    choices = [[choice.token, choice.logprob] for choice in reply.first_token]
    return {"first_token": choices} if choices else {}


def reply_from(given: Mapping[str, Any]) -> Reply:
    """Read a reply from the cache; its one attempt says that it is from there."""
    attempt = Attempt(kind="reply", raw=given["text"], usage=usage_from(given["usage"]), cached=True)
    choices = tuple(TokenChoice(token=token, logprob=chance) for token, chance in given.get("first_token", ()))
    return Reply(text=given["text"], attempts=(attempt,), first_token=choices)
