"""What it takes to list, show and compare runs that are finished, each by a command of its own."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.large_run import filled
from bench.measure import ROUNDS, Row, used_by
from evenhand.store.store import open_store

CASES = 100_000
# For a million cases, of which there are fewer here: what grows with them is a tenth of that.
LISTED, SHOWN, COMPARED = "1 s", "2 s", "6 s"


def rows(cases: int = CASES) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        db = str(Path(folder) / "large.db")
        with contextlib.closing(open_store(db)) as store:
            a, b = (filled(store, cases).id for _ in range(2))
        for run in (a, b):
            yield f"the first report of a run, of {cases:,} cases", seconds(db, "report", run, rounds=1), ""
        yield f"runs list, with two runs of {cases:,} cases", seconds(db, "runs", "list"), LISTED
        yield f"report, of {cases:,} cases", seconds(db, "report", b), SHOWN
        yield f"compare, of two runs of {cases:,} cases", seconds(db, "compare", a, b), COMPARED


def seconds(db: str, *command: str, rounds: int = ROUNDS) -> str:
    whole = [sys.executable, "-m", "evenhand", *command, "--db", db]
    return f"{min(used_by(whole).seconds for _ in range(rounds)):.2f} s"


if __name__ == "__main__":
    for what, measured, goal in rows(*map(int, sys.argv[1:])):
        print(f"{what:<68} {measured:>10}  {goal}", flush=True)
