"""How strong each of many is, from rankings of some of them at a time: Plackett–Luce, and Bradley–Terry for pairs.

A ranking is taken as a row of choices: the best of all that are shown, then the best of the rest, and so on; each is
chosen with a chance in proportion to ``exp(strength)``. A prior keeps the strengths of those that always win finite.
A term for the slot in which something was shown takes up what a judge adds for a place.
"""

from __future__ import annotations

import itertools
import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Singles = NDArray[np.float32]
    Numbers = NDArray[np.integer[Any]]

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
# Of no more than so many, a step is solved for at once, which is several times as fast as direction by direction.
_FEW: Final = 64
# So many rankings are worked on at a time.
_BLOCK: Final = 1024


class Ranking(NamedTuple):
    """Some of all, by their numbers, the best first.

    ``slots`` says where each was shown, from 0.5 (first) to -0.5 (last); 0 where none was before another. What
    belongs to the same ``unit`` comes from one judgment: both orders of a pair, the halves of a tie. It comes together.
    """

    members: Sequence[int]
    slots: Sequence[float]
    weight: float = 1.0
    unit: int = 0


class Block(NamedTuple):
    """Some rankings as arrays: a column each, filled up with a member that is never chosen.

    Sums run down the columns, which is many times as fast as along short rows.
    """

    members: Numbers
    slots: Singles
    weights: Floats
    units: Numbers

    @classmethod
    def of(cls, rankings: Iterable[Ranking], filler: int) -> Block:
        """Put rankings into arrays, as they come."""
        who, where, sizes, weights, units = array("i"), array("d"), array("i"), array("d"), array("q")
        for ranking in rankings:
            who.extend(ranking.members)
            where.extend(ranking.slots)
            sizes.append(len(ranking.members))
            weights.append(ranking.weight)
            units.append(ranking.unit)
        lengths = np.array(sizes)
        shape = (int(lengths.max(initial=0)), len(lengths))
        members, slots = np.full(shape, filler, dtype=np.int32), np.zeros(shape, dtype=np.float32)
        begins = np.cumsum(lengths) - lengths
        for row in range(shape[0]):
            there = lengths > row
            members[row, there] = np.asarray(who)[begins[there] + row]
            slots[row, there] = np.asarray(where)[begins[there] + row]
        return cls(members, slots, np.array(weights), np.array(units))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rankings:
    """Rankings of some out of ``count``, from so many ``judgments``.

    They come in blocks: there may be millions, and what is worked out on the way to a fit takes ten times their room.
    """

    count: int
    judgments: int = 0
    blocks: tuple[Block, ...] = ()

    @classmethod
    def of(cls, rankings: Iterable[Ranking], count: int) -> Rankings:
        """Put rankings into arrays, as they come."""
        units = itertools.groupby(rankings, key=attrgetter("unit"))
        numbered = (ranking._replace(unit=number) for number, (_, alike) in enumerate(units) for ranking in alike)
        blocks = []
        while len((block := Block.of(itertools.islice(numbered, _BLOCK), count)).weights):
            blocks.append(block)
        judgments = int(blocks[-1].units[-1]) + 1 if blocks else 0
        return cls(count=count, judgments=judgments, blocks=tuple(blocks))

    def and_those(self, later: Rankings) -> Rankings:
        """Return these rankings and later ones, which come from other judgments."""
        blocks = (block._replace(units=block.units + self.judgments) for block in later.blocks)
        return replace(self, judgments=self.judgments + later.judgments, blocks=(*self.blocks, *blocks))

    def among(self, numbers: Numbers) -> Rankings:
        """Return the rankings with the members numbered by their place among ``numbers``, which are in order."""
        padded = np.append(numbers, self.count)
        placed = (np.searchsorted(padded, block.members).astype(np.int32) for block in self.blocks)
        blocks = tuple(block._replace(members=members) for block, members in zip(self.blocks, placed, strict=True))
        return replace(self, count=len(numbers), blocks=blocks)

    def drawn(self, times: Floats) -> Rankings:
        """Return the rankings of judgments that were drawn so many times each, without those that were not."""
        return replace(self, blocks=tuple(filter(None, (_drawn(block, times) for block in self.blocks))))

    @property
    def has_slots(self) -> bool:
        """Whether some members were shown before others."""
        return any(block.slots.any() for block in self.blocks)


def _drawn(block: Block, times: Floats) -> Block | None:
    weights = block.weights * times[block.units]
    kept = weights > 0
    if not kept.any():
        return None
    return Block(block.members[:, kept], block.slots[:, kept], weights[kept], block.units[kept])


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """How strong each is, around a mean of 0; what being shown first adds beside being shown last; and the prior."""

    values: Floats
    position: float = 0.0
    prior: float = PRIOR


def fit(rankings: Rankings, *, prior: float, start: Strengths | None = None, flat: float = _FLAT) -> Strengths:
    """Find the strengths that make the rankings most likely, given the prior; 0 for those that are in none.

    >>> seven_of_ten = [Ranking((0, 1), (0, 0), 7.0), Ranking((1, 0), (0, 0), 3.0)]
    >>> fitted = fit(Rankings.of(seven_of_ten, 2), prior=0)
    >>> round(float(fitted.values[0] - fitted.values[1]), 4)
    0.8473

    Without a prior there is no answer where a member always wins. It is found where nothing is steeper than ``flat``.
    """
    if not rankings.count:
        return Strengths(values=np.zeros(0), prior=prior)
    now = np.zeros(rankings.count + 1)  # the last is the position
    if start is not None:
        now[:-1], now[-1] = start.values, start.position
    for _ in range(_MOST_STEPS):
        step = _Slope(rankings, now, prior).newton_step(flat)
        if step is None:
            break
        furthest = _furthest(step)
        if furthest > _LONGEST_STEP:
            step *= _LONGEST_STEP / furthest
        now += step
    return Strengths(values=now[:-1] - now[:-1].mean(), position=float(now[-1]), prior=prior)


def learned_fit(rankings: Rankings) -> Strengths:
    """Fit with a prior as wide as the strengths turn out to be, learned from the rankings themselves.

    A judge that hardly contradicts itself gets a wide one, and the order that it meant; one that is all noise a narrow
    one, and strengths close together.
    """
    fitted = fit(rankings, prior=PRIOR)
    for _ in range(_MOST_LESSONS if rankings.judgments else 0):
        curvature = _Slope(rankings, np.append(fitted.values, fitted.position), fitted.prior).curvature
        wide = float(np.mean(fitted.values**2 + 1 / np.maximum(curvature[:-1], _LEAST_PRIOR)))
        prior = min(max(1 / wide, _LEAST_PRIOR), _MOST_PRIOR)
        if abs(math.log(prior / fitted.prior)) < _LEARNED:
            break
        fitted = fit(rankings, prior=prior, start=fitted)
    return fitted


class _Slope:
    """The log-likelihood around some strengths: its gradient, and its curvature along a direction."""

    def __init__(self, rankings: Rankings, now: Floats, prior: float) -> None:
        self._prior = float(prior)
        self._choices = [_Choices(block, now) for block in rankings.blocks]
        self.gradient = -self._prior_term(now)
        self.curvature = self._prior_term(np.ones_like(now))
        for choices in self._choices:
            choices.add_slope(self.gradient, self.curvature)

    def _prior_term(self, direction: Floats) -> Floats:
        """Return what the prior says of a direction; of the position, only that it is not without end."""
        term = self._prior * direction
        term[-1] = min(self._prior, _LEAST_PRIOR) * direction[-1]
        return term

    def _curvature_along(self, direction: Floats) -> Floats:
        """Return the curvature along a direction, turned positive."""
        curved = self._prior_term(direction)
        for choices in self._choices:
            choices.add_curved(direction, curved)
        return curved

    def _hessian(self) -> Floats:
        """Return the curvature along all directions, turned positive."""
        hessian = np.diag(self._prior_term(np.ones_like(self.gradient)))
        for choices in self._choices:
            choices.add_hessian(hessian)
        return hessian

    def newton_step(self, flat: float) -> Floats | None:
        """Solve for the step to the top; None where nothing is steeper than ``flat``.

        Of many, by conjugate gradients. This uses the slope up: of very many, each vector takes room.
        """
        if _furthest(self.gradient) < flat:
            return None
        if len(self.gradient) <= _FEW + 1 and self._prior:  # without a prior there may be no only one
            solved: Floats = np.linalg.solve(self._hessian(), self.gradient).astype(np.float64, copy=False)
            return solved
        step = np.zeros_like(self.gradient)
        rest, ease = self.gradient, self.curvature
        np.divide(1.0, ease, out=ease, where=ease > 0)
        direction = rest * ease
        worth = first = _product(rest, direction)
        for _ in range(_MOST_DIRECTIONS):
            if worth <= first * _SOLVED:
                break
            curved = self._curvature_along(direction)
            length = worth / _product(direction, curved)
            step += length * direction
            curved *= length
            rest -= curved
            eased = np.multiply(rest, ease, out=curved)
            before, worth = worth, _product(rest, eased)
            direction *= worth / before
            direction += eased
        return step


class _Choices:
    """What the choices in a block of rankings say about some strengths."""

    def __init__(self, block: Block, now: Floats) -> None:
        self._block = block
        utilities = self._entries_along(now, filler=-np.inf)
        self._chances = np.exp(utilities - utilities.max(axis=0))
        left = _summed_from_the_end(self._chances)
        # One over what is left to choose from at each place; nothing beyond the last.
        inverse = np.divide(1.0, left, out=np.zeros_like(left), where=left > 0)
        self._summed = inverse.cumsum(axis=0)
        self._squared = np.square(inverse, out=inverse)

    def add_slope(self, gradient: Floats, curvature: Floats) -> None:
        """Add the gradient, and the curvature along each strength."""
        weights, slots = self._block.weights, self._block.slots
        chosen = self._chances * self._summed
        self._gather(weights * (1 - chosen), slots, gradient)
        self._gather(weights * chosen, slots**2, curvature)

    def add_curved(self, direction: Floats, curved: Floats) -> None:
        """Add the curvature along a direction, turned positive."""
        moved = self._entries_along(direction, filler=0.0)
        moved *= self._chances
        below = self._squared * _summed_from_the_end(moved)
        below.cumsum(axis=0, out=below)
        below *= self._chances
        moved *= self._summed
        moved -= below
        moved *= self._block.weights
        self._gather(moved, self._block.slots, curved)

    def add_hessian(self, hessian: Floats) -> None:
        """Add the curvature along all directions, turned positive. The entries of the filler are 0."""
        block, size, places = self._block, len(hessian), np.arange(len(self._chances))
        pairs = -self._squared.cumsum(axis=0)[np.minimum.outer(places, places)]
        pairs *= self._chances[:, np.newaxis]
        pairs *= self._chances
        pairs[places, places] += self._chances * self._summed
        pairs *= block.weights
        who = block.members[:, np.newaxis] * size + block.members
        hessian += np.bincount(who.ravel(), pairs.ravel(), size * size).reshape(size, size)
        of_position = (pairs * block.slots).sum(axis=1)
        beside = np.bincount(block.members.ravel(), of_position.ravel(), size)[:-1]
        hessian[-1, :-1] += beside
        hessian[:-1, -1] += beside
        hessian[-1, -1] += (of_position * block.slots).sum()

    def _entries_along(self, direction: Floats, *, filler: float) -> Floats:
        """Return what a change of strengths and position means for each entry."""
        entries: Floats = np.append(direction[:-1], filler)[self._block.members]
        entries += direction[-1] * self._block.slots
        return entries

    def _gather(self, entries: Floats, slots: Singles, sums: Floats) -> None:
        """Add what entries say to the sums of members, and to the last, which is for the position."""
        position = sums[-1] + float((entries * slots).sum())
        np.add.at(sums, self._block.members.ravel(), entries.ravel())
        # The entries of the filler are added there too, and belong to no member.
        sums[-1] = position


def _furthest(values: Floats) -> float:
    """Return how far from 0 the furthest value is."""
    return max(float(values.max()), -float(values.min()))


def _product(first: Floats, second: Floats) -> float:
    """Multiply two vectors; by ``@``, long ones would go to threads that take more time than they save."""
    return float((first * second).sum())


def _summed_from_the_end(values: Floats) -> Floats:
    """Return the sum of each value and all below it."""
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
    """Return intervals on ranks: judgments are drawn anew, with replacement, and fitted again, ``refits`` times.

    Of each only the extreme ranks are kept, as many as lie outside of the interval, so that memory stays small. Those
    of equal strength share their ranks.
    """
    chance = np.random.default_rng(seed)
    judgments = rankings.judgments
    outside = max(1, round(refits * (1 - level) / 2)) + 1  # and the first inside
    best = np.full((rankings.count, outside), rankings.count, dtype=np.int32)
    worst = np.ones((rankings.count, outside), dtype=np.int32)
    positions: list[float] = []
    for _ in range(refits):
        times = np.bincount(chance.integers(0, judgments, judgments), minlength=judgments).astype(np.float64)
        refit = fit(rankings.drawn(times), prior=fitted.prior, start=fitted, flat=_FLAT_ENOUGH)
        first, last = ranks_of(refit.values)
        best[:, -1] = np.minimum(best[:, -1], first)
        best.sort(axis=1)
        worst[:, 0] = np.maximum(worst[:, 0], last)
        worst.sort(axis=1)
        positions.append(refit.position)
    low, high = np.quantile(positions, [(1 - level) / 2, (1 + level) / 2])
    return Spans(best=best[:, -1].copy(), worst=worst[:, 0].copy(), position=(float(low), float(high)))


def ranks_of(values: Floats) -> tuple[Numbers, Numbers]:
    """Return the ranks of strengths, from 1: the first and the last of those that equal ones share.

    >>> first, last = ranks_of(np.array([0.5, -1.0, 0.5]))
    >>> first.tolist(), last.tolist()
    ([1, 3, 1], [2, 3, 2])
    """
    ascending = np.sort(values)
    first = len(values) - np.searchsorted(ascending, values + EQUAL, side="right") + 1
    last = len(values) - np.searchsorted(ascending, values - EQUAL, side="left")
    return first, last
