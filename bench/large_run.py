"""A large run, as measurements of what it takes to look at one need it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from evenhand.domain.evaluation import Attempt, Evaluation, Usage
from evenhand.domain.run import Judgment, MadeAnswer, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.store.rows import Batch, answer_row, dumps, evaluation_row
from evenhand.store.store import Store

REASON = "The answer names the city and says why, but it does not mention the year that the question asked for. " * 4
PROMPT = "You are judging an answer by the criteria below. " * 40
PAGE = 1_000


def filled(store: Store, evaluations: int, evaluators: Sequence[str] = ("criteria",)) -> RunRecord:
    """Make a run of so many evaluations, each as large as those of a real run, and all evaluators for each case."""
    listed = [{"name": name, "type": "llm_judge"} for name in evaluators]
    run = store.runs.create(
        name="large", source="large.yaml", definition={"name": "large", "evaluators": listed}, options={}
    )
    cases = evaluations // len(evaluators)
    for first in range(0, cases, PAGE):
        positions = range(first, min(first + PAGE, cases))
        store.add_cases([case_row(run, position) for position in positions])
        store.commit(
            Batch(
                answers=[answer_row(run.number, position, made(position)) for position in positions],
                evaluations=[
                    evaluation_row(run.number, position, number, judged(name, position + number))
                    for position in positions
                    for number, name in enumerate(evaluators)
                ],
            )
        )
    return store.runs.mark(run, RunStatus.FINISHED, cases=cases)


def case_row(run: RunRecord, position: int) -> tuple[Any, ...]:
    case = {
        "id": f"case-{position:06}",
        "question": f"What is the capital of country {position}? " + "Say why. " * 20,
        "metadata": {"model": f"openai/{'ab'[position % 2]}", "lang": ("de", "en", "fr")[position % 3]},
    }
    return run.number, position, case["id"], "hash", 1, dumps({"case": case})


def made(position: int) -> MadeAnswer:
    return MadeAnswer(text=f"The capital of country {position} is called so. " * 5, cost=0.001, latency=0.5)


def judged(evaluator: str, position: int) -> Judgment:
    score = (position * 7919 % 101) / 100
    raw = dumps({"score": score, "reasoning": REASON})
    attempts = (Attempt(kind="reply", raw=raw, latency=0.4, usage=Usage(input_tokens=900, output_tokens=90)),)
    if position % 50 == 0:
        evaluation = Evaluation.with_error(evaluator=evaluator, type="llm_judge", error="unparsable: no JSON in it")
    else:
        evaluation = Evaluation.with_score(
            evaluator=evaluator,
            type="llm_judge",
            score=score,
            verdict=Thresholds().verdict(score),
            reasoning=REASON,
            attempts=attempts,
            retry_count=int(position % 40 == 1),
            evaluator_provider_request={"systemPrompt": PROMPT, "userPrompt": REASON},
        )
    return Judgment(evaluation=evaluation, key=os.urandom(16).hex(), cost=score / 100, seconds=0.4)
