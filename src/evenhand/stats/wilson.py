"""Wilson's interval for shares, and for means of scores: that of as many passes and fails as are equally uncertain."""

from __future__ import annotations

import math
from typing import Final

from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.distributions import t_quantile, z_quantile

LEVEL: Final = 0.95


def wilson(share: float, n: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's score interval for a share that was found among ``n``.

    >>> [round(end, 4) for end in wilson(27 / 30, 30)]
    [0.7438, 0.9654]
    """
    return _ends(share, n, z_quantile(level))


def scaled_wilson(
    mean: float, error: float, units: int, level: float = LEVEL, *, df: float | None = None
) -> tuple[float, float]:
    """Return the interval of a mean of scores from 0 to 1 that has a standard error, found from so many units.

    Units are cases, or clusters. ``df`` are the degrees of freedom of the error; one less than there are units where
    nothing else is known. Near an end of the scale, where an interval of equal halves would be too short on the side
    away from it, this one is longer there.

    >>> [round(end, 4) for end in scaled_wilson(0.9375, 0.04966745474, 12)]
    [0.7392, 0.9876]

    Without an error, past float noise, all scores were equal. That is no proof that others would be: the interval is
    then that of the largest spread that scores with such a mean can have.

    >>> [round(end, 4) for end in scaled_wilson(0.8, 0.0, 6)]
    [0.4069, 0.9589]
    """
    if not 0 <= mean <= 1 or not 0 <= error < math.inf or units < 2:
        raise ValueError(
            f"a mean of scores lies from 0 to 1, its error is 0 or more, and units are 2 or more; got {mean!r}, "
            f"{error!r} and {units!r}"
        )
    if error * math.sqrt(units) <= FLOAT_NOISE:
        return wilson(mean, units, level)
    return _ends(mean, effective_number(mean, error), t_quantile(level, units - 1 if df is None else df))


def effective_number(mean: float, error: float) -> float:
    """Return how many passes and fails would have the same mean and the same standard error.

    >>> round(effective_number(0.9, 0.03), 6)
    100.0
    """
    return mean * (1 - mean) / error**2


def _ends(mean: float, n: float, quantile: float) -> tuple[float, float]:
    pull = quantile * quantile / n
    centre = (mean + pull / 2) / (1 + pull)
    half = math.sqrt(mean * (1 - mean) * pull + pull * pull / 4) / (1 + pull)
    # Exactly the end of the scale where nothing, or everything, was found: rounding would fall short of it.
    return (0.0 if mean == 0 else max(0.0, centre - half)), (1.0 if mean == 1 else min(1.0, centre + half))
