"""Who lost a run writes nothing into it any more: every transaction looks at the fencing number (REL-D9)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.errors import RunBusyError, RunNotFoundError
from evenhand.domain.reply import Reply
from evenhand.domain.run import MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.engine import runner as running
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.store.rows import Batch, answer_row
from evenhand.store.store import Store, open_store

TAKEN = r"was taken over by process \d+ on .*, which keeps the results; this process stops"


@pytest.fixture
def second(url: str, store: Store) -> Iterator[Store]:
    """Another store on the same database, as another process has it."""
    opened = open_store(url)
    yield opened
    opened.close()


def everything(store: Store) -> list[Any]:
    return [
        store.database.rows(f"SELECT * FROM {table} ORDER BY 1, 2, 3")
        for table in ("runs", "cases", "answers", "evaluations", "replies")
    ]


LOST: dict[str, Callable[[Store, RunRecord, Any], object]] = {
    "evaluations": lambda store, run, made: made.judge(store, run, 0, made.judgment()),
    "answers": lambda store, run, made: store.commit(
        Batch(answers=[answer_row(run.number, 0, MadeAnswer(text="a"))], replies=[("k", "m", 1.0, "{}")])
    ),
    "cases": lambda store, run, made: store.add_cases([made.row(run, made.planned(2, Case(id="new")))]),
    "forgetting cases": lambda store, run, made: store.forget_cases(run),
    "finished": lambda store, run, made: store.runs.mark(run, RunStatus.FINISHED),
    "running": lambda store, run, made: store.runs.mark(run, RunStatus.RUNNING),
    "calls": lambda store, run, made: store.runs.abandon(run, 3, 0.5),
    "a sign of life": lambda store, run, made: store.runs.alive(run),
    "copies": lambda store, run, made: store.copy(run, run, positions={0: 0}, places={}, answers=True),
}


@pytest.mark.parametrize("write", LOST.values(), ids=LOST.keys())
def test_what_a_process_writes_into_a_run_that_it_lost_is_refused(
    store: Store, second: Store, made: Any, write: Callable[[Store, RunRecord, Any], object]
) -> None:
    run = made.run(store, cases=2)
    second.runs.claim(run)
    before = everything(second)

    with pytest.raises(RunBusyError, match=rf"run {run.id} {TAKEN}"):
        write(store, run, made)

    assert everything(second) == before


def test_who_took_a_run_over_writes_on_and_lets_it_go(store: Store, second: Store, made: Any) -> None:
    run = made.run(store, cases=1)

    second.runs.claim(run)
    made.judge(second, run, 0, made.judgment())
    second.runs.mark(run, RunStatus.FINISHED)

    with pytest.raises(RunBusyError, match=rf"run {run.id} was taken over by another process, "):
        made.judge(store, run, 0, made.judgment(0.0, round=1))
    assert store.extent(run) == (1, 1)
    store.runs.claim(run)
    made.judge(store, run, 0, made.judgment(0.5, round=1))


def test_a_run_that_was_deleted_meanwhile_takes_nothing(store: Store, second: Store, made: Any) -> None:
    run = made.run(store, cases=1)
    second.runs.claim(run)
    second.runs.delete(second.runs.mark(run, RunStatus.FINISHED))

    with pytest.raises(RunNotFoundError, match="any more: it was deleted"):
        made.judge(store, run, 0, made.judgment())


class Judge:
    """Answers when it may, and counts."""

    name = "judge"
    identity = "judge"
    keeps_deadlines = True

    def __init__(self) -> None:
        self.asked = 0
        self.meanwhile: Callable[[], Any] = lambda: asyncio.sleep(0)

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        self.asked += 1
        await self.meanwhile()
        return Reply.said(f'{{"score": 0.{len(ask.messages[-1].content) % 10}}}')


def job_with(judge: Any, count: int) -> Job:
    evaluators = (PromptEvaluator(judge=judge, name="a"),)
    cases = [Case(id=f"c{n}", candidate_answer="?" * n, expected_outcome="good") for n in range(count)]
    planned = [PlannedCase(position=place, case=case) for place, case in enumerate(cases)]
    return Job(name="x", definition={}, cases=lambda: planned, evaluators_for=lambda _: evaluators)


def test_a_runner_whose_run_was_taken_over_asks_no_more(store: Store, second: Store) -> None:
    judge = Judge()
    job = job_with(judge, 400)
    run = plan(store, job, Scope())

    async def take_over() -> None:
        if judge.asked == 100:
            second.runs.claim(run)
        await asyncio.sleep(0)

    judge.meanwhile = take_over
    with pytest.raises(RunBusyError, match=TAKEN):
        asyncio.run(Runner(store, run, job, Pace(concurrency=8, use_cache=False)).run())
    first = judge.asked
    ended = asyncio.run(Runner(second, run, job, Pace(concurrency=8, use_cache=False)).run())

    assert first <= 100 + 8
    assert ended.status is RunStatus.FINISHED
    assert judge.asked <= 400 + 8
    assert second.database.rows("SELECT COUNT(*) FROM evaluations") == [(400,)]


def test_a_runner_that_waits_hears_that_its_run_was_taken_over(
    store: Store, second: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing commits, and yet it stops: by its own sign of life."""
    monkeypatch.setattr(running, "HEARTBEAT_SECONDS", 0.01)
    judge = Judge()
    job = job_with(judge, 40)
    run = plan(store, job, Scope())
    never = asyncio.Event()

    async def wait() -> None:
        if judge.asked == 2:
            second.runs.claim(run)
        await never.wait()

    judge.meanwhile = wait
    with pytest.raises(RunBusyError, match=TAKEN):
        asyncio.run(Runner(store, run, job, Pace(concurrency=8)).run())

    assert judge.asked <= 8
    assert second.runs.find(run.id).status is RunStatus.RUNNING
    assert second.runs.in_hand(run)


def test_a_runner_whose_run_was_taken_over_before_it_began_asks_nothing(store: Store, second: Store) -> None:
    judge = Judge()
    job = job_with(judge, 4)
    run = plan(store, job, Scope())
    second.runs.claim(run)

    with pytest.raises(RunBusyError, match=TAKEN):
        asyncio.run(Runner(store, run, job, Pace()).run())

    assert judge.asked == 0
