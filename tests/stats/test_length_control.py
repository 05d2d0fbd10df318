"""What a win rate would be at equal lengths."""

from __future__ import annotations

import math
import random

import pytest

from evenhand.stats.bias import at_equal_lengths


def simulated(seed: int, *, n: int, better: float, per_step: float) -> tuple[list[float], list[int]]:
    """Outcomes of a judge that goes by quality and, by so much, by length; candidates are mostly longer."""
    chance = random.Random(seed)
    longer = [round(chance.gauss(150, 200)) for _ in range(n)]
    spread = math.sqrt(sum(one * one for one in longer) / n)
    odds = (better + per_step * math.tanh(one / spread) for one in longer)
    return [float(chance.random() < 1 / (1 + math.exp(-one))) for one in odds], longer


def test_the_corrected_rate_returns_to_the_truth() -> None:
    found = [at_equal_lengths(*simulated(seed, n=2000, better=0.4, per_step=1.5)) for seed in range(5)]
    plain = [sum(simulated(seed, n=2000, better=0.4, per_step=1.5)[0]) / 2000 for seed in range(5)]

    truth = 1 / (1 + math.exp(-0.4))
    assert sum(plain) / 5 > truth + 0.1
    assert [one.rate for one in found if one] == pytest.approx([truth] * 5, abs=0.04)
    assert [one.slope for one in found if one] == pytest.approx([1.5] * 5, abs=0.35)


def test_without_a_love_of_length_the_rate_stays_what_it_was() -> None:
    outcomes, longer = simulated(3, n=3000, better=0.8, per_step=0.0)

    found = at_equal_lengths(outcomes, longer)

    assert found is not None
    assert found.rate == pytest.approx(sum(outcomes) / 3000, abs=0.02)
    assert found.slope_low < 0 < found.slope_high


@pytest.mark.slow
def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    truth = 1 / (1 + math.exp(-0.4))
    held = 0
    for seed in range(300):
        found = at_equal_lengths(*simulated(seed, n=200, better=0.4, per_step=1.0))
        assert found is not None
        held += found.low <= truth <= found.high

    assert 0.91 < held / 300 < 0.985


@pytest.mark.parametrize(
    ("outcomes", "longer"),
    [
        ([1.0] * 5 + [0.0] * 4, list(range(9))),
        ([1.0, 0.0] * 10, [0] * 20),
        ([1.0] * 10 + [0.0] * 10, [50] * 10 + [-50] * 10),
        ([1.0] * 20, list(range(1, 21))),
        ([], []),
    ],
    ids=["few", "equally long", "all by length", "always won", "none"],
)
def test_where_there_is_too_little_to_say_nothing_is_said(outcomes: list[float], longer: list[int]) -> None:
    assert at_equal_lengths(outcomes, longer) is None


@pytest.mark.parametrize("difference", [1, -7, 30, 10**6, -(10**9)])
@pytest.mark.parametrize("n", [10, 12, 57])
def test_answers_that_are_longer_by_always_the_same_say_nothing_about_length(difference: int, n: int) -> None:
    outcomes = [float(place % 3 == 0) for place in range(n)]

    assert at_equal_lengths(outcomes, [difference] * n) is None
    assert at_equal_lengths(outcomes, [difference * 1000 + place % 2 for place in range(n)]) is None
