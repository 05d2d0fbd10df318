"""What repeated judgments of a case say, against figures worked out elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.repeats import pass_all_of_k, pass_at_k, steadiness

Golden: TypeAlias = Callable[[str, str], list[Any]]


def counts(passes: list[int], samples: int) -> Counter[tuple[int, int, str | None]]:
    return Counter((samples, passed, None) for passed in passes)


def test_pass_at_k_and_pass_all_of_k_are_the_golden_ones(golden: Golden) -> None:
    assert len(golden("repeats.json", "pass_k")) == 3
    for case in golden("repeats.json", "pass_k"):
        steady = steadiness(counts(case["passes_of_3"], 3))
        assert steady is not None
        (row,) = [row for row in steady.passes if row.k == case["k"]]
        assert row.any.value == pytest.approx(case["pass_at_k"], abs=1e-6)
        assert row.all.value == pytest.approx(case["pass_hat_k"], abs=1e-6)


def test_the_chance_that_two_samples_agree_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("repeats.json", "self_consistency")

    steady = steadiness(counts(case["passes_of_3"], 3))

    assert steady is not None
    assert steady.same_verdict.value == pytest.approx(case["same_verdict_twice"], abs=1e-6)


def test_flips_are_cases_that_passed_in_some_samples_only() -> None:
    steady = steadiness(counts([3, 3, 2, 0, 3, 1, 3, 3, 2, 3], 3))

    assert steady is not None
    assert (steady.cases, steady.flipped, steady.flip_rate.value) == (10, 3, 0.3)
    assert steady.flip_rate.interval is not None
    assert steady.flip_rate.interval.method == "wilson"
    assert (round(steady.flip_rate.interval.low, 2), round(steady.flip_rate.interval.high, 2)) == (0.11, 0.6)


def test_cases_with_fewer_verdicts_say_nothing_about_more_of_them() -> None:
    steady = steadiness({(3, 3, None): 4, (2, 1, None): 2, (1, 1, None): 5, (0, 0, None): 9})

    assert steady is not None
    assert (steady.cases, steady.flipped) == (6, 2)
    assert [(row.k, row.cases) for row in steady.passes] == [(1, 11), (2, 6), (3, 4)]
    assert [row.all.value for row in steady.passes] == pytest.approx([10 / 11, 4 / 6, 1.0])


def test_cases_that_share_a_source_make_the_intervals_wider() -> None:
    alone = steadiness({(2, 2, None): 20, (2, 0, None): 20})
    shared = steadiness({(2, 2, f"document-{n}" if n < 2 else None): 10 for n in range(2)} | {(2, 0, "third"): 20})

    assert alone is not None
    assert shared is not None
    assert alone.passes[0].any.interval is not None
    assert shared.passes[0].any.interval is not None
    assert shared.passes[0].any.interval.method == "clustered"
    assert shared.passes[0].any.interval.high - shared.passes[0].any.interval.low > 0.3


def test_of_many_samples_a_few_numbers_are_shown() -> None:
    steady = steadiness({(30, 17, None): 3})

    assert steady is not None
    assert [row.k for row in steady.passes] == [1, 2, 3, 5, 10, 20, 30]


@pytest.mark.parametrize("few", [{}, {(1, 1, None): 10}, {(0, 0, None): 3}])
def test_single_samples_say_nothing(few: dict[tuple[int, int, str | None], int]) -> None:
    assert steadiness(few) is None


@given(samples=st.integers(1, 40), data=st.data())
def test_more_samples_make_any_likelier_and_all_less_likely(samples: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, samples))
    ks = range(1, samples + 1)

    any_of = [pass_at_k(samples, passed, k) for k in ks]
    all_of = [pass_all_of_k(samples, passed, k) for k in ks]

    assert any_of == sorted(any_of)
    assert all_of == sorted(all_of, reverse=True)
    assert all(0 <= low <= high <= 1 for low, high in zip(all_of, any_of, strict=True))
    assert any_of[0] == pytest.approx(passed / samples)
