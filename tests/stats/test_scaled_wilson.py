"""The interval of a mean of scores: golden figures, and what must hold whatever the mean and its error."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.intervals import wilson
from evenhand.stats.scaled_wilson import effective_number, scaled_wilson

Golden: TypeAlias = Callable[[str, str], list[Any]]


@pytest.mark.parametrize("what", ["scaled_wilson", "scaled_wilson_clustered", "equal_past_float_noise"])
def test_the_interval_is_the_golden_one(golden: Golden, what: str) -> None:
    for case in golden("intervals.json", what):
        ends = scaled_wilson(case["mean"], case["se"], case["units"] - 1)

        assert ends == pytest.approx((case["low"], case["high"]), abs=1e-6)
        if "n_eff" in case:
            assert effective_number(case["mean"], case["se"]) == pytest.approx(case["n_eff"], rel=1e-6)


def test_of_passes_and_fails_it_is_about_wilsons_own_with_t_for_z(golden: Golden) -> None:
    for case in golden("intervals.json", "wilson"):
        assert wilson(case["passed"] / case["n"], case["n"]) == pytest.approx((case["low"], case["high"]), abs=1e-6)
    rate, n = 0.9, 5000

    assert scaled_wilson(rate, math.sqrt(rate * (1 - rate) / n), n - 1) == pytest.approx(wilson(rate, n), abs=1e-5)


def test_an_error_that_is_float_noise_counts_as_none() -> None:
    assert scaled_wilson(0.8, 5e-17, 1) == scaled_wilson(0.8, 0.0, 1) == pytest.approx(wilson(0.8, 2))


@pytest.mark.parametrize("mean", [0.0, 1.0])
def test_scores_at_an_end_of_the_scale_are_as_sure_as_passes_or_fails(mean: float) -> None:
    assert scaled_wilson(mean, 0.0, 9) == wilson(mean, 10)


@given(mean=st.floats(0.001, 0.999), error=st.floats(1e-6, 0.5), df=st.integers(1, 2000))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(mean: float, error: float, df: int) -> None:
    low, high = scaled_wilson(mean, error, df)

    assert 0 <= low <= mean <= high <= 1
    wider_low, wider_high = scaled_wilson(mean, error, df, level=0.99)
    assert wider_low <= low <= high <= wider_high


@pytest.mark.parametrize(
    ("mean", "error", "df"),
    [(1.2, 0.1, 5), (-0.1, 0.1, 5), (0.5, -0.1, 5), (0.5, 0.1, 0), (0.5, math.nan, 3), (math.nan, 0.1, 3), (1, 0.1, 3)],
)
def test_what_no_scores_can_have_is_refused(mean: float, error: float, df: int) -> None:
    with pytest.raises(ValueError, match="scores"):
        scaled_wilson(mean, error, df)
