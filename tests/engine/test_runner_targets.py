"""Runs whose answers are made by a target: each answer is kept before it is judged, and made once."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import MadeAnswer, RunStatus
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.engine.targets.model import ModelTarget
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.prices import PriceBook
from evenhand.store.rows import Batch
from evenhand.store.store import Store, open_store

Judging = Callable[..., Any]
GOOD = '{"score": 1.0}'
REFUSED = PermissionError("unauthorized: HTTP 401: no such key")
TIMEOUT = ConnectionError("timeout: too late")


@pytest.fixture
def cases() -> list[Case]:
    return [Case(id=f"case-{n}", question=f"question {n}", expected_outcome="good") for n in range(4)]


@pytest.fixture
def answering(judging: Judging) -> Any:
    """A model that answers with the question in capitals."""
    return judging(lambda ask: ask.messages[-1].content.upper(), name="target")


def answers(store: Store, run: Any) -> list[list[str | None]]:
    return [[one.text for one in result.answers] for result in store.results(run)]


def test_an_answer_is_committed_before_it_is_judged(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    reader = open_store(store.database.where)
    seen = []

    def judge_it(ask: Any) -> str:
        stored = str(reader.database.rows("SELECT content FROM answers"))
        (judged,) = re.findall(r"QUESTION \d", ask.messages[-1].content)
        seen.append(judged if judged in stored else "none")
        return GOOD

    judge = judging(judge_it)

    run = made.run(store, made.job(cases, judge, target=ModelTarget(client=answering)))

    assert sorted(seen) == [f"QUESTION {n}" for n in range(4)]
    assert answers(store, run) == [[f"QUESTION {n}"] for n in range(4)]
    assert made.statuses(store, run) == ["scored"] * 4
    reader.close()


def test_each_repeat_has_an_answer_of_its_own_which_all_evaluators_judge(
    store: Store, judging: Judging, made: Any, cases: list[Case]
) -> None:
    made_so_far = itertools.count(1)
    answering = judging(lambda ask: f"answer {next(made_so_far)}", name="target", identity=None)
    judges = [judging(name="a"), judging(name="b")]

    run = made.run(store, made.job(cases[:1], judges, target=ModelTarget(client=answering)), repeat=3)

    assert len(answering.asked) == 3
    assert answers(store, run) == [["answer 1", "answer 2", "answer 3"]]
    for judge in judges:
        judged = [n for ask in judge.asked for n in (1, 2, 3) if f"answer {n}" in ask.messages[-1].content]
        assert sorted(judged) == [1, 2, 3]


def test_a_case_that_has_its_answer_needs_no_target(store: Store, judging: Judging, made: Any, answering: Any) -> None:
    cases = [Case(id="a", question="q", candidate_answer="", expected_outcome="good")]

    run = made.run(store, made.job(cases, judging(), target=ModelTarget(client=answering)))

    assert answering.asked == []
    assert made.statuses(store, run) == ["scored"]


def test_a_failed_answer_is_an_error_of_every_evaluation(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    shout = answering.answer
    answering.answer = lambda ask: TIMEOUT if "question 1" in ask.messages[-1].content else shout(ask)
    judges = [judging(name="a"), judging(name="b")]

    run = made.run(store, made.job(cases, judges, target=ModelTarget(client=answering)))

    assert run.status is RunStatus.FINISHED
    assert answers(store, run)[1] == [None]
    (failed,) = made.results(store, run)[1].answers
    assert failed.error == str(TIMEOUT)
    errors = [one.evaluation.error for one in made.results(store, run)[1].judgments]
    assert errors == [f"no_answer: the target failed: {TIMEOUT}"] * 2
    assert made.statuses(store, run).count("scored") == 6
    assert [len(judge.asked) for judge in judges] == [3, 3]


def test_a_failed_answer_is_made_again_when_errors_are(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    shout = answering.answer
    answering.answer = lambda ask: TIMEOUT if "question 1" in ask.messages[-1].content else shout(ask)
    job = made.job(cases, judging(), target=ModelTarget(client=answering))
    run = made.run(store, job)
    made.resume(store, run, job)
    assert len(answering.asked) == 4

    answering.answer = shout
    made.resume(store, run, job, retry_errors=True)

    assert len(answering.asked) == 5
    assert answers(store, run)[1] == ["QUESTION 1"]
    assert made.statuses(store, run) == ["scored"] * 4
    assert store.database.rows("SELECT round FROM answers WHERE position = 1 ORDER BY round") == [(0,), (1,)]


def test_answers_that_are_there_are_not_made_again(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    judge = judging(lambda ask: asyncio.sleep(600, GOOD))
    job = made.job(cases, judge, target=ModelTarget(client=answering))
    run = plan(store, job, Scope())

    async def interrupted() -> Any:
        runner = Runner(store, run, job, Pace(drain_seconds=0.01, use_cache=False))
        running = asyncio.create_task(runner.run())
        async with asyncio.timeout(60):
            while len(judge.asked) < 4:  # noqa: ASYNC110 - nobody tells when it has come
                await asyncio.sleep(0.001)
        runner.interrupt()
        return await running

    assert asyncio.run(interrupted()).status is RunStatus.INTERRUPTED
    judge.answer = lambda ask: GOOD
    assert made.resume(store, run, job, use_cache=False).status is RunStatus.FINISHED

    assert len(answering.asked) == 4
    assert made.statuses(store, run) == ["scored"] * 4


def test_after_an_interrupt_no_more_answers_are_made(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    job = made.job(cases, judging(), target=ModelTarget(client=answering))
    run = plan(store, job, Scope(repeat=5))

    async def interrupted() -> Any:
        runner = Runner(store, run, job, Pace(concurrency=2))

        def answer(ask: Any) -> str:
            runner.interrupt()
            return "an answer"

        answering.answer = answer
        return await runner.run()

    assert asyncio.run(interrupted()).status is RunStatus.INTERRUPTED
    assert len(answering.asked) <= 2
    assert [len(each) for each in answers(store, run)].count(0) >= 2


@pytest.mark.parametrize("count", [1, 4])
def test_a_target_whose_key_is_refused_stops_the_run_and_is_asked_again_later(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case], count: int
) -> None:
    shout = answering.answer
    answering.answer = lambda ask: REFUSED
    judge = judging()
    job = made.job(cases[:count], judge, target=ModelTarget(client=answering))

    run = made.run(store, job)

    assert (run.status, run.reason) == (RunStatus.STOPPED, f"{answering.name}: {REFUSED}")
    assert judge.asked == []
    answering.answer = shout
    assert made.resume(store, run, job).status is RunStatus.FINISHED
    assert answers(store, run) == [[f"QUESTION {n}"] for n in range(count)]
    assert made.statuses(store, run) == ["scored"] * count


def test_a_refused_answer_is_made_again_though_its_case_was_not_finished(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    """As when the process died between the failed answer and the evaluations."""
    job = made.job(cases[:1], judging(), target=ModelTarget(client=answering))
    run = plan(store, job, Scope())
    failed = '{"text": null, "error": "unauthorized: HTTP 401: no such key"}'
    store.commit(Batch(answers=[(run.number, 0, 0, 0, failed)]))

    made.resume(store, run, job)

    assert made.statuses(store, run) == ["scored"]


class Crashing:
    """A target of somebody's own that does what it should not."""

    name = "crashing"

    def __init__(self, do: Callable[[], Any]) -> None:
        self.do = do

    def client_for(self, _: Case) -> None:
        return

    def description(self) -> dict[str, Any]:
        return {}

    def steps(self, case: Case) -> Steps[MadeAnswer]:
        yield ()
        return self.do()  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("do", "error"),
    [
        (lambda: 1 / 0, "crashed: ZeroDivisionError: division by zero"),
        (lambda: "an answer", "crashed: TypeError: steps must return a MadeAnswer, not str"),
    ],
)
def test_a_target_that_crashes_fails_its_own_case(
    store: Store, judging: Judging, made: Any, cases: list[Case], do: Any, error: str
) -> None:
    run = made.run(store, made.job(cases[:2], judging(), target=Crashing(do)))

    assert run.status is RunStatus.FINISHED
    errors = [one.evaluation.error for result in store.results(run) for one in result.judgments]
    assert errors == [f"no_answer: the target failed: {error}"] * 2


def test_what_an_answer_cost_is_the_answers(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    prices = PriceBook({"target": {"input": 100.0, "output": 100.0}, "judge": {"input": 0.0, "output": 0.0}})
    job = made.job(cases[:1], judging(), target=ModelTarget(client=answering), prices=prices)

    first, second = made.run(store, job), made.run(store, job)

    assert [made.results(store, run)[0].answers[0].cost for run in (first, second)] == [pytest.approx(0.011), 0.0]
    assert made.results(store, first)[0].judgments[0].cost == 0.0
    assert len(answering.asked) == 1  # the second is from the cache
    assert answers(store, first) == answers(store, second)


# Answers of an earlier run


def test_answers_of_an_earlier_run_are_judged_without_making_them(
    store: Store, judging: Judging, made: Any, answering: Any, cases: list[Case]
) -> None:
    target = ModelTarget(client=answering)
    shout = answering.answer
    answering.answer = lambda ask: TIMEOUT if "question 1" in ask.messages[-1].content else shout(ask)
    before = made.run(store, made.job(cases[:3], judging(), target=target))
    answering.answer = shout
    judge = judging(name="another")

    run = made.run(store, made.job(cases[:3], judge), answers_from=before.id)

    assert len(answering.asked) == 3
    given = [result.case.candidate_answer for result in store.results(run)]
    assert given == ["QUESTION 0", None, "QUESTION 2"]
    assert made.statuses(store, run) == ["scored", "not_evaluated", "scored"]
    assert run.status is RunStatus.FINISHED


def test_a_case_that_the_earlier_run_does_not_have_is_refused(
    store: Store, judging: Judging, made: Any, cases: list[Case]
) -> None:
    before = made.run(store, made.job(made.cases(1, question="q"), judging()))

    with pytest.raises(ConfigError, match=rf"case 'case-1': run {before.id} has no case of that id"):
        made.run(store, made.job(made.cases(2, question="q"), judging()), answers_from=before.id)


def test_an_answer_to_another_question_is_refused(store: Store, judging: Judging, made: Any, cases: list[Case]) -> None:
    before = made.run(store, made.job(made.cases(1, question="q"), judging()))
    changed = made.cases(1, question="another")

    with pytest.raises(ConfigError, match=rf"case 'case-0': its input is not the one that run {before.id} answered"):
        made.run(store, made.job(changed, judging()), answers_from=before.id)

    assert len(store.runs.newest()) == 1  # and there is no run


def test_answers_that_were_given_are_taken_along(store: Store, judging: Judging, made: Any) -> None:
    before = made.run(store, made.job(made.cases(2, question="q"), judging()))
    cases = [Case(id=f"case-{n}", question="q", expected_outcome="other") for n in range(2)]
    evaluators = [PromptEvaluator(judge=judging())]

    run = made.run(store, made.job(cases, evaluators=evaluators), answers_from=before.id)

    assert [result.case.candidate_answer for result in store.results(run)] == ["answer 0", "answer 1"]
    assert [result.case.expected_outcome for result in store.results(run)] == ["other", "other"]
