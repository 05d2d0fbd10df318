"""What takes long is worked out once, aside."""

from __future__ import annotations

import threading

import pytest

from evenhand.domain.errors import ConfigError, StoreError
from evenhand.server.runs.summaries import BackgroundCache


def test_a_value_is_worked_out_once_however_many_ask() -> None:
    made: list[int] = []
    aside: BackgroundCache[int] = BackgroundCache(2)

    found = [aside.get("one", lambda: made.append(1) or 7) for _ in range(3)]  # type: ignore[func-returns-value]

    assert found == [7, 7, 7]
    assert made == [1]
    assert aside.has("one")


def test_who_does_not_want_to_wait_is_told_and_finds_it_later() -> None:
    may_end = threading.Event()
    aside: BackgroundCache[int] = BackgroundCache(2)

    with pytest.raises(TimeoutError):
        aside.get("one", lambda: 7 if may_end.wait(60) else 0, 0.01)
    assert not aside.has("one")
    may_end.set()

    assert aside.get("one", lambda: 0, 60) == 7


def test_a_refusal_is_kept_and_trouble_is_not() -> None:
    aside: BackgroundCache[int] = BackgroundCache(2)

    def refuses() -> int:
        raise ConfigError("not like that")

    def breaks() -> int:
        raise OSError("the disk is full")

    def waits() -> int:
        raise StoreError("the database is locked")

    for _ in range(2):
        with pytest.raises(ConfigError, match="not like that"):
            aside.get("refused", refuses if _ == 0 else lambda: 7)
    with pytest.raises(OSError, match="the disk is full"):
        aside.get("broken", breaks)
    with pytest.raises(StoreError, match="locked"):
        aside.get("locked", waits)

    assert aside.get("broken", lambda: 7) == 7
    assert aside.get("locked", lambda: 7) == 7


def test_only_the_last_ones_are_kept() -> None:
    aside: BackgroundCache[str] = BackgroundCache(2)
    for name in ("one", "two"):
        aside.get(name, lambda: "first")

    aside.get("one", lambda: "second")
    aside.get("three", lambda: "first")

    assert [aside.has(name) for name in ("one", "two", "three")] == [True, False, True]
