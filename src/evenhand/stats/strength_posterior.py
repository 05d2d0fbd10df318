"""What rankings say about strengths: the prior that fits them, how far each strength may be off, and the ranks left.

The strengths that rankings allow are taken as normally distributed around the fit, with the inverse of its curvature as
covariance (Laplace's approximation). The prior's precision is the one that makes the rankings most likely (MacKay).
That is too rough for a few pairs each, which have a better approximation of their own.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from evenhand.stats.both_orders import BothOrders
from evenhand.stats.distributions import z_quantile
from evenhand.stats.pair_posterior import PAIR, applies_to, learned_posterior
from evenhand.stats.plackett_luce import PRIOR, Slope, Strengths, fit, log_likelihood
from evenhand.stats.rankings import Rankings

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers

# Strengths that differ by less are equal: far more than the fit's own error, far less than any evidence.
EQUAL: Final = 1e-6
DRAWS: Final = 200

# A judge that is all noise has no end of its own, and neither has one that never contradicts itself: whoever gets down
# to the first gets the least.
_CONSISTENT: Final = 2e-3
_LEAST_PRIOR, _MOST_PRIOR = 1e-4, 100.0
_MOST_LESSONS: Final = 30
# With the narrowest prior, a single comparison moves a strength by some thousandths. What is less is left over where a
# judge follows the position nearly always, which takes up all but a trace of what it said.
_DIGITS_OF_NOISE: Final = 3
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


class Spans(NamedTuple):
    """The best and the worst rank that the evidence leaves to each, from 1, and the interval around the position.

    ``errors`` are the standard errors of the strengths around their mean.
    """

    best: Numbers
    worst: Numbers
    errors: Floats
    position: tuple[float, float]


def rank_spans(
    rankings: Rankings, fitted: Strengths, *, draws: int = DRAWS, level: float = 0.95, seed: int = 0
) -> Spans:
    """Return intervals on ranks: strengths are drawn from what the rankings leave possible, ``draws`` times.

    Of each only the extreme ranks are kept, as many as lie outside of the interval, so that memory stays small.
    """
    drawn = _Drawn(rankings, fitted, np.random.default_rng(seed))
    outside = max(1, round(draws * (1 - level) / 2)) + 1  # and the first inside
    best = np.full((rankings.count, outside), rankings.count, dtype=np.int32)
    worst = np.ones((rankings.count, outside), dtype=np.int32)
    squares, of_position = np.zeros(rankings.count), 0.0
    for _ in range(draws):
        off = drawn.next()
        of_position += off[-1] ** 2
        values = off[:-1]
        values -= values.mean()
        squares += values**2
        values += fitted.values
        first, last = ranks_of(values)
        np.minimum(best[:, -1], first, out=best[:, -1])
        best.sort(axis=1)
        np.maximum(worst[:, 0], last, out=worst[:, 0])
        worst.sort(axis=1)
    del drawn  # it has three numbers for each entry of each ranking, and the next fit takes as many
    best, worst = best[:, -1].copy(), worst[:, 0].copy()
    half = z_quantile(level) * _error_of_position(rankings, fitted, math.sqrt(of_position / draws))
    return Spans(
        best=best,
        worst=worst,
        errors=np.sqrt(squares / draws),
        position=(fitted.position - half, fitted.position + half),
    )


class _Drawn:
    """How far strengths may be off, drawn again and again; the last is the position."""

    def __init__(self, rankings: Rankings, fitted: Strengths, chance: np.random.Generator) -> None:
        self._slope, self._chance = Slope(rankings, fitted.point, fitted.prior), chance
        covariance = fitted.covariance
        if covariance is None and rankings.count <= _FEW:
            covariance = np.linalg.inv(self._slope.hessian()).astype(np.float64, copy=False)
        self._root = None if covariance is None else np.linalg.cholesky(covariance)

    def next(self) -> Floats:
        if self._root is None:
            return self._slope.solve(self._slope.noise(self._chance))
        drawn: Floats = self._root @ self._chance.standard_normal(len(self._root))
        return drawn


def _error_of_position(rankings: Rankings, fitted: Strengths, by_curvature: float) -> float:
    """Return the standard error of the position.

    Where a judge follows the position nearly always, the curvature says next to nothing of how far it can be off. How
    much less likely the rankings are without any position does.
    """
    if not rankings.has_slots:
        return by_curvature
    without = rankings.without_slots()
    if fitted.covariance is not None:  # the mean of what is possible is less likely than the top
        fitted = fit(rankings, prior=fitted.prior, start=fitted)
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
