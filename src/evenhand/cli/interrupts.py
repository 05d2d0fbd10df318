"""Ctrl-C, SIGTERM and SIGHUP: the first ends a run in good order, the second at once; both can be resumed (REL-D6)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType, TracebackType
from typing import Any, Final

from evenhand.cli.console import last_words
from evenhand.domain.gates import ExitCode

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
# Not on all systems. It comes when the terminal is closed, from the shell and from the system, and says so twice.
HANGUP: Final[signal.Signals | None] = getattr(signal, "SIGHUP", None)


def heard_signals() -> tuple[signal.Signals, ...]:
    """Return the signals that end a program: that of a terminal that was closed only where nobody ignores it.

    Whoever starts a program under ``nohup`` wants it to go on.
    """
    if HANGUP is None or signal.getsignal(HANGUP) == signal.SIG_IGN:
        return _SIGNALS
    return (*_SIGNALS, HANGUP)


class Interrupts:
    """Listens for signals while it is entered.

    While nobody wants to be told, the first signal is a ``KeyboardInterrupt``. ``farewell`` is what is said when the
    second one comes.

    Python's own handlers are used, and not the event loop's: they work on all systems, and they are heard while a
    function keeps the loop busy.
    """

    def __init__(self) -> None:
        self.farewell = "left at once"
        self._count = 0
        self._tell: Callable[[], None] | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        # Only there are signals heard; a program that calls the command elsewhere looks after them itself.
        if threading.current_thread() is threading.main_thread():
            self._before = {one: signal.signal(one, self._heard) for one in heard_signals()}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for one, before in self._before.items():
            signal.signal(one, before)

    @contextlib.contextmanager
    def telling(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """While inside, call a function of this event loop at the first signal."""
        loop = asyncio.get_running_loop()

        def pass_on() -> None:
            loop.call_soon_threadsafe(interrupt)

        self._tell = pass_on
        try:
            yield
        finally:
            self._tell = None

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        if number == HANGUP and self._count:
            return  # nobody is impatient: who could be has gone
        self._count += 1
        if self._count > 1:
            last_words(f"evenhand: {self.farewell}")
            os._exit(ExitCode.INTERRUPTED)
        if self._tell is None:
            raise KeyboardInterrupt
        self._tell()
