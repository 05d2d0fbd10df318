"""How much a comparison of the same cases can show: which difference, and with how many cases."""

from __future__ import annotations

import functools
import math
from typing import Final

from evenhand.stats.distributions import incomplete_beta, sign_p_value, t_quantile, z_quantile
from evenhand.stats.wilson import LEVEL

POWER: Final = 0.8
# Up to so many changed cases the power of the exact test is computed exactly; beyond, it is that of the normal one.
_EXACT: Final = 200
# Numbers of changed cases that are rarer than this do not count.
_RARE: Final = 1e-10
# As exactly as a smallest difference is wanted.
_STEP: Final = 5e-5
_CLOSE: Final = 1e-8
# Over how many standard deviations of the error, and in how many slices, the power of a t test is summed.
_REACH: Final = 9.0
_SLICES: Final = 200
_ROOT_2: Final = math.sqrt(2)
# Five wins in five come by chance once in sixteen times: with fewer than six, nothing can be shown at 5 %.
_FEWEST: Final = 6
_MOST: Final = 10**9


def minimum_detectable(error: float, df: float, *, tests: int = 1) -> float:
    """Return the smallest true difference that a t test with such a standard error would show four times in five.

    Of several ``tests`` at once, it is the one that would be shown even if it were held to the strictest of them.

    >>> round(minimum_detectable(0.01, 99), 4)
    0.0283
    """
    return error * _detectable_shift(t_quantile(1 - (1 - LEVEL) / tests, df), df)


@functools.lru_cache(maxsize=256)
def _detectable_shift(critical: float, df: float) -> float:
    """Return how many standard errors the truth must lie off for t to exceed a critical value four times in five."""
    errors = _error_slices(df)
    low, high = 0.0, 2 * critical + 20.0  # of one degree of freedom, the error is less than twice too large as often
    while high - low > _CLOSE * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _t_power(middle, critical, errors) >= POWER else (middle, high)
    return high


def _t_power(shift: float, critical: float, errors: list[tuple[float, float]]) -> float:
    """Return the probability that noncentral t exceeds a critical value: over all values that the error may take."""
    return math.fsum(chance * math.erfc((critical * factor - shift) / _ROOT_2) / 2 for factor, chance in errors)


def _error_slices(df: float) -> list[tuple[float, float]]:
    """Return by which factors the error may be off, each with its probability.

    The square of a factor is that of a chi-square variable over its degrees of freedom. The probabilities are those of
    Simpson's rule.
    """
    reach = _REACH / math.sqrt(2 * df)
    first, last = max(0.0, 1 - reach), 1 + reach
    width = (last - first) / _SLICES
    scale = math.log(2) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    slices = []
    for place in range(_SLICES + 1):
        factor = first + place * width
        if factor == 0:
            continue
        weight = 1 if place in (0, _SLICES) else 4 if place % 2 else 2
        density = math.exp(scale + (df - 1) * math.log(factor) - df * factor * factor / 2)
        slices.append((factor, weight * density * width / 3))
    return slices


def needed_pairs(variance: float, difference: float) -> int:
    """Return the number of cases with which a t test shows a difference four times in five.

    ``variance`` is that of the differences from case to case.

    >>> needed_pairs(1 / 9, 0.03), needed_pairs(1 / 9, 0.05), needed_pairs(0.0025, 0.05)
    (971, 351, 10)
    """
    strength = z_quantile(LEVEL) + z_quantile(2 * POWER - 1)
    n = max(_FEWEST, math.ceil(strength**2 * variance / difference**2))  # the normal test needs slightly fewer
    while minimum_detectable(math.sqrt(variance / n), n - 1) > difference:
        n += 1
    return n


@functools.lru_cache(maxsize=1024)
def mcnemar_power(n: int, wins: float, losses: float) -> float:
    """Return the probability that McNemar's exact test shows a difference among ``n`` cases, at 5 %.

    ``wins`` and ``losses`` are the true shares of cases that only B passes, and that only A does.

    >>> round(mcnemar_power(100, 0.0283, 0), 4), round(mcnemar_power(100, 0.1, 0.02), 4)
    (0.065, 0.5636)
    """
    changed = wins + losses
    if changed <= 0:
        return 0.0
    if changed >= 1:
        return _shown_among(n, wins / changed)
    centre = min(n, int((n + 1) * changed))
    log_odds = math.log(changed) - math.log1p(-changed)
    top = (
        math.lgamma(n + 1) - math.lgamma(centre + 1) - math.lgamma(n - centre + 1)
        + centre * log_odds + n * math.log1p(-changed)
    )  # fmt: skip
    total = []
    for step in (1, -1):
        count, log_chance = centre, top
        while 0 <= count <= n and log_chance > math.log(_RARE):
            if step == 1 or count != centre:
                total.append(math.exp(log_chance) * _shown_among(count, wins / changed))
            rest = math.log((n - count) / (count + 1)) if step == 1 and count < n else 0.0
            back = math.log(count / (n - count + 1)) if step == -1 and count > 0 else 0.0
            log_chance += rest + log_odds if step == 1 else back - log_odds
            count += step
    return min(1.0, math.fsum(total))


@functools.lru_cache(maxsize=1024)
def mcnemar_minimum_detectable(n: int, changed: float) -> float | None:
    """Return the smallest difference of two pass rates that McNemar's exact test would show four times in five.

    ``changed`` is the share of cases whose verdict differs. It is kept, or is the difference where that is larger:
    then all changes go one way. None where the test cannot show any.

    >>> round(mcnemar_minimum_detectable(100, 0.02), 3), mcnemar_minimum_detectable(5, 0.2)
    (0.078, None)
    """
    if not _shows(n, changed, 1.0):
        return None
    low, high = 0.0, 1.0
    while high - low > _STEP:
        middle = (low + high) / 2
        low, high = (low, middle) if _shows(n, changed, middle) else (middle, high)
    return high


@functools.lru_cache(maxsize=1024)
def mcnemar_needed(changed: float, difference: float) -> int:
    """Return about how many cases McNemar's exact test needs to show a difference four times in five.

    >>> mcnemar_needed(0.01, 0.05), mcnemar_needed(0.2, 0.05)
    (157, 658)
    """
    low = high = _FEWEST
    while not _shows(high, changed, difference) and high < _MOST:
        low, high = high + 1, 2 * high
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _shows(middle, changed, difference) else (middle + 1, high)
    return high


def _shows(n: int, changed: float, difference: float) -> bool:
    changed = max(changed, difference)
    if n * changed > _EXACT:
        strength = z_quantile(LEVEL) * math.sqrt(changed)
        strength += z_quantile(2 * POWER - 1) * math.sqrt(max(0.0, changed - difference**2))
        return strength <= difference * math.sqrt(n)
    return mcnemar_power(n, (changed + difference) / 2, (changed - difference) / 2) >= POWER


def _shown_among(changed: int, share: float) -> float:
    """Return the probability that so many changes, each a win with such a chance, are significantly more often wins."""
    least = _wins_needed(changed)
    return 0.0 if least > changed else incomplete_beta(least, changed - least + 1, share)


@functools.lru_cache(maxsize=4096)
def _wins_needed(changed: int) -> int:
    """Return the number of wins among so many changes from which on the test is significant."""
    wins = max(changed // 2 + 1, math.floor(changed / 2 + math.sqrt(changed) * z_quantile(LEVEL) / 2) - 1)
    while wins <= changed and sign_p_value(wins, changed - wins) > 1 - LEVEL:
        wins += 1
    return wins
