"""How strong each of many is, from rankings of some of them at a time: Plackett–Luce, and Bradley–Terry for pairs.

A ranking is taken as a row of choices: the best of all that are shown, then the best of the rest, and so on; each is
chosen with a chance in proportion to ``exp(strength)``. A prior keeps the strengths of those that always win finite.
A term for the slot in which something was shown takes up what a judge adds for a place.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.stats.rankings import Block, Rankings

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Singles

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

    >>> from evenhand.stats.rankings import Ranking
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

    >>> from evenhand.stats.rankings import Ranking
    >>> even = Strengths(values=np.zeros(2), prior=0.0)
    >>> round(log_likelihood(Rankings.of([Ranking((0, 1), (0, 0))], 2), even), 4)
    -0.6931
    """
    return _height(rankings, strengths.point, strengths.prior)


def _height(rankings: Rankings, point: Floats, prior: float) -> float:
    told = sum(_Choices(block, point).log_likelihood() for block in rankings.blocks)
    return told - _product(point, _prior_term(point, prior)) / 2


def prior_precisions(size: int, prior: float) -> Floats:
    """Return how precisely a prior knows each strength and, as the last, the position."""
    return _prior_term(np.ones(size), prior)


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
        curvature = prior_precisions(len(now), self._prior)
        for choices in self._choices:
            choices.add_slope(self.gradient, curvature)
        # One over the curvature along each strength; 0 where there is none.
        self._ease = np.divide(1.0, curvature, out=curvature, where=curvature > 0)

    def newton_step(self) -> Floats | None:
        """Return the step to the top; None where it is flat."""
        return None if _furthest(self.gradient) < _FLAT else self.solve(self.gradient)

    def log_likelihood(self) -> float:
        """Return the logarithm of how likely the rankings are."""
        return sum(choices.log_likelihood() for choices in self._choices)

    def hessian(self) -> Floats:
        """Return the curvature along all directions, turned positive."""
        hessian = np.diag(prior_precisions(len(self.gradient), self._prior))
        for choices in self._choices:
            choices.add_hessian(hessian)
        return hessian

    def noise(self, chance: np.random.Generator) -> Floats:
        """Draw from the normal distribution whose covariance is the curvature: what a gradient varies by."""
        drawn = np.sqrt(prior_precisions(len(self.gradient), self._prior))
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
        direction = rest * self._ease
        worth = first = _product(rest, direction)
        for _ in range(_MOST_DIRECTIONS):
            if worth <= first * _SOLVED:
                break
            curved = self._curvature_along(direction)
            length = worth / _product(direction, curved)
            step += length * direction
            curved *= length
            rest -= curved
            eased = np.multiply(rest, self._ease, out=curved)
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
        utilities = self._entries_along(now)
        utilities[block.members == len(now) - 1] = -np.inf  # the filler is never chosen
        utilities -= utilities.max(axis=0)
        self._chances = np.exp(_narrowed(utilities))
        left = _sum_from_the_end(self._chances.copy())
        # One over what is left to choose from at each place; nothing beyond the last. Its sums are worked out when they
        # are needed: of millions of entries, they would take much room.
        self._inverse = np.divide(1.0, left, out=np.zeros_like(left), where=left > 0)

    def add_slope(self, gradient: Floats, curvature: Floats) -> None:
        """Add the gradient, and the curvature along each strength."""
        weights, slots = self._block.weights, self._block.slots
        chosen = self._chances * self._summed()
        self._gather(weights * (1 - chosen), slots, gradient)
        self._gather(weights * chosen, slots**2, curvature)

    def log_likelihood(self) -> float:
        """Return the logarithm of how likely the choices are."""
        there = self._chances > 0
        left = np.log(_sum_from_the_end(self._chances.copy()), where=there, out=np.zeros_like(self._chances))
        chosen = np.log(self._chances, where=there, out=np.zeros_like(self._chances))
        return float(((chosen - left) * self._block.weights).sum())

    def add_noise(self, drawn: Floats, chance: np.random.Generator) -> None:
        """Add a draw whose covariance is the curvature: of each choice, by its chances."""
        entries = np.zeros_like(self._chances)
        scale = np.sqrt(self._block.weights)
        for place, inverse in enumerate(self._inverse[:-1]):
            shares = self._chances[place:] * inverse
            moved = np.sqrt(shares) * chance.standard_normal(shares.shape)
            moved -= shares * moved.sum(axis=0)
            moved *= scale
            entries[place:] += moved
        self._gather(entries, self._block.slots, drawn)

    def add_curved(self, direction: Floats, curved: Floats) -> None:
        """Add the curvature along a direction, turned positive."""
        moved = self._entries_along(direction)
        below = _sum_from_the_end(self._chances * moved)
        below *= self._inverse
        below *= self._inverse
        moved *= self._summed()
        moved -= _sum(below)
        moved *= self._chances
        moved *= self._block.weights
        self._gather(moved, self._block.slots, curved)

    def add_hessian(self, hessian: Floats) -> None:
        """Add the curvature along all directions, turned positive. The entries of the filler are 0."""
        block, size, places = self._block, len(hessian), np.arange(len(self._chances))
        pairs = -_sum(np.square(self._inverse))[np.minimum.outer(places, places)]
        pairs *= self._chances[:, np.newaxis]
        pairs *= self._chances
        pairs[places, places] += self._chances * self._summed()
        pairs *= block.weights
        who = block.members[:, np.newaxis] * size + block.members
        hessian += np.bincount(who.ravel(), pairs.ravel(), size * size).reshape(size, size)
        of_position = (pairs * block.slots).sum(axis=1)
        beside = np.bincount(block.members.ravel(), of_position.ravel(), size)[:-1]
        hessian[-1, :-1] += beside
        hessian[:-1, -1] += beside
        hessian[-1, -1] += (of_position * block.slots).sum()

    def _summed(self) -> Floats:
        """Return the sum of the inverses down to each place."""
        return _sum(self._inverse.copy())

    def _entries_along(self, direction: Floats) -> Floats:
        """Return what a change of strengths and position means for each entry; those of the filler mean nothing."""
        entries: Floats = direction.take(self._block.members)
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
    return float(np.einsum("i,i", first, second))


def _sum(values: Floats) -> Floats:
    """Add to each row all rows above it, in place and row by row: three times as fast as by ``cumsum``."""
    for above, row in itertools.pairwise(values):
        np.add(above, row, out=row)
    return values


def _sum_from_the_end(values: Floats) -> Floats:
    """Add to each row all rows below it, in place."""
    _sum(values[::-1])
    return values
