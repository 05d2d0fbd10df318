"""Strengths from rankings: golden numbers, what a prior does, and intervals that hold what they promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from evenhand.stats import rankings
from evenhand.stats.plackett_luce import fit
from evenhand.stats.rankings import Ranking, Rankings
from evenhand.stats.strength_posterior import learned_fit, posterior, ranks_of


def pair(winner: int, loser: int, times: float = 1.0) -> Ranking:
    return Ranking((winner, loser), (0.0, 0.0), times)


def test_seven_wins_of_ten_are_a_logit_of_0_8473_and_147_elo() -> None:
    found = fit(Rankings.of([pair(0, 1, 7), pair(1, 0, 3)], 2), prior=0)

    logit = float(found.values[0] - found.values[1])
    assert logit == pytest.approx(0.8473, abs=5e-5)
    assert logit * 400 / math.log(10) == pytest.approx(147.19, abs=5e-3)


@pytest.mark.parametrize("prior", [0.0, 0.3])
def test_a_perfect_cycle_of_three_gives_equal_strengths(prior: float) -> None:
    found = fit(Rankings.of([pair(0, 1), pair(1, 2), pair(2, 0)], 3), prior=prior)

    assert found.values == pytest.approx([0, 0, 0], abs=1e-9)


def test_strengths_are_where_the_gradient_vanishes() -> None:
    """By the textbook: each strength answers for as many choices as were expected of it, and for the prior."""
    given = [Ranking((0, 1, 2), (0, 0, 0)), Ranking((2, 0, 3), (0, 0, 0)), Ranking((3, 1), (0, 0)), pair(1, 0)]
    prior = 0.3

    found = fit(Rankings.of(given, 4), prior=prior).values

    for one in range(4):
        slope = 0.0
        for ranking in given:
            for place in range(len(ranking.members)):
                left = [math.exp(found[member]) for member in ranking.members[place:]]
                if one in ranking.members[place:]:
                    slope += float(ranking.members[place] == one) - math.exp(found[one]) / sum(left)
        assert slope == pytest.approx(prior * found[one], abs=1e-6)


def test_whoever_always_wins_stays_finite_with_a_prior() -> None:
    found = fit(Rankings.of([pair(0, 1, 1000)], 2), prior=0.3)

    assert 2 < found.values[0] < 10


def test_nobody_is_worse_for_not_being_ranked() -> None:
    found = fit(Rankings.of([pair(0, 1)], 3), prior=0.3)

    assert found.values[0] > found.values[2] > found.values[1]


def test_no_rankings_leave_all_equal() -> None:
    assert learned_fit(Rankings.of([], 4)).values.tolist() == [0, 0, 0, 0]


def test_a_place_that_always_wins_is_the_places_doing_and_not_the_profiles() -> None:
    first_wins = [Ranking((0, 1), (0.5, -0.5)), Ranking((1, 0), (0.5, -0.5))] * 10

    found = learned_fit(Rankings.of(first_wins, 2))

    assert found.position > 3
    assert found.values == pytest.approx([0, 0], abs=1e-6)


def test_the_position_term_is_exact_where_averaging_over_both_orders_is_not() -> None:
    """A is better by d = 0.4, and being first adds b = 0.5: A wins 0.7109 when first and 0.4750 when second."""
    d, b = 0.4, 0.5
    first, second = 1 / (1 + math.exp(-d - b)), 1 / (1 + math.exp(-d + b))
    rankings = [
        Ranking((0, 1), (0.5, -0.5), first),
        Ranking((1, 0), (-0.5, 0.5), 1 - first),
        Ranking((1, 0), (0.5, -0.5), 1 - second),
        Ranking((0, 1), (-0.5, 0.5), second),
    ]

    found = fit(Rankings.of(rankings, 2), prior=0)

    assert (first, second) == pytest.approx((0.7109, 0.4750), abs=5e-5)
    assert (first + second) / 2 == pytest.approx(0.5930, abs=5e-5)  # where the truth is 0.5987
    assert found.values[0] - found.values[1] == pytest.approx(d, abs=1e-6)
    assert found.position == pytest.approx(b, abs=1e-6)


def test_a_consistent_judge_teaches_a_wide_prior_and_a_noisy_one_a_narrow_one() -> None:
    consistent = learned_fit(Rankings.of([Ranking(tuple(range(8)), (0.0,) * 8)] * 6, 8))
    noisy = learned_fit(simulated(seed=3, count=40, rounds=5, slope=0.2)[0])

    assert consistent.prior < 0.05
    assert noisy.prior > 1


def test_equal_ones_share_their_ranks_and_their_intervals() -> None:
    ties = [
        one for pairs in range(6) for one in (Ranking((0, 1), (0, 0), 0.5, pairs), Ranking((1, 0), (0, 0), 0.5, pairs))
    ]
    rankings = Rankings.of(ties, 2)

    found = posterior(rankings, draws=20)
    first, last = ranks_of(found.strengths.values)

    assert (first.tolist(), last.tolist()) == ([1, 1], [2, 2])
    assert (found.best.tolist(), found.worst.tolist()) == ([1, 1], [2, 2])


def test_the_same_seed_gives_the_same_intervals() -> None:
    rankings, _ = simulated(seed=1, count=12, rounds=4)

    once, again, other = (posterior(rankings, draws=30, seed=seed) for seed in (7, 7, 8))

    assert once.best.tolist() == again.best.tolist()
    assert once.errors.tolist() == again.errors.tolist()
    assert once.errors.tolist() != other.errors.tolist()


@pytest.mark.long
@pytest.mark.parametrize("seeds", [pytest.param(5, id="sample"), pytest.param(20, id="all", marks=pytest.mark.sweep)])
@pytest.mark.parametrize(("count", "group_size", "rounds"), [(30, 6, 6), (100, 10, 5), (12, 2, 11)])
def test_intervals_on_ranks_hold_the_true_rank_about_as_often_as_they_say(
    count: int, group_size: int, rounds: int, seeds: int
) -> None:
    covered = []
    for seed in range(seeds):
        rankings, quality = simulated(seed=seed, count=count, rounds=rounds, group_size=group_size)
        spans = posterior(rankings, seed=seed)
        truth = np.empty(count, dtype=int)
        truth[np.argsort(-quality)] = np.arange(1, count + 1)
        covered.append(np.mean((spans.best <= truth) & (truth <= spans.worst)))

    # The expected .97 or so, less what runs of so few vary by, is still above it.
    assert np.mean(covered) >= 0.93


@pytest.mark.slow
def test_rankings_in_many_blocks_are_fitted_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, _ = simulated(seed=5, count=53, rounds=6)
    monkeypatch.setattr(rankings, "_BLOCK", 7)
    parted, _ = simulated(seed=5, count=53, rounds=6)
    at_once, in_parts = learned_fit(whole), learned_fit(parted)

    spans, others = (posterior(one, draws=20) for one in (whole, parted))

    assert (len(whole.blocks), len(parted.blocks), parted.judgments) == (1, 10, whole.judgments)
    assert in_parts.values == pytest.approx(at_once.values, abs=1e-9)
    assert (spans.best.tolist(), spans.worst.tolist()) == (others.best.tolist(), others.worst.tolist())


def test_later_rankings_come_from_judgments_of_their_own() -> None:
    first = Rankings.of([Ranking((0, 1), (0, 0), 0.5, 4), Ranking((1, 0), (0, 0), 0.5, 4)], 3)
    later = Rankings.of([Ranking((2, 1, 0), (0, 0, 0), 1.0, 0)], 3)

    both = first.and_those(later)

    assert both.judgments == 2
    assert [block.units.tolist() for block in both.blocks] == [[0, 0], [1]]


def simulated(
    *, seed: int, count: int, rounds: int, slope: float = 2.0, group_size: int = 5
) -> tuple[Rankings, NDArray[np.float64]]:
    """Rank groups by chance with a judge that is right more often the further two lie apart."""
    chance = np.random.default_rng(seed)
    quality = chance.normal(size=count)
    rankings: list[Ranking] = []
    for _ in range(rounds):
        for group in np.array_split(chance.permutation(count), -(-count // group_size)):
            order = np.argsort(-(slope * quality[group] + chance.gumbel(size=len(group))))
            slots = [0.5 - place / max(len(group) - 1, 1) for place in order]
            rankings.append(Ranking([int(one) for one in group[order]], slots, 1.0, len(rankings)))
    return Rankings.of(rankings, count), quality
