"""How many questions a provider's account is asked at once, and when to stop asking it (SPEC-S4).

The limit begins with the number that the user set; or with few questions, and then allows more while all goes well. A
server that says "too many" lowers it at once, to as many as are still under way.
It closes for good when the account itself is refused: trying the next case would not help. Where a refusal may be the
cases' own, it is held until a probe has shown whose it is (see ``breaker``).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from evenhand.domain.failure import Failure
from evenhand.domain.reply import Reply, Unanswered

FIRST_LIMIT: Final = 4
SATURATED: Final = 0.8
# How long the limit stays as it is after the server had too much to do; then it grows by one in each round trip.
CALM_SECONDS: Final = 15.0
# The longest pause that a server may ask for.
LONGEST_PAUSE_SECONDS: Final = 60.0

# The server has too much to do; fewer questions at once will help.
CROWDED: Final = frozenset({"rate_limited", "overloaded"})
# The account, its key, the model or the server's own identity is refused, or it is elsewhere: no case can help that.
# So many in a row, without a reply in between, close the lane.
REFUSED: Final = frozenset({"unauthorized", "forbidden", "not_found", "quota", "certificate", "redirect"})
REFUSALS_TO_CLOSE: Final = 3
# Of these, the ones that no case has for its own sake. A quota is among them: a small probe may still be paid for, and
# that says nothing about questions of the usual size.
UNMISTAKABLE: Final = frozenset({"quota", "certificate", "redirect"})
# A request that is wrong in itself may be one case's trouble; if nothing else ever came back, it is everybody's.
MALFORMED: Final = frozenset({"bad_request"})
MALFORMED_TO_CLOSE: Final = 5
# Nobody is there. So many questions, each with all its tries, close the lane where no answer ever came.
UNREACHABLE: Final = frozenset({"connection", "proxy"})
UNREACHED_TO_CLOSE: Final = 3
# The provider may be gone for a while. Not so where something answers and it is no sound answer, which is one case's
# trouble or a wrong address; where a response began and took too long; or where there is too much to do (CROWDED).
OUTAGE: Final = UNREACHABLE | {"connect_timeout", "first_byte_timeout", "server_error", "overloaded"}


class LimitClosed(Exception):  # noqa: N818 - it ends the run, and the run says why
    """The account is not asked any more; the message says why."""


class ConcurrencyLimit:
    """The questions to one account that are under way.

    While it is ``held``, no question begins. One that ``is_probed`` does not close by itself when refusals suggest it:
    it is held, and its ``doubt`` says why, until somebody releases or closes it. Without ``slow_start``, ``most``
    questions may begin at once.
    """

    def __init__(
        self,
        most: int,
        *,
        slow_start: bool = True,
        is_probed: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.most = most
        self.limit = float(min(FIRST_LIMIT, most) if slow_start else most)
        self.in_flight = 0
        self.widest = 0
        self.closed: str | None = None
        self.held = False
        self.doubt: str | None = None
        self.answered = False
        # Set by the next reply, for whoever waits for one.
        self.heard: asyncio.Event | None = None
        self._is_probed = is_probed
        self._clock = clock
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._slow_start = slow_start
        self._crowded_at = float("-inf")
        self._paused_until = float("-inf")
        self._end_of_pause: asyncio.TimerHandle | None = None
        self._refusals = 0
        self._refusal: str | None = None
        self._malformed = 0
        self._unreached = 0

    @property
    def wanted(self) -> int:
        """How many questions are under way or wait for their turn."""
        return self.in_flight + len(self._waiting)

    def enter_at_once(self) -> bool:
        """Take a turn if there is one; if not, it must be waited for."""
        if self.closed is not None or self.in_flight >= self._open():
            return False
        self.in_flight += 1
        self.widest = max(self.widest, self.in_flight)
        return True

    async def enter(self) -> None:
        """Wait for a turn."""
        queue = self._waiting.append
        while not self.enter_at_once():
            if self.closed is not None:
                raise LimitClosed(self.closed)
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            queue(turn)
            queue = self._waiting.appendleft  # whoever was overtaken is still the next
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._wake()  # somebody else's turn, then
                raise

    def leave(self, answer: Reply | Unanswered | None, *, known: int = 0) -> None:
        """End a turn, and learn from what came back; None for one that was given up.

        So many of the first attempts are ``known``: the turn was given back after each.
        """
        saturated = not self.held and self.in_flight >= SATURATED * self._open()
        self.in_flight -= 1
        try:
            if answer is not None:
                self._learn(answer, known, saturated=saturated)
        finally:
            if self._waiting:
                self._wake()

    def give_back(self, failure: Failure, retry_after: float | None) -> None:
        """Let others have the turn of a request that failed and will be retried, and learn from the failure."""
        self.in_flight -= 1
        if failure.kind in CROWDED:
            self._narrow()
            if retry_after is not None:
                self.pause(retry_after)
        if self._waiting:
            self._wake()

    def pause(self, seconds: float) -> None:
        """Let no question begin for so long."""
        until = self._clock() + min(seconds, LONGEST_PAUSE_SECONDS)
        if until <= self._paused_until:
            return
        self._paused_until = until
        if self._end_of_pause is not None:
            self._end_of_pause.cancel()
        # A little later, so that by the clock it is over then.
        self._end_of_pause = asyncio.get_running_loop().call_later(until - self._clock() + 0.001, self._wake)

    def end_pause(self) -> None:
        """Forget about a pause: the run has ended."""
        if self._end_of_pause is not None:
            self._end_of_pause.cancel()

    def hold(self) -> None:
        """Let no question begin, until the lane is released or closed."""
        self.held = True

    def release(self, *, answered: bool) -> None:
        """Let questions begin again: what was in doubt is not; ``answered`` says that the account gave a reply."""
        self.held = False
        self.doubt = self._refusal = None
        self._refusals = self._malformed = self._unreached = 0
        self.answered = self.answered or answered
        self._wake()

    def close(self, why: str) -> None:
        """Let no question begin any more, and tell those who wait."""
        self.closed = why
        self.held = False
        self._wake()

    @property
    def only_refused(self) -> str | None:
        """What an account said that never said anything else; few cases do not close its lane."""
        return None if self.answered else self._refusal

    def _open(self) -> int:
        if self.held or (self._end_of_pause is not None and self._clock() < self._paused_until):
            return 0
        # After a refusal one at a time, until it is clear whether it was the account's.
        return 1 if self._refusals else int(self.limit)

    def _learn(self, answer: Reply | Unanswered, known: int, *, saturated: bool) -> None:
        crowded = False
        for attempt in answer.attempts[known:]:
            crowded = crowded or (attempt.error is not None and Failure.of(attempt.error).kind in CROWDED)
        if isinstance(answer, Reply):
            self.answered = True
            self._refusals = self._malformed = 0
            if self.heard is not None:
                self.heard.set()
        else:
            self._count(Failure.of(answer.error).kind, answer.error)
        if crowded:
            self._narrow()
        elif saturated and isinstance(answer, Reply) and self.limit < self.most:
            if self._slow_start:
                self.limit = min(self.most, self.limit + 1.0)
            elif self._clock() - self._crowded_at >= CALM_SECONDS:
                self.limit = min(self.most, self.limit + 1.0 / self.limit)

    def _narrow(self) -> None:
        """Allow no more than are still under way: one more was too many."""
        self._slow_start = False
        self._crowded_at = self._clock()
        self.limit = max(1.0, min(self.limit, float(self.in_flight)))

    def _count(self, kind: str, error: str) -> None:
        if kind in REFUSED:
            self._refusals += 1
            self._refusal = error
        elif kind in MALFORMED:
            self._malformed += 1
        elif kind in UNREACHABLE:
            self._unreached += 1
        else:
            return
        lost = self._malformed >= MALFORMED_TO_CLOSE or self._unreached >= UNREACHED_TO_CLOSE
        if self._refusals < REFUSALS_TO_CLOSE and (not lost or self.answered):
            return
        if self._is_probed and kind not in UNMISTAKABLE:
            self.doubt = error
            self.hold()
        else:
            self.closed = error

    def _wake(self) -> None:
        """Let as many go on as there is room for."""
        room = len(self._waiting) if self.closed is not None else self._open() - self.in_flight
        while room > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                room -= 1


def is_refusal(error: str) -> bool:
    """Return whether an evaluation failed because of the account, so that a resumed run does it again.

    That may be the account of a target, or of a member, whose failure is quoted within the error.
    """
    return Failure.of(error).is_one_of(REFUSED | UNREACHABLE)
