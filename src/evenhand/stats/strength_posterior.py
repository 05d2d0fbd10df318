"""What rankings say about strengths: how strong each is, how far off that may be, and the ranks that are left.

Up to some hundred members, strengths are sampled together with everything that they depend on. For more members, and
for a judge that never contradicts itself, they are taken as normally distributed around the fit, with the inverse of
its curvature as covariance (Laplace's approximation), and the prior's precision is the one that makes the rankings
most likely (MacKay).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenhand.stats.both_orders import BothOrders
from evenhand.stats.distributions import z_quantile
from evenhand.stats.pair_posterior import MOST_MEMBERS, PAIR, applies_to, learned_posterior
from evenhand.stats.plackett_luce import PRIOR, Slope, Strengths, fit, log_likelihood
from evenhand.stats.rankings import Rankings
from evenhand.stats.strength_sampler import draws_of

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers

# Strengths that differ by less are equal: far more than the fit's own error, far less than any evidence.
EQUAL: Final = 1e-6

# A judge that is all noise has no end of its own, and neither has one that never contradicts itself: whoever gets down
# to the first gets the least.
_CONSISTENT: Final = 2e-3
_LEAST_PRIOR, _MOST_PRIOR = 1e-4, 100.0
_MOST_LESSONS: Final = 30
# With the narrowest prior, a single comparison moves a strength by some thousandths. What is less is left over where a
# judge follows the position nearly always, which takes up all but a trace of what it said.
_DIGITS_OF_NOISE: Final = 3
# What is left beyond these digits, where strengths cancel each other out, comes from rounding.
_DIGITS: Final = 9
# With a wider prior, few pairs are fitted so closely that nothing is left of them.
_CAUTIOUS: Final = 1.0
# Where a position makes rankings so little more likely, both ways of finding its error agree, but for rounding.
_LEAST_GAIN: Final = 0.01
_LEARNED: Final = 0.05
# Of no more than so many, the variances are worked out; of more, they are estimated from so many probes.
_FEW: Final = 64
_PROBES: Final = 8


def learned_fit(rankings: Rankings) -> Strengths:
    """Fit with a prior as wide as the strengths turn out to be, learned from the rankings themselves.

    A judge that hardly contradicts itself gets a wide one, and the order that it meant; one that is all noise a narrow
    one, and strengths close together.
    """
    if applies_to(rankings):
        return learned_posterior(rankings).strengths()
    fitted = fit(rankings, prior=PRIOR)
    for _ in range(_MOST_LESSONS if rankings.blocks else 0):
        known = rankings.count - fitted.prior * _total_variance(rankings, fitted)
        squares = float((fitted.values**2).sum())
        prior = min(known / squares if squares > 0 else math.inf, _MOST_PRIOR)
        if prior < _CONSISTENT:
            return fit(rankings, prior=_LEAST_PRIOR, start=fitted)
        if abs(math.log(prior / fitted.prior)) < _LEARNED:
            break
        fitted = fit(rankings, prior=prior, start=fitted)
    return fitted if fitted.prior < _MOST_PRIOR else replace(fitted, values=fitted.values.round(_DIGITS_OF_NOISE) + 0.0)


def as_independent(rankings: Rankings, together: float) -> Rankings:
    """Return rankings with no more weight than they have as evidence.

    A judge that is asked about two in both orders, and says the same, has not said it twice. By how much both replies
    go ``together`` beyond what the strengths say, each counts for less.
    """
    return rankings.weighted(1 / (1 + together)) if together else rankings


def replies_together(rankings: Rankings) -> float:
    """Return the correlation of what the strengths leave unexplained in both orders of a pair; 0 of groups."""
    if any(len(block.members) != PAIR for block in rankings.blocks):
        return 0.0
    both = BothOrders.of(rankings)
    if applies_to(rankings):
        posterior = learned_posterior(rankings)
        return both.correlation(*posterior.gaps_without(both.units, both.lower, both.higher), posterior.position)
    fitted = fit(rankings, prior=_CAUTIOUS)
    gaps = fitted.values[both.lower] - fitted.values[both.higher]
    return both.correlation(gaps, np.zeros_like(gaps), fitted.position)


def _total_variance(rankings: Rankings, fitted: Strengths) -> float:
    """Return the sum of the variances of all strengths; of many, estimated by Hutchinson's random signs."""
    slope = Slope(rankings, fitted.point, fitted.prior)
    if rankings.count <= _FEW:
        return float(np.linalg.inv(slope.hessian()).diagonal()[:-1].sum())
    chance = np.random.default_rng(0)
    total = 0.0
    for _ in range(_PROBES):
        signs = chance.choice((-1.0, 1.0), rankings.count + 1)
        signs[-1] = 0.0
        total += float((signs * slope.solve(signs)).sum())
    return total / _PROBES


class Posterior(NamedTuple):
    """What is known of strengths, the best and the worst rank of each, from 1, and the interval around the position.

    ``errors`` are the standard errors of the strengths around their mean. ``draws`` has a row of strengths for each
    draw; there is none where the strengths were taken as normally distributed.
    """

    strengths: Strengths
    best: Numbers
    worst: Numbers
    errors: Floats
    position: tuple[float, float]
    draws: Floats

    def is_stronger(self, one: int, other: int, *, level: float) -> bool:
        """Return whether one is stronger than the other with this probability."""
        if len(self.draws):
            return float((self.draws[:, one] > self.draws[:, other]).mean()) >= level
        gap = self.strengths.values[one] - self.strengths.values[other]
        return bool(gap > NormalDist().inv_cdf(level) * math.hypot(self.errors[one], self.errors[other]))


def posterior(rankings: Rankings, *, draws: int = 200, level: float = 0.95, seed: int = 0) -> Posterior:
    """Return what rankings say about strengths, which are drawn ``draws`` times from what the rankings leave possible.

    The order is that of the fit, so those that the rankings treat alike are equal.
    """
    fitted, chance = learned_fit(rankings), np.random.default_rng(seed)
    is_approximated = rankings.count > MOST_MEMBERS or fitted.prior < _CONSISTENT
    return (_approximated if is_approximated else _sampled)(rankings, fitted, chance, draws, level)


def _approximated(
    rankings: Rankings, fitted: Strengths, chance: np.random.Generator, draws: int, level: float
) -> Posterior:
    drawn = _Drawn(_draws_around(rankings, fitted, chance), fitted.values, draws, level)
    half = z_quantile(level) * _error_of_position(rankings, fitted, float(drawn.positions.std()))
    return Posterior(
        strengths=fitted,
        best=drawn.best,
        worst=drawn.worst,
        errors=drawn.errors,
        position=(fitted.position - half, fitted.position + half),
        draws=np.zeros((0, rankings.count)),
    )


def _sampled(rankings: Rankings, fitted: Strengths, chance: np.random.Generator, draws: int, level: float) -> Posterior:
    points = np.array(list(itertools.islice(draws_of(rankings, fitted, chance), draws)))
    means = points[:, :-1].mean(axis=0)
    drawn = _Drawn(points.copy(), means, draws, level)  # which changes them, to save room
    values = _rearranged(means, fitted.values)
    first, last = ranks_of(values)
    positions = np.sort(drawn.positions).tolist()
    outside = _outside(draws, level)
    prior = len(values) / float((values**2 + drawn.errors**2).sum())
    return Posterior(
        strengths=Strengths(values=values, position=positions[draws // 2], prior=prior),
        best=np.minimum(drawn.best, first),
        worst=np.maximum(drawn.worst, last),
        errors=drawn.errors,
        position=(positions[outside - 1], positions[-outside]),
        draws=points[:, :-1],
    )


def _outside(draws: int, level: float) -> int:
    """Return the k for which an interval goes from the k-th lowest draw to the k-th highest.

    The next draw would lie below the k-th of n with a probability of k / (n + 1).
    """
    return max(1, round((draws + 1) * (1 - level) / 2))


class _Drawn:
    """What draws around some strengths come to: positions, standard errors, and the ends of the intervals of ranks.

    Of the ranks, only as many extreme ones are kept as lead to these ends. So memory stays small with a hundred
    thousand members too.
    """

    def __init__(self, points: Iterable[Floats], around: Floats, draws: int, level: float) -> None:
        count, outside = len(around), _outside(draws, level)
        # What stays is made first: what is made after the first draw would keep the room of what that takes.
        self.positions: Floats = np.zeros(draws)
        self.errors: Floats = np.zeros(count)
        self.best: Numbers = np.zeros(count, dtype=np.int32)
        self.worst: Numbers = np.zeros(count, dtype=np.int32)
        best = np.full((count, outside), count, dtype=np.int32)
        worst = np.ones((count, outside), dtype=np.int32)
        for number, point in enumerate(itertools.islice(points, draws)):
            self.positions[number] = point[-1]
            values = point[:-1]
            first, last = ranks_of(values)
            np.minimum(best[:, -1], first, out=best[:, -1])
            best.sort(axis=1)
            np.maximum(worst[:, 0], last, out=worst[:, 0])
            worst.sort(axis=1)
            values -= around
            self.errors += values**2
        self.errors /= draws
        np.sqrt(self.errors, out=self.errors)
        self.best[:], self.worst[:] = best[:, -1], worst[:, 0]


def _draws_around(rankings: Rankings, fitted: Strengths, chance: np.random.Generator) -> Iterator[Floats]:
    """Yield draws from the normal distribution around a fit, without end; the last of each is the position."""
    slope = Slope(rankings, fitted.point, fitted.prior)
    while True:
        drawn = slope.solve(slope.noise(chance))
        drawn[:-1] += fitted.values - drawn[:-1].mean()
        drawn[-1] += fitted.position
        yield drawn


def _rearranged(values: Floats, like: Floats) -> Floats:
    """Return the same values in the order of others; those that are equal there share the mean of theirs.

    >>> _rearranged(np.array([3.0, 2.0, 1.0]), like=np.array([0.1, 0.2, 0.1])).tolist()
    [1.5, 3.0, 1.5]
    """
    first, last = ranks_of(like)
    sums = np.append(0.0, np.cumsum(np.sort(values)[::-1]))
    means: Floats = (sums[last] - sums[first - 1]) / (last - first + 1)
    return means.round(_DIGITS) + 0.0


def _error_of_position(rankings: Rankings, fitted: Strengths, by_curvature: float) -> float:
    """Return the standard error of the position.

    Where a judge follows the position nearly always, the curvature says next to nothing of how far it can be off. How
    much less likely the rankings are without any position does.
    """
    if not rankings.has_slots:
        return by_curvature
    without = rankings.without_slots()
    gained = log_likelihood(rankings, fitted) - log_likelihood(without, fit(without, prior=fitted.prior, start=fitted))
    return abs(fitted.position) / math.sqrt(2 * gained) if gained > _LEAST_GAIN else by_curvature


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
