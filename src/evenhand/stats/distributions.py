"""Quantiles and p values of the normal distribution, Student's t, F, chi-square, a fair coin and a table of counts."""

from __future__ import annotations

import functools
import math
from typing import Final

# From here on the expansion in 1/df is exact to more digits than a float's quantile keeps.
_MANY = 1000
# As many as halving would take; in the last digits of far tails, rounding may lead to and fro.
_MOST_GUESSES: Final = 60


@functools.lru_cache(maxsize=16)
def z_quantile(level: float) -> float:
    """Return z such that the normal distribution has ``level`` of its mass between -z and z.

    >>> round(z_quantile(0.95), 6)
    1.959964
    """
    from statistics import NormalDist  # noqa: PLC0415 - brings much along, and few commands need an interval

    return NormalDist().inv_cdf(0.5 + level / 2)


@functools.lru_cache(maxsize=256)
def t_quantile(level: float, df: float) -> float:
    """Return t such that Student's distribution has ``level`` of its mass between -t and t.

    >>> round(t_quantile(0.95, 9), 6), round(t_quantile(0.95, 2.5), 6)
    (2.262157, 3.574655)
    """
    if not 0 < level < 1 or df < 1:
        raise ValueError(f"a level lies between 0 and 1, and df is 1 or more; got {level!r} and {df!r}")
    if df >= _MANY:
        return _expanded(z_quantile(level), df)
    whole = int(df) if df == int(df) else None
    total = math.exp(math.lgamma(df / 2) + math.lgamma(0.5) - math.lgamma((df + 1) / 2))
    low, high = 0.0, math.pi / 2
    angle = math.atan(_expanded(z_quantile(level), df) / math.sqrt(df))
    for _ in range(_MOST_GUESSES):
        missing = level - (_mass_between(angle, df) if whole is None else _central_mass(angle, whole))
        if missing > 0:
            low = angle
        else:
            high = angle
        before, angle = angle, angle + missing * total / (2 * math.cos(angle) ** (df - 1))
        if not low <= angle <= high:  # far from the end, the slope may lead too far
            angle = (low + high) / 2
        if abs(angle - before) <= math.ulp(before):
            break
    return math.sqrt(df) * math.tan(angle)


def _central_mass(angle: float, df: int) -> float:
    """Return the mass between -t and t where t is √df · tan(angle): for a whole df it is a finite sum."""
    odd = df % 2
    cosine = math.cos(angle)
    term = cosine if odd else 1.0
    terms = [] if df == 1 else [term]
    for factor in range(3 if odd else 2, df - 1, 2):
        term *= cosine * cosine * (factor - 1) / factor
        terms.append(term)
    mass = math.sin(angle) * math.fsum(terms)
    return 2 / math.pi * (angle + mass) if odd else mass


def _mass_between(angle: float, df: float) -> float:
    """Return the mass between -t and t where t is √df · tan(angle), for any df."""
    return 1.0 - incomplete_beta(df / 2, 0.5, math.cos(angle) ** 2)


def _expanded(z: float, df: float) -> float:
    """Expand t in powers of 1/df around the normal quantile (Cornish and Fisher)."""
    corrections = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(correction / float(df) ** power for power, correction in enumerate(corrections, start=1))


_MOST_STEPS: Final = 100_000
_SMALLEST: Final = 1e-300
_PRECISE: Final = 1e-15
# Tables of counts whose chances differ by less are equally likely.
_ALIKE: Final = 1e-9


def t_p_value(t: float, df: int) -> float:
    """Return the probability that Student's t, with ``df`` degrees, is at least so far from 0, on either side.

    >>> round(t_p_value(-4.0621, 9), 6)
    0.002833
    """
    if df < 1:
        raise ValueError(f"df is 1 or more, not {df!r}")
    if math.isinf(t):
        return 0.0
    return incomplete_beta(df / 2, 0.5, df / (df + t * t))


def f_p_value(f: float, df: int, df_below: int) -> float:
    """Return the probability that the ratio of two variances, of these degrees of freedom, is at least so large.

    >>> round(f_p_value(3.006917, 4, 16), 6)
    0.05
    """
    if min(df, df_below) < 1 or f < 0:
        raise ValueError(f"df are 1 or more and the ratio 0 or more, not {df!r}, {df_below!r} and {f!r}")
    return incomplete_beta(df_below / 2, df / 2, df_below / (df_below + df * f))


def fisher_p_value(hits: int, n: int, other_hits: int, other_n: int) -> float:
    """Return the probability that hits fall so unevenly on two samples, or more so: Fisher's exact test, two-sided.

    >>> round(fisher_p_value(3, 4, 1, 4), 6), fisher_p_value(16, 24, 0, 24) < 1e-6
    (0.485714, True)
    """
    if not 0 <= hits <= n or not 0 <= other_hits <= other_n:
        raise ValueError(
            f"hits lie between 0 and their number, not {hits!r} of {n!r} and {other_hits!r} of {other_n!r}"
        )
    chances = _hypergeometric(hits + other_hits, n, other_n)
    if hits not in chances:
        return 0.0
    bound = chances[hits] * (1 + _ALIKE)
    return min(1.0, math.fsum(chance for chance in chances.values() if chance <= bound) / math.fsum(chances.values()))


def _hypergeometric(hits: int, n: int, other_n: int) -> dict[int, float]:
    """Return how likely each number of hits in the first sample is, against the likeliest; the rarest are left out."""
    least, most = max(0, hits - other_n), min(n, hits)
    top = min(max((hits + 1) * (n + 1) // (n + other_n + 2), least), most)
    chances = {top: 1.0}
    for step in (1, -1):
        count, chance = top, 1.0
        while least <= count + step <= most and chance > _SMALLEST:
            lower = min(count, count + step)
            ratio = (n - lower) * (hits - lower) / ((lower + 1) * (other_n - hits + lower + 1))
            chance = chance * ratio if step == 1 else chance / ratio
            count += step
            chances[count] = chance
    return chances


def sign_p_value(wins: int, losses: int) -> float:
    """Return the probability that a fair coin falls so unevenly, or more so, to either side: exact, ties left out.

    For cases that both runs pass or fail, this is McNemar's exact test.

    >>> round(sign_p_value(15, 5), 5)
    0.04139
    """
    if min(wins, losses) < 0:
        raise ValueError(f"wins and losses are 0 or more, not {wins!r} and {losses!r}")
    fewer, more = sorted((wins, losses))
    if fewer == more:
        return 1.0
    # P(X <= fewer) of a binomial with as many throws as there were, as an incomplete beta function.
    return min(1.0, 2 * incomplete_beta(more, fewer + 1, 0.5))


def chi_square_p_value(statistic: float, df: int) -> float:
    """Return the probability that chi-square, with ``df`` degrees, is at least so large.

    >>> round(chi_square_p_value(5.991, 2), 4), round(chi_square_p_value(1.5, 3), 6)
    (0.05, 0.68227)
    """
    if df < 1 or statistic < 0:
        raise ValueError(f"df is 1 or more and the statistic 0 or more, not {df!r} and {statistic!r}")
    a, x = df / 2, statistic / 2
    if x == 0:
        return 1.0
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:  # a series for what lies below
        term = total = 1 / a
        for step in range(1, _MOST_STEPS):
            term *= x / (a + step)
            total += term
            if term < total * _PRECISE:
                break
        return max(0.0, 1.0 - front * total)
    # A continued fraction for what lies beyond.
    base = x + 1 - a
    upper, lower = 1 / _SMALLEST, 1 / base
    value = lower
    for step in range(1, _MOST_STEPS):
        factor = -step * (step - a)
        base += 2
        lower = 1 / _kept_from_zero(factor * lower + base)
        upper = _kept_from_zero(base + factor / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISE:
            break
    return front * value


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularised incomplete beta function, by its continued fraction (Lentz's method).

    >>> incomplete_beta(2, 2, 0.5)
    0.5
    """
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if a == b and x == 0.5:
        return 0.5
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1.0 - incomplete_beta(b, a, 1 - x)
    logarithm = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(logarithm) / (a * _fraction(a, b, x))


def _fraction(a: float, b: float, x: float) -> float:
    value, upper, lower = 1.0, 1.0, 0.0
    for step in range(1, _MOST_STEPS):
        half, odd = divmod(step, 2)
        if odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        lower = 1 / (_kept_from_zero(1 + term * lower))
        upper = _kept_from_zero(1 + term / upper)
        value *= upper * lower
        if abs(upper * lower - 1) < _PRECISE:
            return value
    raise ArithmeticError(f"the incomplete beta function of {a!r}, {b!r} at {x!r} did not converge")


def _kept_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
