"""Workers and the command itself are killed, again and again, on real Ray: nothing is lost, nothing is there twice."""

from __future__ import annotations

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bench.marked import marked

from evenhand.store.store import open_store

Suite = Callable[..., Path]

pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="workers are found in /proc"),
]


def command(*arguments: str, folder: Path, mark: str) -> subprocess.Popen[bytes]:
    """Start a command whose processes can be told from others by a mark in their environment."""
    environment = {**os.environ, "EVENHAND_TEST_MARK": mark, "OPENAI_API_KEY": "sk-test"}
    program = [sys.executable, "-m", "evenhand", *arguments]
    return subprocess.Popen(program, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How many cases there are, and what is killed meanwhile."""

    cases: int
    workers: int
    drivers: int


SAMPLE = pytest.param(Extent(cases=420, workers=2, drivers=1), id="sample")
ALL = pytest.param(Extent(cases=10_000, workers=10, drivers=3), id="all", marks=pytest.mark.sweep)


def kill_often(database: str, suite: Path, mark: str, provider: Any, extent: Extent) -> None:
    """Run a suite, kill what is to be killed at random after another part of the work each, and resume."""
    chance = random.Random(11)
    others = ["worker"] * (extent.workers - 1) + ["driver"] * extent.drivers
    kills = [*chance.sample(others, len(others)), "worker"]  # the last is not made good by a new driver
    on = ("--on", "ray", "--workers", "2", "--db", database, "--quiet")
    provider.calls.clear()
    provider.most = 0
    process = command("run", suite.name, *on, folder=suite.parent, mark=mark)
    for number, what in enumerate(kills, 1):
        provider.most = number * extent.cases // (len(kills) + 4)  # so the run cannot end before the last of them
        while True:
            assert process.poll() is None, process.communicate()
            victims = list(marked(mark, b"ray::RayWorker"))
            if len(provider.calls) > provider.most and victims:
                break
            time.sleep(0.05)
        os.kill(process.pid if what == "driver" else chance.choice(victims), signal.SIGKILL)
        if what == "driver":
            process.communicate()
            process = command("resume", "last", *on, folder=suite.parent, mark=mark)
    provider.most = None
    told, _ = process.communicate(timeout=600)
    assert process.returncode == 0, told.decode()


def report(database: str, folder: Path) -> bytes:
    arguments = [sys.executable, "-m", "evenhand", "report", "last", "--canonical", "--db", database]
    return subprocess.run(arguments, cwd=folder, capture_output=True, check=True).stdout


def check(database: str, suite: Path, provider: Any, extent: Extent) -> None:
    mark = uuid.uuid4().hex
    alone = str(suite.parent / "alone.db")
    calm = [sys.executable, "-m", "evenhand", "run", suite.name, "--db", alone, "--quiet"]
    key = {**os.environ, "OPENAI_API_KEY": "sk-test"}
    subprocess.run(calm, cwd=suite.parent, env=key, capture_output=True, check=True)

    kill_often(database, suite, mark, provider, extent)

    store = open_store(database)
    (run,) = store.runs.newest()
    ((rows,),) = store.database.rows("SELECT COUNT(*) FROM evaluations")
    store.close()
    assert (rows, run.evaluations) == (extent.cases, extent.cases)
    assert report(database, suite.parent) == report(alone, suite.parent)
    while any(marked(mark)):  # all of Ray ends with its driver, killed or not
        time.sleep(0.5)


def asking(provider: Any) -> dict[str, Any]:
    judge = {"model": "openai/judge", "base_url": provider.url}
    return {"judge": judge, "evaluators": [{"name": "quality", "type": "llm_judge"}]}


@pytest.mark.parametrize("extent", [SAMPLE, ALL])
@pytest.mark.starts(8, "kills workers and drivers")
def test_cases_survive_dead_workers_and_dead_drivers(
    tmp_path: Path, suite: Suite, provider: Any, extent: Extent
) -> None:
    check(str(tmp_path / "ray.db"), suite(extent.cases, **asking(provider)), provider, extent)


# Only the driver writes: what a database makes of its death, tests/kill tells of both.
@pytest.mark.group("postgres-long")
@pytest.mark.parametrize("extent", [ALL])
def test_cases_survive_dead_workers_and_dead_drivers_in_postgresql(
    suite: Suite, postgres_url: str, provider: Any, extent: Extent
) -> None:
    check(postgres_url, suite(extent.cases, **asking(provider)), provider, extent)
