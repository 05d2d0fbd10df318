"""A run into PostgreSQL: commits in a thread, look-ups over a socket, and the same report as from a file."""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.errors import StoreError
from evenhand.domain.reply import Reply
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.reports.json import canonical
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.store.store import Store, open_store

pytestmark = [pytest.mark.slow, pytest.mark.group("postgres-runs")]


class Judge:
    """Scores by the length of the question, and counts."""

    name = "judge"
    identity = "judge"
    keeps_deadlines = True

    def __init__(self) -> None:
        self.asked = 0
        self.meanwhile: Callable[[], None] = lambda: None

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        self.asked += 1
        self.meanwhile()
        await asyncio.sleep(0)
        return Reply.said(f'{{"score": 0.{len(ask.messages[-1].content) % 10}}}')


def job_with(judge: Any, count: int) -> Job:
    evaluators = (
        PromptEvaluator(judge=judge, name="a"),
        PromptEvaluator(judge=judge, name="b", template="{{ candidate_answer }}"),
    )
    cases = [Case(id=f"c{n}", candidate_answer="?" * n, expected_outcome="good") for n in range(count)]
    planned = [PlannedCase(position=place, case=case) for place, case in enumerate(cases)]
    return Job(name="x", definition={}, cases=lambda: planned, evaluators_for=lambda _: evaluators)


def finish(store: Store, run: RunRecord, job: Job) -> RunRecord:
    with pytest.MonkeyPatch.context() as patch:
        # The loop would note where each future and callback was made, frame by frame, which takes longer than the run.
        patch.setattr(sys, "tracebacklimit", 0, raising=False)
        patch.setattr("asyncio.constants.DEBUG_STACK_DEPTH", 0)
        return asyncio.run(Runner(store, run, job, Pace(concurrency=8)).run(), debug=True)


def report(store: Store, run: RunRecord) -> str:
    summary = summarize(store.results(run))
    return canonical(Report(run=run, summary=summary, results=lambda: store.results(run)))


def test_a_run_is_the_same_in_both_databases(postgres_url: str, tmp_path: Path) -> None:
    judge = Judge()
    stores = [open_store(postgres_url), open_store(str(tmp_path / "runs.db"))]
    job = job_with(judge, 40)

    reports = [report(store, finish(store, plan(store, job, Scope(repeat=2)), job)) for store in stores]

    assert reports[0] == reports[1]
    assert judge.asked == 2 * 160
    again = finish(stores[0], plan(stores[0], job, Scope(repeat=2)), job)
    assert judge.asked == 2 * 160  # from the cache
    assert report(stores[0], again) == reports[0]
    for store in stores:
        store.close()


@pytest.fixture
def expected(tmp_path: Path) -> str:
    """The report of a run to which nothing happened."""
    store = open_store(str(tmp_path / "runs.db"))
    job = job_with(Judge(), 40)
    found = report(store, finish(store, plan(store, job, Scope()), job))
    store.close()
    return found


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_a_run_whose_connections_are_ended_at_random_loses_nothing_and_asks_nothing_twice(
    postgres_url: str, expected: str, seed: int
) -> None:
    judge, chance = Judge(), random.Random(seed)
    job = job_with(judge, 40)
    store = open_store(postgres_url)
    run = plan(store, job, Scope())

    def cut() -> None:
        if chance.random() < 0.3:
            with psycopg.connect(postgres_url, autocommit=True) as connection:
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'evenhand' AND datname = current_database()"
                )

    judge.meanwhile = cut
    run = finish(store, run, job)

    assert (run.status, judge.asked) == (RunStatus.FINISHED, 80)
    assert store.database.rows("SELECT COUNT(*), MAX(round) FROM evaluations") == [(80, 0)]
    assert report(store, run) == expected
    store.close()


def test_a_run_whose_database_stays_away_can_be_resumed(
    postgres: str, postgres_url: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.postgres.RECONNECT_SECONDS", 0.2)
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    judge = Judge()
    job = job_with(judge, 40)
    store = open_store(postgres_url)
    run = plan(store, job, Scope())

    def cut() -> None:
        if judge.asked == 30:
            with psycopg.connect(postgres, autocommit=True) as connection:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])

    judge.meanwhile = cut
    with pytest.raises(StoreError, match="cannot open postgresql://"):
        finish(store, run, job)
    store.close()

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())
    again = open_store(postgres_url)
    run = again.runs.find(run.id)
    done = again.extent(run)[1]
    before = judge.asked
    assert before - 8 <= done <= before
    run = finish(again, run, job)
    assert (run.status, judge.asked) == (RunStatus.FINISHED, before + 80 - done)
    assert report(again, run) == expected
    again.close()
