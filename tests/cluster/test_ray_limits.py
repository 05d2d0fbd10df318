"""Limits and outages on real Ray, as the provider sees them: whatever the workers do, they do it together."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.loopback import TOKENS

from evenhand.cluster.ray_cluster import RayCluster, ray_cluster
from evenhand.cluster.runner import ClusterRunner
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.breaker import Outage
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.store.store import Store, open_store
from evenhand.suites.suite import job_of, read_suite

from .own_ray import OwnRay

Suite = Callable[..., Path]

pytestmark = [
    pytest.mark.long,
    pytest.mark.group("ray"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]


@pytest.fixture
def cluster(own_ray: OwnRay) -> Iterator[RayCluster]:
    """Ray with three workers, so that what they share is more than two halves."""
    with ray_cluster("ray", workers=3) as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def judge_of(provider: Any, **settings: Any) -> dict[str, Any]:
    judge = {"model": "openai/judge", "base_url": provider.url, **settings}
    return {"judge": judge, "evaluators": [{"name": "quality", "type": "llm_judge"}]}


def runner_of(path: Path, cluster: RayCluster, *, tell: Any = None, **pace: Any) -> tuple[Store, ClusterRunner]:
    store = open_store(str(path.parent / "runs.db"))
    job = job_of(read_suite(path))
    return store, ClusterRunner(store, plan(store, job, Scope()), job, Pace.of(**pace), cluster=cluster, tell=tell)


def takes_its_time(calls: list[float], a_second: float, at_once: int) -> bool:
    """Tell whether so many calls came at once, and then so many a second; the first of all may have been late."""
    late = 2.0
    return all(call - calls[0] >= (number - at_once) / a_second - late for number, call in enumerate(calls))


def test_calls_requests_per_minute_and_concurrency_hold_at_the_provider(
    suite: Suite, cluster: RayCluster, provider: Any
) -> None:
    provider.delay = 0.1
    _, runner = runner_of(suite(140, **judge_of(provider, rpm=1200)), cluster, max_calls=110, concurrency=9)

    run = asyncio.run(runner.run())

    assert (run.status, len(provider.calls)) == (RunStatus.STOPPED, 110)
    assert "max_calls" in run.reason
    assert 3 < provider.most_in_flight <= 9
    assert takes_its_time(provider.calls, 20, at_once=20)


def test_dollars_and_tokens_per_minute_hold_at_the_provider(suite: Suite, cluster: RayCluster, provider: Any) -> None:
    tokens = sum(TOKENS.values())
    prices = {"prices": {"openai/judge": {"input": 100, "output": 1000}}}  # 0.03 dollars a call
    path = suite(90, **judge_of(provider, tpm=60 * 4 * tokens), **prices)
    _, runner = runner_of(path, cluster, max_cost=1.85, concurrency=12)

    run = asyncio.run(runner.run())

    assert len(provider.calls) == 61  # 1.83 dollars
    assert "max_cost" in run.reason
    assert takes_its_time(provider.calls, 4, at_once=40)


def test_a_provider_that_is_gone_is_waited_for_by_all(suite: Suite, cluster: RayCluster, provider: Any) -> None:
    told: list[Outage] = []
    store, runner = runner_of(suite(60, **judge_of(provider)), cluster, tell=told.append, concurrency=9)
    provider.most = 12

    async def work() -> RunRecord:
        working = asyncio.create_task(runner.run())

        async def until(happened: Callable[[], object]) -> None:
            while not happened():
                await asyncio.wait([working], timeout=0.01)
                assert not working.done()

        await until(lambda: len(provider.calls) > 12)
        # Where nobody has heard of an answer, silence is no outage yet.
        await until(lambda: runner._answered)
        provider.is_gone, provider.most = True, None
        await until(lambda: told)
        probes = len(provider.turned_away)
        await until(lambda: len(provider.turned_away) >= probes + 3)
        provider.is_gone = False
        return await working

    run = asyncio.run(work())

    assert run.status is RunStatus.FINISHED
    assert [outage.lasted is None for outage in told] == [True, False]
    assert store.extent(run) == (60, 60)
    errors = [each.evaluation.error for result in store.results(run) for each in result.judgments]
    assert errors == [None] * 60
    # All cases were asked once, and the probe that found it back; a try that ends late may raise a doubt, and a second.
    assert len(provider.questions) == 61
    assert sum(asked > 1 for asked in provider.questions.values()) <= 1
    assert len(provider.calls) <= 63
    # Each of those who asked tries again a few times; after that there are probes.
    assert len(provider.turned_away) <= 9 * 6
