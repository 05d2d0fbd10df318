"""Quantiles of the normal distribution and of Student's t, for intervals around a mean."""

from __future__ import annotations

import functools
import math

# From here on the expansion in 1/df is exact to more digits than a float's quantile keeps.
_MANY = 1000


@functools.lru_cache(maxsize=16)
def z_quantile(level: float) -> float:
    """Give z such that the normal distribution has ``level`` of its mass between -z and z.

    >>> round(z_quantile(0.95), 6)
    1.959964
    """
    from statistics import NormalDist  # noqa: PLC0415 - brings much along, and few commands need an interval

    return NormalDist().inv_cdf(0.5 + level / 2)


@functools.lru_cache(maxsize=256)
def t_quantile(level: float, df: int) -> float:
    """Give t such that Student's distribution has ``level`` of its mass between -t and t.

    >>> round(t_quantile(0.95, 9), 6)
    2.262157
    """
    if not 0 < level < 1 or df < 1:
        raise ValueError(f"a level lies between 0 and 1, and df is 1 or more; got {level!r} and {df!r}")
    if df >= _MANY:
        return _expanded(z_quantile(level), df)
    low, high = 0.0, math.pi / 2
    while (angle := (low + high) / 2) not in (low, high):
        if _central_mass(angle, df) < level:
            low = angle
        else:
            high = angle
    return math.sqrt(df) * math.tan(angle)


def _central_mass(angle: float, df: int) -> float:
    """Give the mass between -t and t where t is √df · tan(angle): for a whole df it is a finite sum."""
    odd = df % 2
    cosine = math.cos(angle)
    term = cosine if odd else 1.0
    terms = [] if df == 1 else [term]
    for factor in range(3 if odd else 2, df - 1, 2):
        term *= cosine * cosine * (factor - 1) / factor
        terms.append(term)
    mass = math.sin(angle) * math.fsum(terms)
    return 2 / math.pi * (angle + mass) if odd else mass


def _expanded(z: float, df: int) -> float:
    """Expand t in powers of 1/df around the normal quantile (Cornish and Fisher)."""
    corrections = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(correction / float(df) ** power for power, correction in enumerate(corrections, start=1))
