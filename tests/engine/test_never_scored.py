"""An evaluator that never works stops the run, before the rest of the cases is spent on it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.never_scored import NeverScored
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.checks.text import Contains
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.store.store import Store

GOOD = '{"score": 1.0}'
DOWN = ConnectionError("server_error: HTTP 500: no more memory; gave up after 5 requests")

UNREADABLE = ValueError("invalid_body: the response is not JSON")


def errors(made: Any, store: Store, run: Any) -> int:
    return int(made.statuses(store, run).count("error"))


def test_after_twenty_errors_of_one_kind_and_no_score_the_run_stops_with_the_first_in_full(
    store: Store, made: Any, judging: Any
) -> None:
    judge = judging(lambda ask: DOWN)

    run = made.run(store, made.job(made.cases(500), judge), concurrency=1)

    assert run.status is RunStatus.STOPPED
    assert run.reason == (
        "never_scored: q-judge has scored nothing: 20 evaluations in a row failed (server_error). The first, of case "
        "case-0: server_error: HTTP 500: no more memory; gave up after 5 requests"
    )
    assert errors(made, store, run) == 20
    assert len(judge.asked) == 20


def test_the_reply_that_could_not_be_read_is_quoted(store: Store, made: Any, judging: Any) -> None:
    prose = "I find this answer quite convincing. " * 100

    run = made.run(store, made.job(made.cases(50), judging(lambda ask: prose)), concurrency=1)

    assert run.status is RunStatus.STOPPED
    assert "of case case-0: " in run.reason
    assert f"; the reply was: {prose[:500]}… (3,700 characters)" in run.reason


def test_another_evaluator_that_works_does_not_hide_one_that_never_does(store: Store, made: Any, judging: Any) -> None:
    broken = PromptEvaluator(judge=judging(lambda ask: DOWN), name="broken")
    job = made.job(made.cases(100), evaluators=[Contains(value="answer"), broken])

    run = made.run(store, job)

    assert run.status is RunStatus.STOPPED
    assert run.reason.startswith("never_scored: broken has scored nothing")


def test_an_evaluator_that_has_scored_once_is_let_go_on(store: Store, made: Any, judging: Any) -> None:
    judge: Any = judging(lambda ask: GOOD if len(judge.asked) == 5 else UNREADABLE)

    run = made.run(store, made.job(made.cases(60), judge), concurrency=1)

    assert run.status is RunStatus.FINISHED
    assert errors(made, store, run) == 59


def test_errors_of_several_kinds_are_those_of_the_cases(store: Store, made: Any, judging: Any) -> None:
    odd = ValueError("filtered: refused by the provider")
    judge: Any = judging(lambda ask: odd if len(judge.asked) % 2 else DOWN)

    run = made.run(store, made.job(made.cases(60), judge), concurrency=1)

    assert (run.status, errors(made, store, run)) == (RunStatus.FINISHED, 60)


@pytest.mark.parametrize(("most", "left"), [(3, 3), (0, 60)])
def test_the_number_is_a_setting_and_0_goes_on(store: Store, made: Any, judging: Any, most: int, left: int) -> None:
    job = made.job(made.cases(60), judging(lambda ask: DOWN))

    run = made.run(store, job, concurrency=1, max_consecutive_errors=most)

    assert errors(made, store, run) == left


def test_a_target_that_never_answers_stops_the_run_too(store: Store, made: Any, judging: Any) -> None:
    from evenhand.engine.target import target_of

    def target(case: Case) -> str:
        raise RuntimeError("no connection to the index")

    cases = [Case(id=f"case-{n}", question=f"{n}?") for n in range(60)]
    job = made.job(cases, evaluators=[Contains(value="x")], target=target_of(target))

    run = made.run(store, job, concurrency=1)

    assert run.status is RunStatus.STOPPED
    assert "(no_answer). The first, of case case-0: no_answer: the target failed: " in run.reason
    assert "no connection to the index" in run.reason


def driven(made: Any, store: Store, job: Any, confirm: Any, **pace: Any) -> tuple[Runner, Any]:
    runner = Runner(store, plan(store, job, Scope()), job, Pace(**pace), confirm=confirm)
    return runner, made.drive(runner)


@pytest.mark.parametrize("go_on", [True, False])
def test_somebody_who_is_there_is_asked_once_and_decides(store: Store, made: Any, judging: Any, go_on: bool) -> None:
    asked: list[NeverScored] = []
    in_between: list[int] = []
    judge = judging(lambda ask: DOWN)

    async def confirm(never_scored: NeverScored) -> bool:
        asked.append(never_scored)
        for _ in range(50):  # whatever could begin meanwhile would have
            await asyncio.sleep(0)
        before = len(judge.asked)
        for _ in range(50):
            await asyncio.sleep(0)
        in_between.append(len(judge.asked) - before)
        return go_on

    _, run = driven(made, store, made.job(made.cases(100), judge), confirm, concurrency=4)

    assert run.status is (RunStatus.FINISHED if go_on else RunStatus.STOPPED)
    assert [(one.evaluator, one.errors, one.kind) for one in asked] == [("q-judge", 20, "server_error")]
    assert in_between == [0]
    assert (len(judge.asked) == 100) is go_on


def test_an_interrupt_while_the_question_is_open_ends_the_run_as_interrupted(
    store: Store, made: Any, judging: Any
) -> None:
    async def confirm(never_scored: NeverScored) -> bool:
        asyncio.get_running_loop().call_soon(runner.interrupt)
        await asyncio.get_running_loop().create_future()
        return True

    job = made.job(made.cases(100), judging(lambda ask: DOWN))
    runner = Runner(store, plan(store, job, Scope()), job, Pace(concurrency=2), confirm=confirm)

    run = made.drive(runner)

    assert run.status is RunStatus.INTERRUPTED
    assert 20 <= errors(made, store, run) <= 21


@pytest.mark.slow
def test_resuming_counts_anew_and_retrying_the_errors_mends_them(store: Store, made: Any, judging: Any) -> None:
    works = False
    judge: Any = judging(lambda ask: GOOD if works else DOWN)
    job = made.job(made.cases(50), judge)
    run = made.run(store, job, concurrency=1)

    again = made.resume(store, run, job, concurrency=1)
    assert (again.status, errors(made, store, again)) == (RunStatus.STOPPED, 40)

    works = True
    mended = made.resume(store, again, job, concurrency=1, retry_errors=True)

    assert mended.status is RunStatus.FINISHED
    assert store.extent(mended) == (50, 50)
    assert [str(result.outcome.status) for result in made.results(store, mended)] == ["scored"] * 50
