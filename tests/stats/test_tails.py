"""P values: golden numbers, sums of whole numbers, and the quantiles that are known already."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.distributions import (
    f_p_value,
    fisher_p_value,
    incomplete_beta,
    sign_p_value,
    t_p_value,
    t_quantile,
)

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


@pytest.mark.parametrize(
    ("f", "df", "below", "p"),
    [
        (3.006917, 4, 16, 0.05),
        (4.772578, 4, 16, 0.01),
        (2.0, 10, 10, 0.144846),
        (0.0, 3, 5, 1.0),
        (161.4476, 1, 1, 0.05),
    ],
)
def test_the_tails_of_f_are_those_of_the_tables(f: float, df: int, below: int, p: float) -> None:
    assert f_p_value(f, df, below) == pytest.approx(p, abs=2e-6)


def test_f_with_one_degree_above_is_the_square_of_t() -> None:
    assert f_p_value(2.5**2, 1, 9) == pytest.approx(t_p_value(2.5, 9))


FEW = st.integers(min_value=0, max_value=40)


@given(FEW, FEW, FEW, FEW)
def test_fishers_test_is_the_sum_of_the_tables_that_are_no_likelier(a: int, b: int, c: int, d: int) -> None:
    ways = {
        count: math.comb(a + b, count) * math.comb(c + d, a + c - count)
        for count in range(max(0, a - d), min(a + b, a + c) + 1)
    }

    p = fisher_p_value(a, a + b, c, c + d)

    expected = sum(way for way in ways.values() if way <= ways[a]) / math.comb(a + b + c + d, a + c)
    assert p == pytest.approx(expected, rel=1e-9)


def test_fishers_tea_and_16_of_24_against_none() -> None:
    assert fisher_p_value(3, 4, 1, 4) == pytest.approx(34 / 70)
    assert fisher_p_value(16, 24, 0, 24) == pytest.approx(6.523461e-07, rel=1e-6)


def test_millions_of_calls_take_no_time() -> None:
    assert fisher_p_value(2_500_000, 5_000_000, 2_501_000, 5_000_000) == pytest.approx(0.5275, abs=1e-4)
    assert fisher_p_value(5_000_000, 5_000_000, 0, 5_000_000) == 0.0


@pytest.mark.parametrize("hits", [-1, 5])
def test_hits_beyond_their_number_are_refused(hits: int) -> None:
    with pytest.raises(ValueError, match="hits lie between 0 and their number"):
        fisher_p_value(hits, 4, 0, 4)
