from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st

from evenhand.evaluators.checks.levenshtein import distance, is_feasible, similarity

few_letters = st.text("abc", max_size=80)


def by_the_table(one: str, other: str) -> int:
    """Compute the distance as textbooks do."""
    above = list(range(len(other) + 1))
    for row, character in enumerate(one, start=1):
        here = [row]
        for column, opposite in enumerate(other, start=1):
            here.append(min(above[column] + 1, here[-1] + 1, above[column - 1] + (character != opposite)))
        above = here
    return above[-1]


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("", "", 0),
        ("", "abc", 3),
        ("abc", "abc", 0),
        ("kitten", "sitting", 3),
        ("intention", "execution", 5),
        ("ab", "ba", 2),
        ("a" * 100, "a" * 99, 1),
        ("naïve", "naive", 1),
        ("👍🏽", "👍", 1),
    ],
)
def test_known_distances(one: str, other: str, edits: int) -> None:
    assert distance(one, other) == edits


@given(few_letters, few_letters)
def test_it_agrees_with_the_table(one: str, other: str) -> None:
    assert distance(one, other) == by_the_table(one, other)


@given(st.text(max_size=40), st.text(max_size=40))
def test_it_agrees_with_the_table_on_any_characters(one: str, other: str) -> None:
    assert distance(one, other) == distance(other, one) == by_the_table(one, other)


@given(few_letters, few_letters, few_letters)
def test_a_way_around_is_never_shorter(one: str, other: str, third: str) -> None:
    assert distance(one, third) <= distance(one, other) + distance(other, third)


@given(st.text(max_size=40), st.text(max_size=40))
def test_likeness_is_between_nothing_and_all(one: str, other: str) -> None:
    assert 0 <= similarity(one, other) <= 1
    assert (similarity(one, other) == 1) is (one == other)


def test_long_texts_are_compared_in_no_time() -> None:
    chance = random.Random(7)
    one, other = ("".join(chance.choices("abcdefgh ", k=20_000)) for _ in range(2))

    assert 5_000 < distance(one, other) < 20_000  # well under a second; a table would take minutes


def test_what_is_feasible_goes_with_both_lengths() -> None:
    assert is_feasible("a" * 20_000, "b" * 20_000)
    assert is_feasible("a" * 900, "b" * 900_000)
    assert not is_feasible("a" * 100_000, "b" * 100_000)
    assert not is_feasible("", "b" * 100_000_000)
