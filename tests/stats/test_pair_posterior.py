"""What comparisons of pairs leave possible, against sums over all that is possible, and against the truth."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from evenhand.stats.pair_posterior import MOST_MEMBERS, PairPosterior, applies_to
from evenhand.stats.plackett_luce import fit
from evenhand.stats.rankings import Ranking, Rankings
from evenhand.stats.strength_posterior import learned_fit


def pairs(*wins: tuple[int, int], count: int, weight: float = 1.0) -> Rankings:
    return Rankings.of([Ranking(win, (0, 0), weight, unit) for unit, win in enumerate(wins)], count)


def settled(rankings: Rankings, prior: float) -> PairPosterior:
    posterior = PairPosterior(rankings, prior)
    for _ in range(200):
        if posterior.sweep() < 1e-10:
            return posterior
    raise AssertionError("the terms still change")


def summed(rankings: Rankings, prior: float) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and covariance of the strengths, by summing over a fine grid of them."""
    width = 6 / np.sqrt(prior)
    axis = np.linspace(-width, width, 81)
    points = np.array(list(itertools.product(axis, repeat=rankings.count)))
    log = -prior * (points**2).sum(axis=1) / 2
    for block in rankings.blocks:
        for better, worse, weight in zip(*block.members, block.weights, strict=True):
            log -= weight * np.logaddexp(0, points[:, worse] - points[:, better])
    share = np.exp(log - log.max())
    share /= share.sum()
    mean = share @ points
    return mean, (points - mean).T @ ((points - mean) * share[:, np.newaxis])


@pytest.mark.slow
@pytest.mark.parametrize("prior", [0.03, 0.3, 3.0])
@pytest.mark.parametrize(
    ("wins", "weight"),
    [([(0, 1)], 1.0), ([(0, 1)] * 5, 1.0), ([(0, 1), (0, 1), (1, 0)], 0.5), ([(0, 1), (1, 2), (0, 2)], 1.0)],
    ids=["once", "always", "twice of three", "a chain"],
)
def test_mean_and_covariance_are_those_of_all_that_is_possible(
    wins: list[tuple[int, int]], weight: float, prior: float
) -> None:
    rankings = pairs(*wins, count=1 + max(map(max, wins)), weight=weight)

    posterior = settled(rankings, prior)

    mean, covariance = summed(rankings, prior)
    scale = np.sqrt(covariance.diagonal().max())
    assert posterior.mean[:-1] == pytest.approx(mean, abs=0.01 * scale)  # the top is up to half a deviation off
    assert posterior.covariance[:-1, :-1] == pytest.approx(covariance, abs=0.1 * scale**2)


def test_the_most_likely_strengths_lie_closer_together_than_those_that_are_possible() -> None:
    rankings = pairs(*[(0, 1)] * 3, *[(1, 2)] * 3, count=3)

    mean = settled(rankings, 0.03).strengths().values

    top = fit(rankings, prior=0.03).values
    assert mean[0] - mean[2] > 1.2 * (top[0] - top[2])


def test_what_is_predicted_for_a_pair_is_what_all_others_leave_possible() -> None:
    wins = [(0, 1), (1, 2), (2, 0), (2, 3), (1, 0)]
    lower, higher = (np.array([pick(pair) for pair in wins]) for pick in (min, max))

    found = settled(pairs(*wins, count=4), 1.0).gaps_without(np.arange(len(wins)), lower, higher)

    for unit, (low, high) in enumerate(zip(lower, higher, strict=True)):
        others = settled(pairs(*wins[:unit], *wins[unit + 1 :], count=4), 1.0)
        of_gap = others.covariance[[low, high]][:, [low, high]]
        deviation = np.sqrt(of_gap[0, 0] + of_gap[1, 1] - 2 * of_gap[0, 1])
        assert found[0][unit] == pytest.approx(others.mean[low] - others.mean[high], abs=0.05 * deviation)
        assert found[1][unit] == pytest.approx(deviation, rel=0.05)


def test_the_prior_is_learned_from_all_strengths_and_two_of_variance_one() -> None:
    posterior = settled(pairs((0, 1), (0, 1), (1, 2), count=3), 0.7)

    # What was seen of three strengths, in numbers of strengths, over the sum of their squares; and two more in each.
    seen = 3 - 0.7 * sum(posterior.covariance[place, place] for place in range(3))
    squares = sum(posterior.mean[place] ** 2 for place in range(3))
    assert posterior.learned_prior() == pytest.approx((seen + 2) / (squares + 2))


def test_a_position_is_told_from_strengths() -> None:
    shown = [Ranking((0, 1), (0.5, -0.5), 1.0, 0), Ranking((1, 0), (0.5, -0.5), 1.0, 1)]

    strengths = settled(Rankings.of(shown * 4, 2), 0.3).strengths()

    assert strengths.values == pytest.approx([0, 0], abs=1e-9)
    assert strengths.position > 2


@pytest.mark.slow
@pytest.mark.parametrize("slope", [1.0, 2.0, 6.0])
def test_the_prior_is_about_as_wide_as_the_strengths_are(slope: float) -> None:
    chance = np.random.default_rng(17)
    priors = []
    for _ in range(5):
        truth = slope * chance.normal(size=80)
        drawn = [chance.permutation(80).reshape(40, 2) for _ in range(10)]
        wins = [(a, b) if truth[a] - truth[b] + chance.logistic() > 0 else (b, a) for a, b in np.concatenate(drawn)]
        priors.append(learned_fit(pairs(*wins, count=80)).prior)

    assert 0.6 / slope**2 < np.median(priors) < 1.7 / slope**2


def test_a_judge_that_never_contradicts_itself_gets_a_wide_prior_and_its_order() -> None:
    learned = learned_fit(pairs(*itertools.combinations(range(8), 2), count=8))

    assert learned.prior < 0.2
    assert (np.diff(learned.values) < 0).all()


def test_a_judge_that_is_all_noise_gets_strengths_close_together() -> None:
    chance = np.random.default_rng(3)
    wins = [tuple(chance.permutation(30)[:2].tolist()) for _ in range(150)]

    learned = learned_fit(pairs(*wins, count=30))

    assert np.abs(learned.values).max() < 0.6


def test_those_who_came_out_alike_are_equal() -> None:
    rankings = pairs((0, 2), (1, 2), (0, 3), (1, 3), (2, 0), (2, 1), count=4)

    values = learned_fit(rankings).values

    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_groups_and_too_many_are_left_to_another_fit() -> None:
    assert applies_to(pairs((0, 1), count=2))
    assert not applies_to(Rankings(count=2))
    assert not applies_to(pairs((0, 1), count=MOST_MEMBERS + 1))
    assert not applies_to(Rankings.of([Ranking((0, 1, 2), (0, 0, 0))], 3))
