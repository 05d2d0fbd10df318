"""Measuring CPU time, which tells more than the clock on a machine that others use too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
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
    shown = os.open(os.devnull, os.O_RDWR) if terminal is None else terminal
    try:
        code, used = ended(command, dict.fromkeys((1,) if terminal is None else (0, 1, 2), shown))
    finally:
        if terminal is None:
            os.close(shown)
    assert code == 0, f"{' '.join(command)} ended with {code}"
    return used


def ended(
    command: Sequence[str], shown: Mapping[int, int], meanwhile: Callable[[int], object] | None = None
) -> tuple[int, Used]:
    """Run a program, and tell its exit code and what it took.

    ``shown`` has the descriptors behind its own; ``meanwhile`` is given its process, and may end it.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    # By a small process in between: a program counts as its own what whoever started it had in memory at that moment.
    ends = ",".join(f"{end}:{other}" for end, other in shown.items())
    between = [sys.executable, "-S", "-c", _BETWEEN, ends, *command]
    with subprocess.Popen(between, env=env, stdout=subprocess.PIPE, pass_fds=set(shown.values()), text=True) as process:
        assert process.stdout
        program = int(process.stdout.readline())
        if meanwhile is not None:
            meanwhile(program)
        code, user, system, kilobytes = process.stdout.read().split()
    return int(code), Used(float(user) + float(system), float(kilobytes) / 1024)


_BETWEEN = """
import os, sys
_, ends, *command = sys.argv
pairs = [end.split(":") for end in ends.split(",")]
shown = [(os.POSIX_SPAWN_DUP2, int(other), int(end)) for end, other in pairs]
process = os.posix_spawn(command[0], command, os.environ, file_actions=shown)
print(process, flush=True)
_, status, used = os.wait4(process, 0)
print(os.waitstatus_to_exitcode(status), used.ru_utime, used.ru_stime, used.ru_maxrss)
"""


def cpu_of_a_fresh_python(code: str) -> float:
    """Return the CPU time of an interpreter that runs some code, with its bytecode compiled."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", f"{code}\nimport time; print(time.process_time())"]
    return float(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)
