"""A server as its users start it, in a process of its own whose CPU time can be read."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

TOKEN = "a-token-for-the-bench"
_TICKS = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def serving(db: str, env: Mapping[str, str]) -> Iterator[tuple[int, tuple[str, int]]]:
    """Serve, and return the process and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "evenhand", "serve", "--port", str(port), "--db", db, "--quiet"]
    env = {**os.environ, **env, "EVENHAND_TOKEN": TOKEN}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    running = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(1200):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.05)
        yield running.pid, ("127.0.0.1", port)
    finally:
        running.terminate()
        running.wait()


def spent(process: int) -> float:
    """Return the CPU seconds of a process up to now, with those of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def peak_megabytes(process: int) -> float:
    """Return the most memory that a process has had."""
    lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:")) / 1024
