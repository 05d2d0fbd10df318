from __future__ import annotations

import itertools

import pytest
from hypothesis import given, strategies as st

from evenhand.evaluators.checks.assignment import best_pairs

matrices = st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
    lambda size: st.lists(
        st.lists(st.integers(-3, 20) | st.integers(0, 10**30), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


def brute_force(gains: list[list[int]]) -> int:
    """Return the largest sum over all ways to pair as many as there can be."""
    if len(gains) > len(gains[0]):
        gains = [list(row) for row in zip(*gains, strict=True)]
    columns = range(len(gains[0]))
    return max(
        sum(gains[row][column] for row, column in enumerate(chosen))
        for chosen in itertools.permutations(columns, len(gains))
    )


@pytest.mark.slow
@given(matrices)
def test_no_other_pairing_gains_more(gains: list[list[int]]) -> None:
    pairs = best_pairs(gains)

    assert len(pairs) == min(len(gains), len(gains[0]))
    assert len({row for row, _ in pairs}) == len({column for _, column in pairs}) == len(pairs)
    assert sum(gains[row][column] for row, column in pairs) == brute_force(gains)


def test_the_first_best_is_not_taken_where_the_whole_would_lose() -> None:
    assert best_pairs([[9, 8], [8, 1]]) == [(0, 1), (1, 0)]


def test_nothing_is_paired_where_there_is_nothing() -> None:
    assert best_pairs([]) == []
    assert best_pairs([[], []]) == []
