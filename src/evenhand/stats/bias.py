"""Whether a judge favours a position, or longer answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from evenhand.stats.distributions import chi_square_p_value, sign_p_value, z_quantile

FRIEDMAN: Final = "Friedman"
SIGN: Final = "exact sign"
_LEAST_GROUPS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotTest:
    """A test of whether all slots do alike; ``p`` is None where there is too little to say.

    ``places`` has the mean place of what was shown in each slot of the largest groups, as a share from 0 (always the
    best) to 1 (always the worst); all would be one half. ``n`` counts the groups.
    """

    test: str
    n: int
    p: float | None
    places: tuple[float, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return the test as plain JSON values."""
        return {"test": self.test, "n": self.n, "p": self.p, "places": list(self.places)}


class Slots:
    """The slots of groups, taken in group by group and not kept.

    >>> slots = Slots()
    >>> for places in [[0, 1, 2]] * 9 + [[2, 1, 0]]:
    ...     slots.add(places)
    >>> result = slots.test()
    >>> result.test, round(result.p, 5), [round(place, 2) for place in result.places]
    ('Friedman', 0.00166, [0.1, 0.5, 0.9])
    """

    def __init__(self) -> None:
        self._sums: dict[int, list[int]] = {}
        self._counts: dict[int, int] = {}

    def add(self, places: Sequence[int]) -> None:
        """Add a group: the places, from 0, of what was shown first, second and so on."""
        size = len(places)
        self._counts[size] = self._counts.get(size, 0) + 1
        sums = self._sums.setdefault(size, [0] * size)
        for slot, place in enumerate(places):
            sums[slot] += place

    def test(self) -> SlotTest:
        """Test whether all slots do alike: groups of one size together, and what all sizes say added up."""
        counts = self._counts
        statistic, degrees = 0.0, 0
        for size, slots in self._sums.items():
            middle = counts[size] * (size - 1) / 2
            statistic += 12 / (counts[size] * size * (size + 1)) * sum((total - middle) ** 2 for total in slots)
            degrees += size - 1
        n = sum(counts.values())
        largest = max(counts, default=0)
        places = tuple(total / (counts[largest] * (largest - 1)) for total in self._sums.get(largest, ()))
        p = chi_square_p_value(statistic, degrees) if n >= _LEAST_GROUPS else None
        return SlotTest(test=FRIEDMAN, n=n, p=p, places=places)


def flip_test(*, for_first: int, for_second: int, pairs: int) -> SlotTest:
    """Test pairs that were shown in both orders: how often the first won twice, and how often the second."""
    share = 0.5 + (for_second - for_first) / (2 * pairs) if pairs else 0.5
    p = sign_p_value(for_first, for_second) if pairs >= _LEAST_GROUPS else None
    return SlotTest(test=SIGN, n=for_first + for_second, p=p, places=(share, 1 - share) if pairs else ())


_MOST_STEPS: Final = 100
_DONE: Final = 1e-12
# Beyond this the odds are a million to one, and the fit has no end: all outcomes follow from the lengths.
_STEEPEST: Final = 14.0
_LEAST_PAIRS: Final = 10
# Where all answers are longer by nearly the same, what length adds cannot be told from how good they are.
_LEAST_RANGE: Final = 0.05


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
    long. Errors are robust (sandwich). None where there are fewer than ten pairs, where one side is always longer by
    the same, or where lengths explain the outcomes to the last one.
    """
    n = len(outcomes)
    spread = math.sqrt(math.fsum(length * length for length in longer) / n) if n else 0.0
    if n < _LEAST_PAIRS or spread == 0:
        return None
    steps = [math.tanh(length / spread) for length in longer]
    if max(steps) - min(steps) < _LEAST_RANGE:
        return None
    level_at, slope = 0.0, 0.0
    for _ in range(_MOST_STEPS):
        chances = [_chance(level_at + slope * step) for step in steps]
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
    chances = [_chance(level_at + slope * step) for step in steps]
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
    return 1 / (1 + math.exp(-odds)) if odds >= 0 else math.exp(odds) / (1 + math.exp(odds))
