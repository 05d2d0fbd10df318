"""Where the groups of a Swiss round end: not between profiles whose order is still open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.stats.rankings import Floats, Numbers

LEAST_MEMBERS: Final = 2
# What it is worth to compare two that were not, if somebody between them was compared with both.
_LINKED: Final = 0.1
# How much equal sizes are preferred where nothing else decides.
_EVEN: Final = 1e-3
_LARGEST: Final = 50.0
# Rounded, so that the same groups are formed on every machine.
_DIGITS: Final = 6


def borders(strengths: Floats, together: Sequence[Numbers], *, groups: int, most: int) -> list[int]:
    """Divide profiles that are in order, the best first, into so many groups of ``most`` at most.

    ``together`` has, for each round so far, the group in which each was ranked, -1 for none. Return where each group
    begins, and at the end the number of profiles. Of all divisions, this is the one whose borders separate the least
    that is still worth comparing.
    """
    return divide(np.round(_costs(strengths, together, most), _DIGITS), groups=groups, most=most)


def divide(costs: Floats, *, groups: int, most: int) -> list[int]:
    """Return where so many groups of ``most`` at most begin and end, so that their borders cost the least.

    ``costs`` has the cost of a border before each place, and after the last.
    """
    count = len(costs) - 1
    sizes = np.arange(most, LEAST_MEMBERS - 1, -1)
    uneven = _EVEN * ((sizes - count / groups) / most) ** 2
    # The places where the last border so far may be begin here, each with the least cost of getting there.
    begin, best = 0, np.zeros(1)
    chosen: list[tuple[int, Numbers]] = []
    for number in range(1, groups + 1):
        rest, even = groups - number, round(number * count / groups)
        low = max(number * LEAST_MEMBERS, count - rest * most, even - most)
        high = min(number * most, count - rest * LEAST_MEMBERS, even + most)
        before = np.full(high - low + len(sizes), np.inf)
        at = begin - (low - most)
        kept = slice(max(at, 0), max(min(at + len(best), len(before)), 0))
        before[kept] = best[kept.start - at : kept.stop - at]
        ways = np.lib.stride_tricks.sliding_window_view(before, len(sizes)) + uneven
        ways_best = ways.argmin(axis=1)
        chosen.append((low, np.arange(low, high + 1) - sizes[ways_best]))
        begin, best = low, ways[np.arange(len(ways)), ways_best] + costs[low : high + 1]
    ends = [count]
    for low, from_where in reversed(chosen):
        ends.append(int(from_where[ends[-1] - low]))
    return ends[::-1]


def _costs(strengths: Floats, together: Sequence[Numbers], most: int) -> Floats:
    """Return the cost of a border before each place: of each pair it separates that was not compared, by how alike."""
    count = len(strengths)
    changes = np.zeros(count + 1)
    linked: list[NDArray[np.bool_]] = [np.zeros(0, dtype=np.bool_)]
    for distance in range(1, min(most, count)):
        met = np.zeros(count - distance, dtype=np.bool_)
        for group in together:
            met |= (group[:-distance] == group[distance:]) & (group[distance:] >= 0)
        is_linked = met.copy()
        for step in range(1, distance):
            is_linked |= linked[step][: count - distance] & linked[distance - step][step:]
        linked.append(is_linked)
        gaps = np.minimum(strengths[:-distance] - strengths[distance:], _LARGEST)
        worth = np.where(met, 0.0, np.where(is_linked, _LINKED, 1.0)) / (1 + np.exp(gaps))
        changes[1 : count - distance + 1] += worth
        changes[1 + distance :] -= worth[: count - distance]
    return np.cumsum(changes)
