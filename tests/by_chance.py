"""How many of so many draws come by chance: what a sample of a simulation may find before its test fails.

The whole simulation, in ``make test-sweep``, has limits that were written beside what was measured. A sample of it has
the limits that follow from its draws: at a seed nobody chose, what is right would be found beyond them once in a
hundred times. Seeds are fixed, so that a sample which passes does so always, until the code changes what is drawn.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from statistics import NormalDist
from typing import Final

ALARM: Final = 0.01


def at_most(draws: int, rate: float, alarm: float = ALARM) -> int:
    """Return the number that a count exceeds with a probability of ``alarm`` at most, if each draw counts at a rate."""
    below = 0.0
    for count in range(draws):
        below += _binomial(draws, count, rate)
        if 1 - below <= alarm:
            return count
    return draws


def at_least(draws: int, rate: float, alarm: float = ALARM) -> int:
    """Return the number that a count falls short of with a probability of ``alarm`` at most."""
    return draws - at_most(draws, 1 - rate, alarm)


def _binomial(draws: int, count: int, rate: float) -> float:
    if rate in {0.0, 1.0}:
        return float(count == draws * rate)
    ways = math.lgamma(draws + 1) - math.lgamma(count + 1) - math.lgamma(draws - count + 1)
    return math.exp(ways + count * math.log(rate) + (draws - count) * math.log(1 - rate))


def of_mean(values: Sequence[float], alarm: float = ALARM) -> float:
    """Return by how much the mean of values may be off, to either side, as far as their own spread says."""
    return NormalDist().inv_cdf(1 - alarm / 2) * statistics.stdev(values) / math.sqrt(len(values))
