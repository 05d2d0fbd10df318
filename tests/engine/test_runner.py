"""A run brings every case to exactly one end, whatever evaluators, judges and users do meanwhile."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from evenhand.domain.ask import Ask, Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.reply import Reply
from evenhand.domain.run import RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.checks.text import Contains
from evenhand.evaluators.composite import jury
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.store.store import Store, open_store

Judging = Callable[..., Any]
GOOD = '{"score": 1.0}'
REFUSED = PermissionError("unauthorized: HTTP 401: no such key")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doing(BaseEvaluator):
    """An evaluator that does something of its own."""

    type = "doing"

    do: Any = None

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield ()
        return self.do(case) if self.do else self.scored(1.0)


def raising(error: BaseException) -> Callable[[Case], Evaluation]:
    def crash(case: Case) -> Evaluation:
        raise error

    return crash


# To the end


@pytest.mark.parametrize("concurrency", [1, 3, 64])
def test_every_case_is_judged_once_by_every_evaluator(
    store: Store, judging: Judging, made: Any, concurrency: int
) -> None:
    judges = [judging(lambda ask: asyncio.sleep(0, GOOD), name=name) for name in ("a", "b")]
    cases = made.cases(9)

    run = made.run(store, made.job(cases, judges), concurrency=concurrency, repeat=2)

    assert (run.status, run.reason, run.cases) == (RunStatus.FINISHED, "", 9)
    assert run.finished is not None
    assert not store.runs.in_hand(run)
    assert [len(judge.asked) for judge in judges] == [18, 18]
    assert all(judge.most <= concurrency for judge in judges)
    results = made.results(store, run)
    assert [result.id for result in results] == [case.id for case in cases]
    found = [(one.sample, one.evaluation.evaluator) for one in results[0].judgments]
    assert found == [(0, "q-a"), (0, "q-b"), (1, "q-a"), (1, "q-b")]
    assert len({one.key for result in results for one in result.judgments}) == 36
    assert store.extent(run) == (36, 36)


@pytest.mark.parametrize("concurrency", [2, 3])
def test_no_more_is_asked_at_once_than_was_said_however_many_judges_there_are(
    store: Store, judging: Judging, made: Any, concurrency: int
) -> None:
    under_way: list[int] = []
    asked = 0

    async def slowly(ask: Ask) -> str:
        nonlocal asked
        asked += 1
        under_way.append(asked)
        for _ in range(20):  # in which others begin that may
            await asyncio.sleep(0)
        asked -= 1
        return GOOD

    judges = [judging(slowly, name=name) for name in ("a", "b", "c", "d", "e")]

    made.run(store, made.job(made.cases(12), judges), concurrency=concurrency)

    assert len(under_way) == 60
    assert max(under_way) == concurrency


def test_more_cases_than_a_page_are_all_judged(store: Store, made: Any) -> None:
    run = made.run(store, made.job(made.cases(300), evaluators=[Contains(value="answer")]))

    assert made.statuses(store, run) == ["scored"] * 300


def test_each_case_may_have_its_own_evaluators(store: Store, made: Any) -> None:
    own = {
        "case-0": (),
        "case-1": (Doing(name="x"),),
        "case-2": (Doing(name="x"), Doing(name="y", weight=0.5, required=True)),
    }
    job = made.job(made.cases(3), evaluators=[Doing()], evaluators_for=lambda planned: own[planned.case.id or ""])

    run = made.run(store, job)

    results = made.results(store, run)
    assert run.status is RunStatus.FINISHED
    assert [[one.evaluation.evaluator for one in result.judgments] for result in results] == [[], ["x"], ["x", "y"]]
    assert [(one.weight, one.required) for one in results[2].judgments] == [(1.0, False), (0.5, True)]


def test_observers_are_told_once_it_is_committed(store: Store, judging: Judging, made: Any) -> None:
    job = made.job(made.cases(5), judging())
    run = plan(store, job, Scope())
    reader = open_store(store.database.where)
    told = []

    def observe(planned: Any, judgment: Any) -> None:
        (result,) = [one for one in reader.results(run) if one.position == planned.position]
        assert result.judgments == (judgment,)
        told.append(planned.case.id)

    made.drive(Runner(store, run, job, Pace(), observers=[observe]))

    assert sorted(told) == [f"case-{number}" for number in range(5)]
    reader.close()


def test_progress_counts_what_was_done(store: Store, judging: Judging, made: Any) -> None:
    said = {
        "0": '{"score": 0.9}',
        "1": '{"score": 0.7}',
        "2": '{"score": 0.1}',
        "3": "no",
        "4": ConnectionError("timeout: x"),
    }
    judge = judging(lambda ask: said[re.findall(r"answer (\d)", ask.messages[1].content)[0]])
    cases = [*made.cases(5), Case(id="empty")]
    job = made.job(cases, judge)
    runner = Runner(store, plan(store, job, Scope()), job, Pace())

    made.drive(runner)

    seen = runner.progress
    assert (seen.total, seen.done, seen.scored, seen.not_evaluated, seen.errors) == (6, 6, 3, 1, 2)
    assert (seen.passed, seen.borderline, seen.failed) == (1, 1, 1)
    assert (seen.calls, seen.faults, seen.retries, seen.cached) == (3 + 3 + 1, 1, 2, 0)
    assert seen.cost is None  # nobody knows the price


def test_no_more_is_under_way_than_would_be_lost(store: Store, judging: Judging, made: Any) -> None:
    """An evaluation holds its place until it is committed (REL-D1)."""
    reader = open_store(store.database.where)
    asked = 0
    ahead = []

    def watched(ask: Ask) -> Any:
        nonlocal asked
        asked += 1
        ahead.append(asked - reader.extent(run)[1])
        return asyncio.sleep(0.0005, GOOD)

    judges = [judging(watched, name=name) for name in ("a", "b", "c")]
    job = made.job(made.cases(10), judges)
    run = plan(store, job, Scope(repeat=2))

    made.drive(Runner(store, run, job, Pace(concurrency=8)))

    assert asked == 60
    assert max(ahead) <= 8
    reader.close()


def test_a_run_gives_signs_of_life(store: Store, judging: Judging, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.engine.runner.HEARTBEAT_SECONDS", 0.001)
    seen = set()

    async def slowly(ask: Ask) -> str:
        await asyncio.sleep(0.02)
        seen.update(store.database.rows("SELECT seen FROM runs"))
        return GOOD

    made.run(store, made.job(made.cases(3), judging(slowly)), concurrency=1)

    assert len(seen) == 3


# Evaluators that crash

CRASHES: dict[str, tuple[Any, str]] = {
    "raises": (raising(ValueError("oh")), "crashed: ValueError: oh"),
    "raises our own": (raising(KeyError("x")), "crashed: KeyError: 'x'"),
    "ends the program": (raising(SystemExit(3)), "crashed: SystemExit: 3"),
    "gives something else": (lambda case: "fine", "crashed: TypeError: steps must return an Evaluation, not str"),
    "runs too deep": (raising(RecursionError("deep")), "crashed: RecursionError: deep"),
    "gives a circle": (
        lambda case: Evaluation.with_score(evaluator="e", type="t", score=1.0, verdict="pass", details=circle()),  # type: ignore[arg-type]
        "crashed: ",
    ),
    "gives odd keys": (
        lambda case: Evaluation.with_score(evaluator="e", type="t", score=1.0, verdict="pass", details={(1, 2): 3}),  # type: ignore[arg-type]
        "crashed: ",
    ),
    "gives a tower": (
        lambda case: Evaluation.with_score(evaluator="e", type="t", score=1.0, verdict="pass", details=tower(9000)),  # type: ignore[arg-type]
        "crashed: ",
    ),
}


def circle() -> dict[str, Any]:
    around: dict[str, Any] = {}
    around["again"] = around
    return around


def tower(height: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(height):
        inner = {"in": inner}
    return inner


@pytest.mark.parametrize(("do", "error"), CRASHES.values(), ids=CRASHES.keys())
def test_an_evaluator_that_crashes_fails_its_own_evaluation_only(store: Store, made: Any, do: Any, error: str) -> None:
    def sometimes(case: Case) -> Any:
        return do(case) if case.id == "case-1" else Doing().scored(1.0)

    job = made.job(made.cases(3), evaluators=[Doing(name="odd", do=sometimes), Doing(name="even")])

    run = made.run(store, job)

    assert run.status is RunStatus.FINISHED
    assert made.statuses(store, run) == ["scored", "scored", "error", "scored", "scored", "scored"]
    failed = made.results(store, run)[1].judgments[0].evaluation
    assert failed.error.startswith(error)
    assert failed.evaluator == "odd"


@pytest.mark.slow
def test_a_judge_that_never_answers_is_given_up_in_time(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: asyncio.sleep(600, GOOD))
    judge.keeps_deadlines = False

    run = made.run(store, made.job(made.cases(2), judge, timeout=0.05))

    errors = [one.evaluation.error for result in store.results(run) for one in result.judgments]
    assert errors == ["timeout: the judge did not answer within the time limit of the case"] * 2


# Interrupts


class Gated:
    """A judge's answers, each of which waits until it is let go."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()

    async def __call__(self, ask: Ask) -> str:
        await self.gate.wait()
        return GOOD


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - nobody tells when it has come
            await asyncio.sleep(0.001)


def test_after_an_interrupt_what_is_under_way_ends_and_no_more_begins(
    store: Store, judging: Judging, made: Any
) -> None:
    judge = judging()
    job = made.job(made.cases(20), judge)
    run = plan(store, job, Scope())

    async def interrupted() -> Any:
        judge.answer = gated = Gated()
        runner = Runner(store, run, job, Pace(concurrency=3, use_cache=False))
        running = asyncio.create_task(runner.run())
        await until(lambda: len(judge.asked) == 3)
        runner.interrupt()
        runner.interrupt()  # twice is once
        gated.gate.set()
        return await running, asyncio.all_tasks()

    ended, left = asyncio.run(interrupted())

    assert (ended.status, ended.reason) == (RunStatus.INTERRUPTED, "it was interrupted")
    assert len(judge.asked) == 3
    assert made.statuses(store, run) == ["scored"] * 3
    assert not store.runs.in_hand(run)
    assert len(left) == 1  # this one

    judge.answer = lambda ask: GOOD
    again = made.resume(store, ended, job, use_cache=False)
    assert again.status is RunStatus.FINISHED
    assert len(judge.asked) == 20
    assert made.statuses(store, run) == ["scored"] * 20


def test_what_does_not_end_soon_after_an_interrupt_is_given_up(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: asyncio.sleep(600, GOOD))
    job = made.job(made.cases(20), judge)
    run = plan(store, job, Scope())

    async def interrupted() -> Any:
        runner = Runner(store, run, job, Pace(concurrency=3, drain_seconds=0.02))
        running = asyncio.create_task(runner.run())
        await until(lambda: len(judge.asked) == 3)
        runner.interrupt()
        return await asyncio.wait_for(running, 60), asyncio.all_tasks()

    ended, left = asyncio.run(interrupted())

    assert ended.status is RunStatus.INTERRUPTED
    assert made.statuses(store, run) == []
    assert len(left) == 1
    judge.answer = lambda ask: GOOD
    assert made.resume(store, ended, job).status is RunStatus.FINISHED
    assert made.statuses(store, run) == ["scored"] * 20


def test_what_was_paid_for_is_committed_even_if_given_up_at_that_moment(
    store: Store, judging: Judging, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.engine.committer.GATHER_SECONDS", 0.2)
    judge = judging()
    job = made.job(made.cases(3), judge)
    run = plan(store, job, Scope())

    async def interrupted() -> Any:
        runner = Runner(store, run, job, Pace(drain_seconds=0.01))
        running = asyncio.create_task(runner.run())
        await until(lambda: len(judge.asked) == 3)
        runner.interrupt()
        return await running

    ended = asyncio.run(interrupted())

    assert made.statuses(store, run) == ["scored"] * 3
    assert ended.status is RunStatus.FINISHED


def test_an_interrupt_before_the_beginning_is_one_too(store: Store, judging: Judging, made: Any) -> None:
    judge = judging()
    job = made.job(made.cases(3), judge)
    run = plan(store, job, Scope())

    async def interrupted() -> Any:
        runner = Runner(store, run, job, Pace())
        runner.interrupt()
        return await runner.run()

    assert asyncio.run(interrupted()).status is RunStatus.INTERRUPTED
    assert judge.asked == []


def test_a_run_that_is_cancelled_leaves_nobody_at_work(store: Store, judging: Judging, made: Any) -> None:
    """No orphans (REL-C2)."""
    judge = judging(lambda ask: asyncio.sleep(0.001, GOOD))
    job = made.job(made.cases(500), judge)
    run = plan(store, job, Scope())

    async def cancelled() -> set[Any]:
        running = asyncio.create_task(Runner(store, run, job, Pace(concurrency=4)).run())
        await until(lambda: len(judge.asked) >= 20)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return asyncio.all_tasks()

    left = asyncio.run(cancelled())

    assert len(left) == 1
    found = store.runs.find(run.id)
    assert (found.status, found.reason) == (RunStatus.INTERRUPTED, "it failed")
    assert store.extent(run)[1] >= len(judge.asked) - 4


# Errors, done again


def test_errors_are_done_again_when_wanted_and_the_old_ones_stay(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: ConnectionError("timeout: x") if "answer 1" in ask.messages[-1].content else GOOD)
    job = made.job(made.cases(3), judge)
    run = made.run(store, job, repeat=2)
    assert made.statuses(store, run).count("error") == 2
    asked = len(judge.asked)

    assert made.resume(store, run, job).status is RunStatus.FINISHED
    assert len(judge.asked) == asked  # nothing was left to do

    made.resume(store, run, job, retry_errors=True)  # in vain
    assert len(judge.asked) == asked + 2
    judge.answer = lambda ask: GOOD
    ended = made.resume(store, run, job, retry_errors=True)

    assert ended.status is RunStatus.FINISHED
    assert len(judge.asked) == asked + 4
    assert made.statuses(store, run) == ["scored"] * 6
    rounds = store.database.rows("SELECT round, status FROM evaluations WHERE position = 1 ORDER BY sample, round")
    assert rounds == [(0, "error"), (1, "error"), (2, "scored")] * 2


def test_an_interrupted_run_of_errors_done_again_can_be_gone_on_with(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: ConnectionError("timeout: x"))
    job = made.job(made.cases(6), judge)
    run = made.run(store, job)

    async def interrupted() -> Any:
        judge.answer = gated = Gated()
        runner = Runner(store, run, job, Pace(concurrency=2, retry_errors=True))
        running = asyncio.create_task(runner.run())
        before = len(judge.asked)
        await until(lambda: len(judge.asked) == before + 2)
        runner.interrupt()
        gated.gate.set()
        return await running

    assert asyncio.run(interrupted()).status is RunStatus.INTERRUPTED
    assert made.statuses(store, run).count("scored") == 2

    judge.answer = lambda ask: GOOD
    assert made.resume(store, run, job, retry_errors=True).status is RunStatus.FINISHED
    assert made.statuses(store, run) == ["scored"] * 6


# Refused accounts


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_a_refused_key_stops_the_run_and_with_a_good_one_everything_is_done(
    store: Store, judging: Judging, made: Any, count: int
) -> None:
    """A handful of requests, one clear reason, and nothing left undone afterwards (REL-P2)."""
    judge = judging(lambda ask: asyncio.sleep(0, REFUSED))
    job = made.job(made.cases(count), judge)

    run = made.run(store, job)

    assert (run.status, run.reason) == (RunStatus.STOPPED, f"{judge.name}: {REFUSED}")
    assert len(judge.asked) <= 5
    judge.answer = lambda ask: GOOD
    assert made.resume(store, run, job).status is RunStatus.FINISHED
    assert made.statuses(store, run) == ["scored"] * count


def test_a_key_that_is_refused_later_stops_the_run_too(store: Store, judging: Judging, made: Any) -> None:
    judge = judging()
    judge.answer = lambda ask: asyncio.sleep(0, REFUSED if len(judge.asked) > 20 else GOOD)
    job = made.job(made.cases(200), judge)

    run = made.run(store, job, concurrency=4)

    assert run.status is RunStatus.STOPPED
    assert len(judge.asked) <= 20 + 5
    judge.answer = lambda ask: GOOD
    assert made.resume(store, run, job).status is RunStatus.FINISHED
    assert made.statuses(store, run) == ["scored"] * 200


def test_one_case_that_is_refused_is_that_cases_trouble(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: REFUSED if "answer 19" in ask.messages[-1].content else GOOD)

    run = made.run(store, made.job(made.cases(20), judge), concurrency=1)

    assert run.status is RunStatus.FINISHED
    assert made.statuses(store, run) == [*["scored"] * 19, "error"]


def test_a_jury_that_was_refused_is_asked_again(store: Store, judging: Judging, made: Any) -> None:
    judges = [judging(lambda ask: REFUSED, name=name, account="one") for name in ("a", "b")]
    job = made.job(made.cases(3), evaluators=[jury(judges)])
    run = made.run(store, job)
    assert run.status is RunStatus.STOPPED

    for judge in judges:
        judge.answer = lambda ask: GOOD
    assert made.resume(store, run, job).status is RunStatus.FINISHED

    assert made.statuses(store, run) == ["scored"] * 3


# Side by side


def test_evaluators_of_a_case_are_asked_side_by_side(store: Store, judging: Judging, made: Any) -> None:
    seen = 0

    async def meet(ask: Ask) -> str:
        nonlocal seen
        seen += 1
        async with asyncio.timeout(60):
            while seen < 2:  # noqa: ASYNC110 - only if the other one is asked, too
                await asyncio.sleep(0)
        return GOOD

    judges = [judging(meet, name=name) for name in ("a", "b")]

    run = made.run(store, made.job(made.cases(1), judges))

    assert made.statuses(store, run) == ["scored", "scored"]


@pytest.mark.slow
def test_a_run_ends_when_the_store_cannot_be_written(store: Store, judging: Judging, made: Any) -> None:
    class Full(Store):
        def commit(self, batch: Any) -> None:
            raise OSError("disk is full")

    judges = [judging(name=name) for name in ("a", "b")]
    job = made.job(made.cases(50), judges)
    run = plan(store, job, Scope())

    async def fail() -> set[Any]:
        with pytest.raises(OSError, match="disk is full"):
            await Runner(Full(store.database), run, job, Pace(concurrency=4)).run()
        return asyncio.all_tasks()

    assert len(asyncio.run(fail())) == 1
    assert sum(len(judge.asked) for judge in judges) <= 4
    assert store.runs.find(run.id).status is RunStatus.INTERRUPTED
    assert made.resume(store, run, job).status is RunStatus.FINISHED


def test_a_reply_is_read_by_the_same_rules_as_everywhere(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: Reply.said('{"score": 7}'))
    evaluator = PromptEvaluator(judge=judge)
    case = made.cases(1)[0]

    run = made.run(store, made.job([case], evaluators=[evaluator]))

    assert made.results(store, run)[0].judgments[0].evaluation == evaluator.evaluate(case)


def test_after_an_interrupt_nobody_who_waits_in_a_line_is_asked(store: Store, judging: Judging, made: Any) -> None:
    """Thirty-two cases are under way, four of them asked: the other twenty-eight were not begun."""
    gate = asyncio.Event()

    async def answer(ask: Any) -> str:
        await gate.wait()
        return GOOD

    judge = judging(answer)
    job = made.job(made.cases(40), judge)

    async def interrupted() -> Any:
        runner = Runner(store, plan(store, job, Scope()), job, Pace(concurrency=32))
        running = asyncio.create_task(runner.run())
        await until(lambda: len(judge.asked) == 4)
        runner.interrupt()
        gate.set()
        return await running

    ended = asyncio.run(interrupted())

    assert ended.status is RunStatus.INTERRUPTED
    assert len(judge.asked) == 4
    assert store.extent(ended)[1] == 4
