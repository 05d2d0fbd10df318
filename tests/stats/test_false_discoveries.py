"""Corrections for several tests, against golden figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.false_discoveries import benjamini_hochberg
from evenhand.stats.paired import holm

Golden: TypeAlias = Callable[[str, str], list[Any]]


def test_corrected_p_values_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("families_and_position.json", "corrected_p"):
        given_p = {str(place): p for place, p in enumerate(case["p"])}

        assert list(benjamini_hochberg(given_p).values()) == pytest.approx(case["benjamini_hochberg"], abs=1e-6)
        assert list(holm(given_p).values()) == pytest.approx(case["holm"], abs=1e-6)


def test_what_is_no_p_value_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"got 1\.2"):
        benjamini_hochberg({"a": 0.5, "b": 1.2})
    assert benjamini_hochberg({}) == {}


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_a_correction_makes_no_finding_and_keeps_the_order(p_values: list[float]) -> None:
    named = {str(place): p for place, p in enumerate(p_values)}

    corrected, stricter = benjamini_hochberg(named), holm(named)

    ordered = sorted(named, key=lambda name: named[name])
    assert all(named[name] <= corrected[name] <= stricter[name] + 1e-12 for name in named)
    assert [corrected[name] for name in ordered] == sorted(corrected.values())
