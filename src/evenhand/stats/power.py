"""How much a comparison can show: power, the smallest difference that shows, and how many cases it takes."""

from __future__ import annotations

import functools
import math
from typing import Final

from evenhand.stats.distributions import incomplete_beta, t_quantile, z_quantile
from evenhand.stats.refusal import Refused

ALPHA: Final = 0.05
POWER: Final = 0.8
_FINE: Final = 1e-7
MOST: Final = 1_000_000


def mcnemar_power(n: int, wins: float, losses: float, *, alpha: float = ALPHA) -> float:
    """Return how often McNemar's exact test of n cases finds the difference, where such shares of them change.

    To find a difference to the other side is none of its power.

    >>> round(mcnemar_power(100, 0.1, 0.02), 4)
    0.5636
    """
    _check_shares(n, wins, losses)
    changing, rarer = wins + losses, min(wins, losses)
    if changing == 0:
        return 0.0
    share = rarer / changing
    middle, width = n * changing, 8 * math.sqrt(n * changing * (1 - changing)) + 20
    first = max(math.ceil(1 - math.log2(alpha)), math.floor(middle - width))
    terms = []
    below, most = 0.0, -1
    for changed in range(first, min(n, math.ceil(middle + width)) + 1):
        # From one number of changed cases to the next, the chance is moved by two terms instead of summed anew.
        if most < 0:
            most = _critical(changed, alpha)
            below = _at_most(most, changed, share)
        else:
            below -= share * _binomial(most, changed - 1, share)
            if (next_most := _critical(changed, alpha)) > most:
                most = next_most
                below += _binomial(most, changed, share)
        terms.append(_binomial(changed, n, changing) * below)
    return math.fsum(terms)


def mcnemar_detectable(n: int, changing: float, *, power: float = POWER, alpha: float = ALPHA) -> float | Refused:
    """Return the smallest difference of pass rates that McNemar's exact test of n cases shows with such a power.

    ``changing`` is the share of cases with another verdict; a difference that is larger changes as many as it takes.

    >>> round(mcnemar_detectable(100, 0.2), 3)
    0.128
    """
    _check_shares(n, changing, 0.0)
    if mcnemar_power(n, 1.0, 0.0, alpha=alpha) < power:
        return Refused(f"{n} cases show nothing at {alpha:g}, even if all of them change to the same side")

    def shows(difference: float) -> bool:
        share = max(changing, difference)
        return mcnemar_power(n, (share + difference) / 2, (share - difference) / 2, alpha=alpha) >= power

    low, high = 0.0, min(1.0, 3 * math.sqrt(max(changing, 10 / n) / n))
    while not shows(high):
        low, high = high, min(1.0, 2 * high)
    while high - low > _FINE:
        difference = (low + high) / 2
        low, high = (low, difference) if shows(difference) else (difference, high)
    return high


def mcnemar_needed(wins: float, losses: float, *, power: float = POWER, alpha: float = ALPHA) -> int | Refused:
    """Return from how many cases on McNemar's exact test finds such a difference with such a power.

    >>> mcnemar_needed(0.1, 0.02)
    153
    """
    _check_shares(1, wins, losses)
    if math.isclose(wins, losses):
        return Refused("as many cases get better as get worse: no number of them shows a difference")
    # The usual formula is near, and its third is never enough.
    strength = z_quantile(1 - alpha) * math.sqrt(wins + losses)
    strength += z_quantile(2 * power - 1) * math.sqrt(wins + losses - (wins - losses) ** 2)
    near = (strength / (wins - losses)) ** 2
    if near > MOST:
        return Refused(f"more than {MOST:,} cases would be needed")

    def is_enough(n: int) -> bool:
        return mcnemar_power(n, wins, losses, alpha=alpha) >= power

    low, high = math.floor(near / 3), max(16, math.ceil(near))
    while not is_enough(high):
        low, high = high, math.ceil(high * 1.2)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    # The power rises in teeth, each as long as it takes until two more cases change.
    tooth, n = math.ceil(2 / (wins + losses)), high
    while n - high <= tooth:
        n += 1
        if not is_enough(n):
            high = n + 1
    return high


def t_power(n: int, difference: float, deviation: float, *, alpha: float = ALPHA) -> float:
    """Return how often a paired t test of n cases finds a difference, by the standard deviation of differences.

    >>> round(t_power(10, 0.05, 0.05), 3)
    0.803
    """
    if n < 2 or deviation <= 0:
        raise ValueError(f"a t test takes 2 cases or more, and some spread; got {n!r} and {deviation!r}")
    df, shift = n - 1, abs(difference) / deviation * math.sqrt(n)
    critical = t_quantile(1 - alpha, df)
    return _noncentral_above(critical, df, shift) + _noncentral_above(critical, df, -shift)


def t_detectable(n: int, deviation: float, *, power: float = POWER, alpha: float = ALPHA) -> float:
    """Return the smallest mean difference that a paired t test of n cases shows with such a power.

    >>> round(t_detectable(100, 0.2), 4)
    0.0566
    """
    low, high = 0.0, deviation
    while t_power(n, high, deviation, alpha=alpha) < power:
        low, high = high, high * 2
    while high - low > 1e-11 * deviation:
        difference = (low + high) / 2
        if t_power(n, difference, deviation, alpha=alpha) >= power:
            high = difference
        else:
            low = difference
    return high


def t_needed(difference: float, deviation: float, *, power: float = POWER, alpha: float = ALPHA) -> int | Refused:
    """Return the fewest cases with which a paired t test finds such a mean difference with such a power.

    >>> t_needed(0.05, 0.05), t_needed(0.05, 1 / 3)
    (10, 351)
    """
    if difference == 0:
        return Refused("no number of cases shows a difference of 0")
    near = ((z_quantile(1 - alpha) + z_quantile(2 * power - 1)) * deviation / difference) ** 2
    if near > MOST:
        return Refused(f"more than {MOST:,} cases would be needed")
    low, high = 1, max(2, math.ceil(near))
    while t_power(high, difference, deviation, alpha=alpha) < power:
        low, high = high, high + max(1, high // 8)
    low = max(low, math.floor(near) - 1) if near > 3 else low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if t_power(middle, difference, deviation, alpha=alpha) >= power else (middle, high)
    return high


def _check_shares(n: int, wins: float, losses: float) -> None:
    if n < 1 or not 0 <= wins <= 1 or not 0 <= losses <= 1 or wins + losses > 1 + 1e-12:
        raise ValueError(f"there is 1 case or more, and shares of them change; got {n!r}, {wins!r} and {losses!r}")


@functools.lru_cache(maxsize=1 << 14)
def _critical(changed: int, alpha: float) -> int:
    """Return the most that may be on the rarer side for the exact test to find a difference."""
    rarer = max(0, round(changed / 2 - z_quantile(1 - alpha) * math.sqrt(changed) / 2))
    while rarer > 0 and 2 * _at_most(rarer, changed, 0.5) > alpha:
        rarer -= 1
    while 2 * _at_most(rarer + 1, changed, 0.5) <= alpha:
        rarer += 1
    return rarer


def _at_most(k: int, n: int, chance: float) -> float:
    """Return the chance that at most k of n happen."""
    return 1.0 if k >= n else incomplete_beta(n - k, k + 1, 1 - chance)


def _binomial(k: int, n: int, chance: float) -> float:
    if chance <= 0 or chance >= 1:
        return float(k == (n if chance >= 1 else 0))
    logarithm = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(logarithm + k * math.log(chance) + (n - k) * math.log1p(-chance))


def _noncentral_above(critical: float, df: int, shift: float) -> float:
    """Return the chance that t around a shift is above a value: the mean of a normal tail over all spreads."""
    width = 9 / math.sqrt(2 * df)
    low, high = max(0.0, 1 - width), 1 + width + 3 / df
    steps = 400 if df > 2 else 4000  # of two or three cases, all depends on spreads near 0
    step = (high - low) / steps
    logarithm = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    terms = []
    for place in range(steps + 1):
        spread = low + place * step
        if spread <= 0 and df > 1:
            continue
        powers = 0.0 if df == 1 else (df - 1) * math.log(spread)
        density = math.exp(logarithm + powers - df * spread * spread / 2)
        weight = 1 if place in (0, steps) else 4 if place % 2 else 2
        terms.append(weight * density * math.erfc((critical * spread - shift) / math.sqrt(2)) / 2)
    return math.fsum(terms) * step / 3
