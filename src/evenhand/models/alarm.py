"""Time limits for many requests at once, kept by a single timer.

A timer for each request, moved whenever something arrives, would cost more than reading what arrived. Here progress
is only noted down, and the one timer of the loop looks around when it goes off.
"""

from __future__ import annotations

import asyncio
import math
from types import TracebackType
from typing import Self


class Watch:
    """The alarms of one event loop, and the timer that goes off when the first of them may be due."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._alarms: set[Alarm] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._goes_off_at = math.inf
        self.now = self._loop.time

    def add(self, alarm: Alarm) -> None:
        """Take an alarm into account."""
        self._alarms.add(alarm)
        self.be_awake_at(alarm.due)

    def remove(self, alarm: Alarm) -> None:
        """Forget an alarm. The timer stays as it is: another one will need it, or nobody will mind."""
        self._alarms.discard(alarm)

    def be_awake_at(self, due: float) -> None:
        """See to it that the timer goes off by then; it may well go off earlier."""
        if due < self._goes_off_at:
            if self._timer is not None:
                self._timer.cancel()
            self._goes_off_at = due
            self._timer = self._loop.call_at(due, self._look_around)

    def _look_around(self) -> None:
        now = self.now()
        for alarm in tuple(self._alarms):
            if alarm.due <= now:
                alarm.ring()
        self._goes_off_at, self._timer = math.inf, None
        self.be_awake_at(min((alarm.due for alarm in self._alarms), default=math.inf))


class Alarm:
    """Ends what a task does under it, with ``TimeoutError``, when the whole or a step of it takes too long.

    ``is_over`` tells whether it was the whole.
    """

    __slots__ = ("_cancelling", "_ends", "_rang", "_task", "_watch", "due", "is_over")

    def __init__(self, watch: Watch, seconds: float) -> None:
        self._watch = watch
        self._ends = self.due = watch.now() + seconds
        self._rang = self.is_over = False

    def allow(self, seconds: float = math.inf, *, step: float) -> None:
        """Let the whole take so many seconds from now, if that is less than it has, and what comes next ``step``."""
        now = self._watch.now()
        self._ends = min(self._ends, now + seconds)
        self.due = min(self._ends, now + step)
        self._watch.be_awake_at(self.due)

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
        self._watch.add(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._watch.remove(self)
        # Somebody else may have cancelled the task meanwhile: then it is theirs.
        if self._rang and self._task.uncancel() <= self._cancelling and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error
