"""What a win rate would be if both answers were equally long: a logistic line over the difference in length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from evenhand.stats.distributions import z_quantile

_MOST_STEPS: Final = 100
_DONE: Final = 1e-12
# Beyond this the odds are a million to one, and the fit has no end: all outcomes follow from the lengths.
_STEEPEST: Final = 14.0
_LEAST_PAIRS: Final = 10


class Controlled(NamedTuple):
    """The rate at equal lengths with its interval, and what the log-odds gain by one standard step of length."""

    rate: float
    low: float
    high: float
    slope: float
    slope_low: float
    slope_high: float


def at_equal_lengths(outcomes: Sequence[float], longer: Sequence[int], *, level: float = 0.95) -> Controlled | None:
    """Fit outcomes (1 a win, 0.5 a tie, 0 a loss) over how many characters longer the winner's side was.

    >>> outcomes, longer = [1, 1, 1, 0, 1, 1, 0, 1, 0, 0, 0, 0], [90, 80, 70, 60, 50, 40, -40, -50, -60, -70, -80, -90]
    >>> round(at_equal_lengths(outcomes, longer).rate, 2)
    0.5

    Lengths count by their hyperbolic tangent in steps of their standard deviation: beyond some point longer is just
    long. Errors are robust (sandwich). None where there are fewer than ten pairs, no differing lengths, or outcomes
    that lengths explain to the last one.
    """
    n = len(outcomes)
    spread = math.sqrt(math.fsum(one * one for one in longer) / n) if n else 0.0
    if n < _LEAST_PAIRS or spread == 0:
        return None
    steps = [math.tanh(one / spread) for one in longer]
    level_at, slope = 0.0, 0.0
    for _ in range(_MOST_STEPS):
        chances = [1 / (1 + math.exp(-(level_at + slope * step))) for step in steps]
        a, b, c = _information(chances, steps)
        up = math.fsum(won - chance for won, chance in zip(outcomes, chances, strict=True))
        along = math.fsum((won - chance) * step for won, chance, step in zip(outcomes, chances, steps, strict=True))
        size = a * c - b * b
        if size <= _DONE or max(abs(level_at), abs(slope)) > _STEEPEST:
            return None
        gain, turn = (c * up - b * along) / size, (a * along - b * up) / size
        level_at, slope = level_at + gain, slope + turn
        if max(abs(gain), abs(turn)) < _DONE:
            break
    return _with_errors(outcomes, steps, level_at, slope, level)


def _information(chances: Sequence[float], steps: Sequence[float]) -> tuple[float, float, float]:
    weights = [chance * (1 - chance) for chance in chances]
    return (
        math.fsum(weights),
        math.fsum(weight * step for weight, step in zip(weights, steps, strict=True)),
        math.fsum(weight * step * step for weight, step in zip(weights, steps, strict=True)),
    )


def _with_errors(
    outcomes: Sequence[float], steps: Sequence[float], level_at: float, slope: float, level: float
) -> Controlled | None:
    chances = [1 / (1 + math.exp(-(level_at + slope * step))) for step in steps]
    a, b, c = _information(chances, steps)
    size = a * c - b * b
    if size <= _DONE:
        return None
    rests = [(won - chance) ** 2 for won, chance in zip(outcomes, chances, strict=True)]
    p = math.fsum(rests)
    q = math.fsum(rest * step for rest, step in zip(rests, steps, strict=True))
    r = math.fsum(rest * step * step for rest, step in zip(rests, steps, strict=True))
    # The sandwich: the inverse of the information, what is left over, and the inverse again.
    of_level = (c * c * p - 2 * b * c * q + b * b * r) / size**2
    of_slope = (b * b * p - 2 * a * b * q + a * a * r) / size**2
    z = z_quantile(level)
    half, slope_half = z * math.sqrt(max(of_level, 0.0)), z * math.sqrt(max(of_slope, 0.0))
    return Controlled(
        rate=_chance(level_at),
        low=_chance(level_at - half),
        high=_chance(level_at + half),
        slope=slope,
        slope_low=slope - slope_half,
        slope_high=slope + slope_half,
    )


def _chance(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))
