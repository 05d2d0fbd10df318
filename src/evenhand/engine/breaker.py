"""The breaker of an account: it separates a case's own failure from everybody's, and waits for a provider that is gone.

It finds out by a *probe*, a small question that any model can answer. One that is answered shows that the account is
fine. One that is refused closes the lane, and the run stops. A provider that does not answer it is gone: the lane is
held, and probed until the provider is back or the user's patience is over.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from evenhand.domain.ask import ModelClient
from evenhand.domain.failure import Failure
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.engine.concurrency_limit import MALFORMED, OUTAGE, REFUSED, ConcurrencyLimit, LimitClosed
from evenhand.engine.job import DEFAULT_OUTAGE_SECONDS
from evenhand.models.retry import RetryPolicy, TransportFault
from evenhand.reports.phrases import duration_text

# Without a limit of tokens: some models refuse one by its name, and those that think use it up before they answer.
PROBE: Final = (Message("user", "Reply with: ok"),)
PROBE_SECONDS: Final = 60.0
PROBE_INTERVALS: Final = RetryPolicy(base=1.0, cap=30.0)
# What says neither that the account is fine nor that it is refused.
_UNDECIDED: Final = OUTAGE | {"rate_limited", "timeout", "deadline"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A provider that is gone: whose model, what happened, how long it is waited for, how long it was gone at last."""

    model: str
    error: str
    limit: float
    lasted: float | None = None

    def __str__(self) -> str:
        if self.lasted is not None:
            return f"{self.model} is back after {duration_text(self.lasted)}"
        patience = duration_text(self.limit).removesuffix(" 0 s").removesuffix(" 0 min")
        return f"{self.model} does not answer ({self.error}); pausing, and retrying for up to {patience}"


# Told when a provider is gone, and when it is back.
OutageObserver: TypeAlias = Callable[[Outage], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a provider that is gone is waited for, in seconds, and how often it is probed meanwhile."""

    seconds: float = DEFAULT_OUTAGE_SECONDS
    intervals: RetryPolicy = PROBE_INTERVALS


class Breaker:
    """Settles, one doubt at a time, whether the account of a lane takes questions.

    ``probe`` sends the small question, or gives None where nothing may be sent any more. ``stop`` is told why the lane
    was closed.
    """

    def __init__(
        self,
        lane: ConcurrencyLimit,
        *,
        probe: Callable[[ModelClient], Awaitable[Reply | Unanswered | None]],
        stop: Callable[[str], None],
        tell: OutageObserver | None = None,
        patience: Patience,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lane = lane
        # The one that lasts, and how many are over.
        self.outage: Outage | None = None
        self.outages = 0
        # Who was refused last: where no case is left to tell, a probe does.
        self.suspect: ModelClient | None = None
        self._probe = probe
        self._stop = stop
        self._tell = tell
        self._patience = patience
        self._clock = clock
        self._settled: asyncio.Future[None] | None = None
        self._task: asyncio.Task[None] | None = None

    def concerns(self, answer: Unanswered) -> bool:
        """Return whether a failure may be everybody's, so that it must be settled."""
        kind = Failure.of(answer.error).kind
        if self.lane.doubt is not None:
            return kind in OUTAGE or kind in REFUSED or kind in MALFORMED
        # Where nobody ever answered, the lane counts: few failures may be those of few cases.
        return kind in OUTAGE and self.lane.answered

    async def settle(self, client: ModelClient, error: str) -> None:
        """Wait until it is clear whether the account takes questions; raise ``LimitClosed`` where it does not."""
        if self._settled is None:
            self._settled = asyncio.get_running_loop().create_future()
            self._task = asyncio.create_task(self._settle(client, error))
        await asyncio.shield(self._settled)
        if self.lane.closed is not None:
            raise LimitClosed(self.lane.closed)

    def give_up(self, why: str) -> None:
        """Wait for nothing any more: whoever waits here, or for the lane, hears why."""
        if self._settled is None and not self.lane.held:
            return
        self.lane.close(why)
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        self._end()

    async def close(self) -> None:
        """End what is still under way."""
        if (task := self._task) is not None:
            self.give_up("the run has ended")
            await asyncio.wait([task])

    async def _settle(self, client: ModelClient, error: str) -> None:
        self.lane.heard = asyncio.Event()
        try:
            why = await self._verdict(client, error, self.lane.heard)
        except Exception as crash:  # a client is anybody's code, and others wait for this
            why = Failure("crashed", f"{type(crash).__name__}: {crash}")
        if why is not None:
            self.lane.close(why)
        self._end()
        if why is not None:
            self._stop(f"{client.name}: {why}")

    def _end(self) -> None:
        """Let go of all who wait; the lane is released, unless it was closed."""
        heard, self.lane.heard = self.lane.heard, None
        settled, self._settled, self._task, outage, self.outage = self._settled, None, None, self.outage, None
        is_back = self.lane.closed is None and outage is not None
        self.outages += is_back
        if self.lane.closed is None:
            self.lane.release(answered=heard is not None and heard.is_set())
        if settled is not None and not settled.done():
            settled.set_result(None)
        if is_back:
            self._announce(outage)

    async def _verdict(self, client: ModelClient, error: str, heard: asyncio.Event) -> str | None:
        """Probe until it is clear whether the account takes questions: None, or why it does not."""
        began, failures = self._clock(), 0
        while not heard.is_set():  # by a question that was under way
            answer = await self._probe(client)
            if answer is None:
                return error
            if isinstance(answer, Reply):
                heard.set()
                break
            kind = Failure.of(answer.error).kind
            if kind not in _UNDECIDED:
                if self._is_refusal(kind):
                    return error
                break  # somebody is there, and has another complaint
            failures += 1
            waited = self._clock() - began
            if not self.lane.answered or self._patience.seconds <= 0:
                return error
            if waited >= self._patience.seconds:
                return f"{answer.error}; gave up after waiting {duration_text(waited)}"
            self._pause(client, answer.error)
            fault = TransportFault(kind, answer.error, retryable=True, retry_after=answer.retry_after)
            wait = self._patience.intervals.wait(failures, fault, random.random())  # noqa: S311 - no secret
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(wait, self._patience.seconds - waited)):
                    await heard.wait()
        if self.outage is not None:
            self.outage = replace(self.outage, lasted=self._clock() - began)
        return None

    def _is_refusal(self, kind: str) -> bool:
        """Return whether a probe that failed so, too, says that the doubt was right."""
        doubt = self.lane.doubt
        return doubt is not None and (kind in REFUSED or Failure.of(doubt).kind in MALFORMED)

    def _pause(self, client: ModelClient, error: str) -> None:
        if self.outage is None:
            self.lane.hold()
            self.outage = Outage(model=client.name, error=error, limit=self._patience.seconds)
            self._announce(self.outage)

    def _announce(self, outage: Outage | None) -> None:
        if self._tell is not None and outage is not None:
            self._tell(outage)
