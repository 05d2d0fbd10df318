"""Cycles among a judge's preferences that its noise does not explain.

A judge that errs now and then puts nearly everybody into some cycle. So three that go round in a circle are counted,
by how often each was preferred to the next, and the same count is made of rankings that are simulated from the fit,
in which there is one order and noise. Only a judge that goes round more than all of these is said to. Of a pair, the
second reply may repeat the noise of the first: that of the simulated judge does so as often.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenhand.profiles.ranking.result import MOST_IN_CYCLES
from evenhand.stats.plackett_luce import Strengths
from evenhand.stats.rankings import Block, Rankings

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers

# Of fewer groups, one would have ranked two of the three pairs in a circle, and so the third the other way round.
LEAST_GROUPS: Final = 3
# One in forty would go round more than all of the others by chance.
_SIMULATED: Final = 39
_SHOWN: Final = 5


class Cycles(NamedTuple):
    """Some cycles of three, the clearest first, and how many are in any."""

    cycles: tuple[tuple[int, ...], ...] = ()
    inside: int = 0


def cycles_beyond_noise(rankings: Rankings, fitted: Strengths, *, together: float = 0.0, seed: int = 0) -> Cycles:
    """Find cycles among the best, if there are more than the noise of the fit explains.

    ``together`` is the correlation of the noise in both orders of a pair.
    """
    best = np.sort(np.argsort(-fitted.values, kind="stable")[:MOST_IN_CYCLES])
    preferred = _preferences(rankings.blocks, best, rankings.count)
    around = _around(preferred)
    total = float(around.sum())
    if total == 0:
        return Cycles()
    chance = np.random.default_rng(seed)
    for _ in range(_SIMULATED):
        simulated = _simulated(rankings, fitted, 0.0, chance)
        if float(_around(_preferences(simulated, best, rankings.count)).sum()) >= total:
            return Cycles()
    if together:
        against = _against(rankings.blocks, fitted, best)
        for _ in range(_SIMULATED):
            if _against(_simulated(rankings, fitted, together, chance), fitted, best) >= against:
                return Cycles()
    return Cycles(_clearest(preferred, around, best), int((around.sum(axis=0) > 0).sum()))


def _preferences(blocks: Iterable[Block], among: Numbers, count: int) -> Floats:
    """Return how much more often each of some was preferred to each other than the other way round; 0 if less."""
    place = np.full(count + 1, -1)
    place[among] = np.arange(len(among))
    net = np.zeros((len(among), len(among)), dtype=np.float32)
    for block in blocks:
        places = place[block.members]
        for ahead, behind in itertools.combinations(range(len(places)), 2):
            both = (places[ahead] >= 0) & (places[behind] >= 0)
            np.add.at(net, (places[ahead][both], places[behind][both]), block.weights[both])
    preferences: Floats = np.maximum(net - net.T, 0)
    return preferences


def _against(blocks: Iterable[Block], fitted: Strengths, among: Numbers) -> float:
    """Return how much of what was preferred of two goes against the fit in one and the same way.

    That is the largest singular value of what the fit leaves unexplained. Noise that is repeated goes every way.
    """
    place = np.full(len(fitted.values) + 1, -1)
    place[among] = np.arange(len(among))
    rest = np.zeros((len(among), len(among)))
    for block in blocks:
        better, worse = place[block.members]
        gaps = fitted.values[block.members[0]] - fitted.values[block.members[1]]
        gaps += fitted.position * (block.slots[0] - block.slots[1])
        both = (better >= 0) & (worse >= 0)
        np.add.at(rest, (better[both], worse[both]), (block.weights / (1 + np.exp(np.clip(gaps, -500, 500))))[both])
    return float(np.linalg.norm(rest - rest.T, 2))


def _around(preferred: Floats) -> Floats:
    """Return for each preference how much leads back from the second to the first by way of a third."""
    around: Floats = preferred * (preferred @ preferred).T
    return around


def _simulated(rankings: Rankings, fitted: Strengths, together: float, chance: np.random.Generator) -> Iterator[Block]:
    """Rank the members of each group anew, as the fit says they would be."""
    values = np.append(fitted.values, -np.inf)
    repeats = chance.random(rankings.judgments) < together
    repeated = chance.logistic(size=rankings.judgments)
    for block in rankings.blocks:
        utilities = values[block.members] + fitted.position * block.slots
        noise = chance.gumbel(size=utilities.shape)
        if together:  # then all rankings are pairs; the noise is what it adds for the member with the lower number
            for_lower = np.where(block.members[0] < block.members[1], 1, -1) * repeated[block.units]
            again = np.stack((for_lower, np.zeros_like(for_lower)))
            noise = np.where(repeats[block.units], again, noise)
        order = np.argsort(-(utilities + noise), axis=0)
        members = np.take_along_axis(block.members, order, axis=0)
        yield block._replace(members=members, slots=np.take_along_axis(block.slots, order, axis=0))


def _clearest(preferred: Floats, around: Floats, among: Numbers) -> tuple[tuple[int, ...], ...]:
    """Return the cycles with the most to them, one for each preference to begin with, and none twice."""
    found: list[tuple[int, ...]] = []
    for flat in np.argsort(-around, axis=None, kind="stable")[: 3 * _SHOWN]:
        first, second = divmod(int(flat), len(among))
        if around[first, second] <= 0 or len(found) == _SHOWN:
            break
        third = int(np.argmax(preferred[second] * preferred[:, first]))
        begin = [first, second, third].index(min(first, second, third))
        cycle = tuple(int(among[(first, second, third)[(begin + step) % 3]]) for step in range(3))
        if cycle not in found:
            found.append(cycle)
    return tuple(found)
