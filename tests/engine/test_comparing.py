"""Bringing the cases of two runs together, and what says how a case is to be judged."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.run import PlannedCase
from evenhand.engine.case_pairs import CaseSource, joined
from evenhand.engine.case_scores import Terms, judged_by
from evenhand.reports.paired_cases import JudgedCase, PairedFinding
from evenhand.reports.phrases import Standing

IDS = st.lists(st.integers(0, 20).map(str), unique=True, max_size=20)


def judged(identity: str, score: float = 0.5) -> JudgedCase:
    found: dict[str | None, PairedFinding] = {None: PairedFinding(Standing.FAIL, score)}
    return JudgedCase(
        id=identity, position=0, cluster=None, judged_by=Terms('{"case": {}}', of_a_prompt=False), found=found
    )


@given(IDS, IDS)
def test_each_case_comes_once_with_its_own_whatever_the_order(a: list[str], b: list[str]) -> None:
    pairs = list(joined(CaseSource(map(judged, a)), CaseSource(map(judged, b))))

    assert sorted(one.id for one, _ in pairs if one is not None) == sorted(a)
    assert sorted(other.id for _, other in pairs if other is not None) == sorted(b)
    assert {one.id for one, other in pairs if one and other} == {*a} & {*b}
    assert all(one.id == other.id for one, other in pairs if one and other)


@pytest.mark.parametrize("late", [0, 1])
def test_cases_in_the_same_order_do_not_wait(late: int) -> None:
    def cases(first: int, count: int) -> Iterator[JudgedCase]:
        return (judged(str(number)) for number in range(first, count))

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            for _ in joined(CaseSource(cases(0, count)), CaseSource(cases(late, count))):
                pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(5_000) < peak(200) + 50_000


BASE: dict[str, Any] = {"id": "one", "question": "What?", "reference_answer": "That.", "rubrics": ["Says that"]}


@pytest.mark.parametrize(
    "changed",
    [{"candidate_answer": "This."}, {"metadata": {"model": "b"}}, {"cluster": "c"}, {"latency": 1.0, "cost": 0.1}],
)
def test_answers_and_labels_have_no_part_in_how_a_case_is_judged(changed: dict[str, Any]) -> None:
    one = PlannedCase(position=0, case=Case(**BASE))
    other = PlannedCase(position=7, case=Case(**{**BASE, **changed}), hash="other")

    assert judged_by(one) == judged_by(other)


@pytest.mark.parametrize(
    "changed",
    [{"question": "Why?"}, {"reference_answer": "This."}, {"rubrics": ["Says this"]}, {"expected_outcome": "Says"}],
)
def test_what_a_judge_is_shown_beside_the_answer_has_a_part(changed: dict[str, Any]) -> None:
    one = PlannedCase(position=0, case=Case(**BASE))
    other = PlannedCase(position=0, case=Case(**{**BASE, **changed}))

    assert judged_by(one) != judged_by(other)


def test_the_evaluators_that_a_case_brings_have_a_part() -> None:
    one = PlannedCase(position=0, case=Case(**BASE))
    other = PlannedCase(position=0, case=Case(**BASE), evaluators=({"type": "equals"},))

    assert judged_by(one) != judged_by(other)
