"""The budget of a worker: the driver lends it the calls it makes, and reserves what its questions may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from evenhand.cluster.messages import Settled
from evenhand.domain.evaluation import Attempt
from evenhand.engine.budget import Budget, Calls, Limits, Reservation
from evenhand.engine.concurrency_limit import LimitClosed

# The limit that is kept here is what the driver lends, and no number.
_UNLIMITED: Final = 1 << 62


class LentBudget(Budget):
    """Counts what a worker spends. Where the run has a budget, calls are lent by the driver before they are made.

    ``wanted`` is how many turns wait for a call; ``asked`` is called when there is another.
    """

    def __init__(self, *, is_limited: bool, limits_cost: bool, asked: Callable[[], None]) -> None:
        self.asked = asked
        super().__init__(
            Limits(max_calls=_UNLIMITED if is_limited else None, max_cost=float(_UNLIMITED) if limits_cost else None)
        )
        self.settled: list[Settled] = []
        self._outcomes: dict[int, Settled] = {}
        self._is_limited = is_limited
        self.lent = 0
        # Of these, the ones that turns have which did not send their request yet.
        self.promised = 0
        self.wanted = 0
        self.more = asyncio.Event()

    def take(self) -> bool:
        """Take a call out of those that were lent."""
        if self._is_limited:
            if self.lent <= 0:
                return False
            self.lent -= 1
            self.promised = max(self.promised - 1, 0)
        self.calls += 1
        return True

    def end(
        self,
        calls: Calls | None,
        attempts: Sequence[Attempt],
        *,
        cost: float | None,
        reservation: Reservation | None = None,
    ) -> None:
        """End a question, as any budget does, and note what the driver can learn from it."""
        super().end(calls, attempts, cost=cost)
        if isinstance(reservation, LentReservation) and any(attempt.kind == "reply" for attempt in attempts):
            self._outcomes[reservation.number] = Settled(reservation.number, cost)

    def give_up(self, reservation: Reservation | None = None) -> None:
        """Note a question of which nobody knows what became."""
        if isinstance(reservation, LentReservation):
            self._outcomes[reservation.number] = Settled(reservation.number, is_lost=True)

    def release(self, reservation: Reservation | None) -> None:
        """Give back to the driver what was reserved."""
        if isinstance(reservation, LentReservation):
            number = reservation.number
            self.settled.append(self._outcomes.pop(number, Settled(number)))
            self.asked()

    async def promise(self, ended: Callable[[], str | None]) -> None:
        """Wait until a call is lent for a request; raises ``LimitClosed`` when there will be none."""
        if not self._is_limited:
            return
        self.wanted += 1
        self.asked()
        try:
            while self.lent <= self.promised:
                if (why := ended()) is not None:
                    raise LimitClosed(why)
                self.more.clear()
                await self.more.wait()
        finally:
            self.wanted -= 1
        self.promised += 1

    def add(self, calls: int) -> None:
        """Take in calls that the driver lends."""
        self.lent += calls
        self.wake()

    def wake(self) -> None:
        """Let those who wait look again."""
        super().wake()
        self.more.set()

    def spare(self) -> int:
        """Give back what no request waits for, and return how many calls they are."""
        spare = max(self.lent - self.promised - self.wanted, 0)
        self.lent -= spare
        return spare


class LentReservation(Reservation):
    """What the driver has reserved for a question, which it knows by its number."""

    number: int
