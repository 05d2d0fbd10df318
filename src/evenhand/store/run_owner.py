"""Which process runs a run, and whether it is still alive.

A process is known by its host, its number, when it started, and the machine it runs on: the boot of the kernel, and the
namespace in which its number counts. Numbers are reused, and containers share both host names and numbers, so that
where one cannot be certain, the last sign of life decides.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Final, NamedTuple

# A process that cannot be looked at, and was not heard of for so long, is taken for dead.
SILENT_SECONDS: Final = 60.0
HEARTBEAT_SECONDS: Final = 10.0

_UNKNOWN: Final = "?"
_PROC: Final = Path("/proc")
_ENDED: Final = ("Z", "X", "x")
_PS_SECONDS: Final = 5.0


class Owner(NamedTuple):
    """A process as the table of runs names it; older versions did not say when it started, nor on which machine."""

    host: str
    process: int
    started: str
    machine: str
    token: str

    @classmethod
    def read(cls, text: str) -> Owner:
        """Parse the column: ``host:process:started:machine:token``, or ``host:process:token``."""
        parts = text.split(":")
        host, process, token = parts[0], parts[1] if len(parts) > 1 else "", parts[-1]
        number = int(process) if process.isascii() and process.isdecimal() else 0
        started, machine = parts[2:4] if len(parts) == 5 else (_UNKNOWN, _UNKNOWN)
        return cls(host, number, started, machine, token)

    @property
    def text(self) -> str:
        """The value of the column."""
        return ":".join((self.host, str(self.process), self.started, self.machine, self.token))

    @property
    def words(self) -> str:
        """The process in words."""
        return f"process {self.process} on {self.host}"

    def lives(self, seen: float | None) -> bool:
        """Return whether the process is alive; ``seen`` is the time of its last heartbeat."""
        me = this_process()
        if self == me:
            return True
        heard_of = seen is not None and time.time() - seen < SILENT_SECONDS
        if me.machine == self.machine != _UNKNOWN:
            if self.process == me.process:  # its number is ours now
                return False
            started = _start_time(self.process)
            return heard_of if _UNKNOWN in (started, self.started) else started == self.started
        if self.machine == _UNKNOWN and self.host == me.host and self.process != me.process:
            return heard_of and _start_time(self.process) is not None
        return heard_of


def this_process() -> Owner:
    """Return this process."""
    return _process(os.getpid())


@functools.lru_cache(maxsize=1)
def _process(number: int) -> Owner:
    host = socket.gethostname().replace(":", "-")
    return Owner(host, number, _start_time(number) or _UNKNOWN, _machine(), _TOKEN)


# Tells apart what nothing else does: a program that takes the place of another in the same process.
_TOKEN: Final = secrets.token_hex(4)


def _start_time(process: int) -> str | None:
    """Return when a process started, as an opaque text; None if there is no such process."""
    if os.name != "posix" or process <= 0:
        return _UNKNOWN
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    if sys.platform == "linux":
        with contextlib.suppress(OSError, ValueError, IndexError):
            # The name is in parentheses, and may have some itself.
            fields = (_PROC / str(process) / "stat").read_text(errors="replace").rpartition(")")[2].split()
            return None if fields[0] in _ENDED else fields[19]
        return _UNKNOWN
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        command = ["ps", "-o", "lstart=", "-p", str(process)]
        output = subprocess.run(command, capture_output=True, text=True, timeout=_PS_SECONDS, check=False).stdout  # noqa: S603 - a number
        return "-".join(output.replace(":", ".").split()) or _UNKNOWN
    return _UNKNOWN


def _machine() -> str:
    """Return the machine and its namespace of process numbers, or unknown."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip().replace(":", "-")
            return f"{boot}/{(_PROC / 'self/ns/pid').stat().st_ino}"
        return _UNKNOWN
    return f"{uuid.getnode():x}" if os.name == "posix" else _UNKNOWN
