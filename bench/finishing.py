"""What the end of a run costs: the CPU time of ``evenhand run`` after its last evaluation was committed."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench import provider
from bench.judging import SIDE_BY_SIDE, case
from bench.measure import ROUNDS, Row, used_by
from bench.running import KEY, written

CASES = 12_000
SHARE = 0.05


def rows(cases: int = CASES) -> Iterator[Row]:
    os.environ[KEY] = "k"
    with tempfile.TemporaryDirectory() as folder, provider.running() as port:
        suite = written(Path(folder) / "suite.yaml", map(case, range(cases)), port)
        measured = [measure(suite, Path(folder) / f"{number}.db") for number in range(ROUNDS)]
    yield f"evenhand run, {cases:,} cases", f"{min(whole for whole, _ in measured):.1f} s", ""
    yield "the share of it after the last commit", f"{min(end / whole for whole, end in measured):.3f}", f"{SHARE}"


def measure(suite: Path, database: Path) -> tuple[float, float]:
    """Run the command in a process of its own; return its CPU time, and how much of it came after the last commit."""
    mark = database.with_suffix(".mark")
    command = ["run", str(suite), "--db", str(database), "-j", str(SIDE_BY_SIDE)]
    whole = used_by([sys.executable, "-m", "bench.marked_command", str(mark), *command]).seconds
    return whole, whole - float(mark.read_text())
