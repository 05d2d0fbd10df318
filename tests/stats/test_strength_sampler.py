"""Draws from what rankings leave possible, against weighted draws from the prior, and against the normal one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from evenhand.stats import strength_posterior
from evenhand.stats.plackett_luce import PRIOR, Strengths
from evenhand.stats.rankings import Ranking, Rankings
from evenhand.stats.strength_posterior import posterior
from evenhand.stats.strength_sampler import draws_of

SLOTS = (0.5, 0.0, -0.5)


def drawn(rankings: Rankings, count: int, *, seed: int = 0) -> NDArray[np.float64]:
    start = Strengths(values=np.zeros(rankings.count), prior=PRIOR)
    return np.array(list(itertools.islice(draws_of(rankings, start, np.random.default_rng(seed)), count)))


def weighted(rankings: list[Ranking], count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the standard deviation of each, from draws of the prior and how likely rankings are."""
    chance = np.random.default_rng(1)
    points = np.empty((500_000, count + 1))
    deviations = np.abs(chance.normal(scale=4.0, size=len(points)))
    points[:, :-1] = deviations[:, np.newaxis] * chance.normal(size=(len(points), count))
    points[:, -1] = chance.normal(scale=1e-3**-0.5, size=len(points))
    log = np.zeros(len(points))
    for ranking in rankings:
        utilities = points[:, list(ranking.members)] + points[:, -1:] * np.array(ranking.slots)
        for place in range(len(ranking.members) - 1):
            log += ranking.weight * (utilities[:, place] - np.logaddexp.reduce(utilities[:, place:], axis=1))
    share = np.exp(log - log.max())
    share /= share.sum()
    points[:, :-1] -= points[:, :-1].mean(axis=1)[:, np.newaxis]
    means = share @ points
    return means, np.sqrt(share @ (points - means) ** 2)


A_PAIR = [Ranking((0, 1), (0.5, -0.5)), Ranking((0, 1), (-0.5, 0.5)), Ranking((1, 0), (0.5, -0.5), 0.4)]
GROUPS = [Ranking((0, 1, 2), SLOTS), Ranking((0, 2, 1), SLOTS[::-1]), Ranking((2, 0, 1), (0.0, 0.5, -0.5))]
CONSISTENT = [Ranking((0, 1, 2), SLOTS), Ranking((0, 1, 2), SLOTS[::-1]), Ranking((0, 1), (-0.5, 0.5), 0.5)]
BY_POSITION = [Ranking((0, 1), (0.5, -0.5)), Ranking((1, 0), (0.5, -0.5)), Ranking((2, 1), (0.5, -0.5))]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rankings", "draws"),
    [
        pytest.param(GROUPS, 1500, id="groups"),
        pytest.param(A_PAIR, 3000, id="a pair", marks=pytest.mark.long),
        pytest.param(CONSISTENT, 3000, id="without a contradiction", marks=pytest.mark.long),
        pytest.param(BY_POSITION, 3000, id="by position", marks=pytest.mark.long),
    ],
)
def test_draws_have_the_mean_and_the_spread_of_what_is_possible(rankings: list[Ranking], draws: int) -> None:
    count = 1 + max(max(ranking.members) for ranking in rankings)

    points = drawn(Rankings.of(rankings, count), draws)

    means, deviations = weighted(rankings, count)
    assert points.mean(axis=0) == pytest.approx(means, abs=0.15 * deviations.max())
    assert (points - means)[:, :-1].mean(axis=0) == pytest.approx(np.zeros(count), abs=0.15 * deviations[:-1].max())
    assert points.std(axis=0) == pytest.approx(deviations, rel=0.15)


def test_the_interval_of_a_position_that_always_wins_leaves_out_zero() -> None:
    """A normal distribution as wide would not: how strong the position is has a lower end, and hardly an upper one."""
    members = [(a, b) for a, b in itertools.permutations(range(6), 2)]
    rankings = Rankings.of([Ranking(pair, (0.5, -0.5), 1.0, unit) for unit, pair in enumerate(members)], 6)

    found = posterior(rankings)

    low, high = found.position
    assert 2 < low < found.strengths.position < high
    assert high - found.strengths.position > found.strengths.position - low
    assert found.strengths.values.tolist() == [0] * 6


def test_strengths_have_the_order_of_the_fit_and_those_treated_alike_are_equal() -> None:
    rankings = Rankings.of([Ranking((0, 1, 3), (0, 0, 0), 1.0, 0), Ranking((0, 2, 3), (0, 0, 0), 1.0, 1)], 4)

    values = posterior(rankings).strengths.values

    assert values[0] > values[1] == values[2] > values[3]
    assert sum(values) == pytest.approx(0, abs=1e-8)


@pytest.mark.slow
def test_many_are_drawn_around_the_fit_with_about_the_same_result(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(4)
    worth = 2 * chance.normal(size=40)
    groups = [group for _ in range(20) for group in chance.permutation(40).reshape(-1, 5)]
    orders = [group[np.argsort(-(worth[group] + chance.gumbel(size=5)))].tolist() for group in groups]
    rankings = Rankings.of([Ranking(order, (0,) * 5, 1.0, unit) for unit, order in enumerate(orders)], 40)

    sampled = posterior(rankings)
    monkeypatch.setattr(strength_posterior, "MOST_MEMBERS", 39)
    around = posterior(rankings)

    assert sampled.strengths.values == pytest.approx(around.strengths.values, rel=0.15, abs=0.2)
    assert sampled.errors.mean() == pytest.approx(around.errors.mean(), rel=0.1)
    assert np.abs(sampled.best - around.best).max() <= 3
    assert np.abs(sampled.worst - around.worst).max() <= 3
