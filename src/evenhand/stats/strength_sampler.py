"""Draws of strengths from what rankings leave possible, by Hamiltonian Monte Carlo (Neal 2011).

Strengths, position and the precision of the prior are drawn together, so none of them is taken as known. A transition
follows the gradient of the posterior along a trajectory, in whitened coordinates: in these, the posterior is about
equally wide in all directions. Then the precision is drawn, given the strengths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final

import numpy as np

from evenhand.stats.plackett_luce import Slope, Strengths, fit, prior_precisions

if TYPE_CHECKING:
    from evenhand.stats.rankings import Floats, Rankings

# The standard deviation of strengths is half-normal, with this scale: of two random members, the judge prefers the
# better one 60 times out of 100 where it is 0.4, and 95 times where it is 8.
_SCALE: Final = 4.0
_LEAST_PRIOR, _MOST_PRIOR = 1e-3, 100.0
# At the start, the prior is not so extreme that the curvature would say nothing about the width of the posterior.
_LEAST_AT_START, _MOST_AT_START = 2e-2, 10.0
_LEAST_SQUARES: Final = 1e-9

_WARM_UP: Final = 60
_TRANSITIONS_A_DRAW: Final = 2
# How long a trajectory is, in standard deviations. It is random: trajectories of one length might end where they began.
_SHORTEST_TRAJECTORY, _LONGEST_TRAJECTORY = 1.0, 2.2
# The size of a leapfrog step, which is adapted in the warm-up until this share of the trajectories is accepted.
_FIRST_STEP, _LARGEST_STEP = 0.5, 1.2
_ACCEPTED: Final = 0.8
_ADAPTATION: Final = 0.1
# The logarithm of the factor by which all strengths are rescaled has a standard deviation between exp(-3) and exp(0).
_LEAST_RESCALING, _MOST_RESCALING = -3.0, 0.0


def draws_of(rankings: Rankings, start: Strengths, chance: np.random.Generator) -> Iterator[Floats]:
    """Yield draws without end, each a little like the one before: strengths around 0 and, as the last, the position."""
    sampler = _Sampler(rankings, start, chance)
    sampler.warm_up()
    while True:
        for _ in range(_TRANSITIONS_A_DRAW):
            sampler.transition()
        drawn = sampler.point.copy()
        drawn[:-1] -= drawn[:-1].mean()
        yield drawn


class _Sampler:
    """A Markov chain through the strengths, positions and precisions of the prior that rankings leave possible."""

    def __init__(self, rankings: Rankings, start: Strengths, chance: np.random.Generator) -> None:
        self._rankings, self._chance = rankings.in_few_blocks(), chance
        self._prior = min(max(start.prior, _LEAST_AT_START), _MOST_AT_START)
        self._state = _State(self._rankings, fit(self._rankings, prior=self._prior, start=start).point)
        self._curvature = self._state.slope.hessian()
        self._whitenings: dict[int, Floats] = {}
        self._step_size = _FIRST_STEP

    @property
    def point(self) -> Floats:
        """Where the chain is: strengths and, as the last, the position."""
        return self._state.point

    def warm_up(self) -> None:
        """Leave the start behind, and adapt the step size."""
        for _ in range(_WARM_UP):
            excess = self.transition() - _ACCEPTED
            self._step_size = min(self._step_size * math.exp(_ADAPTATION * excess), _LARGEST_STEP)

    def transition(self) -> float:
        """Draw strengths and position, then the prior; return the probability of accepting the trajectory."""
        start, momentum = self._state, self._chance.standard_normal(len(self._curvature))
        end, momentum_at_end = self._trajectory(start, momentum)
        gain = self._log_posterior(end, self._prior) - float((momentum_at_end**2).sum()) / 2
        gain -= self._log_posterior(start, self._prior) - float((momentum**2).sum()) / 2
        if self._is_accepted(gain):
            self._state = end
        self._draw_prior()
        self._rescale()
        return math.exp(min(gain, 0.0)) if math.isfinite(gain) else 0.0

    def _trajectory(self, state: _State, momentum: Floats) -> tuple[_State, Floats]:
        """Follow the gradient from a state by leapfrog steps; return the state and the momentum at the end."""
        whitening, precisions = self._whitening(), prior_precisions(len(momentum), self._prior)
        steps = max(1, round(self._chance.uniform(_SHORTEST_TRAJECTORY, _LONGEST_TRAJECTORY) / self._step_size))
        momentum = momentum + self._step_size / 2 * state.gradient(precisions) @ whitening
        for left in reversed(range(steps)):
            state = _State(self._rankings, state.point + whitening @ (self._step_size * momentum))
            momentum += self._step_size / (1 if left else 2) * state.gradient(precisions) @ whitening
        return state, momentum

    def _whitening(self) -> Floats:
        """Return the matrix of whitened coordinates for a prior about as wide as this one."""
        power = round(math.log2(self._prior))
        if power not in self._whitenings:
            precisions = self._curvature + np.diag(prior_precisions(len(self._curvature), 2.0**power))
            self._whitenings[power] = np.linalg.cholesky(np.linalg.inv(precisions))
        return self._whitenings[power]

    def _draw_prior(self) -> None:
        """Draw the precision of the prior, given the strengths."""
        strengths = self._state.point[:-1]
        squares = max(float((strengths**2).sum()), _LEAST_SQUARES)
        prior = 2 * self._chance.gamma((len(strengths) - 1) / 2) / squares
        if self._is_accepted(_log_density(prior) - _log_density(self._prior)):
            self._prior = prior

    def _rescale(self) -> None:
        """Rescale all strengths at once, together with the prior.

        A precision drawn given the strengths hardly differs from the one given which these were drawn.
        """
        factor = math.exp(self._chance.normal() * math.exp(self._chance.uniform(_LEAST_RESCALING, _MOST_RESCALING)))
        prior, strengths = self._prior / factor**2, self._state.point[:-1]
        rescaled = _State(self._rankings, np.append(strengths * factor, self._state.point[-1]))
        gain = self._log_posterior(rescaled, prior) + _log_density(prior)
        gain -= self._log_posterior(self._state, self._prior) + _log_density(self._prior)
        if self._is_accepted(gain + math.log(factor)):
            self._state, self._prior = rescaled, prior

    def _is_accepted(self, gain: float) -> bool:
        return -self._chance.exponential() < gain  # never where the gain is not a number

    def _log_posterior(self, state: _State, prior: float) -> float:
        precisions = prior_precisions(len(state.point), prior)
        return state.log_likelihood - float((precisions * state.point**2).sum()) / 2


class _State:
    """Strengths and, as the last, the position; and what the rankings say of them."""

    def __init__(self, rankings: Rankings, point: Floats) -> None:
        self.point = point
        self.slope = Slope(rankings, point, prior=0.0)

    @cached_property
    def log_likelihood(self) -> float:
        return self.slope.log_likelihood()

    def gradient(self, precisions: Floats) -> Floats:
        return self.slope.gradient - precisions * self.point


def _log_density(prior: float) -> float:
    """Return how likely a precision of the prior is before any ranking, as the logarithm of the deviation's density."""
    return -1 / (2 * prior * _SCALE**2) if _LEAST_PRIOR < prior < _MOST_PRIOR else -math.inf
