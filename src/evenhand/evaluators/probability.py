"""Scores from the probabilities of a judge's first token (SPEC-P8)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.domain.errors import ContractError
from evenhand.domain.reply import TokenChoice

# With less than this behind all that counts, the judge meant something else.
LEAST_MASS: Final = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """An expected value, and how much of the probability stood behind the tokens that count."""

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


def _expectation(choices: Iterable[TokenChoice], values: dict[str, float], wanted: str) -> Expectation:
    weighed = [
        (values[word], math.exp(choice.logprob))
        for choice in choices
        if (word := choice.token.strip().lower()) in values and choice.logprob <= 0  # which NaN is not
    ]
    mass = math.fsum(probability for _, probability in weighed)
    if mass < LEAST_MASS:
        raise ContractError(f"the judge hardly considered {wanted}: their probability is {mass:.2g}", kind="contract")
    value = math.fsum(value * probability for value, probability in weighed) / mass
    return Expectation(value=round(value, 12), mass=round(min(mass, 1.0), 12))
