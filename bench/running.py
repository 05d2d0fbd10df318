"""What a run costs from suite file to store: beside the bare client, in memory, and from a cold start."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench import provider
from bench.judging import CASES, SIDE_BY_SIDE, case, last_body, microseconds, request_all
from bench.measure import ROUNDS, Row, Used, cpu_seconds, used_by
from evenhand.cli.main import COLLECT_AFTER
from evenhand.domain.case import Case
from evenhand.domain.run import RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.store.store import open_store
from evenhand.suites.suite import job_of, read_suite

TIMES = 2.2
# So often each is done in a round: a machine that others use too is quick at one moment and slow at the next.
TURNS = 5
COLD_SECONDS = 0.9
SOME, MANY = 20_000, 200_000
SOME_MEGABYTES, MORE_MEGABYTES = 120, 10
KEY = "EVENHAND_BENCH_KEY"


def rows() -> Iterator[Row]:
    os.environ[KEY] = "k"
    usual = gc.get_threshold()
    with tempfile.TemporaryDirectory() as folder, provider.running() as port:
        place = Path(folder)
        gc.set_threshold(COLLECT_AFTER)  # as the command does, and for both
        yield from beside_the_bare_client(place, port)
        gc.set_threshold(*usual)
        yield from of_the_command(place, port)


def beside_the_bare_client(place: Path, port: int) -> Iterator[Row]:
    suite = written(place / "suite.yaml", CASES, port)
    small = written(place / "small.yaml", CASES[:SIDE_BY_SIDE], port)
    judge(small, place / "small.db")  # loads what the first run loads
    body = last_body(port)

    # By turns, so that both have the same share of whatever else the machine does.
    rounds = []
    for _ in range(ROUNDS):
        turns = []
        for _ in range(TURNS):
            bare = cpu_seconds(lambda: asyncio.run(request_all(port, body)))
            with tempfile.TemporaryDirectory(dir=place) as folder:
                ours = cpu_seconds(lambda folder=folder: judge(suite, Path(folder) / "store.db"))  # type: ignore[misc]
            turns.append((bare, ours))
        rounds.append(turns)
    bare, ours = (min(times) for times in zip(*itertools.chain(*rounds), strict=True))
    yield f"a bare request over HTTP, {SIDE_BY_SIDE} at once", microseconds(bare), ""
    yield f"a case of a suite, from its file to the store, {SIDE_BY_SIDE} at once", microseconds(ours), ""
    yield (
        "a case of a suite over a bare request, the best of each",
        f"{ours / bare:.2f}",
        f"{TIMES} times the bare client",
    )
    sums = [[sum(times) for times in zip(*turns, strict=True)] for turns in rounds]
    yield "the same over all turns of each round", " ".join(f"{ours / bare:.2f}" for bare, ours in sums), ""


def of_the_command(place: Path, port: int) -> Iterator[Row]:
    one = written(place / "one.yaml", CASES[:1], port)
    cold = min(run_the_command(one, place / f"one-{number}.db").seconds for number in range(ROUNDS))
    yield "evenhand run, one case, from a cold start", f"{cold:.2f} s", f"{COLD_SECONDS} s"
    peaks = []
    for number in (SOME, MANY):
        suite = written(place / f"{number}.yaml", map(case, range(number)), port)
        peaks.append(run_the_command(suite, place / f"{number}.db").megabytes)
        suite.unlink()
    some, many = peaks
    yield f"peak memory with {SOME:,} cases", f"{some:.0f} MB", f"{SOME_MEGABYTES} MB"
    yield f"more than that with {MANY:,} cases", f"{many - some:+.0f} MB", f"{MORE_MEGABYTES} MB"


def written(path: Path, cases: Iterable[Case], port: int) -> Path:
    """Write a suite in plain YAML, as people do."""
    with path.open("w", encoding="utf-8") as file:
        file.write("judge:\n  model: openai/bench\n")
        file.write(f'  base_url: http://127.0.0.1:{port}/v1\n  api_key: ${{{KEY}}}\n  proxy: ""\n')
        file.write("evaluators:\n  - {name: quality, type: llm_judge}\ncases:\n")
        for number, one in enumerate(cases):
            file.write(f"  - id: expedition-{number}\n    input: {json.dumps(one.question)}\n")
            for name in ("candidate_answer", "reference_answer", "expected_outcome"):
                file.write(f"    {name}: {json.dumps(getattr(one, name))}\n")
    return path


def judge(path: Path, database: Path) -> None:
    """Judge a suite, from the file to the store."""
    job = job_of(read_suite(path))
    store = open_store(str(database))
    with contextlib.closing(store):
        run = plan(store, job, Scope())
        ended = asyncio.run(Runner(store, run, job, Pace(concurrency=SIDE_BY_SIDE)).run())
    assert ended.status is RunStatus.FINISHED, ended.reason


def run_the_command(suite: Path, database: Path) -> Used:
    """Run ``evenhand run`` in a process of its own, and tell what it took."""
    command = [
        sys.executable, "-m", "evenhand", "run", str(suite), "--db", str(database), "-j", str(SIDE_BY_SIDE), "--quiet",
    ]  # fmt: skip
    return used_by(command)
