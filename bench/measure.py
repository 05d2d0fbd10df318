"""Measuring CPU time, which tells more than the clock on a machine that others use too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

# Of so many measurements the least counts: it was disturbed least.
ROUNDS = 3

# What was measured, the figure, and the goal.
Row: TypeAlias = tuple[str, str, str]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the CPU time that this process spends on some work."""
    before = time.process_time()
    work()
    return time.process_time() - before


class Used(NamedTuple):
    """What a program took: seconds of CPU time, and megabytes of memory at its peak."""

    seconds: float
    megabytes: float


def used_by(command: Sequence[str], *, terminal: int | None = None) -> Used:
    """Run a program to its end, with its bytecode compiled, and tell what it took.

    What it prints goes nowhere, or to a ``terminal``, by its descriptor.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    shown = os.open(os.devnull, os.O_RDWR) if terminal is None else terminal
    # By a small process in between: a program counts as its own what whoever started it had in memory at that moment.
    between = [sys.executable, "-S", "-c", _BETWEEN, str(int(terminal is not None)), str(shown), *command]
    try:
        told = subprocess.run(between, env=env, stdout=subprocess.PIPE, pass_fds=[shown], text=True, check=True).stdout
    finally:
        if terminal is None:
            os.close(shown)
    code, user, system, kilobytes = told.split()
    assert code == "0", f"{' '.join(command)} ended with {code}"
    return Used(float(user) + float(system), float(kilobytes) / 1024)


_BETWEEN = """
import os, sys
_, on_terminal, shown, *command = sys.argv
ends = (0, 1, 2) if int(on_terminal) else (1,)
shown_there = [(os.POSIX_SPAWN_DUP2, int(shown), end) for end in ends]
process = os.posix_spawn(command[0], command, os.environ, file_actions=shown_there)
_, status, used = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime, used.ru_stime, used.ru_maxrss)
"""


def cpu_of_a_fresh_python(code: str) -> float:
    """Return the CPU time of an interpreter that runs some code, with its bytecode compiled."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", f"{code}\nimport time; print(time.process_time())"]
    return float(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)
