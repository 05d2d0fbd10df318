"""Checks of numbers: in the answer, or of what it took."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Final, Literal, NamedTuple, TypeAlias, get_args

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.rubric import exact, is_weight
from evenhand.evaluators.checks.check import (
    NO_ANSWER,
    NO_REFERENCE,
    DeterministicCheck,
    Finding,
    Found,
    Missing,
    quoted,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Limit(DeterministicCheck):
    """What making the answer took is at most ``max``."""

    max: float

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if not is_weight(self.max):
            raise ConfigError(f"{self.where}: max is {self.max!r}; it must be a number, 0 or more", key="max")

    def _compare(self, took: float | None, quantity: str, unit: str) -> Finding:
        if took is None:
            return Missing(f"The {quantity} is unknown.")
        within = took <= self.max
        sentence = f"The {quantity} is {took:g} {unit}, {'within' if within else 'above'} {self.max:g} {unit}."
        return Found.that(within, sentence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency(_Limit):
    """The answer was made within ``max`` seconds."""

    type: ClassVar[str] = "latency"

    def look(self, case: Case) -> Steps[Finding]:
        """Compare what is known of the time."""
        yield from ()
        return self._compare(case.latency, "latency", "s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(_Limit):
    """The answer was made for at most ``max`` dollars."""

    type: ClassVar[str] = "cost"

    def look(self, case: Case) -> Steps[Finding]:
        """Compare what is known of the cost."""
        yield from ()
        return self._compare(case.cost, "cost", "dollars")


Extract: TypeAlias = Literal["whole", "first", "last"]

MOST_DIGITS: Final = 1_000

# Commas may group three digits each. What follows on a letter, digit, point or comma belongs to something else: to a
# name, a version, a number written in another way.
_SIGN = r"[+\-−]?"
_DIGITS = r"(?:[0-9]{1,3}(?:,[0-9]{3})++|[0-9]++)(?:\.[0-9]++)?+|\.[0-9]++"
_EXPONENT = rf"(?:[eE]{_SIGN}[0-9]{{1,3}}(?![0-9]))?+"
_NUMBER = re.compile(rf"(?<![\w.,]){_SIGN}(?:{_DIGITS}){_EXPONENT}(?![.,]?[0-9]|[eE]{_SIGN}[0-9])")


class Number(NamedTuple):
    """A number, and how it was written."""

    exact: Fraction
    written: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric(DeterministicCheck):
    """The answer is the number ``value``, give or take ``tolerance``, or ``relative`` times the value.

    >>> from evenhand import Case
    >>> Numeric(value=42, tolerance=0.5, extract="last").evaluate(Case(candidate_answer="6 × 7 = 41.5")).score
    1.0

    The answer must be a number as a whole; with ``extract``, the ``first`` or the ``last`` number in it counts.
    Without ``value``, the number is found in the reference answer in the same way. Everything is computed exactly.
    """

    type: ClassVar[str] = "numeric"

    value: float | str | None = None
    tolerance: float = 0.0
    relative: float = 0.0
    extract: Extract = "whole"

    def __post_init__(self) -> None:
        DeterministicCheck.__post_init__(self)
        if self.extract not in get_args(Extract):
            raise ConfigError(
                f"{self.where}: extract is {self.extract!r}; it must be 'whole', 'first' or 'last'", key="extract"
            )
        for name in ("tolerance", "relative"):
            if not is_weight(getattr(self, name)):
                raise ConfigError(
                    f"{self.where}: {name} is {getattr(self, name)!r}; it must be a number, 0 or more", key=name
                )
        if self.value is not None and self._expected_number() is None:
            raise ConfigError(f"{self.where}: value is {self.value!r:.80}; it must be a finite number", key="value")

    def _expected_number(self) -> Number | None:
        if isinstance(self.value, bool) or not isinstance(self.value, (int, float, str)):
            return None
        return find_number(str(self.value), "whole")

    def look(self, case: Case) -> Steps[Finding]:
        """Find the number and compare it."""
        yield from ()
        if case.candidate_answer is None:
            return NO_ANSWER
        expected = self._expected_number()
        if expected is None:
            if case.reference_answer is None:
                return NO_REFERENCE
            expected = find_number(case.reference_answer, self.extract)
            if expected is None:
                return Missing(f"There is no number in the reference answer: {quoted(case.reference_answer)}.")
        number = find_number(case.candidate_answer, self.extract)
        expectation = f"{expected.written}{self._margin()}"
        if number is None:
            where = "The answer is not a number" if self.extract == "whole" else "There is no number in the answer"
            return Found.that(False, f"{where}: {quoted(case.candidate_answer)}; expected {expectation}.")
        near = abs(number.exact - expected.exact) <= self._allowed(expected)
        sentence = f"The answer is {number.written}, {'as' if near else 'not'} {expectation}."
        return Found.that(near, sentence, found=number.written, expected=expected.written)

    def _allowed(self, expected: Number) -> Fraction:
        return max(exact(self.tolerance), exact(self.relative) * abs(expected.exact))

    def _margin(self) -> str:
        margins = [f"{self.tolerance:g}"] if self.tolerance else []
        if self.relative:
            margins.append(f"{100 * self.relative:g} %")
        return f" ± {' or '.join(margins)}" if margins else ""


def find_number(text: str, extract: Extract) -> Number | None:
    """Find a number: the text as a whole, or the first or last number in it.

    >>> find_number("It costs 1,234.50 euros.", "first")
    Number(exact=Fraction(2469, 2), written='1,234.50')

    A percent sign or a unit is no part of a number. NaN and infinities are none, and neither is what takes more than
    1,000 characters.
    """
    if extract == "whole":
        match = _NUMBER.fullmatch(text.strip())
        return _number(match[0]) if match and len(match[0]) <= MOST_DIGITS else None
    written = (match[0] for match in _NUMBER.finditer(text) if len(match[0]) <= MOST_DIGITS)
    chosen = written if extract == "first" else deque(written, maxlen=1)
    return next(map(_number, chosen), None)


def _number(written: str) -> Number:
    return Number(Fraction(written.replace(",", "").replace("−", "-")), written)
