"""Whether the mean score of a run will reach a limit, before all cases are judged: bets on the scores to come.

The cases are judged in a random order. If the mean of all were at the limit, the mean of those to come would be known
from what was seen; who bets on scores above it, or below it, cannot be expected to win. Twenty who risk more or less do
so at the same time: their mean gain is an e-value, which ever reaches 20 for what is not true in at most 1 of 20 runs.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.sample import BITS, whole

BETS: Final = 20
_RISKS: Final = tuple((place + 1) / (BETS + 1) for place in range(BETS))


class MeanBets:
    """The scores of cases that come in a random order, and what they say about the mean of all.

    >>> bets = MeanBets(cases=40, limit=0.7)
    >>> for score in (0.9, 1.0):
    ...     bets.add(score)
    >>> round(bets.e_pass, 6), round(bets.e_fail, 6)
    (1.403239, 0.383598)

    A case without a score counts as exactly the limit, so that it moves the mean to neither side. Sums of scores are
    exact: with rounded ones, a run exactly at its limit would be called a certain fail in some orders.
    """

    __slots__ = ("_against", "_for", "_limit", "_need", "_start", "cases", "judged", "limit", "scored")

    def __init__(self, *, cases: int, limit: float, start: tuple[float, float] = (1.0, 1.0)) -> None:
        if cases < 0 or not 0 <= limit <= 1:
            raise ValueError(f"there are 0 cases or more, and the limit lies from 0 to 1; got {cases!r} and {limit!r}")
        self.cases = cases
        self.limit = limit
        self.judged = 0
        self.scored = 0
        self._start = start
        # What a run's mean must reach, past float noise, in whole numbers of 2**-1074.
        self._limit = whole(limit - FLOAT_NOISE)
        self._need = cases * self._limit
        self._for = [1.0] * BETS
        self._against = [1.0] * BETS

    def know(self, score: float | None) -> None:
        """Take in the result of a case that was known before: nobody can bet on it."""
        self._take(score)

    def add(self, score: float | None) -> None:
        """Take in the next case, None if it has no score."""
        left = self.cases - self.judged
        if self.certain is None and left > 0:
            # Float noise below the limit passes: it may help neither those who bet on a pass, nor those on a fail.
            noise = (whole(self.limit) - self._limit) * (self.cases - self.judged + self.scored)
            at_limit, at_noise = (self._need + noise) / (left << BITS), self._need / (left << BITS)
            self._bet(self.limit if score is None else score, at_limit, at_noise)
        self._take(score)

    def _bet(self, score: float, most: float, least: float) -> None:
        if most > 0:
            won = score - most
            self._for = [held * (1 + risk * won / most) for held, risk in zip(self._for, _RISKS, strict=True)]
        if least < 1:
            won, rest = least - score, 1 - least
            self._against = [held * (1 + risk * won / rest) for held, risk in zip(self._against, _RISKS, strict=True)]

    def _take(self, score: float | None) -> None:
        if self.judged >= self.cases:
            raise ValueError(f"all {self.cases} cases were judged already")
        if score is not None and not 0 <= score <= 1:
            raise ValueError(f"a score lies from 0 to 1; got {score!r}")
        self.judged += 1
        self.scored += score is not None
        self._need -= self._limit if score is None else whole(score)

    @property
    def certain(self) -> bool | None:
        """Whether the mean reaches the limit whatever is to come, or does not; None while both can be."""
        if self._need > (self.cases - self.judged) << BITS:
            return False
        return True if self._need <= 0 else None

    @property
    def e_pass(self) -> float:
        """How much speaks for a mean that reaches the limit; infinity is certain."""
        if self.certain is not None:
            return math.inf if self.certain else 0.0
        return self._start[0] * math.fsum(self._for) / BETS

    @property
    def e_fail(self) -> float:
        """How much speaks against it; infinity is certain."""
        if self.certain is not None:
            return 0.0 if self.certain else math.inf
        return self._start[1] * math.fsum(self._against) / BETS

    def passes_at(self, threshold: Fraction) -> bool:
        """Return whether the e-value for the mean has reached a threshold."""
        return _reaches(self.e_pass, threshold)

    def fails_at(self, threshold: Fraction) -> bool:
        """Return whether the e-value against the mean has reached a threshold."""
        return _reaches(self.e_fail, threshold)


def _reaches(value: float, threshold: Fraction) -> bool:
    """Compare without rounding, as fractions do; these take ten times as long."""
    if math.isinf(value):
        return True
    numerator, denominator = value.as_integer_ratio()
    return numerator * threshold.denominator >= threshold.numerator * denominator
