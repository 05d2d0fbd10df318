"""Sums without rounding: the order in which cases come in cannot move a digit."""

from __future__ import annotations

from typing import Final

# Every finite float is a whole number of these: 2**-1074 is the smallest one there is.
BITS: Final = 1074


def whole(number: float) -> int:
    """Give a float as a whole number of ``2**-1074``."""
    numerator, denominator = number.as_integer_ratio()
    return numerator << (BITS + 1 - denominator.bit_length())


class ExactSum:
    """A sum of floats that is rounded once, when it is read.

    >>> total = ExactSum()
    >>> for _ in range(10):
    ...     total.add(0.1)
    >>> total.value
    1.0
    """

    __slots__ = ("_whole",)

    def __init__(self) -> None:
        self._whole = 0

    def add(self, number: float) -> None:
        """Add a number."""
        self._whole += whole(number)

    @property
    def value(self) -> float:
        """The sum so far."""
        return self._whole / (1 << BITS)
