"""Ids are remembered in little memory."""

from __future__ import annotations

import tracemalloc

import pytest

from evenhand.engine import compact_sets
from evenhand.engine.compact_sets import IdSet


def test_what_was_seen_is_known_and_nothing_else() -> None:
    ids = IdSet()

    assert [ids.add(f"case-{number}") for number in range(5000)] == [False] * 5000
    assert [ids.add(f"case-{number}") for number in range(0, 5000, 7)] == [True] * 715
    assert ids.add("") is False
    assert ids.add("") is True


@pytest.mark.slow
@pytest.mark.parametrize("count", [20_000, pytest.param(200_000, marks=pytest.mark.sweep)])
def test_each_of_many_takes_less_than_35_bytes_at_any_time(count: int) -> None:
    tracemalloc.start()
    ids = IdSet()
    for number in range(count):
        ids.add(f"case-{number}")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 25 * count
    assert peak < 35 * count


def test_beyond_a_number_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_sets, "MOST_REMEMBERED", 3)
    ids = IdSet()

    assert [ids.add(one) for one in "abcdd"] == [False] * 5
