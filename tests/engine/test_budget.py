"""A run spends no more than it may (SPEC-S4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.reply import Reply
from evenhand.engine.budget import Budget, Limits
from evenhand.engine.question_costs import Question
from evenhand.models.prices import PriceBook
from evenhand.models.replay import Scripted
from evenhand.store.store import Store

# What one reply of the judges here costs: 100 tokens in, 10 out.
PRICES = PriceBook({"judge": {"input": 100.0, "output": 100.0}})
COST = 0.011

REPLY = (Attempt(kind="reply", raw="{}"),)


@pytest.mark.parametrize(
    "limits",
    [
        {"max_calls": -1},
        {"max_calls": True},
        {"max_calls": 1.5},
        {"max_calls": "7"},
        {"max_cost": -0.1},
        {"max_cost": float("nan")},
        {"max_cost": float("inf")},
        {"max_cost": True},
        {"max_cost": "1"},
    ],
)
def test_limits_that_are_none_are_refused_by_name(limits: Any) -> None:
    (name,) = limits
    with pytest.raises(ConfigError, match=rf"{name} is .*; it must be a .*number.*, 0 or more"):
        Limits(**limits)


# Calls


def test_without_a_limit_calls_are_counted_afterwards() -> None:
    budget = Budget(Limits())

    calls = budget.begin()
    budget.end(calls, (Attempt(kind="transport", error="timeout: x"), *REPLY), cost=0.5)

    assert calls is None
    assert (budget.calls, budget.faults, budget.cost, budget.used_up) == (2, 1, 0.5, None)


def test_a_question_takes_its_calls_one_by_one() -> None:
    budget = Budget(Limits(max_calls=3))
    calls = budget.begin()
    assert calls is not None

    taken = [calls.take() for _ in range(5)]
    budget.end(calls, REPLY * 3, cost=0.0)

    assert taken == [True, True, True, False, False]
    assert budget.calls == 3
    assert budget.used_up == "max_calls: 3 calls were allowed"


def test_a_question_that_sent_nothing_gives_its_call_back() -> None:
    budget = Budget(Limits(max_calls=1))

    budget.end(budget.begin(), (), cost=0.0)

    assert (budget.calls, budget.used_up) == (0, None)


def test_the_calls_of_clients_that_do_not_ask_are_counted_too() -> None:
    budget = Budget(Limits(max_calls=5))

    first = budget.begin()
    assert budget.calls == 1  # before anything is sent
    budget.end(first, REPLY * 3, cost=0.0)

    assert budget.calls == 3


def test_a_question_that_was_given_up_may_have_been_sent() -> None:
    budget = Budget(Limits(max_calls=1))

    budget.begin()
    budget.give_up()

    assert budget.used_up is not None


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("most", [0, 1, 7, 8])
def test_no_more_calls_are_made_than_allowed(
    store: Store, judging: Callable[..., Any], made: Any, counts: bool, most: int
) -> None:
    async def slowly(ask: object) -> str:
        await asyncio.sleep(0.001)
        return '{"score": 1}'

    judge = judging(slowly, counts=counts)
    run = made.run(store, made.job(made.cases(20), judge), limits=Limits(max_calls=most))

    assert len(judge.asked) == most
    assert (run.status, run.reason) == (
        "stopped",
        f"budget: max_calls: {most} {'call was' if most == 1 else 'calls were'} allowed",
    )
    assert made.statuses(store, run) == ["scored"] * most


def test_replies_that_are_asked_for_again_are_calls(store: Store, judging: Callable[..., Any], made: Any) -> None:
    judge = judging(lambda ask: "no JSON")

    run = made.run(store, made.job(made.cases(20), judge), limits=Limits(max_calls=7), concurrency=1)

    assert len(judge.asked) == 7
    assert made.statuses(store, run) == ["error", "error"]  # of three replies each; the seventh was abandoned


def test_a_limit_that_is_just_enough_is_enough(store: Store, judging: Callable[..., Any], made: Any) -> None:
    judge = judging()

    run = made.run(store, made.job(made.cases(6), judge), limits=Limits(max_calls=6))

    assert (run.status, len(judge.asked)) == ("finished", 6)


def test_the_rest_is_done_with_a_new_budget(store: Store, judging: Callable[..., Any], made: Any) -> None:
    judge = judging()
    job = made.job(made.cases(10), judge)
    run = made.run(store, job, limits=Limits(max_calls=4))

    run = made.resume(store, run, job, limits=Limits(max_calls=6))

    assert (run.status, len(judge.asked)) == ("finished", 10)
    assert made.statuses(store, run) == ["scored"] * 10


def test_replies_from_the_cache_are_no_calls(store: Store, judging: Callable[..., Any], made: Any) -> None:
    judge = judging()
    job = made.job(made.cases(5), judge)
    made.run(store, job)

    run = made.run(store, job, limits=Limits(max_calls=0, max_cost=0))

    assert (run.status, len(judge.asked)) == ("finished", 5)


def test_a_scripted_judge_keeps_to_the_limit_too(store: Store, made: Any) -> None:
    judge = Scripted(['{"score": 1}'] * 9)

    made.run(store, made.job(made.cases(9), judge), limits=Limits(max_calls=4))

    assert len(judge.asked) == 4


# Dollars


def test_without_any_dollars_what_is_free_is_asked_and_nothing_else() -> None:
    budget = Budget(Limits(max_cost=0))

    assert budget.limits_cost
    assert budget.reserve(Question(("free", ""), 100, 0.0)) is not None
    assert budget.reserve(Question(("dear", ""), 100, 0.01)) is None


@pytest.mark.parametrize("concurrency", [1, 8])
def test_no_question_is_begun_that_would_cost_too_much(
    store: Store, judging: Callable[..., Any], made: Any, concurrency: int
) -> None:
    async def slowly(ask: object) -> str:
        await asyncio.sleep(0.001)
        return '{"score": 1}'

    judge = judging(slowly)
    job = made.job(made.cases(60), judge, prices=PRICES)

    run = made.run(store, job, limits=Limits(max_cost=20 * COST), concurrency=concurrency)

    assert run.status == "stopped"
    assert run.reason.startswith("budget: max_cost: ")
    assert len(judge.asked) == 20
    spent = [one.cost for result in store.results(run) for one in result.judgments]
    assert spent == pytest.approx([COST] * 20)


def test_until_a_price_is_known_no_more_are_begun_than_a_lane_begins_with(
    store: Store, judging: Callable[..., Any], made: Any
) -> None:
    async def slowly(ask: object) -> str:
        await asyncio.sleep(0.001)
        return '{"score": 1}'

    judge = judging(slowly)

    made.run(store, made.job(made.cases(60), judge, prices=PRICES), limits=Limits(max_cost=COST / 2))

    assert len(judge.asked) <= 4


def test_a_limit_in_dollars_cannot_be_kept_to_where_costs_are_unknown(
    store: Store, judging: Callable[..., Any], made: Any
) -> None:
    judge = judging(lambda ask: Reply.said('{"score": 1}'))  # without token counts

    run = made.run(store, made.job(made.cases(50), judge, prices=PRICES), limits=Limits(max_cost=5), concurrency=4)

    assert run.status == "stopped"
    assert (
        run.reason == "budget: max_cost: the cost of some replies is unknown, so the limit of $5.00 cannot be enforced"
    )
    assert len(judge.asked) <= 4


def test_a_cost_that_nobody_knows_is_not_nothing(store: Store, judging: Callable[..., Any], made: Any) -> None:
    def answer(ask: Any) -> Any:
        return Reply.said('{"score": 1}') if "answer 1" in ask.messages[-1].content else '{"score": 1}'

    job = made.job(made.cases(3), judging(answer), prices=PRICES)

    run = made.run(store, job)

    assert [one.cost for result in store.results(run) for one in result.judgments] == [
        pytest.approx(COST),
        None,
        pytest.approx(COST),
    ]


# Batches


def test_what_was_submitted_is_free_to_the_last_bit_when_all_of_it_is_answered() -> None:
    budget = Budget(Limits(max_cost=2.0))
    prices = [0.1, 0.2, 0.3]
    for price in prices:
        budget.submit(price)

    waiting = budget.used_up_by(5.0)
    for price in prices:
        budget.settle(price, REPLY, cost=price)
    answered = budget.used_up_by(5.0)

    assert 0.1 + 0.2 + 0.3 - 0.1 - 0.2 - 0.3 != 0
    assert waiting == (
        "max_cost: $2.00 of $2.00 is left, less up to $0.60 for what is submitted, and the next question may cost $5.00"
    )
    assert answered == "max_cost: $1.40 of $2.00 is left, and the next question may cost $5.00"
    budget.submit(0.0)
    budget.settle(0.0, REPLY, cost=1.5)
    assert budget.used_up == "max_cost: $2.10 of $2.00 is spent"
