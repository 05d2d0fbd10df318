"""How much a comparison can show: golden figures, refusals, and what must always hold."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.stats.distributions import sign_p_value
from evenhand.stats.power import (
    mcnemar_detectable,
    mcnemar_needed,
    mcnemar_power,
    t_detectable,
    t_needed,
    t_power,
)
from evenhand.stats.refusal import Refused

Golden: TypeAlias = Callable[[str, str], list[Any]]


def test_the_power_of_mcnemars_test_is_the_golden_one(golden: Golden) -> None:
    for case in golden("power.json", "mcnemar_power"):
        assert mcnemar_power(case["n"], case["wins"], case["losses"]) == pytest.approx(case["power"], abs=1e-6)


def test_the_detectable_difference_of_pass_rates_is_the_golden_one(golden: Golden) -> None:
    for case in golden("power.json", "mcnemar_minimum_detectable"):
        found = mcnemar_detectable(case["n"], case["discordant_share"])

        assert found == pytest.approx(case["minimum_detectable"], abs=case["tolerance"])


def test_the_detectable_difference_of_means_is_the_golden_one(golden: Golden) -> None:
    for case in golden("power.json", "paired_t_minimum_detectable"):
        assert t_detectable(case["n"], case["sd"]) == pytest.approx(case["minimum_detectable"], abs=1e-6)


def test_the_needed_number_is_the_golden_one(golden: Golden) -> None:
    for case in golden("power.json", "paired_t_needed"):
        assert t_needed(case["difference"], case["sd"]) == case["needed"]


@pytest.mark.parametrize(("n", "wins", "losses"), [(12, 0.5, 0.1), (20, 0.3, 0.3), (9, 1.0, 0.0), (15, 0.1, 0.6)])
def test_power_is_the_sum_over_all_that_can_happen(n: int, wins: float, losses: float) -> None:
    summed = 0.0
    for won in range(n + 1):
        for lost in range(n + 1 - won):
            right_side = won > lost if wins >= losses else lost > won
            if right_side and sign_p_value(won, lost) <= 0.05:
                ways = math.comb(n, won) * math.comb(n - won, lost)
                summed += ways * wins**won * losses**lost * (1 - wins - losses) ** (n - won - lost)

    assert mcnemar_power(n, wins, losses) == pytest.approx(summed, abs=1e-12)


@pytest.mark.parametrize(("wins", "losses"), [(0.1, 0.02), (0.02, 0.1), (0.0283, 0.0), (0.15, 0.05), (0.3, 0.2)])
def test_from_the_needed_number_on_the_power_is_enough(wins: float, losses: float) -> None:
    needed = mcnemar_needed(wins, losses)

    assert isinstance(needed, int)
    assert mcnemar_power(needed - 1, wins, losses) < 0.8
    assert all(mcnemar_power(n, wins, losses) >= 0.8 for n in range(needed, needed + 60))


def test_five_cases_show_nothing() -> None:
    refused = mcnemar_detectable(5, 0.2)

    assert refused == Refused("5 cases show nothing at 0.05, even if all of them change to the same side")
    assert mcnemar_power(5, 1.0, 0.0) == 0
    assert mcnemar_power(6, 1.0, 0.0) == 1


def test_no_difference_is_shown_by_no_number() -> None:
    assert isinstance(mcnemar_needed(0.1, 0.1), Refused)
    assert isinstance(t_needed(0.0, 0.2), Refused)
    assert isinstance(mcnemar_needed(0.1001, 0.1), Refused)
    assert isinstance(t_needed(1e-6, 0.2), Refused)
    assert mcnemar_power(50, 0.0, 0.0) == 0


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mcnemar_power(0, 0.1, 0.1),
        lambda: mcnemar_power(10, 0.6, 0.6),
        lambda: mcnemar_power(10, -0.1, 0.1),
        lambda: t_power(1, 0.1, 0.1),
        lambda: t_power(5, 0.1, 0.0),
    ],
)
def test_what_no_comparison_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


@pytest.mark.parametrize("n", [2, 3, 4, 8, 30, 500, 2000])
def test_without_a_difference_one_is_found_as_often_as_allowed(n: int) -> None:
    # The tails lie on both sides of 0.
    assert t_power(n, 0.0, 0.3) == pytest.approx(0.05, abs=1e-6)


@settings(max_examples=30)
@given(n=st.integers(6, 300), wins=st.floats(0, 0.5), losses=st.floats(0, 0.5))
def test_power_is_a_chance_and_sides_can_be_swapped(n: int, wins: float, losses: float) -> None:
    power = mcnemar_power(n, wins, losses)

    assert -1e-12 <= power <= 1 + 1e-9
    assert mcnemar_power(n, losses, wins) == pytest.approx(power, abs=1e-12)


@pytest.mark.long
def test_the_detectable_difference_is_found_four_times_in_five() -> None:
    chance = random.Random(20261117)
    difference = mcnemar_detectable(100, 0.2)
    assert isinstance(difference, float)
    shares = [(0.2 + difference) / 2, (0.2 - difference) / 2, 0.8]

    found = 0
    for _ in range(4000):
        drawn = chance.choices("wl=", shares, k=100)
        won, lost = drawn.count("w"), drawn.count("l")
        found += won > lost and sign_p_value(won, lost) <= 0.05

    assert found / 4000 == pytest.approx(0.8, abs=0.02)
