"""Workers in this process, which die when they are told to: all but Ray is the real thing."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from bench.loopback import LoopbackJudge
from tests.harness.starts import for_others_too

from evenhand.cluster import ray_cluster as place
from evenhand.cluster.messages import Orders, Report, Shipment
from evenhand.cluster.port import WorkerLost
from evenhand.cluster.worker import Worker
from evenhand.models.embedded.runtime import Load

from .own_ray import OwnRay

_ray = OwnRay()


@pytest.fixture
@for_others_too
def own_ray() -> OwnRay:
    """Ray on this machine, which this test shares with others."""
    if importlib.util.find_spec("ray") is None:
        pytest.skip("Ray is not installed")
    assert _ray.library.is_dir()
    return _ray


@pytest.fixture
def cluster(own_ray: OwnRay) -> Iterator[place.RayCluster]:
    """That Ray, with two workers."""
    with place.ray_cluster("ray", workers=2) as cluster:
        yield cluster


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End Ray when the next test does without it: nobody else is to find its threads and sockets in this process."""
    if "own_ray" not in getattr(nextitem, "fixturenames", ()):
        _ray.end()


class Process:
    """A worker that can die: then whatever it did and did not report is gone."""

    def __init__(self, dies: Callable[[Process], bool]) -> None:
        self.worker: Worker | None = None
        self.has: set[int] = set()
        self.reports = 0
        self.is_dead = False
        self._dies = dies

    async def begin(self, shipment: Shipment) -> str | None:
        self.worker = Worker(shipment)
        return None

    async def exchange(self, orders: Orders) -> Report:
        assert self.worker is not None
        self.has |= {item.case[0] for item in orders.items}
        report = await self.worker.exchange(orders)
        self.reports += 1
        if self._dies(self):
            self.close()
            raise WorkerLost("killed by the test")
        return report

    def close(self) -> None:
        self.is_dead = True
        if self.worker is not None:
            for task in self.worker._tasks:
                task.cancel()


class Processes:
    """A cluster of them."""

    ships_files = False
    variables = ()

    def __init__(self, workers: int, dies: Callable[[Process], bool] = lambda _: False) -> None:
        self.workers = workers
        self.started: list[Process] = []
        self._dies = dies

    def host(self, models: Sequence[Load]) -> Processes:
        """Let each process load its models itself."""
        return self

    def close(self) -> None:
        """Do nothing: there is nothing beside them."""

    def start(self) -> Process:
        self.started.append(Process(self._dies))
        return self.started[-1]


@pytest.fixture
def provider() -> Iterator[LoopbackJudge]:
    provider = LoopbackJudge()
    yield provider
    provider.close()


@pytest.fixture
def processes() -> Callable[..., Processes]:
    """Make a cluster of so many workers, which die when a function says so."""
    return Processes


@pytest.fixture
def suite(tmp_path: Path) -> Callable[..., Path]:
    """Write a suite of so many cases, all with an answer of their own."""

    def write(cases: int, **settings: Any) -> Path:
        settings.setdefault("evaluators", [{"name": "says", "type": "contains", "value": "7"}])
        rows = [
            {
                "id": f"c{number}",
                "input": f"Question {number}?",
                "candidate_answer": f"Answer {number}.",
                "expected_outcome": "Says it",
            }
            for number in range(cases)
        ]
        path = tmp_path / "suite.json"
        path.write_text(json.dumps({**settings, "cases": rows}))
        return path

    return write
