"""Measuring CPU time, which tells more than the clock on a machine that others use too."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeAlias

# Of so many measurements the least counts: it was disturbed least.
ROUNDS = 3

# What was measured, the figure, and the goal.
Row: TypeAlias = tuple[str, str, str]


def cpu_seconds(work: Callable[[], object]) -> float:
    """Give the CPU time that this process spends on some work."""
    before = time.process_time()
    work()
    return time.process_time() - before


def cpu_of_a_fresh_python(code: str) -> float:
    """Give the CPU time of an interpreter that runs some code, with its bytecode compiled."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", f"{code}\nimport time; print(time.process_time())"]
    return float(subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True).stdout)
