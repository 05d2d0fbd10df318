"""Cycles among preferences."""

from __future__ import annotations

import pytest

from evenhand.stats.cycles import components, cycles


def test_an_order_has_no_cycle() -> None:
    assert cycles({0: [1, 2], 1: [2], 2: []}) == []


def test_the_shortest_way_back_is_told() -> None:
    assert cycles({0: [1], 1: [2, 3], 2: [3], 3: [0]}) == [[0, 1, 3]]


def test_each_set_has_its_own_cycle_and_the_largest_comes_first() -> None:
    preferred = {0: [1], 1: [0, 2], 2: [3], 3: [4], 4: [2], 5: []}

    assert cycles(preferred) == [[2, 3, 4], [0, 1]]
    assert sorted(map(len, components(preferred))) == [1, 2, 3]


@pytest.mark.slow
def test_a_chain_of_a_hundred_thousand_is_no_trouble() -> None:
    chain = {number: [number + 1] for number in range(100_000)} | {100_000: [0]}

    assert len(cycles(chain)[0]) == 100_001
