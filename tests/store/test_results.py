"""Some cases of a run, and counts of them, from both databases: the same as reading all of it."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import MadeAnswer, RunRecord
from evenhand.store.results import (
    case_at,
    case_positions,
    case_result,
    cases_at,
    count_evaluations,
    count_standings,
    evaluations_at,
    evaluator_names,
    places_after,
)
from evenhand.store.store import Store


@pytest.fixture
def run(store: Store, made: Any) -> RunRecord:
    """Make three cases in two samples by two evaluators; an error of the first was retried, the last is not judged."""
    run: RunRecord = made.run(store, cases=3, repeat=2)
    for position in (0, 1):
        for place in (1, 0):
            for sample in (1, 0):
                scored = made.judgment(0.9 - position / 2, sample=sample, evaluation={"evaluator": f"e{place}"})
                made.judge(store, run, position, scored, place=place)
        made.answer(store, run, position, MadeAnswer(text="first"), MadeAnswer(text="second", sample=1))
    made.judge(store, run, 0, made.judgment("timeout: late", round=1, evaluation={"evaluator": "e0"}))
    made.answer(store, run, 0, MadeAnswer(text="again", round=1))
    return run


def test_a_case_is_the_same_alone_as_among_all(store: Store, run: RunRecord) -> None:
    together = list(store.results(run))

    assert [case_at(store, run, position) for position in range(3)] == together
    assert [one.result for one in cases_at(store, run, [0, 1, 2]).values()] == together
    assert case_result(store, run, "case-1") == together[1]
    assert (case_at(store, run, 3), case_result(store, run, "case-9")) == (None, None)
    assert len(together[0].replaced) == 2


def test_no_positions_are_no_cases(store: Store, run: RunRecord) -> None:
    assert cases_at(store, run, []) == {}
    assert case_positions(store, [], ["a"]) == {}
    assert store.positions(run, []) == {}


def test_each_judgment_has_the_place_by_which_lists_know_it(store: Store, run: RunRecord) -> None:
    stored = cases_at(store, run, [1])[1]

    assert stored.places == ((0, 0), (1, 0), (0, 1), (1, 1))
    assert [one.evaluation.evaluator for one in stored.result.judgments] == ["e0", "e1", "e0", "e1"]


def test_evaluations_come_in_the_order_of_their_places_each_in_its_last_round(store: Store, run: RunRecord) -> None:
    found = evaluations_at(store, run, [(1, 0, 1), (0, 0, 0), (9, 0, 0)])

    assert [(one.position, one.place, one.sample, one.round, one.status) for one in found] == [
        (1, 0, 1, 0, "scored"),
        (0, 0, 0, 1, "error"),
    ]
    assert [one.case.id for one in found] == ["case-1", "case-0"]
    assert [one.answer["text"] for one in found if one.answer is not None] == ["second", "again"]
    assert evaluations_at(store, run, []) == []


def test_the_places_of_a_run_are_read_page_by_page(store: Store, run: RunRecord) -> None:
    first = places_after(store, run, (-1, -1, -1), 3)

    rest = places_after(store, run, first[-1], 100)

    assert first + rest == [(position, place, sample) for position in (0, 1) for place in (0, 1) for sample in (0, 1)]


def test_counts_are_of_the_last_rounds(store: Store, run: RunRecord) -> None:
    assert count_evaluations(store, run) == 9
    assert count_standings(store, run) == {"pass": 3, "error": 1, "fail": 4}


def test_evaluators_are_those_of_the_first_cases(store: Store, run: RunRecord, made: Any) -> None:
    made.judge(store, run, 2, made.judgment(evaluation={"evaluator": "late"}))

    assert evaluator_names(store, run, cases=2, limit=50) == ["e0", "e1"]
    assert evaluator_names(store, run, cases=3, limit=50) == ["e0", "e1", "late"]
    assert evaluator_names(store, run, cases=3, limit=1) == ["e0"]


def test_cases_are_found_in_several_runs(store: Store, run: RunRecord, made: Any) -> None:
    other = made.run(store, cases=[Case(id="case-2"), Case(id="case-0")])

    found = case_positions(store, (run, other), ["case-0", "case-2", "nowhere"])

    assert found == {
        (run.number, "case-0"): 0,
        (run.number, "case-2"): 2,
        (other.number, "case-0"): 1,
        (other.number, "case-2"): 0,
    }
    assert case_positions(store, (run, other), []) == {}


def test_runs_with_an_option_are_found_by_its_name_and_not_by_a_word(store: Store, made: Any) -> None:
    marked = made.run(store, options={"baseline": True})
    made.run(store, options={"note": '"baseline"'})
    made.run(store)

    assert [one.id for one in store.runs.with_option("baseline")] == [marked.id]
    assert store.runs.total() == 3
