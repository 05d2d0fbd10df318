"""Whether enough cases of a run will pass, before all are judged: what was seen against all totals it can come from.

The cases are judged in a random order. If k of N pass in all, the chance of s passes among the first t is known. What
was seen speaks for "enough pass" by as much as it is likelier, on the mean over all totals that are enough, than under
the nearest one that is not (an e-value). Whenever one looks, the chance that it has ever reached 20 for what is not
true is at most 1 in 20.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from evenhand.domain.verdict import reaches
from evenhand.stats.wilson import LEVEL, wilson


def passes_needed(cases: int, limit: float) -> int:
    """Return how many of the cases must pass for a pass rate of at least the limit.

    >>> passes_needed(200, 0.9), passes_needed(7, 0.5)
    (180, 4)
    """
    return _fewest(cases, lambda passed: reaches(passed / cases, limit) if cases else True)


def passes_needed_for_low(cases: int, limit: float) -> int:
    """Return how many must pass for the lower end of the interval to reach the limit; more than all if none will do.

    >>> passes_needed_for_low(200, 0.9), passes_needed_for_low(20, 0.9)
    (189, 21)
    """
    return _fewest(cases, lambda passed: bool(cases) and reaches(wilson(passed / cases, cases, LEVEL)[0], limit))


class PassCount:
    """The passes among cases that come in a random order, and what they say about the total.

    >>> count = PassCount(cases=200, needed=160)
    >>> for _ in range(19):
    ...     count.add(passed=True)
    >>> round(count.e_pass, 3), round(count.e_fail, 3)
    (24.093, 0.044)

    All sums are of whole numbers, and exact. With totals up to N and t cases seen, s of them passed, they count how
    t + 1 of N + 1 places can be chosen: in all, with at most s, and with exactly s of them among the first K.
    """

    __slots__ = ("_at_most", "_exactly", "_ways", "cases", "judged", "needed", "passed")

    def __init__(self, *, cases: int, needed: int) -> None:
        if cases < 0:
            raise ValueError(f"there are 0 cases or more; got {cases!r}")
        self.cases = cases
        self.needed = needed
        self.judged = 0
        self.passed = 0
        self._ways = cases + 1
        self._exactly = self._at_most = cases + 1 - needed

    def copy(self) -> PassCount:
        """Return another one that has seen the same."""
        other = PassCount(cases=self.cases, needed=self.needed)
        for name in self.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def add(self, *, passed: bool) -> None:
        """Take in the next case."""
        if self.judged >= self.cases:
            raise ValueError(f"all {self.cases} cases were judged already")
        if self.certain is None:
            self._move(passed)
        self.judged += 1
        self.passed += bool(passed)

    def _move(self, passed: bool) -> None:
        n, s, t, enough = self.cases, self.passed, self.judged, self.needed
        self._at_most = (self._at_most * (n - t) - self._exactly * (enough - s)) // (t + 2)
        self._ways = self._ways * (n - t) // (t + 2)
        if passed:
            self._exactly = self._exactly * (enough - s) // (s + 1)
            self._at_most += self._exactly
        else:
            self._exactly = self._exactly * (n - enough - (t - s)) // (t + 2 - s)

    @property
    def certain(self) -> bool | None:
        """Whether enough pass whatever is to come, or not enough; None while both can be."""
        if self.passed >= self.needed:
            return True
        return False if self.cases - self.judged < self.needed - self.passed else None

    def passes_at(self, threshold: Fraction) -> bool:
        """Return whether the e-value for enough passes has reached a threshold; it is compared without rounding."""
        if self.certain is not None:
            return self.certain
        value, by = self._for_pass
        return value * threshold.denominator >= by * threshold.numerator

    def fails_at(self, threshold: Fraction) -> bool:
        """Return whether the e-value against enough passes has reached a threshold."""
        if self.certain is not None:
            return not self.certain
        value, by = self._for_fail
        return value * threshold.denominator >= by * threshold.numerator

    @property
    def e_pass(self) -> float:
        """How much speaks for enough passes; infinity is certain."""
        return _certainly(self.certain) if self.certain is not None else _ratio(*self._for_pass)

    @property
    def e_fail(self) -> float:
        """How much speaks against enough passes; infinity is certain."""
        return _certainly(not self.certain) if self.certain is not None else _ratio(*self._for_fail)

    @property
    def _for_pass(self) -> tuple[int, int]:
        failed, missing, rest = self.judged - self.passed, self.needed - self.passed, self.cases + 1 - self.needed
        return self._at_most * self.needed * (rest - failed), rest * self._exactly * missing * (failed + 1)

    @property
    def _for_fail(self) -> tuple[int, int]:
        failed, rest = self.judged - self.passed, self.cases + 1 - self.needed
        return (self._ways - self._at_most) * rest, self.needed * self._exactly * (failed + 1)


def _certainly(is_true: bool) -> float:
    return math.inf if is_true else 0.0


def _ratio(value: int, by: int) -> float:
    try:
        return value / by
    except OverflowError:
        return sys.float_info.max


def _fewest(cases: int, is_enough: Callable[[int], bool]) -> int:
    """Return the fewest passes that are enough: more are enough too."""
    low, high = 0, cases + 1
    while low < high:
        passed = (low + high) // 2
        if is_enough(passed):
            high = passed
        else:
            low = passed + 1
    return low
