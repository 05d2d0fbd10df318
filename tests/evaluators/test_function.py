"""A function as an evaluator."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Evaluation, Verdict
from evenhand.evaluators.function import FunctionEvaluator

CASE = Case(id="a", candidate_answer="Paris")


async def later(case: Case) -> float:
    return 0.25


class Scalar:
    """A number as numpy has them."""

    def item(self) -> float:
        return 0.5


def judged(function: Callable[[Case], Any], **options: Any) -> Evaluation:
    return FunctionEvaluator(function=function, **options).evaluate(CASE)


@pytest.mark.parametrize(
    ("function", "score", "reasoning"),
    [
        (lambda case: 0.7, 0.7, ""),
        (lambda case: 1, 1.0, ""),
        (lambda case: "Paris" in case.candidate_answer, 1.0, ""),
        (lambda case: False, 0.0, ""),
        (lambda case: {"score": 0.3, "reasoning": "Short."}, 0.3, "Short."),
        (lambda case: {"key": "x", "score": True, "comment": "Fine."}, 1.0, "Fine."),
        (lambda case: Scalar(), 0.5, ""),
        (later, 0.25, ""),
    ],
)
def test_what_a_function_returns_is_the_score(function: Callable[[Case], Any], score: float, reasoning: str) -> None:
    evaluation = judged(function)

    assert (evaluation.status, evaluation.score, evaluation.reasoning) == ("scored", score, reasoning)


def test_what_else_a_function_tells_is_kept() -> None:
    assert judged(lambda case: {"score": 1, "words": 3}).details == {"words": 3}


def test_the_thresholds_decide_on_the_verdict() -> None:
    assert judged(lambda case: 0.5, thresholds={"pass": 0.5}).verdict is Verdict.PASS


def test_a_whole_evaluation_is_taken_as_it_is_under_the_evaluators_name() -> None:
    given = Evaluation.with_score(evaluator="?", type="mine", score=0.5, verdict=Verdict.FAIL, misses=("a",))

    evaluation = judged(lambda case: given, name="mine")

    assert (evaluation.evaluator, evaluation.type, evaluation.misses) == ("mine", "mine", ("a",))


def test_none_means_that_there_was_nothing_to_judge() -> None:
    evaluation = judged(lambda case: None)

    assert (evaluation.status, evaluation.score) == ("not_evaluated", None)


@pytest.mark.parametrize("value", [2, -0.1, float("nan"), "0.5", [1], {"score": "high"}])
def test_what_is_no_score_is_an_error_and_no_bad_answer(value: object) -> None:
    evaluation = judged(lambda case: value)

    assert evaluation.status == "error"
    assert str(evaluation.error).startswith("contract: the function returned ")


def test_a_function_that_raises_is_an_error_and_no_bad_answer() -> None:
    def broken(case: Case) -> float:
        raise KeyError("lost")

    evaluation = judged(broken)

    assert evaluation.status == "error"
    assert str(evaluation.error).startswith("function_error: KeyError: 'lost' (at broken in ")


def test_what_a_function_raised_comes_with_the_last_lines_of_its_own_code() -> None:
    def parse(text: str) -> float:
        return float(json.loads(text))  # raised deep in Python's own code

    def grade(case: Case) -> float:
        return parse("{")

    evaluation = judged(grade)

    first = grade.__code__.co_firstlineno
    here = str(Path(__file__).relative_to(Path.cwd()))
    assert str(evaluation.error).endswith(f" (at parse in {here}:{first - 2}, called from grade in {here}:{first + 1})")


def test_a_function_that_takes_too_long_is_an_error() -> None:
    evaluation = FunctionEvaluator(function=lambda case: time.sleep(1)).evaluate(CASE, timeout=0.05)

    assert str(evaluation.error).startswith("timeout: ")
