"""Ids by number, in little room."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.profiles.ranking.entrants import Names, NamesInOrder


@pytest.fixture
def names() -> Names:
    made = Names()
    for number, name in ((3, "drei"), (0, "zéro"), (1, "one \ud800")):
        made.put(number, name)
    return made


def test_names_are_put_in_and_read_in_any_order(names: Names) -> None:
    assert [names[number] for number in (0, 1, 3)] == ["zéro", "one \ud800", "drei"]
    assert len(names) == 4


def test_who_has_no_name_is_known(names: Names) -> None:
    assert [names.has(number) for number in range(6)] == [True, True, False, True, False, False]
    assert names[2] == ""


def test_names_in_order_are_a_sequence(names: Names) -> None:
    ordered = NamesInOrder(names, np.array([3, 0, 1]))

    assert list(ordered) == ["drei", "zéro", "one \ud800"]
    assert ordered[:2] == ["drei", "zéro"]
    assert ordered[-1] == "one \ud800"
    assert ordered.index("zéro") == 1
    assert "nobody" not in ordered
    assert len(ordered) == 3
    with pytest.raises(IndexError):
        ordered[3]
