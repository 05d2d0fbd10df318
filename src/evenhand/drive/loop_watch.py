"""A watch on the event loop: what holds it for more than a second is recorded, with its stack.

Everything on a loop waits for whoever does not give it back: questions, commits, deadlines and Ctrl-C. The loop beats
four times a second, and a thread of its own listens.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath
from types import FrameType, TracebackType
from typing import Final, Self

LIMIT_SECONDS: Final = 1.0
BEAT_SECONDS: Final = 0.25
MOST_KEPT: Final = 100
_MOST_FRAMES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A time in which the loop was blocked: how long, up to now or in all, and where; the innermost call comes first.

    The calls are names of files and functions; no values of variables are kept.
    """

    seconds: float
    stack: tuple[str, ...]

    def __str__(self) -> str:
        where = self.stack[0] if self.stack else "an unknown place"
        return f"the event loop was blocked for {self.seconds:.1f} s in {where}"


class Pulse:
    """Tells from times alone when a loop is blocked, and for how long.

    All times are seconds: ``now`` on a clock that goes on while everything sleeps, ``worked`` on one that counts how
    long the thread of the loop was at work. The pulse is felt once in ``beat`` seconds, or later.

    >>> pulse = Pulse(0.0, 0.0, limit=1.0, beat=0.25)
    >>> for now in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5):  # the loop has not beaten since the start
    ...     print(pulse.felt(now, 0.0, 0.0))
    (None, None)
    (None, None)
    (None, None)
    (None, None)
    (None, None)
    (None, 1.5)
    """

    def __init__(self, now: float, worked: float, *, limit: float, beat: float) -> None:
        self._limit = limit
        self._beat = beat
        self._felt_at = now
        self._worked = worked
        self._since = now  # since when the loop could have beaten
        self._is_blocked = False

    def felt(self, now: float, worked: float, beaten_at: float) -> tuple[float | None, float | None]:
        """Return how long a block was that is over now, and how long one has lasted that is noticed now."""
        overslept = now - self._felt_at - self._beat
        # By what the watch was awoken too late, the loop may be too: the process, or the machine, was stopped.
        # Unless the loop was at work meanwhile, and kept the watch from running: a long regular expression does. On a
        # machine with others at work, it may get a quarter of the time.
        if worked - self._worked < overslept / 4:
            self._since += overslept
        self._felt_at, self._worked = now, worked
        ended = begun = None
        if beaten_at > self._since:
            if self._is_blocked:
                ended = beaten_at - self._since
            self._since, self._is_blocked = beaten_at, False
        if not self._is_blocked and now - self._since - self._beat > self._limit:
            begun, self._is_blocked = now - self._since, True
        return ended, begun


class LoopWatch:
    """Watches the running loop while it is entered; ``blocks`` are the last ones, ``longest`` the longest of all.

    ``tell`` hears of each as soon as it is noticed, in the thread that watches: the loop may never move again.
    """

    def __init__(
        self,
        tell: Callable[[Block], None] | None = None,
        *,
        limit: float = LIMIT_SECONDS,
        beat: float = BEAT_SECONDS,
    ) -> None:
        self.blocks: deque[Block] = deque(maxlen=MOST_KEPT)
        self.longest: Block | None = None
        self._tell = tell
        self._limit = limit
        self._beat = beat
        self._process = os.getpid()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="evenhand-loop-watch", daemon=True)
        self._timer: asyncio.TimerHandle | None = None
        self._beaten_at = 0.0

    def __enter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._cpu_seconds = _cpu_clock(self._loop_thread)
        self._on_beat()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._process == os.getpid():  # a forked child has the object, and neither the thread nor its locks
            self._ended.set()
            self._thread.join()

    def _on_beat(self) -> None:
        self._beaten_at = time.monotonic()
        self._timer = self._loop.call_later(self._beat, self._on_beat)

    def _watch(self) -> None:
        pulse = Pulse(time.monotonic(), self._cpu_seconds(), limit=self._limit, beat=self._beat)
        block: Block | None = None
        while not self._ended.wait(self._beat):
            ended, begun = pulse.felt(time.monotonic(), self._cpu_seconds(), self._beaten_at)
            if ended is not None and block is not None:
                self._record(replace(block, seconds=ended), again=True)
            if begun is not None:
                block = Block(seconds=begun, stack=_stack(self._loop_thread))
                self._record(block)
                if self._tell is not None:
                    self._tell(block)

    def _record(self, block: Block, *, again: bool = False) -> None:
        """Keep a block, in place of the last one where that is the same and lasted longer than was known."""
        if again:
            self.blocks.pop()
        self.blocks.append(block)
        if self.longest is None or block.seconds > self.longest.seconds:
            self.longest = block


def _stack(thread: int) -> tuple[str, ...]:
    """Return the calls of a thread, the innermost first, and keep none of its frames."""
    frame: FrameType | None = sys._current_frames().get(thread)
    calls: list[str] = []
    while frame is not None and len(calls) < _MOST_FRAMES:
        code = frame.f_code
        calls.append(f"{'/'.join(PurePath(code.co_filename).parts[-2:])}:{frame.f_lineno} {code.co_qualname}")
        frame = frame.f_back
    return tuple(calls)


def _cpu_clock(thread: int) -> Callable[[], float]:
    """Return a clock of how long a thread was at work; where the system has none, of how long the process was."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(thread)
    return lambda: time.clock_gettime(clock)
