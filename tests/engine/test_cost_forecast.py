"""What the rest of a run will cost is learnt from what its cases cost."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.reply import Reply
from evenhand.domain.run import Judgment, PlannedCase
from evenhand.domain.verdict import Verdict
from evenhand.engine.budget import Limits
from evenhand.engine.cost_forecast import LEAST_CASES, CaseCosts
from evenhand.engine.job import Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.question_costs import Question, QuestionCosts
from evenhand.engine.run import Progress, stop_reason
from evenhand.engine.runner import Runner
from evenhand.models.prices import PriceBook
from evenhand.store.store import Store

PRICES = PriceBook({"judge": {"input": 100.0, "output": 100.0}})


def judgment(cost: float | None, *, cached: bool = False, number: int = 0) -> Judgment:
    attempts = (Attempt(kind="reply", raw="{}", cached=cached),)
    evaluation = Evaluation.with_score(
        evaluator="quality", type="llm_judge", score=1.0, verdict=Verdict.PASS, attempts=attempts
    )
    return Judgment(evaluation=evaluation, cost=cost, round=number)


def planned(position: int, expected: int = 1) -> PlannedCase:
    return PlannedCase(position=position, case=Case(), expected=expected)


def test_nothing_is_said_before_twenty_cases_are_judged() -> None:
    costs = CaseCosts()

    for position in range(LEAST_CASES):
        assert costs.forecast(80, spent=0.0) is None
        costs.add(planned(position), judgment(0.5))

    found = costs.forecast(80, spent=10.0)
    assert found is not None
    assert (found.rest, found.low, found.high, found.cases) == (40.0, 40.0, 40.0, LEAST_CASES)
    assert found.as_dict() == {"cost": 50.0, "low": 50.0, "high": 50.0, "cases": 20}


@pytest.mark.slow
def test_the_interval_holds_what_the_rest_really_costs_as_often_as_it_says() -> None:
    chance = random.Random(7)
    held = 0
    for _ in range(400):
        # Two evaluations each, whose costs depend on the same text.
        population = [
            (size * 0.001, size * 0.003 * chance.uniform(0.8, 1.2))
            for size in (chance.gammavariate(3, 1) for _ in range(120))
        ]
        costs = CaseCosts()
        for position, pair in enumerate(population[:30]):
            for dollars in pair:
                costs.add(planned(position, 2), judgment(dollars))

        found = costs.forecast(180, spent=0.0)

        assert found is not None
        held += found.low <= sum(map(sum, population[30:])) <= found.high
    assert 0.92 <= held / 400 <= 0.98


def test_cases_with_more_evaluations_cost_more_in_proportion() -> None:
    costs = CaseCosts()
    for position in range(30):
        expected = 1 + position % 3
        for _ in range(expected):
            costs.add(planned(position, expected), judgment(0.25))

    found = costs.forecast(100, spent=0.0)

    assert found is not None
    assert found.rest == found.high == pytest.approx(25.0)


def test_the_answers_and_all_repetitions_are_part_of_a_case() -> None:
    costs = CaseCosts(repeat=2)
    for position in range(20):
        for _ in range(2):
            costs.add_answer(planned(position), 0.5)
            costs.add(planned(position), judgment(0.25))

    found = costs.forecast(60, spent=0.0)

    assert found is not None
    assert (found.rest, found.cases) == (45.0, 20)


def test_what_came_from_the_cache_says_nothing_about_the_rest_and_what_is_asked_again_is_not_in_it() -> None:
    costs = CaseCosts()
    for position in range(20):
        costs.add(planned(position), judgment(0.0, cached=True))
        costs.add(planned(position), judgment(9.0, number=1))
    assert costs.forecast(10, spent=0.0) is None

    for position in range(20, 40):
        costs.add(planned(position), judgment(0.5))

    found = costs.forecast(10, spent=0.0)
    assert found is not None
    assert found.rest == 5.0


@pytest.mark.parametrize("whose", ["judge", "target"])
def test_an_unknown_cost_makes_that_of_the_rest_unknown(whose: str) -> None:
    costs = CaseCosts()
    for position in range(40):
        if whose == "target":
            costs.add_answer(planned(position), None)
        costs.add(planned(position), judgment(None if whose == "judge" else 1.0))

    assert costs.forecast(10, spent=0.0) is None


def test_a_longer_prompt_may_cost_more_than_any_so_far() -> None:
    costs = QuestionCosts()
    kind = ("judge", "rubric")
    assert costs.bound(Question(kind, 100, 0.5)) is None

    costs.learn(Question(kind, 100, 0.5), 2.0)
    assert costs.bound(Question(kind, 100, 0.5)) == 4.0  # nobody knows yet how far they differ
    for _ in range(10):
        costs.learn(Question(kind, 100, 0.5), 2.0)

    bounds = [costs.bound(Question(kind, size, 0.5)) for size in (50, 100, 300)]
    assert bounds == [2.0, 2.0, 6.0]
    assert costs.bound(Question(("free", ""), 100, 0.0)) == 0.0


def test_the_next_question_may_cost_four_deviations_more_than_most() -> None:
    costs = QuestionCosts()
    question = Question(("judge", "rubric"), 100, 0.5)
    bounds = []
    for dollars in (2.0, 1.0, 4.0, 3.0, 5.0, 6.0):
        costs.learn(question, dollars)
        bounds.append(costs.bound(question))

    # Of a few, twice the most. The variance of 1 to 5 is 2.5, that of 1 to 6 is 3.5, and that of the mean comes on top.
    by_deviations = [3 + 4 * math.sqrt(2.5 * (1 + 1 / 5)), 3.5 + 4 * math.sqrt(3.5 * (1 + 1 / 6))]
    assert bounds == pytest.approx([4.0, 4.0, 8.0, 8.0, *by_deviations])


def test_a_run_that_is_short_of_money_says_how_far_it_came_and_what_the_rest_would_cost(
    store: Store, judging: Callable[..., Any], made: Any
) -> None:
    written = itertools.cycle((0, 10, 20))
    judge = judging(lambda ask: Reply.said('{"score": 1}', usage=Usage(input_tokens=90, output_tokens=next(written))))
    job = made.job(made.cases(100), judge, prices=PRICES)
    record = plan(store, job, Scope())
    store.runs.claim(record)
    runner = Runner(store, record, job, Pace(limits=Limits(max_cost=0.5), concurrency=1))

    run = made.drive(runner)

    done, ahead = runner.progress.done, runner.progress.forecast
    assert ahead is not None
    assert ahead.low < 0.01 * (100 - done) < ahead.high
    assert run.reason.startswith("budget: max_cost: $0.0")
    assert " of $0.50 is left, and the next question may cost up to $0.0" in run.reason
    assert f"; {done} of 100 evaluations are done, and the rest would cost about $0.5" in run.reason


def test_a_resumed_run_knows_from_what_it_stored_what_the_rest_will_cost(
    store: Store, judging: Callable[..., Any], made: Any
) -> None:
    judge = judging(lambda ask: Reply.said('{"score": 1}', usage=Usage(input_tokens=90, output_tokens=10)))
    job = made.job(made.cases(40), judge, prices=PRICES)
    record = plan(store, job, Scope())
    store.runs.claim(record)
    stopped = made.drive(Runner(store, record, job, Pace(limits=Limits(max_calls=30), concurrency=1)))
    store.runs.claim(stopped)
    resumed = Runner(store, stopped, job, Pace(limits=Limits(max_calls=1), concurrency=1))

    made.drive(resumed)

    ahead = resumed.progress.forecast
    assert ahead is not None
    assert (ahead.cases, round(ahead.rest, 9), round(ahead.spent, 9)) == (31, 0.09, 0.01)


def test_other_reasons_to_stop_are_left_as_they_are() -> None:
    unknown = Progress()
    unknown.cost = None

    assert stop_reason("budget: max_calls: 1 call was allowed", Progress()) == "budget: max_calls: 1 call was allowed"
    assert stop_reason("budget: max_cost: unknown", unknown) == "budget: max_cost: unknown"
    assert stop_reason("auth: no", Progress()) == "auth: no"
