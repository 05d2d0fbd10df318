"""What the system holds of a connection: bytes that came and were not read, and bytes that the other side lacks."""

from __future__ import annotations

import select
import socket
import sys

if sys.platform != "win32":
    import fcntl
    import termios

_NOTHING = b"\0\0\0\0"


class Queues:
    """The two queues of a socket: its unread bytes, and those that the other side has not acknowledged.

    Of a transport that shows no socket nobody can tell.
    """

    __slots__ = ("_count", "_file", "_poll", "_tells_acknowledged")

    def __init__(self, connected: socket.socket | None) -> None:
        self._poll: select.poll | None = None
        self._tells_acknowledged = False
        if connected is None:
            return
        self._file = connected.fileno()
        if hasattr(select, "poll"):
            self._poll = select.poll()
            self._poll.register(self._file, select.POLLIN)
        # Other kinds of sockets count otherwise, and other systems not at all.
        self._tells_acknowledged = sys.platform == "linux" and connected.family in (socket.AF_INET, socket.AF_INET6)
        self._count = bytearray(4)

    @property
    def has_unread(self) -> bool:
        """Whether something came that the loop has not handed over yet; where nobody can tell, something may have."""
        return self._poll is None or bool(self._poll.poll(0))

    @property
    def unacknowledged(self) -> int:
        """How many of the bytes sent may not have reached the other side; 0 where nobody can tell.

        Whatever the other side says acknowledges all that it got before.
        """
        if not self._tells_acknowledged:
            return 0
        try:
            fcntl.ioctl(self._file, termios.TIOCOUTQ, self._count)
        except OSError:
            self._tells_acknowledged = False
            return 0
        return 0 if self._count == _NOTHING else int.from_bytes(self._count, sys.byteorder)
