"""How strong each of many is, from rankings of some of them at a time: Plackett–Luce, and Bradley–Terry for pairs.

A ranking is taken as a row of choices: the best of all that are shown, then the best of the rest, and so on; each is
chosen with a chance in proportion to ``exp(strength)``. A prior keeps the strengths of those that always win finite.
A term for the slot in which something was shown takes up what a judge adds for a place.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Numbers = NDArray[np.int64]

# The precision of the normal distribution that strengths are taken to come from, where learning it begins, and
# between which ends it is learned. A judge that never contradicts itself has no end of its own.
PRIOR: Final = 0.3
_LEAST_PRIOR, _MOST_PRIOR = 1e-3, 3.0
# Strengths that differ by less are equal: far more than the fit's own error, far less than any evidence.
EQUAL: Final = 1e-6

_MOST_LESSONS: Final = 8
_LEARNED: Final = 0.05
_MOST_STEPS: Final = 100
_FLAT: Final = 1e-8
# For refits, of which only ranks are wanted: more does not change one in thousands.
_FLAT_ENOUGH: Final = 1e-4
_LONGEST_STEP: Final = 4.0
_MOST_DIRECTIONS: Final = 200
_SOLVED: Final = 1e-6


class Ranking(NamedTuple):
    """Some of all, by their numbers, the best first.

    ``slots`` says where each was shown, from 0.5 (first) to -0.5 (last); 0 where nobody was before another. What
    belongs to the same ``unit`` comes from one judgment: both orders of a pair, the halves of a tie.
    """

    members: Sequence[int]
    slots: Sequence[float]
    weight: float = 1.0
    unit: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankings:
    """Rankings of some out of ``count``, as arrays: a column each, filled up with a member that nobody chooses.

    Sums run down the columns, which is many times as fast as along short rows.
    """

    count: int
    members: Numbers
    slots: Floats
    there: Floats
    weights: Floats
    units: Numbers

    @classmethod
    def of(cls, rankings: Iterable[Ranking], count: int) -> Rankings:
        """Put rankings into arrays, as they come: there may be very many."""
        who, where, sizes, weights, units = array("q"), array("d"), array("q"), array("d"), array("q")
        for one in rankings:
            who.extend(one.members)
            where.extend(one.slots)
            sizes.append(len(one.members))
            weights.append(one.weight)
            units.append(one.unit)
        lengths = np.array(sizes, dtype=np.int64)
        shape = (int(lengths.max(initial=1)), len(lengths))
        there = (np.arange(shape[0])[:, None] < lengths).astype(np.float64)
        # The places of all entries, ranking by ranking.
        column = np.repeat(np.arange(shape[1]), lengths)
        row = np.arange(len(who)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        members, slots = np.full(shape, count, dtype=np.int64), np.zeros(shape)
        members[row, column], slots[row, column] = who, where
        return cls(
            count=count,
            members=members,
            slots=slots,
            there=there,
            weights=np.array(weights, dtype=np.float64),
            units=np.unique(np.array(units, dtype=np.int64), return_inverse=True)[1].astype(np.int64),
        )

    def among(self, numbers: Numbers) -> Rankings:
        """Give the rankings with the members numbered by their place among ``numbers``, which are in order."""
        padded = np.append(numbers, self.count)
        return replace(self, count=len(numbers), members=np.searchsorted(padded, self.members))

    def drawn(self, times: Floats) -> Rankings:
        """Give the rankings of judgments that were drawn so many times each, without those that were not."""
        weights = self.weights * times[self.units]
        kept = weights > 0
        return replace(
            self,
            members=self.members[:, kept],
            slots=self.slots[:, kept],
            there=self.there[:, kept],
            weights=weights[kept],
            units=self.units[kept],
        )

    @property
    def judgments(self) -> int:
        """How many judgments these rankings come from."""
        return int(self.units.max()) + 1 if len(self.units) else 0

    @property
    def has_slots(self) -> bool:
        """Whether somebody was shown before another."""
        return bool(self.slots.any())


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """How strong each is, around a mean of 0; what being shown first adds beside being shown last; and the prior."""

    values: Floats
    position: float = 0.0
    prior: float = PRIOR


def fit(rankings: Rankings, *, prior: float, start: Strengths | None = None, flat: float = _FLAT) -> Strengths:
    """Find the strengths that make the rankings most likely, given the prior; 0 for those that are in none.

    >>> seven_of_ten = [Ranking((0, 1), (0, 0), 7.0), Ranking((1, 0), (0, 0), 3.0)]
    >>> found = fit(Rankings.of(seven_of_ten, 2), prior=0)
    >>> round(float(found.values[0] - found.values[1]), 4)
    0.8473

    Without a prior there is no answer where somebody always wins. It is found where nothing is steeper than ``flat``.
    """
    if not rankings.count:
        return Strengths(values=np.zeros(0), prior=prior)
    now = np.zeros(rankings.count + 1)  # the last is the position
    if start is not None:
        now[:-1], now[-1] = start.values, start.position
    for _ in range(_MOST_STEPS):
        slope = _Slope(rankings, now, prior)
        if float(np.abs(slope.gradient).max()) < flat:
            break
        step = slope.newton_step()
        furthest = float(np.abs(step).max())
        now = now + (step if furthest <= _LONGEST_STEP else step * (_LONGEST_STEP / furthest))
    return Strengths(values=now[:-1] - now[:-1].mean(), position=float(now[-1]), prior=prior)


def learned_fit(rankings: Rankings) -> Strengths:
    """Fit with a prior as wide as the strengths turn out to be, learned from the rankings themselves.

    A judge that hardly contradicts itself gets a wide one, and the order that it meant; one that is all noise a narrow
    one, and strengths close together.
    """
    found = fit(rankings, prior=PRIOR)
    for _ in range(_MOST_LESSONS if rankings.judgments else 0):
        curvature = _Slope(rankings, np.append(found.values, found.position), found.prior).curvature
        wide = float(np.mean(found.values**2 + 1 / np.maximum(curvature[:-1], _LEAST_PRIOR)))
        prior = min(max(1 / wide, _LEAST_PRIOR), _MOST_PRIOR)
        if abs(math.log(prior / found.prior)) < _LEARNED:
            break
        found = fit(rankings, prior=prior, start=found)
    return found


class _Slope:
    """The log-likelihood around some strengths: its gradient, and its curvature along a direction."""

    def __init__(self, rankings: Rankings, now: Floats, prior: float) -> None:
        self._rankings = rankings
        # About the position nothing is supposed, only that it is not without end.
        self._prior = np.append(np.full(rankings.count, prior), min(prior, _LEAST_PRIOR))
        self._weights = rankings.weights
        there = rankings.there
        told = np.where(there > 0, self._along(now), -np.inf)
        self._chances = chances = np.exp(told - told.max(axis=0))
        left = _summed_from_the_end(chances)
        # One over what is left to choose from at each place; nothing beyond the last.
        inverse = np.divide(there, left, out=np.zeros_like(left), where=left > 0)
        self._summed = np.cumsum(inverse, axis=0)
        self._squared = inverse * inverse
        self.gradient = self._gathered(self._weights * (there - chances * self._summed)) - self._prior * now
        entries = self._weights * chances * self._summed
        self.curvature = self._gathered(entries, slots=rankings.slots**2) + self._prior
        self._ease = 1 / np.where(self.curvature > 0, self.curvature, 1.0)

    def _along(self, direction: Floats) -> Floats:
        """Give what a change of strengths and position means for each entry."""
        padded = np.append(direction[:-1], 0.0)
        told: Floats = padded[self._rankings.members] + direction[-1] * self._rankings.slots
        return told

    def _gathered(self, entries: Floats, *, slots: Floats | None = None) -> Floats:
        """Sum what entries say, by member, and last for the position."""
        count = self._rankings.count
        members = self._rankings.members.ravel()
        sums = np.bincount(members, weights=entries.ravel(), minlength=count + 1).astype(np.float64)
        sums[count] = float((entries * (self._rankings.slots if slots is None else slots)).sum())
        return sums

    def _curved(self, direction: Floats) -> Floats:
        """Give the curvature along a direction, turned positive."""
        moved = self._chances * self._along(direction)
        below = np.cumsum(self._squared * _summed_from_the_end(moved), axis=0)
        return self._gathered(self._weights * (moved * self._summed - self._chances * below)) + self._prior * direction

    def newton_step(self) -> Floats:
        """Solve for the step to the top, by conjugate gradients."""
        step = np.zeros_like(self.gradient)
        rest = self.gradient.copy()
        direction = rest * self._ease
        worth = first = _product(rest, direction)
        for _ in range(_MOST_DIRECTIONS):
            if worth <= first * _SOLVED:
                break
            curved = self._curved(direction)
            length = worth / _product(direction, curved)
            step += length * direction
            rest -= length * curved
            eased = rest * self._ease
            before, worth = worth, _product(rest, eased)
            direction = eased + (worth / before) * direction
        return step


def _product(one: Floats, other: Floats) -> float:
    """Multiply two vectors; by ``@``, long ones would go to threads that take more time than they save."""
    return float((one * other).sum())


def _summed_from_the_end(values: Floats) -> Floats:
    """Give the sum of each value and all below it."""
    sums: Floats = np.cumsum(values[::-1], axis=0)[::-1]
    return sums


class Spans(NamedTuple):
    """The best and the worst rank that the evidence leaves to each, from 1; and the interval around the position."""

    best: Numbers
    worst: Numbers
    position: tuple[float, float]


def rank_spans(
    rankings: Rankings, fitted: Strengths, *, refits: int = 200, level: float = 0.95, seed: int = 0
) -> Spans:
    """Give intervals on ranks: judgments are drawn anew, with replacement, and fitted again, ``refits`` times.

    Of each only the extreme ranks are kept, as many as lie outside of the interval, so that memory stays small. Those
    of equal strength share their ranks.
    """
    chance = np.random.default_rng(seed)
    judgments = rankings.judgments
    outside = max(1, round(refits * (1 - level) / 2)) + 1  # and the first inside
    best = np.full((rankings.count, outside), rankings.count, dtype=np.int64)
    worst = np.ones((rankings.count, outside), dtype=np.int64)
    positions: list[float] = []
    for _ in range(refits):
        times = np.bincount(chance.integers(0, judgments, judgments), minlength=judgments).astype(np.float64)
        found = fit(rankings.drawn(times), prior=fitted.prior, start=fitted, flat=_FLAT_ENOUGH)
        first, last = ranks_of(found.values)
        best[:, -1] = np.minimum(best[:, -1], first)
        best.sort(axis=1)
        worst[:, 0] = np.maximum(worst[:, 0], last)
        worst.sort(axis=1)
        positions.append(found.position)
    low, high = np.quantile(positions, [(1 - level) / 2, (1 + level) / 2])
    return Spans(best=best[:, -1], worst=worst[:, 0], position=(float(low), float(high)))


def ranks_of(values: Floats) -> tuple[Numbers, Numbers]:
    """Give the ranks of strengths, from 1: the first and the last of those that equal ones share.

    >>> first, last = ranks_of(np.array([0.5, -1.0, 0.5]))
    >>> first.tolist(), last.tolist()
    ([1, 3, 1], [2, 3, 2])
    """
    ascending = np.sort(values)
    first = len(values) - np.searchsorted(ascending, values + EQUAL, side="right") + 1
    last = len(values) - np.searchsorted(ascending, values - EQUAL, side="left")
    return first.astype(np.int64), last.astype(np.int64)
