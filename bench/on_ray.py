"""What workers on Ray bring: cases a second by their number, and what each case costs the driver."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import Row
from evenhand.cluster.ray_cluster import RayCluster, ray_cluster
from evenhand.cluster.runner import ClusterRunner
from evenhand.domain.run import RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.store.store import open_store
from evenhand.suites.suite import job_of, read_suite

CHEAP, BUSY, SLOW = 20_000, 1_200, 2_000
WORKERS = (1, 2, 4)
TURNS = 3
DRIVER_MICROSECONDS = 100
# A linear speed-up within so much, up to the processors there are.
TOLERANCE = 0.15
# Some 10 ms of a processor, and 50 ms of somebody else's.
FUNCTIONS = """
import asyncio

def busy(question):
    return str(sum(number * number for number in range(150_000)))

async def slow(question):
    await asyncio.sleep(0.05)
    return "7"
"""


class Took(NamedTuple):
    """How long a run took by the clock, once its workers were there, and of this process."""

    seconds: float
    cpu: float


def rows() -> Iterator[Row]:
    if importlib.util.find_spec("ray") is None:
        yield "runs on Ray", "–", "Ray is not installed"
        return
    with tempfile.TemporaryDirectory() as folder, ray_cluster("ray", workers=max(WORKERS)) as cluster:
        place = Path(folder)
        (place / "bench_functions.py").write_text(FUNCTIONS)
        cheap = judged(place, cluster, 2, CHEAP)
        yield "driver, for each case on Ray", f"{cheap.cpu / CHEAP * 1e6:.0f} µs", f"< {DRIVER_MICROSECONDS} µs"
        processors = os.cpu_count() or 1
        for function, cases, what in (("busy", BUSY, "10 ms of CPU"), ("slow", SLOW, "a provider of 50 ms")):
            target = {"python": f"bench_functions:{function}"}
            by_turns = [
                [cases / judged(place, cluster, workers, cases, target=target).seconds for workers in WORKERS]
                for _ in range(TURNS)
            ]
            best = [max(paces) for paces in zip(*by_turns, strict=True)]
            for workers, pace in zip(WORKERS, best, strict=True):
                expected = min(workers, processors) * (1 - TOLERANCE) * best[0]
                goal = f"≥ {expected:.0f}/s" if workers > 1 and function == "busy" else ""
                yield f"cases with {what}, {workers} on Ray", f"{pace:.0f}/s", goal


def judged(place: Path, cluster: RayCluster, workers: int, cases: int, **settings: Any) -> Took:
    """Judge a suite with so many workers."""
    suite = place / "suite.json"
    own = {} if settings else {"candidate_answer": "It is 7."}
    listed = [{"id": f"c{number}", "input": f"What is {number}?", **own} for number in range(cases)]
    evaluators = [{"name": "says", "type": "contains", "value": "7"}]
    suite.write_text(json.dumps({"evaluators": evaluators, **settings, "cases": listed}))
    with tempfile.TemporaryDirectory(dir=place) as folder:
        store = open_store(str(Path(folder) / "runs.db"))
        job = job_of(read_suite(suite))
        run = plan(store, job, Scope())
        cluster.workers = workers

        async def work() -> Took:
            runner = ClusterRunner(store, run, job, Pace(concurrency=64, slow_start=False), cluster=cluster)
            working = asyncio.create_task(runner.run())
            while not runner.are_all_ready and not working.done():
                await asyncio.wait([working], timeout=0.001)
            before, done = time.monotonic(), runner.progress.done
            cpu = time.process_time()
            assert (await working).status is RunStatus.FINISHED
            whole = cases / (cases - done)  # those that were judged while the last worker began
            return Took((time.monotonic() - before) * whole, (time.process_time() - cpu) * whole)

        took = asyncio.run(work())
        store.close()
    return took


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="  ", flush=True)
