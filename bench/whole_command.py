"""What a case costs people: the whole command on a terminal, with its progress, its store and its table.

It runs in a process of its own over many cases, minus the same command over one case, beside the bare aiohttp client
in a process of its own, minus the same client with one request.
"""

from __future__ import annotations

import contextlib
import os
import pty
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from bench import provider
from bench.judging import SIDE_BY_SIDE, case
from bench.measure import Row, Used, used_by
from bench.running import KEY, written

CASES = 12_000
TURNS = 5
TIMES = 1.5


def rows(cases: int = CASES, turns: int = TURNS) -> Iterator[Row]:
    os.environ[KEY] = "k"
    with tempfile.TemporaryDirectory() as folder, provider.running() as port:
        place = Path(folder)
        many = written(place / "many.yaml", map(case, range(cases)), port)
        one = written(place / "one.yaml", [case(0)], port)
        run(one, place / "first.db", "--quiet")  # compiles, and tells the provider what a request looks like
        by_turns = [turn(place / str(number), many, one, cases, port) for number in range(turns)]
    bare, quiet, shown = (min(times) for times in zip(*by_turns, strict=True))
    least = f"best of {turns}"
    yield f"a bare request, {cases:,} of them, {least}", _microseconds(bare), ""
    yield "a case of evenhand run --quiet, less its start", _microseconds(quiet), ""
    yield "a case of evenhand run on a terminal, less its start", _microseconds(shown), ""
    yield "quiet, over a bare request", f"{quiet / bare:.2f}", ""
    yield "on a terminal, over a bare request", f"{shown / bare:.2f}", f"{TIMES}, and 1.0 in sight"
    yield "the same in each turn", " ".join(f"{shown / bare:.2f}" for bare, _, shown in by_turns), ""


def turn(place: Path, many: Path, one: Path, cases: int, port: int) -> tuple[float, float, float]:
    """Return the seconds of CPU time for a request, a case of the quiet command, and one on a terminal."""
    place.mkdir()
    with terminal() as shown:
        bare = bare_client(port, cases).seconds - bare_client(port, 1).seconds
        quiet = run(many, place / "q.db", "--quiet").seconds - run(one, place / "q1.db", "--quiet").seconds
        watched = run(many, place / "t.db", on=shown).seconds - run(one, place / "t1.db", on=shown).seconds
    for database in place.iterdir():
        database.unlink()
    return bare / (cases - 1), quiet / (cases - 1), watched / (cases - 1)


def run(suite: Path, database: Path, *more: str, on: int | None = None) -> Used:
    """Run the command in a process of its own, as people type it."""
    command = ["run", str(suite), "--db", str(database), "-j", str(SIDE_BY_SIDE), *more]
    return used_by([sys.executable, "-m", "evenhand", *command], terminal=on)


def bare_client(port: int, requests: int) -> Used:
    """Send requests with the bare client, in a process of its own."""
    return used_by([sys.executable, "-m", "bench.bare_client", str(port), str(requests)])


@contextlib.contextmanager
def terminal() -> Iterator[int]:
    """Open a terminal that somebody reads, and give the end that a program writes to."""
    reading, writing = pty.openpty()
    reader = threading.Thread(target=_read_all, args=(reading,), daemon=True)
    reader.start()
    try:
        yield writing
    finally:
        os.close(writing)
        reader.join()
        os.close(reading)


def _read_all(descriptor: int) -> None:
    with contextlib.suppress(OSError):  # the other end is closed
        while os.read(descriptor, 65536):
            pass


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.0f} µs"
