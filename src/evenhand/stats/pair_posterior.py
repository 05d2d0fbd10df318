"""The strengths that comparisons of pairs leave possible, by expectation propagation (Minka 2001).

Laplace's approximation, a normal distribution around the posterior mode, is too close to equality where each member was
compared only a few times: the posterior is skewed. Here each comparison is replaced by a normal term, chosen so that
mean and variance of the compared gap match those with the comparison itself. All terms are updated in parallel until
they no longer change.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.stats.plackett_luce import PRIOR, Strengths, prior_precisions

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Numbers, Rankings

# Of more, the covariance would take too much time.
MOST_MEMBERS: Final = 400
PAIR: Final = 2

# With few members, the likeliest prior is often that all are equal, or that nothing limits them. So this many strengths
# with a variance of 1 count as pseudo-observations.
_PSEUDO_STRENGTHS: Final = 2
# The least is for a judge that never contradicts itself, the most for one that is all noise.
_LEAST_PRIOR, _MOST_PRIOR = 2e-3, 100.0
_MOST_LESSONS: Final = 60
_LEARNED: Final = 3e-3
_LEAST_REST: Final = 0.25
_MOST_SWEEPS: Final = 100
_SETTLED: Final = 1e-8
# Damping: parallel updates in full might overshoot.
_DAMPING: Final = 0.8
_LEAST_PRECISION: Final = 1e-12
# Integrals are sums over points from so many standard deviations below the mean to as many above it. For functions as
# smooth as these, sums are exact to four digits if the points are no further apart than so many deviations and units.
_REACH: Final = 8.0
_DEVIATIONS_APART, _UNITS_APART = 0.7, 1.5


def applies_to(rankings: Rankings) -> bool:
    """Return whether rankings are comparisons of pairs, and among few enough."""
    of_two = all(len(block.members) == PAIR for block in rankings.blocks)
    return bool(rankings.blocks) and of_two and rankings.count <= MOST_MEMBERS


class PairPosterior:
    """What comparisons leave possible, for a prior that can be changed. The last of all values is the position."""

    def __init__(self, rankings: Rankings, prior: float) -> None:
        self.prior = prior
        self._count = rankings.count
        self._better, self._worse = np.concatenate([block.members for block in rankings.blocks], axis=1)
        ahead, behind = np.concatenate([block.slots for block in rankings.blocks], axis=1).astype(np.float64)
        self._slots: Floats = ahead - behind
        self._weights: Floats = np.concatenate([block.weights for block in rankings.blocks])
        self._units = np.concatenate([block.units for block in rankings.blocks])
        # The term of each comparison: what it adds to the precision, and to the precision times the mean.
        self._precisions: Floats = self._weights / 4
        self._shifts: Floats = self._weights / 2
        self.mean: Floats = np.zeros(0)
        self.covariance: Floats = np.zeros((0, 0))
        self._combine()

    @property
    def position(self) -> float:
        """What being shown first adds, on average."""
        return float(self.mean[-1])

    def strengths(self) -> Strengths:
        """Return the mean strengths."""
        values = self.mean[:-1] - self.mean[:-1].mean()
        return Strengths(values=values, position=self.position, prior=self.prior)

    def gaps_without(self, units: Numbers, lower: Numbers, higher: Numbers) -> tuple[Floats, Floats]:
        """Predict the gap between the two members of each unit from all other units, with the position at its mean.

        Return mean and standard deviation of by how much the member with the lower number is better.
        """
        sign = np.where(self._better < self._worse, 1.0, -1.0)
        own_precisions, own_shifts = np.zeros((2, int(self._units.max()) + 1))
        np.add.at(own_precisions, self._units, self._precisions)
        np.add.at(own_shifts, self._units, sign * (self._shifts - self._precisions * self._slots * self.position))
        covariance = self.covariance
        variances = covariance[lower, lower] + covariance[higher, higher] - 2 * covariance[lower, higher]
        precisions = np.maximum(1 / variances - own_precisions[units], _LEAST_PRECISION)
        shifts = (self.mean[lower] - self.mean[higher]) / variances - own_shifts[units]
        return shifts / precisions, 1 / np.sqrt(precisions)

    def learned_prior(self) -> float:
        """Return the prior that would make the comparisons more likely; it is this one if none does."""
        known = self._count - self.prior * float(self.covariance.diagonal()[:-1].sum())
        return (known + _PSEUDO_STRENGTHS) / (float((self.mean[:-1] ** 2).sum()) + _PSEUDO_STRENGTHS)

    def sweep(self) -> float:
        """Find all terms anew, and return how much they had to change."""
        gaps, variances = self._gaps()
        # The cavity: what all other terms say about the gap of each comparison.
        precisions = np.maximum(1 / variances - self._precisions, _LEAST_PRECISION)
        shifts = gaps / variances - self._shifts
        means, after = _after_comparison(shifts / precisions, 1 / np.sqrt(precisions), self._weights)
        by_precision = np.maximum(1 / after - precisions, 0.0) - self._precisions
        by_shift = means / after - shifts - self._shifts
        self._precisions += _DAMPING * by_precision
        self._shifts += _DAMPING * by_shift
        self._combine()
        return max(float(np.abs(by_precision).max()), float(np.abs(by_shift).max()))

    def _gaps(self) -> tuple[Floats, Floats]:
        """Return mean and variance of what each comparison compares: by how much the better one is better."""
        better, worse, slots, covariance = self._better, self._worse, self._slots, self.covariance
        gaps = self.mean[better] - self.mean[worse] + slots * self.mean[-1]
        variances = covariance[better, better] + covariance[worse, worse] - 2 * covariance[better, worse]
        variances += 2 * slots * (covariance[better, -1] - covariance[worse, -1]) + slots**2 * covariance[-1, -1]
        return gaps, variances

    def _combine(self) -> None:
        """Work out mean and covariance from the prior and all terms."""
        better, worse, slots, size = self._better, self._worse, self._slots, self._count + 1
        precisions = np.diag(prior_precisions(size, self.prior))
        for one, other, sign in ((better, better, 1), (worse, worse, 1), (better, worse, -1), (worse, better, -1)):
            np.add.at(precisions, (one, other), sign * self._precisions)
        beside = self._summed(self._precisions * slots)
        precisions[-1, :-1] += beside
        precisions[:-1, -1] += beside
        precisions[-1, -1] += float((self._precisions * slots**2).sum())
        shifts = np.append(self._summed(self._shifts), float((self._shifts * slots).sum()))
        self.covariance = np.linalg.inv(precisions).astype(np.float64, copy=False)
        self.mean = self.covariance @ shifts

    def _summed(self, terms: Floats) -> Floats:
        """Return what terms say for the better one, and against the worse one."""
        sums = np.zeros(self._count)
        np.add.at(sums, self._better, terms)
        np.subtract.at(sums, self._worse, terms)
        return sums


def points_around(means: Floats, deviations: Floats) -> tuple[Floats, Floats]:
    """Return points at which to look at each of some normal distributions, a column each, and the share of each point.

    >>> points, shares = points_around(np.array([1.0]), np.array([2.0]))
    >>> round(float((shares * points**2).sum()), 6)
    5.0
    """
    apart = min(_DEVIATIONS_APART, _UNITS_APART / max(float(deviations.max()), _LEAST_PRECISION))
    steps = np.linspace(-_REACH, _REACH, 2 * math.ceil(_REACH / apart) + 1)[:, np.newaxis]
    shares = np.exp(-(steps**2) / 2)
    return means + deviations * steps, shares / shares.sum()


def _after_comparison(means: Floats, deviations: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of normal gaps after each was seen to be won: by the integrals over what it may be."""
    gaps, shares = points_around(means, deviations)
    shares = shares * np.exp(-weights * np.logaddexp(0.0, -gaps))
    shares /= shares.sum(axis=0)
    after = (shares * gaps).sum(axis=0)
    return after, (shares * (gaps - after) ** 2).sum(axis=0)


def learned_posterior(rankings: Rankings) -> PairPosterior:
    """Return what comparisons leave possible with a prior that is learned from them."""
    posterior = PairPosterior(rankings, PRIOR)
    before = 0.0
    for _ in range(_MOST_LESSONS):
        posterior.sweep()
        posterior.sweep()
        step = math.log(_within(posterior.learned_prior()) / posterior.prior)
        if abs(step) < _LEARNED:
            break
        # Steps shrink geometrically, so their sum is extrapolated, within limits.
        shorter = step / before if before and step / before > 0 else 0.0
        posterior.prior = _within(posterior.prior * math.exp(step / max(1 - shorter, _LEAST_REST)))
        before = step
    for _ in range(_MOST_SWEEPS):
        if posterior.sweep() < _SETTLED:
            break
    return posterior


def _within(prior: float) -> float:
    return min(max(prior, _LEAST_PRIOR), _MOST_PRIOR)
