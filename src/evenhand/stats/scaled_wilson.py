"""Wilson's interval for a mean of scores: as that of as many passes and fails as would be equally uncertain."""

from __future__ import annotations

import math

from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.distributions import t_quantile, z_quantile
from evenhand.stats.intervals import LEVEL


def effective_number(mean: float, error: float) -> float:
    """Return how many passes and fails would have the same mean and the same standard error.

    >>> round(effective_number(0.9, 0.03), 6)
    100.0
    """
    return mean * (1 - mean) / error**2


def scaled_wilson(mean: float, error: float, df: int, level: float = LEVEL) -> tuple[float, float]:
    """Return the interval of a mean of scores from 0 to 1 with its standard error.

    ``df`` are the degrees of freedom of the error: one less than there are cases, or clusters. Near an end of the
    scale, where an interval of equal halves is too short on the side away from it, this one is longer there.

    >>> [round(end, 4) for end in scaled_wilson(0.9375, 0.04966745474, 11)]
    [0.7392, 0.9876]

    Without an error, past float noise, all scores were equal. That is no proof that others would be, and the interval
    is that of the largest spread which scores with such a mean can have.

    >>> [round(end, 4) for end in scaled_wilson(0.8, 0.0, 5)]
    [0.4069, 0.9589]
    """
    if not 0 <= mean <= 1 or not 0 <= error < math.inf or df < 1:
        raise ValueError(
            f"a mean of scores lies from 0 to 1, its error is 0 or more, and df is 1 or more; got {mean!r}, {error!r} "
            f"and {df!r}"
        )
    units = df + 1
    if error * math.sqrt(units) <= FLOAT_NOISE:
        return _wilson(mean, units, z_quantile(level))
    if mean in (0, 1):
        raise ValueError(f"scores from 0 to 1 with a mean of {mean!r} are all equal, and have no error of {error!r}")
    return _wilson(mean, effective_number(mean, error), t_quantile(level, df))


def _wilson(mean: float, n: float, quantile: float) -> tuple[float, float]:
    pull = quantile * quantile / n
    centre = (mean + pull / 2) / (1 + pull)
    half = math.sqrt(mean * (1 - mean) * pull + pull * pull / 4) / (1 + pull)
    # Exactly the end of the scale where all scores are there: rounding would fall short of it.
    return (0.0 if mean == 0 else max(0.0, centre - half)), (1.0 if mean == 1 else min(1.0, centre + half))
