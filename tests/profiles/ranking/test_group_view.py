"""Groups of a ranking as lists and cases show them, also where an imported run has something else in their place."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import CaseResult
from evenhand.profiles.ranking.group_view import group_view, judged_order, member_ids, members_of

PAIR = Case(
    id="round-1-group-1",
    candidate_answer="One.",
    reference_answer="Two.",
    metadata={"profiles": [{"number": 0, "id": "a"}, {"number": 1, "id": "b"}]},
)


@pytest.mark.parametrize(("outcome", "said"), [("win", "a > b"), ("loss", "b > a"), ("tie", "a = b")])
def test_the_outcome_of_a_pair_is_an_order(outcome: str, said: str) -> None:
    assert judged_order(PAIR, {"outcome": outcome}) == said


def test_a_group_that_was_not_judged_has_texts_and_no_order() -> None:
    group = group_view(CaseResult(position=0, case=PAIR)).group

    assert group is not None
    assert [(member.letter, member.id, member.text, member.place) for member in group.members] == [
        ("A", "a", "One.", None),
        ("B", "b", "Two.", None),
    ]
    assert (group.order, group.lines) == ("", ())


@pytest.mark.parametrize("told", [None, 5, "ab", {"id": "a"}, [1, "a", {"id": 3}, {}]])
def test_what_is_no_group_has_nobody_in_it(told: Any) -> None:
    case = Case(id="c", metadata={"profiles": told})

    assert members_of(case.metadata) == []
    assert member_ids(case) == []
    assert judged_order(case, {"outcome": "win"}) == ""
    group = group_view(CaseResult(position=0, case=case)).group
    assert group is not None
    assert group.members == ()
