"""A judge that has not contradicted itself: what follows from what it said, and who is asked about together."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand.profiles.ranking.borders import divide
from evenhand.profiles.ranking.open_pairs import _separated, kept_together, open_pairs
from evenhand.stats.rankings import Ranking, Rankings


def said(count: int, *orders: list[int]) -> Rankings:
    return Rankings.of((Ranking(order, [0.0] * len(order), unit=number) for number, order in enumerate(orders)), count)


def open_in(rankings: Rankings) -> set[tuple[int, int]] | None:
    pairs = open_pairs(rankings)
    return None if pairs is None else {(int(a), int(b)) for a, b in np.argwhere(pairs) if a < b}


def test_what_follows_from_several_rankings_is_not_open() -> None:
    assert open_in(said(5, [0, 2], [2, 1, 4])) == {(0, 3), (1, 3), (2, 3), (3, 4)}


@pytest.mark.parametrize("orders", [([0, 1], [1, 0]), ([0, 1, 2], [2, 3], [3, 0])])
def test_of_a_judge_that_contradicts_itself_nothing_is_concluded(orders: tuple[list[int], ...]) -> None:
    assert open_pairs(said(4, *orders)) is None


@given(st.integers(2, 12), st.integers(0, 10**6))
def test_open_is_what_no_chain_of_comparisons_decides(count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    orders = [sorted(chance.choice(count, size=2 + seed % (count - 1), replace=False).tolist()) for _ in range(2)]
    decided = {pair for order in orders for pair in itertools.combinations(order, 2)}
    for way, first, last in itertools.product(range(count), repeat=3):
        if (first, way) in decided and (way, last) in decided:
            decided.add((first, last))

    assert open_in(said(count, *orders)) == set(itertools.combinations(range(count), 2)) - decided


def separated(pairs: Any, groups: list[Any]) -> int:
    """How many open pairs the groups separate."""
    return sum(bool(pairs[a, b]) for one, two in itertools.combinations(groups, 2) for a in one for b in two)


@given(st.integers(3, 8), st.integers(8, 30), st.floats(0.05, 0.5), st.integers(0, 10**6))
def test_no_move_and_no_swap_would_keep_more_open_pairs_together(
    most: int, count: int, share: float, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    upper = np.triu(chance.random((count, count)) < share, 1)
    pairs, number = upper | upper.T, -(-count // most) + 1

    groups = [one.tolist() for one in kept_together(pairs, groups=number, most=most)]

    assert sorted(itertools.chain(*groups)) == list(range(count))
    assert all(2 <= len(one) <= most for one in groups)
    least = separated(pairs, groups)
    ends = divide(_separated(pairs.astype(float)), groups=number, most=most)
    assert least <= separated(pairs, [range(*both) for both in itertools.pairwise(ends)])
    for one, two in itertools.permutations(range(number), 2):
        for a in groups[one]:
            rest = [each for each in groups[one] if each != a]
            others = [each for place, each in enumerate(groups) if place not in {one, two}]
            if len(groups[one]) > 2 and len(groups[two]) < most:
                assert separated(pairs, [rest, [*groups[two], a], *others]) >= least
            for b in groups[two]:
                swapped = [*(each for each in groups[two] if each != b), a]
                assert separated(pairs, [[*rest, b], swapped, *others]) >= least


def test_what_is_one_group_is_not_divided() -> None:
    pairs = np.ones((4, 4), dtype=np.bool_)

    assert [one.tolist() for one in kept_together(pairs, groups=1, most=4)] == [[0, 1, 2, 3]]
    assert kept_together(pairs[:1, :1], groups=0, most=4) == []
