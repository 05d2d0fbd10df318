"""P values: golden numbers, sums of whole numbers, and the quantiles that are known already."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.distributions import incomplete_beta, sign_p_value, t_p_value, t_quantile

COUNTS = st.integers(min_value=0, max_value=400)


def test_mcnemar_for_15_against_5() -> None:
    assert sign_p_value(15, 5) == pytest.approx(0.04139, abs=5e-6)


@given(COUNTS, COUNTS)
def test_the_sign_test_is_the_sum_of_binomial_probabilities(wins: int, losses: int) -> None:
    throws = wins + losses
    tail = sum(math.comb(throws, count) for count in range(min(wins, losses) + 1))

    assert sign_p_value(wins, losses) == pytest.approx(min(1.0, 2 * tail / 2**throws), rel=1e-9)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (3, 3), (4, 3)])
def test_even_throws_are_no_surprise(wins: int, losses: int) -> None:
    assert sign_p_value(wins, losses) == pytest.approx(1.0)


def test_very_many_throws_take_no_time_and_stay_in_range() -> None:
    assert sign_p_value(50_000, 49_000) == pytest.approx(0.0014981, abs=1e-6)
    assert sign_p_value(100_000, 0) == 0.0


@pytest.mark.parametrize("df", [1, 2, 5, 9, 29, 100, 999, 1000, 5000, 100_000])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_tails_of_t_fit_its_quantiles(df: int, level: float) -> None:
    assert t_p_value(t_quantile(level, df), df) == pytest.approx(1 - level, abs=1e-9)


def test_students_own_example() -> None:
    assert t_p_value(4.062128, 9) == pytest.approx(0.002833, abs=5e-7)
    assert t_p_value(-4.062128, 9) == t_p_value(4.062128, 9)


def test_the_ends_of_t() -> None:
    assert t_p_value(0.0, 5) == 1.0
    assert t_p_value(math.inf, 5) == 0.0


@given(st.floats(0.5, 50), st.floats(0.5, 50), st.floats(0, 1))
def test_the_beta_function_is_a_share_and_turns_around(a: float, b: float, x: float) -> None:
    share = incomplete_beta(a, b, x)

    assert 0 <= share <= 1 + 1e-12
    assert share + incomplete_beta(b, a, 1 - x) == pytest.approx(1.0, abs=1e-6 if x < 1e-6 or x > 1 - 1e-6 else 1e-9)


@pytest.mark.parametrize("call", [lambda: t_p_value(1.0, 0), lambda: sign_p_value(-1, 3)])
def test_what_cannot_be_is_refused(call: object) -> None:
    with pytest.raises(ValueError, match="or more"):
        call()  # type: ignore[operator]  # a function, as written above
