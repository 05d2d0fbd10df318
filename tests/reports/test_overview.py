"""How many different profiles a ranking has: by their numbers, whatever an imported run has in their place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from evenhand.domain.case import Case
from evenhand.reports.overview import survey


def test_profiles_are_counted_once_and_anything_else_is_passed_over(made: Any) -> None:
    groups: list[Any] = [
        [{"number": 0, "id": "a"}, {"number": 9, "id": "b"}],
        [{"number": 9, "id": "b"}, {"number": 70_000, "id": "c"}],
        [{"number": True, "id": "d"}, {"id": "e"}, {"number": 10**12, "id": "f"}, {"id": "e"}],
        [{"number": 5, "id": 3}, 7, None],
        "abc",
    ]
    results = [
        replace(made.case(1.0), position=place, case=Case(id=str(place), metadata={"profiles": members}))
        for place, members in enumerate(groups)
    ]

    assert survey(results).ranked == 6
