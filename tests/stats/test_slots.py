"""Whether a judge favours a slot: tests that find a bias, and cry wolf as rarely as they say."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

import pytest

from evenhand.stats.bias import Slots, SlotTest, flip_test


def slot_test(groups: Iterable[Sequence[int]]) -> SlotTest:
    slots = Slots()
    for places in groups:
        slots.add(places)
    return slots.test()


def test_friedmans_statistic_is_that_of_the_textbook() -> None:
    """Three slots, ten groups, rank sums 12, 20 and 28: chi-square is 12.8 with two degrees."""
    found = slot_test([[0, 1, 2]] * 9 + [[2, 1, 0]])

    assert found.p == pytest.approx(0.00166156, abs=1e-7)
    assert found.places == pytest.approx((0.1, 0.5, 0.9))


def test_groups_of_several_sizes_are_tested_together() -> None:
    together = slot_test([[0, 1, 2]] * 6 + [[0, 1]] * 6)

    assert together.n == 12
    assert together.p == pytest.approx(0.00044, abs=5e-6)  # 12 + 6 with 2 + 1 degrees


def test_few_groups_say_nothing() -> None:
    assert slot_test([[0, 1, 2]] * 4).p is None
    assert slot_test([]).p is None
    assert flip_test(for_first=2, for_second=0, pairs=4).p is None


def test_five_groups_say_something() -> None:
    assert slot_test([[0, 1, 2]] * 5).p == pytest.approx(math.exp(-5))  # chi-square is 10 with two degrees
    assert flip_test(for_first=5, for_second=0, pairs=5).p == pytest.approx(2 / 2**5)


def test_without_a_bias_it_is_found_as_often_as_the_level_allows() -> None:
    chance = random.Random(5)
    found = 0
    for _ in range(400):
        groups = [chance.sample(range(5), 5) for _ in range(30)]
        found += (slot_test(groups).p or 1) < 0.05

    assert 0.02 < found / 400 < 0.09


def test_flips_are_counted_exactly() -> None:
    found = flip_test(for_first=15, for_second=5, pairs=40)

    assert found.p == pytest.approx(0.04139, abs=5e-6)
    assert found.places == pytest.approx((0.375, 0.625))
