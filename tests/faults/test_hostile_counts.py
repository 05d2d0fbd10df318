"""Whatever a provider says about tokens, its sound verdict is kept, and nobody's turn is lost for it."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Usage
from evenhand.domain.reply import Reply
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.engine.budget import Limits
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.prices import PriceBook
from evenhand.models.resolve import resolve
from evenhand.reports.summary import summarize
from evenhand.store.store import Store, open_store

Start = Callable[..., Any]
CASES = 24
SAID = '{"score": 0.5}'
# JSON as it is sent: 400 digits are no number to every reader.
WRONG = {
    "400 digits": "9" * 400,
    "25 digits": "9" * 25,
    "beyond all counts": str(2**53),
    "negative": "-1",
    "a fraction": "1.5",
    "a float": "10.0",
    "huge": "1e308",
    "true": "true",
    "text": '"10"',
    "a list": "[10]",
    "nested": '{"tokens": 10}',
}
USAGES = {
    **{name: f'{{"prompt_tokens": {value}, "completion_tokens": 5}}' for name, value in WRONG.items()},
    "NaN": '{"prompt_tokens": NaN, "completion_tokens": 5}',
    "wrong output": '{"prompt_tokens": 5, "completion_tokens": -5}',
    "wrong details": '{"prompt_tokens": 5, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": "all"}}',
    "other names": '{"tokens": 5}',
    "only text": '"none"',
    "nothing": "null",
    "empty": "{}",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def job_of(judge: Any) -> Job:
    evaluator = PromptEvaluator(judge=judge, name="quality")
    cases = [Case(id=f"c{n}", question="?", candidate_answer=f"{n}", expected_outcome="good") for n in range(CASES)]
    return Job(
        name="counts",
        definition={"judge": "openai/judge"},
        cases=lambda: [PlannedCase(position=place, case=case) for place, case in enumerate(cases)],
        evaluators_for=lambda _: (evaluator,),
        prices=PriceBook({"openai/judge": {"input": 1.0, "output": 1.0}}),
    )


def run_all(store: Store, judge: Any, **pace: Any) -> RunRecord:
    job = job_of(judge)
    runner = Runner(store, plan(store, job, Scope()), job, Pace(concurrency=4, **pace))

    async def to_the_end() -> RunRecord:
        async with asyncio.timeout(60):  # only if it does not end by itself
            return await runner.run()

    return asyncio.run(to_the_end())


def body(usage: str) -> bytes:
    said = json.dumps([{"message": {"content": SAID}, "finish_reason": "stop"}])
    return f'{{"choices": {said}, "usage": {usage}}}'.encode()


@pytest.mark.parametrize("usage", USAGES.values(), ids=USAGES.keys())
def test_counts_that_cannot_be_true_are_unknown_and_every_verdict_is_kept(
    vanishing: Start, responding: Callable[..., bytes], store: Store, usage: str
) -> None:
    provider = vanishing(lambda text: responding(body(usage)))

    run = run_all(store, resolve(provider.settings))

    judgments = [one for result in store.results(run) for one in result.judgments]
    assert run.status is RunStatus.FINISHED
    assert [one.evaluation.score for one in judgments] == [0.5] * CASES
    assert {one.cost for one in judgments} == {None}
    assert {one.evaluation.usage for one in judgments} == {None}
    assert summarize(store.results(run)).cost is None


def test_a_limit_of_dollars_is_kept_where_a_cost_is_unknown(
    vanishing: Start, responding: Callable[..., bytes], store: Store
) -> None:
    provider = vanishing(lambda text: responding(body(USAGES["400 digits"])))

    run = run_all(store, resolve(provider.settings), limits=Limits(max_cost=1.0))

    assert run.status is RunStatus.STOPPED
    assert run.reason == (
        "budget: max_cost: the cost of some replies is unknown, so the limit of $1.00 cannot be enforced"
    )
    assert len(provider.asked) <= 4


class Own:
    """A client of somebody's own, which says of its requests what it likes."""

    name = "openai/judge"

    def __init__(self, attempts: Any) -> None:
        self.attempts = attempts

    async def ask(self, ask: Any, *, deadline: float | None = None) -> Reply:
        return Reply(text=SAID, attempts=self.attempts)


def attempt(usage: Any) -> tuple[Attempt, ...]:
    return (Attempt(kind="reply", raw=SAID, usage=usage),)


@pytest.mark.parametrize(
    "attempts",
    [
        attempt(Usage(input_tokens=10**400)),
        attempt(Usage(input_tokens=-5)),
        attempt(Usage(output_tokens=math.nan)),  # type: ignore[arg-type]
        attempt({"input_tokens": 5}),
        attempt("many"),
        (),
    ],
)
def test_a_client_of_somebodys_own_may_say_what_it_likes(store: Store, attempts: Any) -> None:
    run = run_all(store, Own(attempts))

    judgments = [one for result in store.results(run) for one in result.judgments]
    assert run.status is RunStatus.FINISHED
    assert [one.evaluation.score for one in judgments] == [0.5] * CASES
    assert {one.cost for one in judgments} == {None}


def test_a_client_that_gives_no_attempts_at_all_fails_its_own_evaluations(store: Store) -> None:
    run = run_all(store, Own(["request"]), max_consecutive_errors=0)

    errors = {one.evaluation.error for result in store.results(run) for one in result.judgments}
    assert run.status is RunStatus.FINISHED
    assert {str(error).partition(":")[0] for error in errors} == {"crashed"}


@pytest.mark.parametrize(
    ("status", "head", "body"),
    [
        (429, {"Retry-After": "9" * 400}, b"{}"),
        (503, {"Retry-After": "1e308"}, b"{}"),
        (429, {"retry-after-ms": "-1e308"}, b"{}"),
        (200, {}, json.dumps({"error": {"code": "9" * 5000, "message": "?"}}).encode()),
        (200, {}, b'{"error": {"code": %b, "message": [1]}}' % (b"9" * 400)),
        (400, {}, b'{"error": {"code": %b, "message": "?"}}' % (b"9" * 5000)),
        (200, {}, b'{"choices": [{"message": {"content": {"a": 1}}, "finish_reason": [1], "logprobs": 7}]}'),
    ],
)
def test_odd_values_elsewhere_are_failed_attempts_with_a_class(
    vanishing: Start,
    responding: Callable[..., bytes],
    store: Store,
    status: int,
    head: dict[str, str],
    body: bytes,
) -> None:
    provider = vanishing(lambda text: responding(body, status=status, **head))

    # Less than a Retry-After is honoured for, so that nobody waits for it here.
    job = job_of(resolve({**provider.settings, "max_transport_attempts": 1}))
    runner = Runner(store, plan(store, job, Scope()), job, Pace(concurrency=4))
    run = asyncio.run(asyncio.wait_for(runner.run(), 60))

    errors = [str(one.evaluation.error) for result in store.results(run) for one in result.judgments]
    assert run.status in {RunStatus.FINISHED, RunStatus.STOPPED}
    assert not [error for error in [*errors, run.reason] if "crashed" in error]
    assert runner.gateway.budget.calls == len(provider.asked)
