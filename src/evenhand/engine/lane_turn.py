"""The turn of a question in the lane of its account."""

from __future__ import annotations

import time
from typing import Protocol

from evenhand.domain.ask import Ask
from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered
from evenhand.drive.driver import Deadline
from evenhand.engine.concurrency_limit import ConcurrencyLimit, LimitClosed
from evenhand.models.rate_limit import RateLimit, estimated_tokens


class Ending(Protocol):
    """A run that may end while somebody waits."""

    async def pass_rate(self, rate: RateLimit, tokens: float) -> None:
        """Wait until the limits per minute allow a request; raises ``LimitClosed`` when the run ends meanwhile."""
        ...


class LaneTurn:
    """The turn of one question in the lane of its account: entered, given back between retries, and left."""

    __slots__ = ("_deadline", "_holds", "_known", "_lane", "_rate", "_run", "_tokens", "is_lost")

    def __init__(
        self, run: Ending, lane: ConcurrencyLimit, rate: RateLimit | None, ask: Ask, deadline: Deadline
    ) -> None:
        self._run = run
        self._lane = lane
        self._rate = rate
        self._tokens = 0.0 if rate is None else estimated_tokens(ask.messages, ask.max_tokens)
        self._deadline = deadline
        self._holds = False
        self._known = 0
        # Whether the turn was given back and could not be had again.
        self.is_lost = False

    def enter_at_once(self) -> bool:
        """Take the turn if there is one; if not, it must be waited for."""
        self._holds = self._rate is None and self._lane.enter_at_once()
        return self._holds

    async def enter(self) -> None:
        """Wait for the turn; the time that takes is not the case's. Raises ``LimitClosed``."""
        began = time.monotonic()
        try:
            # By the rate first: who waits for that must not keep others from their turn.
            if self._rate is not None:
                await self._run.pass_rate(self._rate, self._tokens)
            await self._lane.enter()
        finally:
            self._deadline.put_off(time.monotonic() - began)
        self._holds = True

    def leave(self, answer: Reply | Unanswered | None) -> None:
        """End the turn."""
        if self._rate is not None and answer is not None:
            usage = answer.attempts[-1].usage if answer.attempts else None
            if usage is not None:
                self._rate.settle(self._tokens, usage.input_tokens + usage.output_tokens)
        if self._holds:
            self._holds = False
            self._lane.leave(answer, known=self._known)

    def give_back(self, failure: Failure, retry_after: float | None) -> None:
        """Let others have the turn while a retry waits."""
        self._holds = False
        self._known += 1
        self._lane.give_back(failure, retry_after)

    async def take_back(self) -> bool:
        """Wait for the turn again; False if there will be none."""
        try:
            await self.enter()
        except LimitClosed:
            self.is_lost = True
        return not self.is_lost

    def pause(self, seconds: float) -> None:
        """Let nobody ask this account for so long."""
        self._lane.pause(seconds)
