"""However many questions are asked at once, the bill of a provider stays within the limit in dollars."""

from __future__ import annotations

import asyncio
import json
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.engine.budget import Limits
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.prices import PriceBook
from evenhand.models.resolve import resolve
from evenhand.store.store import open_store

CASES = 300
# Dollars for a token, read or written, so that the bill is easy to add up.
PRICE = 0.01


class Bill:
    """Answers with a verdict, and adds up what it cost: the prompt, and a reply whose length nobody can foresee."""

    def __init__(self, responding: Callable[..., bytes]) -> None:
        self._responding = responding
        self._chance = random.Random(5)
        self._lock = threading.Lock()
        self.dollars = 0.0

    def __call__(self, text: str) -> bytes:
        with self._lock:
            used = {"prompt_tokens": 400 + len(text) // 40, "completion_tokens": int(self._chance.gammavariate(4, 20))}
            self.dollars += PRICE * sum(used.values())
        said = [{"message": {"content": '{"score": 0.5}'}, "finish_reason": "stop"}]
        return self._responding(json.dumps({"choices": said, "usage": used}).encode())


@pytest.mark.parametrize("concurrency", [1, 4, 16, 64])
def test_the_bill_is_never_higher_than_the_limit_and_little_of_it_is_left(
    vanishing: Callable[..., Any], responding: Callable[..., bytes], tmp_path: Path, concurrency: int
) -> None:
    bill = Bill(responding)
    evaluator = PromptEvaluator(judge=resolve(vanishing(bill).settings), name="quality")
    cases = [
        Case(id=f"c{n}", question="?", candidate_answer="!" * (n % 7 * 100), expected_outcome="good")
        for n in range(CASES)
    ]
    job = Job(
        name="limited",
        definition={"judge": "openai/judge"},
        cases=lambda: [PlannedCase(position=place, case=case) for place, case in enumerate(cases)],
        evaluators_for=lambda _: (evaluator,),
        prices=PriceBook({"openai/judge": {"input": PRICE * 1e6, "output": PRICE * 1e6}}),
    )
    store = open_store(str(tmp_path / "runs.db"))
    limit = 500.0

    run = to_the_end(
        Runner(
            store,
            plan(store, job, Scope()),
            job,
            Pace(concurrency=concurrency, slow_start=False, limits=Limits(max_cost=limit)),
        )
    )
    store.close()

    assert run.status is RunStatus.STOPPED
    assert 0.97 * limit < bill.dollars <= limit
    assert "evaluations are done, and the rest would cost about $" in run.reason


def to_the_end(runner: Runner) -> RunRecord:
    async def run() -> RunRecord:
        async with asyncio.timeout(60):  # only if it does not end by itself
            return await runner.run()

    return asyncio.run(run())
