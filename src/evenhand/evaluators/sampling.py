"""Scores from several replies, or from the probabilities of the first token."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar, cast

from evenhand.domain.ask import ModelClient
from evenhand.domain.errors import ContractError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.reply import TokenChoice
from evenhand.evaluators.asking import Answered, FirstToken, GaveUp
from evenhand.evaluators.reading import AMBIGUOUS, WITHIN_TEXT
from evenhand.evaluators.reasoning_block import REASONING_REMOVED

SAMPLES_LOST: Final = "samples_lost"

Turned = TypeVar("Turned", bound=Answered | FirstToken | GaveUp)


def spread(scores: Sequence[float], *, lost: int) -> dict[str, Any]:
    """Return how far samples lie apart: each score, their standard deviation, and how many samples were lost."""
    deviation = statistics.stdev(scores) if len(scores) > 1 else None
    return {"samples": list(scores), "spread": deviation, "samples_lost": lost}


def judge_details(judge: ModelClient, answered: Sequence[Answered] = ()) -> dict[str, Any]:
    """Return which judge it was and, where there was more around the verdicts, where in its replies they were."""
    details: dict[str, Any] = {"judge": judge.name}
    for outcome in answered:
        if WITHIN_TEXT in outcome.flags or REASONING_REMOVED in outcome.flags:
            details["spans"] = [list(outcome.span) for outcome in answered]
            break
    return details


def all_flags(answered: Sequence[Answered], *, lost: int = 0) -> tuple[str, ...]:
    """Return every flag of several replies once, and one for samples that could not be had."""
    flags = [flag for outcome in answered for flag in outcome.flags]
    return tuple(dict.fromkeys([*flags, SAMPLES_LOST] if lost else flags))


def turned(asked: Turned) -> Turned:
    """Return an answer as if, of its several verdicts, the other one had counted."""
    if not isinstance(asked, Answered) or asked.other is None:
        return asked
    return cast("Turned", asked._replace(accepted=asked.other, other=None))


def with_other(evaluation: Evaluation, other: Evaluation, *, counted: str, **more: Any) -> Evaluation:
    """Put on record what the other verdict in an ambiguous reply would have decided, and which one counted."""
    verdict = None if other.verdict is None else other.verdict.value
    would_be = {"counted": counted, "score": other.score, "verdict": verdict, **more}
    if other.label is not None:
        would_be["label"] = other.label
    return replace(evaluation, details={**evaluation.details, AMBIGUOUS: would_be})


def last_error(asked: Sequence[Answered | GaveUp]) -> str:
    """Return the error of the last question that was given up."""
    return [outcome.error for outcome in asked if isinstance(outcome, GaveUp)][-1]


# With less than this behind all that counts, the judge meant something else.
LEAST_MASS: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An expected value, and how much of the probability was on the tokens that count."""

    value: float
    mass: float


def yes_probability(choices: Iterable[TokenChoice]) -> Expectation:
    """Return P(yes) among yes and no, however the tokens are spelt.

    >>> yes, no = TokenChoice(token=" Yes", logprob=math.log(0.6)), TokenChoice(token="no", logprob=math.log(0.2))
    >>> yes_probability([yes, no])
    Expectation(value=0.75, mass=0.8)
    """
    return _expectation(choices, {"yes": 1.0, "no": 0.0}, "yes or no")


def first_probability(choices: Iterable[TokenChoice]) -> Expectation:
    """Return the probability that the first of two answers, A, is named rather than the second, B."""
    return _expectation(choices, {"a": 1.0, "b": 0.0}, "A or B")


def expected_number(choices: Iterable[TokenChoice], numbers: Sequence[int]) -> Expectation:
    """Return the expected value over the numbers that a judge may answer with."""
    return _expectation(choices, {str(number): float(number) for number in numbers}, "a number of the scale")


def _expectation(choices: Iterable[TokenChoice], values: dict[str, float], expected: str) -> Expectation:
    weighed = [
        (values[word], math.exp(choice.logprob))
        for choice in choices
        if (word := choice.token.strip().lower()) in values and choice.logprob <= 0  # which NaN is not
    ]
    mass = math.fsum(probability for _, probability in weighed)
    if mass < LEAST_MASS:
        raise ContractError(f"the judge hardly considered {expected}: their probability is {mass:.2g}", kind="contract")
    value = math.fsum(value * probability for value, probability in weighed) / mass
    return Expectation(value=round(value, 12), mass=round(min(mass, 1.0), 12))
