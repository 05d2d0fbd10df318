"""How strong each of many is, from rankings of some of them at a time: Plackett–Luce, and Bradley–Terry for pairs.

A ranking is taken as a row of choices: the best of all that are shown, then the best of the rest, and so on; each is
chosen with a chance in proportion to ``exp(strength)``. A prior keeps the strengths of those that always win finite.
A term for the slot in which something was shown takes up what a judge adds for a place.
"""

from __future__ import annotations

import itertools
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

# The precision of the normal distribution that strengths are taken to come from, where nothing is known of it.
PRIOR: Final = 0.3
# Of the position, a prior says only that it is not without end.
_PRIOR_OF_POSITION: Final = 1e-3

_MOST_STEPS: Final = 100
_FLAT: Final = 1e-8
_SHORTEST_STEP: Final = 1e-6
_MOST_DIRECTIONS: Final = 200
_SOLVED: Final = 1e-6
# Of no more than so many, a step is solved for at once, which is several times as fast as direction by direction.
_FEW: Final = 64
# Within a group, utilities may lie so far apart.
_WIDEST: Final = 300.0
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

    def beside(self, other: Block, *, filler: int) -> Block:
        """Return the rankings of both in one block."""
        rows = max(len(self.members), len(other.members))
        members, slots = (
            [np.pad(one, ((0, rows - len(one)), (0, 0)), constant_values=empty) for one in both]
            for both, empty in (((self.members, other.members), filler), ((self.slots, other.slots), 0))
        )
        return Block(
            np.concatenate(members, axis=1),
            np.concatenate(slots, axis=1),
            np.concatenate((self.weights, other.weights)),
            np.concatenate((self.units, other.units)),
        )


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

    def in_few_blocks(self) -> Rankings:
        """Return the rankings with small blocks put together, for each takes time of its own."""
        blocks: list[Block] = []
        for block in self.blocks:
            if blocks and len(blocks[-1].weights) + len(block.weights) <= _BLOCK:
                blocks[-1] = blocks[-1].beside(block, filler=self.count)
            else:
                blocks.append(block)
        return replace(self, blocks=tuple(blocks))

    def among(self, numbers: Numbers) -> Rankings:
        """Return the rankings of some with the members numbered by their place among ``numbers``, which are in order.

        Of a ranking, either all members are among them or none.
        """
        padded = np.append(numbers, self.count)
        blocks = []
        for block in self.blocks:
            places = np.searchsorted(padded, block.members).astype(np.int32)
            kept = padded[places[0]] == block.members[0]
            if kept.all():
                blocks.append(block._replace(members=places))
            elif kept.any():
                blocks.append(Block(places[:, kept], block.slots[:, kept], block.weights[kept], block.units[kept]))
        return replace(self, count=len(numbers), blocks=tuple(blocks))

    def sets(self) -> Numbers:
        """Return a number for each member, the same for all that were compared, if only by way of others."""
        labels = np.arange(self.count + 1)
        while True:
            before = labels.copy()
            for block in self.blocks:
                least = np.broadcast_to(labels[block.members].min(axis=0), block.members.shape)
                np.minimum.at(labels, block.members, least)
                labels[-1] = self.count  # the filler is compared with nobody
            labels = labels[labels]
            if (labels == before).all():
                return labels[:-1]

    def weighted(self, weight: float) -> Rankings:
        """Return the rankings, each counting for so much of what it did."""
        blocks = (block._replace(weights=block.weights * weight) for block in self.blocks)
        return replace(self, blocks=tuple(blocks))

    def without_slots(self) -> Rankings:
        """Return the rankings as if nobody had been shown before another."""
        blocks = (block._replace(slots=np.zeros_like(block.slots)) for block in self.blocks)
        return replace(self, blocks=tuple(blocks))

    @property
    def has_slots(self) -> bool:
        """Whether some members were shown before others."""
        return any(block.slots.any() for block in self.blocks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strengths:
    """How strong each is, around a mean of 0; what being shown first adds beside being shown last; and the prior."""

    values: Floats
    position: float = 0.0
    prior: float = PRIOR

    @property
    def point(self) -> Floats:
        """The strengths and, as the last, the position."""
        return np.append(self.values, self.position)


def fit(rankings: Rankings, *, prior: float, start: Strengths | None = None) -> Strengths:
    """Find the strengths that make the rankings most likely, given the prior; 0 for those that are in none.

    >>> seven_of_ten = [Ranking((0, 1), (0, 0), 7.0), Ranking((1, 0), (0, 0), 3.0)]
    >>> fitted = fit(Rankings.of(seven_of_ten, 2), prior=0)
    >>> round(float(fitted.values[0] - fitted.values[1]), 4)
    0.8473

    Without a prior there is no answer where a member always wins.
    """
    if not rankings.count:
        return Strengths(values=np.zeros(0), prior=prior)
    now = np.zeros(rankings.count + 1) if start is None else start.point
    height = _height(rankings, now, prior)
    for _ in range(_MOST_STEPS):
        step = Slope(rankings, now, prior).newton_step()
        if step is None:
            break
        # Far from the top, a whole step may lead beyond it and down again.
        while (reached := _height(rankings, now + step, prior)) < height and _furthest(step) > _SHORTEST_STEP:
            step /= 2
        now, height = now + step, reached
    return Strengths(values=now[:-1] - now[:-1].mean(), position=float(now[-1]), prior=prior)


def log_likelihood(rankings: Rankings, strengths: Strengths) -> float:
    """Return the logarithm of how likely the rankings are, and the strengths by their prior.

    >>> even = Strengths(values=np.zeros(2), prior=0.0)
    >>> round(log_likelihood(Rankings.of([Ranking((0, 1), (0, 0))], 2), even), 4)
    -0.6931
    """
    return _height(rankings, strengths.point, strengths.prior)


def _height(rankings: Rankings, point: Floats, prior: float) -> float:
    told = sum(_Choices(block, point).log_likelihood() for block in rankings.blocks)
    return told - _product(point, _prior_term(point, prior)) / 2


def _prior_term(direction: Floats, prior: float) -> Floats:
    """Return what a prior says of a direction."""
    term = prior * direction
    term[-1] = min(prior, _PRIOR_OF_POSITION) * direction[-1]
    return term


class Slope:
    """The log-likelihood around some strengths: its gradient, and its curvature along a direction."""

    def __init__(self, rankings: Rankings, now: Floats, prior: float) -> None:
        self._prior = float(prior)
        self._choices = [_Choices(block, now) for block in rankings.blocks]
        self.gradient = -_prior_term(now, self._prior)
        self.curvature = _prior_term(np.ones_like(now), self._prior)
        for choices in self._choices:
            choices.add_slope(self.gradient, self.curvature)

    def newton_step(self) -> Floats | None:
        """Return the step to the top; None where it is flat."""
        return None if _furthest(self.gradient) < _FLAT else self.solve(self.gradient)

    def hessian(self) -> Floats:
        """Return the curvature along all directions, turned positive."""
        hessian = np.diag(_prior_term(np.ones_like(self.gradient), self._prior))
        for choices in self._choices:
            choices.add_hessian(hessian)
        return hessian

    def noise(self, chance: np.random.Generator) -> Floats:
        """Draw from the normal distribution whose covariance is the curvature: what a gradient varies by."""
        drawn = np.sqrt(_prior_term(np.ones_like(self.gradient), self._prior))
        drawn *= chance.standard_normal(len(drawn))
        for choices in self._choices:
            choices.add_noise(drawn, chance)
        return drawn

    def solve(self, wanted: Floats) -> Floats:
        """Return the direction along which the curvature is ``wanted``; of many, by conjugate gradients."""
        if len(wanted) <= _FEW + 1 and self._prior:  # without a prior there may be no only one
            solved: Floats = np.linalg.solve(self.hessian(), wanted).astype(np.float64, copy=False)
            return solved
        step, rest = np.zeros_like(wanted), wanted.copy()
        ease = np.divide(1.0, self.curvature, out=np.zeros_like(wanted), where=self.curvature > 0)
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

    def _curvature_along(self, direction: Floats) -> Floats:
        """Return the curvature along a direction, turned positive."""
        curved = _prior_term(direction, self._prior)
        for choices in self._choices:
            choices.add_curved(direction, curved)
        return curved


class _Choices:
    """What the choices in a block of rankings say about some strengths."""

    def __init__(self, block: Block, now: Floats) -> None:
        self._block = block
        utilities = self._entries_along(now, filler=-np.inf)
        utilities -= utilities.max(axis=0)
        self._chances = np.exp(_narrowed(utilities))
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

    def log_likelihood(self) -> float:
        """Return the logarithm of how likely the choices are."""
        there = self._chances > 0
        left = np.log(_summed_from_the_end(self._chances), where=there, out=np.zeros_like(self._chances))
        chosen = np.log(self._chances, where=there, out=np.zeros_like(self._chances))
        return float(((chosen - left) * self._block.weights).sum())

    def add_noise(self, drawn: Floats, chance: np.random.Generator) -> None:
        """Add a draw whose covariance is the curvature: of each choice, by its chances."""
        entries = np.zeros_like(self._chances)
        scale = np.sqrt(self._block.weights)
        for place, squared in enumerate(self._squared[:-1]):
            shares = self._chances[place:] * np.sqrt(squared)
            moved = np.sqrt(shares) * chance.standard_normal(shares.shape)
            moved -= shares * moved.sum(axis=0)
            moved *= scale
            entries[place:] += moved
        self._gather(entries, self._block.slots, drawn)

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


def _narrowed(utilities: Floats) -> Floats:
    """Return utilities, the best of each column being 0, with gaps that are so wide that no chance shows them cut.

    The inverse of the least chance is squared, and would be infinite.
    """
    if float(utilities.min(initial=0.0, where=np.isfinite(utilities))) > -_WIDEST:
        return utilities
    order = np.argsort(-utilities, axis=0, kind="stable")
    ordered = np.take_along_axis(utilities, order, axis=0)
    there = np.isfinite(ordered)
    gaps = -np.diff(np.where(there, ordered, 0.0), axis=0, prepend=0.0)
    narrowed = -np.minimum(gaps, _WIDEST / len(utilities)).cumsum(axis=0)
    np.put_along_axis(ordered, order, np.where(there, narrowed, -np.inf), axis=0)
    return ordered


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
