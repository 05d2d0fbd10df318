"""Time limits for many requests at once, kept by a single timer.

A timer for each request, moved whenever something arrives, would cost more than reading what arrived. Here progress
is only noted down, and the one timer of the loop looks around when it goes off.
"""

from __future__ import annotations

import asyncio
import math
import operator
from types import TracebackType
from typing import Self

_due = operator.attrgetter("due")


class Watch:
    """The alarms of one event loop, and the timer that goes off when the first of them may be due."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.now = loop.time
        self.alarms: set[RequestTimeouts] = set()
        self.goes_off_at = math.inf
        self._set_timer = loop.call_at
        self._timer: asyncio.TimerHandle | None = None

    def go_off_at(self, due: float) -> None:
        """Set the timer, for a moment before the one for which it is set."""
        if self._timer is not None:
            self._timer.cancel()
        self.goes_off_at = due
        self._timer = self._set_timer(due, self._ring_due)

    def _ring_due(self) -> None:
        now = self.now()
        # In their order, also where a busy loop finds several due at once.
        for alarm in sorted((alarm for alarm in self.alarms if alarm.due <= now), key=_due):
            alarm.ring()
        self.goes_off_at, self._timer = math.inf, None
        due = min((alarm.due for alarm in self.alarms), default=math.inf)
        if due < math.inf:
            self.go_off_at(due)


class RequestTimeouts:
    """Ends what a task does under it, with ``TimeoutError``, when the whole or a step of it takes too long.

    ``is_over`` says whether it was the whole.
    """

    __slots__ = ("_cancelling", "_ends", "_rang", "_task", "_watch", "due", "is_over")

    def __init__(self, watch: Watch, seconds: float) -> None:
        self._watch = watch
        self._ends = self.due = watch.now() + seconds
        self._rang = self.is_over = False

    def allow(self, seconds: float = math.inf, *, step: float) -> None:
        """Let the whole take so many seconds from now, if that is less than it has, and what comes next ``step``."""
        watch = self._watch
        now = watch.now()
        self._ends = min(self._ends, now + seconds)
        self.due = due = min(self._ends, now + step)
        if due < watch.goes_off_at:
            watch.go_off_at(due)

    def ring(self) -> None:
        """End what the task does."""
        self._rang, self.is_over, self.due = True, self.due == self._ends, math.inf
        self._task.cancel()

    def __enter__(self) -> Self:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("an alarm is for what a task does")
        self._task = task
        self._cancelling = task.cancelling()
        watch = self._watch
        watch.alarms.add(self)
        if self.due < watch.goes_off_at:
            watch.go_off_at(self.due)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        # The timer stays as it is: another alarm will need it, or nobody will mind.
        self._watch.alarms.discard(self)
        # Somebody else may have cancelled the task meanwhile: then it is theirs.
        if self._rang and self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error
