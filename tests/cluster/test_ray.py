"""Real Ray: a suite on worker processes, which are killed meanwhile; limits and secrets as on one machine."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import ipaddress
import json
import os
import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from bench.marked import marked
from typer.testing import CliRunner

from evenhand import evaluate
from evenhand.cli.main import app
from evenhand.cluster import ray_cluster as place
from evenhand.cluster.runner import ClusterRunner
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.store.store import Store, open_store
from evenhand.suites.suite import job_of, read_suite

from .own_ray import KEY

Suite = Callable[..., Path]

pytestmark = pytest.mark.group("ray")  # which is started once


def workers_of_test() -> list[int]:
    """Return the processes of workers that have an actor."""
    return list(marked(KEY, b"ray::RayWorker"))


def listening_addresses(processes: set[int]) -> list[str]:
    """Return the addresses at which processes listen, by what Linux tells of sockets."""
    sockets = set()
    for number in processes:
        with contextlib.suppress(OSError):
            for file in Path(f"/proc/{number}/fd").iterdir():
                with contextlib.suppress(OSError):  # it was closed meanwhile
                    sockets.add(os.readlink(file))  # noqa: PTH115 - which is no path
    found = []
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in Path(table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                words = bytes.fromhex(fields[1].partition(":")[0])  # four bytes each, the lowest first
                packed = b"".join(words[start : start + 4][::-1] for start in range(0, len(words), 4))
                address = ipaddress.ip_address(packed)
                found.append(str(getattr(address, "ipv4_mapped", None) or address))
    return found


def judged(
    path: Path, cluster: place.RayCluster | None, db: str, *, provider: Any = None, kills: int = 0
) -> tuple[Store, RunRecord]:
    """Judge a suite, by workers of which so many are killed, or without any.

    The provider does not answer all before the last of them is.
    """
    store = open_store(str(path.parent / db))
    job = job_of(read_suite(path))
    run = plan(store, job, Scope())

    async def work() -> RunRecord:
        if cluster is None:
            return await Runner(store, run, job, Pace()).run()
        runner = ClusterRunner(store, run, job, Pace(concurrency=8), cluster=cluster)
        if kills:
            provider.most = 0
        working = asyncio.create_task(runner.run())
        chance = random.Random(7)
        for number in range(1, kills + 1):
            provider.most = number * run.cases // (kills + 2)
            while len(provider.calls) <= provider.most or not (found := await asyncio.to_thread(workers_of_test)):
                await asyncio.wait([working], timeout=0.01)
                assert not working.done()
            os.kill(chance.choice(found), signal.SIGKILL)
        if kills:
            provider.most = None
        return await working

    return store, asyncio.run(work())


def rows_of(store: Store, run: RunRecord) -> list[tuple[Any, ...]]:
    """Return what was found, without the time that it took."""
    return [
        (result.id, [({**each.evaluation.as_dict(), "attempts": len(each.evaluation.attempts)}, each.key)])
        for result in store.results(run)
        for each in result.judgments
    ]


def asking(provider: Any) -> dict[str, Any]:
    judge = {"model": "openai/judge", "base_url": provider.url}
    return {"judge": judge, "evaluators": [{"name": "quality", "type": "llm_judge"}]}


@pytest.mark.long
@pytest.mark.starts(8, "kills workers")
def test_killed_workers_lose_nothing_and_nothing_is_kept_twice(
    suite: Suite, cluster: place.RayCluster, provider: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    path = suite(200, **asking(provider))

    store, run = judged(path, cluster, "ray.db", provider=provider, kills=2)
    alone, expected = judged(path, None, "alone.db")

    assert run.status is RunStatus.FINISHED
    assert store.extent(run) == (200, 200)
    assert rows_of(store, run) == rows_of(alone, expected)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_commands_and_programs_judge_on_ray(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    path = suite(30)
    monkeypatch.chdir(path.parent)

    run = evaluate(path, on="ray", workers=2, store="runs.db")
    done = CliRunner().invoke(app, ["run", path.name, "--on", "ray", "--workers", "2", "--db", "runs.db", "--json"])

    assert (run.record.status, run.record.evaluations) == (RunStatus.FINISHED, 30)
    assert "summary" in done.stdout, done.stderr
    assert json.loads(done.stdout)["summary"]["mean"] == run.summary.cases.mean


@pytest.mark.long
def test_a_key_reaches_the_provider_and_no_file_of_ray(suite: Suite, cluster: place.RayCluster, provider: Any) -> None:
    path = suite(20, **asking(provider))

    _, run = judged(path, cluster, "ray.db")

    assert (run.status, provider.keys) == (RunStatus.FINISHED, {KEY})
    session = cluster.session
    assert session is not None
    files = [file for file in session.rglob("*") if file.is_file() and not file.is_symlink()]
    assert len(files) > 5  # logs, at least
    for secret in (KEY, os.environ["RAY_AUTH_TOKEN"]):
        assert [str(file) for file in files if secret.encode() in file.read_bytes()] == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="sockets are found in /proc")
def test_a_ray_of_its_own_is_for_this_machine_and_this_user(cluster: place.RayCluster) -> None:
    own = {os.getpid(), *marked(KEY)}

    listening = listening_addresses(own)

    assert len(own) > 4
    assert len(listening) >= 3  # the driver, and processes of Ray
    assert all(ipaddress.ip_address(each).is_loopback for each in listening), listening
    assert cluster.session is not None
    assert cluster.session.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_ray_says_nothing_on_the_output_of_a_command(capfd: pytest.CaptureFixture[str]) -> None:
    said = {"lines": ["A worker died"], "pid": "raylet", "is_err": False}

    importlib.import_module("ray._private.worker").print_to_stdstream(said, ignore_prefix=False)

    assert capfd.readouterr() == ("", "")
