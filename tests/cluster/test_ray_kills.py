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
from pathlib import Path
from typing import Any

import pytest
from bench.marked import marked

from evenhand.store.store import open_store

CASES = 10_000
KILLS = ["worker"] * 10 + ["driver"] * 3
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


def kill_often(database: str, suite: Path, mark: str, provider: Any) -> None:
    """Run a suite, kill what is to be killed at random after another part of the work each, and resume."""
    chance = random.Random(11)
    kills = chance.sample(KILLS, len(KILLS))
    on = ("--on", "ray", "--workers", "2", "--db", database, "--quiet")
    provider.calls.clear()
    provider.most = 0
    process = command("run", suite.name, *on, folder=suite.parent, mark=mark)
    for number, what in enumerate(kills, 1):
        provider.most = number * CASES // (len(KILLS) + 4)  # so the run cannot end before the last of them
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


def check(database: str, suite: Path, provider: Any) -> None:
    mark = uuid.uuid4().hex
    alone = str(suite.parent / "alone.db")
    calm = [sys.executable, "-m", "evenhand", "run", suite.name, "--db", alone, "--quiet"]
    key = {**os.environ, "OPENAI_API_KEY": "sk-test"}
    subprocess.run(calm, cwd=suite.parent, env=key, capture_output=True, check=True)

    kill_often(database, suite, mark, provider)

    store = open_store(database)
    (run,) = store.runs.newest()
    ((rows,),) = store.database.rows("SELECT COUNT(*) FROM evaluations")
    store.close()
    assert (rows, run.evaluations) == (CASES, CASES)
    assert report(database, suite.parent) == report(alone, suite.parent)
    while any(marked(mark)):  # all of Ray ends with its driver, killed or not
        time.sleep(0.5)


def asking(provider: Any) -> dict[str, Any]:
    judge = {"model": "openai/judge", "base_url": provider.url}
    return {"judge": judge, "evaluators": [{"name": "quality", "type": "llm_judge"}]}


def test_10_000_cases_survive_10_dead_workers_and_3_dead_drivers(tmp_path: Path, suite: Suite, provider: Any) -> None:
    check(str(tmp_path / "ray.db"), suite(CASES, **asking(provider)), provider)


@pytest.mark.xdist_group("postgres")
def test_10_000_cases_survive_10_dead_workers_and_3_dead_drivers_in_postgresql(
    suite: Suite, postgres_url: str, provider: Any
) -> None:
    check(postgres_url, suite(CASES, **asking(provider)), provider)
