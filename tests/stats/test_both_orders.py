"""Replies in both orders of a pair: what they have in common beyond the strengths is found, and nothing else is."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.stats.both_orders import BothOrders
from evenhand.stats.rankings import Ranking, Rankings
from evenhand.stats.strength_posterior import as_independent, replies_together


def judged(*, seed: int, slope: float, repeats: bool, count: int = 40, rounds: int = 8) -> Rankings:
    """Return pairs in both orders, by a judge that draws anew each time, or repeats what it said first."""
    chance = np.random.default_rng(seed)
    worth = slope * chance.normal(size=count)
    rankings = []
    drawn = np.concatenate([chance.permutation(count).reshape(-1, 2) for _ in range(rounds)])
    for unit, (a, b) in enumerate(drawn.tolist()):
        kept = chance.logistic()
        for first, second, sign in ((a, b, 1), (b, a, -1)):
            gap = worth[first] - worth[second] + (sign * kept if repeats else chance.logistic())
            slots = (0.5, -0.5) if gap > 0 else (-0.5, 0.5)
            rankings.append(Ranking((first, second) if gap > 0 else (second, first), slots, 1.0, unit))
    return Rankings.of(rankings, count)


def weight(rankings: Rankings) -> float:
    (block, *_) = as_independent(rankings, replies_together(rankings)).blocks
    return float(block.weights[0])


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.5, 2.0, 6.0])
def test_replies_that_go_together_only_by_the_strengths_count_in_full(slope: float) -> None:
    weights = [weight(judged(seed=seed, slope=slope, repeats=False)) for seed in range(6)]

    assert np.mean(weights) > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.5, 2.0, 6.0])
def test_a_judge_that_repeats_itself_has_said_it_once(slope: float) -> None:
    weights = [weight(judged(seed=seed, slope=slope, repeats=True)) for seed in range(6)]

    assert np.mean(weights) < 0.6


def test_what_was_compared_in_one_order_only_says_nothing() -> None:
    once = Rankings.of([Ranking((0, 1), (0.5, -0.5), 1.0, 0), Ranking((1, 2), (0.5, -0.5), 1.0, 1)], 3)

    assert not len(BothOrders.of(once).units)
    assert weight(once) == 1.0


def test_shares_are_those_of_the_lower_number_in_each_order() -> None:
    rankings = [
        Ranking((3, 1), (0.5, -0.5), 1.0, 0),  # 1 was shown second, and lost
        Ranking((1, 3), (0.5, -0.5), 1.0, 0),  # 1 was shown first, and won
        Ranking((0, 2), (-0.5, 0.5), 0.5, 1),  # 0 was shown second: a tie
        Ranking((2, 0), (0.5, -0.5), 0.5, 1),
        Ranking((0, 2), (0.5, -0.5), 1.0, 1),
    ]

    both = BothOrders.of(Rankings.of(rankings, 4))

    assert (both.lower.tolist(), both.higher.tolist()) == ([1, 0], [3, 2])
    assert both.won.tolist() == [[0.0, 1.0], [0.5, 1.0]]


@pytest.mark.parametrize(("won", "correlation"), [([[1.0, 1.0]] * 9 + [[0.0, 0.0]], 1.0), ([[1.0, 0.0]] * 5, 0.0)])
def test_a_correlation_is_from_none_to_one(won: list[list[float]], correlation: float) -> None:
    numbers = np.arange(len(won))
    both = BothOrders(numbers, numbers, numbers + 100, np.array(won))

    assert both.correlation(np.zeros(len(won)), np.zeros(len(won)), 0.0) == pytest.approx(correlation)
