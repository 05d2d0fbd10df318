"""A run on several workers ends as one without them does, whatever becomes of the workers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand.cluster.runner import ClusterRunner
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.store.store import Store, open_store
from evenhand.suites.suite import job_of, read_suite

Suite = Callable[..., Path]
Processes = Callable[..., Any]
Provider = Any


def judged(path: Path, cluster: Any, db: str = "runs.db", **pace: Any) -> tuple[Store, RunRecord]:
    """Judge a suite by workers, or without, and return the run."""
    store = open_store(str(path.parent / db))
    job = job_of(read_suite(path))
    run = plan(store, job, Scope())

    async def work() -> RunRecord:
        if cluster is None:
            return await Runner(store, run, job, Pace.of(**pace)).run()
        async with asyncio.timeout(100):
            return await ClusterRunner(store, run, job, Pace.of(**pace), cluster=cluster).run()

    return store, asyncio.run(work())


def scores(store: Store, run: RunRecord) -> list[tuple[Any, ...]]:
    return [
        (result.id, [(each.evaluation.score, each.evaluation.error, each.key) for each in result.judgments])
        for result in store.results(run)
    ]


def test_workers_find_what_one_process_finds(suite: Suite, processes: Processes) -> None:
    path = suite(300)

    store, run = judged(path, processes(3))
    alone, expected = judged(path, None, "alone.db")

    assert run.status is RunStatus.FINISHED
    assert scores(store, run) == scores(alone, expected)


def test_nothing_is_lost_or_kept_twice_when_workers_die(suite: Suite, processes: Processes) -> None:
    path = suite(300)
    deaths: list[Any] = []

    def dies(process: Any) -> bool:
        if process.reports == 2 and len(deaths) < 4:
            deaths.append(process)
        return process in deaths

    store, run = judged(path, processes(3, dies))
    alone, expected = judged(path, None, "alone.db")

    assert len(deaths) == 4
    assert run.status is RunStatus.FINISHED
    assert scores(store, run) == scores(alone, expected)


def test_a_case_that_kills_its_workers_is_an_error_of_that_case(suite: Suite, processes: Processes) -> None:
    store, run = judged(suite(100), processes(2, lambda process: 42 in process.has))

    errors = {identity: each[0][1] for identity, each in scores(store, run) if each[0][1] is not None}
    assert run.status is RunStatus.FINISHED
    assert list(errors) == ["c42"]
    assert "died, twice" in errors["c42"]


JUDGED: dict[str, Any] = {"evaluators": [{"name": "quality", "type": "llm_judge"}]}


def judge_of(provider: Provider, **settings: Any) -> dict[str, Any]:
    return {"judge": {"model": "openai/judge", "base_url": provider.url, **settings}, **JUDGED}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")


def test_calls_are_never_more_than_allowed(suite: Suite, processes: Processes, provider: Provider) -> None:
    _, run = judged(suite(100, **judge_of(provider)), processes(3), max_calls=37, concurrency=12)

    assert len(provider.calls) == 37
    assert run.status is RunStatus.STOPPED
    assert "max_calls" in run.reason


def test_a_budget_that_is_enough_is_no_hindrance(suite: Suite, processes: Processes, provider: Provider) -> None:
    _, run = judged(suite(60, **judge_of(provider)), processes(3), max_calls=60, concurrency=12)

    assert (run.status, len(provider.calls)) == (RunStatus.FINISHED, 60)


def test_costs_stay_within_the_budget(suite: Suite, processes: Processes, provider: Provider) -> None:
    prices = {"prices": {"openai/judge": {"input": 100, "output": 1000}}}  # 0.03 dollars a call

    _, run = judged(suite(100, **judge_of(provider), **prices), processes(3), max_cost=0.95, concurrency=12)

    assert len(provider.calls) == 31
    assert "max_cost" in run.reason


def test_no_more_questions_are_asked_at_once_than_one_process_would(
    suite: Suite, processes: Processes, provider: Provider
) -> None:
    judged(suite(100, **judge_of(provider)), processes(3), concurrency=7)

    assert provider.most_in_flight <= 7


def test_requests_per_minute_hold_for_all_workers(suite: Suite, processes: Processes, provider: Provider) -> None:
    began = time.monotonic()
    judged(suite(40, **judge_of(provider, rpm=1200)), processes(3), concurrency=12)

    # A second's worth may begin at once; after that not even twenty a second, by whichever worker.
    calls = sorted(provider.calls)
    assert len(calls) == 40
    assert all(call - began >= (number - 20) / 20 for number, call in enumerate(calls))


def test_replies_are_found_in_the_cache_of_the_driver(suite: Suite, processes: Processes, provider: Provider) -> None:
    path = suite(30, **judge_of(provider))
    _, first = judged(path, processes(2))
    store, again = judged(path, processes(2))

    assert len(provider.calls) == 30
    assert (first.status, again.status) == (RunStatus.FINISHED, RunStatus.FINISHED)
    assert scores(store, first) == scores(store, again)


def test_an_interrupted_run_keeps_what_was_under_way_and_is_resumed_without_workers(
    suite: Suite, processes: Processes, provider: Provider
) -> None:
    path = suite(60, **judge_of(provider))
    store = open_store(str(path.parent / "runs.db"))
    job = job_of(read_suite(path))
    run = plan(store, job, Scope())

    async def interrupted() -> RunRecord:
        runner = ClusterRunner(store, run, job, Pace.of(concurrency=4), cluster=processes(2))
        working = asyncio.create_task(runner.run())
        while runner.progress.done == 0:
            await asyncio.wait([working], timeout=0.01)
        runner.interrupt()
        return await working

    assert asyncio.run(interrupted()).status is RunStatus.INTERRUPTED
    assert store.extent(run)[1] == len(provider.calls) < 60

    store.runs.claim(run)
    again = store.runs.mark(run, RunStatus.RUNNING)
    assert asyncio.run(Runner(store, again, job, Pace()).run()).status is RunStatus.FINISHED
    assert len(provider.calls) == 60


def test_a_run_with_batches_that_are_paid_for_is_not_judged_by_workers(suite: Suite, processes: Processes) -> None:
    path = suite(3)
    store = open_store(str(path.parent / "runs.db"))
    job = job_of(read_suite(path))
    run = plan(store, job, Scope())

    async def work(pace: Pace) -> RunRecord:
        return await ClusterRunner(store, run, job, pace, cluster=processes(1)).run()

    with pytest.raises(ConfigError, match="--batch and --on ray cannot be combined"):
        asyncio.run(work(replace(Pace(), batch=True)))
    store.provider_batches.intend(run, "eh-1", "openai/judge", ["item"])
    with pytest.raises(ConfigError, match=f"run {run.id} has batches that are paid for; resume it without --on"):
        asyncio.run(work(Pace()))
