"""What the system holds of a connection: bytes that came and were not read, and bytes that the other side lacks."""

from __future__ import annotations

import functools
import select
import socket
import sys
from collections.abc import Callable

_NOTHING = b"\0\0\0\0"


class Queues:
    """The two queues of a socket: its unread bytes, and those that the other side has not acknowledged.

    Of a transport that shows no socket nobody can tell.
    """

    __slots__ = ("_count", "_poll", "_take_count")

    def __init__(self, connected: socket.socket | None) -> None:
        self._poll: select.poll | None = None
        self._count = bytearray(4)
        self._take_count: Callable[[], object] | None = None
        if connected is None:
            return
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(connected.fileno(), select.POLLIN)
        # Other kinds of sockets count otherwise, and other systems not at all.
        if sys.platform == "linux" and connected.family in (socket.AF_INET, socket.AF_INET6):
            import fcntl  # noqa: PLC0415 - not on every system
            import termios  # noqa: PLC0415

            self._take_count = functools.partial(fcntl.ioctl, connected.fileno(), termios.TIOCOUTQ, self._count)

    @property
    def has_unread(self) -> bool:
        """Whether something came that the loop has not handed over yet; where nobody can tell, something may have."""
        return self._poll is None or bool(self._poll.poll(0))

    @property
    def unacknowledged(self) -> int:
        """How many of the bytes sent may not have reached the other side; 0 where nobody can tell.

        Whatever the other side says acknowledges all that it got before.
        """
        if self._take_count is None:
            return 0
        try:
            self._take_count()
        except OSError:
            self._take_count = None
            return 0
        return 0 if self._count == _NOTHING else int.from_bytes(self._count, sys.byteorder)
