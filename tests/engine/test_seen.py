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
def test_two_hundred_thousand_take_less_than_seven_megabytes_at_any_time() -> None:
    tracemalloc.start()
    ids = IdSet()
    for number in range(200_000):
        ids.add(f"case-{number}")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert kept < 5_000_000
    assert peak < 7_000_000


def test_beyond_a_number_nothing_is_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact_sets, "MOST_REMEMBERED", 3)
    ids = IdSet()

    assert [ids.add(one) for one in "abcdd"] == [False] * 5
