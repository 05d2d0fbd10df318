"""Rubric items, their bands, and the arithmetic over them (SPEC-P3, P4)."""

import math
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand import Check, ConfigError, Rubric, Thresholds, Verdict
from evenhand.domain.rubric import bands, rubric_items, rubric_score, rubric_verdict


def test_a_plain_string_is_an_item_with_defaults() -> None:
    assert rubric_items(["Names the city"]) == (
        Rubric(id="rubric-1", description="Names the city", weight=1.0, required=True),
    )


def test_ids_are_numbered_by_place() -> None:
    items = rubric_items(["one", {"id": "mine", "description": "two"}, {"expected_outcome": "three"}])

    assert [(item.id, item.description) for item in items] == [
        ("rubric-1", "one"),
        ("mine", "two"),
        ("rubric-3", "three"),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([""], "rubrics: item 1: rubric 'rubric-1': description is empty"),
        (["fine", {"id": "x"}], "rubrics: item 2: rubric 'x': description is empty"),
        ([{"id": "x", "description": "  "}], "description is empty"),
        ([{"id": "a", "description": "one"}, {"id": "a", "description": "two"}], "items 1 and 2 both have the id 'a'"),
        ([{"description": "x", "weight": -1}], "weight is -1; it must be a finite number, 0 or more"),
        ([{"description": "x", "weight": math.inf}], "weight is inf"),
        ([{"description": "x", "weight": math.nan}], "weight is nan"),
        ([{"description": "x", "weight": True}], "weight is True"),
        ([{"description": "x", "weight": "2"}], "weight is '2'"),
        ([{"description": "x", "weight": 0}, {"description": "y", "weight": 0}], "all weights are 0"),
        ([{"description": "x", "required": "yes"}], "required is 'yes'; it must be true or false"),
        ([{"description": "x", "wieght": 1}], "no key 'wieght'; did you mean 'weight'?"),
        ([{"description": "x", "expected_outcome": "y"}], "two names for the same thing"),
        ([{"description": "x", "required_min_score": 3}], "required_min_score needs score_ranges"),
        ([{"description": 5}], "description must be text, not int"),
        ([{"description": "x", "weight": 10**400}], "weight is"),
        ([{"description": "x", "weight": ""}], "weight is ''"),
        ([{"description": "x", "score_ranges": 5}], "score_ranges is 5; write bands"),
        ([{"description": "x", "score_ranges": {}}], "score_ranges is {}; write bands"),
        ([{"description": "x", "score_ranges": {0: "a", "0": "b"}}], "score_ranges has 0 twice"),
        ([{"description": "x", "score_ranges": {"9" * 5000: "a"}}], "write an integer from 0 to 10"),
        ([7], "rubrics: item 1 must be text or a mapping with a description, not int"),
        ("one string", "rubrics must be a list of items, not str"),
    ],
)
def test_items_that_make_no_sense_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        rubric_items(given)

    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([{"min": 0, "max": 4, "outcome": "bad"}, {"min": 6, "max": 10, "outcome": "good"}], "leave out 5"),
        ([{"min": 0, "max": 6, "outcome": "bad"}, {"min": 6, "max": 10, "outcome": "good"}], "overlap at 6"),
        ([{"min": 2, "max": 10, "outcome": "all"}], "leave out 0 to 1"),
        ([{"min": 0, "max": 7, "outcome": "all"}], "leave out 8 to 10"),
        ([{"min": 0, "max": 11, "outcome": "all"}], "must be integers with 0 <= min <= max <= 10"),
        ([{"min": 0.5, "max": 10, "outcome": "all"}], "must be integers"),
        ([{"min": 0, "max": 10, "outcome": ""}], "outcome is empty"),
        ([{"min": 0, "max": 10}], "must have min, max and outcome"),
        ({3: "ok", 7: "good"}, "must begin at 0; the first key is 3"),
        ({0: "bad", 12: "good"}, "write an integer from 0 to 10: an outcome"),
        ({0: ""}, "write an integer from 0 to 10: an outcome"),
    ],
)
def test_bands_with_gaps_or_overlaps_are_refused(given: Any, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Rubric(id="tone", description="Tone", score_ranges=given)

    assert "rubric 'tone'" in str(refused.value)
    assert message in str(refused.value)


def test_the_shorthand_covers_zero_to_ten() -> None:
    short = bands({0: "bad", "3": "ok", 7: "good", 10: "perfect"}, where="x")

    assert [(band.min, band.max, band.outcome) for band in short] == [
        (0, 2, "bad"),
        (3, 6, "ok"),
        (7, 9, "good"),
        (10, 10, "perfect"),
    ]


def test_weights_of_one_tenth_and_seven_tenths_make_a_pass() -> None:
    items = rubric_items(
        [
            {"description": "a", "weight": 0.1},
            {"description": "b", "weight": 0.7},
            {"description": "c", "weight": 0.2, "required": False},
        ]
    )
    checks = [Check(id=item.id, satisfied=item.id != "rubric-3") for item in items]

    score = rubric_score(items, checks)

    assert score == 0.8
    assert rubric_verdict(items, checks, score, Thresholds()) is Verdict.PASS


def test_a_banded_item_gates_by_its_minimum_and_not_by_required() -> None:
    (gated,) = rubric_items([{"description": "x", "score_ranges": {0: "bad", 10: "good"}, "required_min_score": 9}])
    (free,) = rubric_items([{"description": "x", "score_ranges": {0: "bad", 10: "good"}, "required": True}])
    check = Check(id="rubric-1", satisfied=True, score=8)

    assert rubric_verdict([gated], [check], 0.8, Thresholds()) is Verdict.FAIL
    assert rubric_verdict([free], [check], 0.8, Thresholds()) is Verdict.PASS


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0.001, 1000), st.booleans()), min_size=1, max_size=20))
def test_the_score_is_a_share_whatever_the_weights(weighted: list[tuple[float, bool]]) -> None:
    items = rubric_items([{"description": "x", "weight": weight} for weight, _ in weighted])
    checks = [Check(id=item.id, satisfied=met) for item, (_, met) in zip(items, weighted, strict=True)]

    score = rubric_score(items, checks)

    assert 0 <= score <= 1
    assert (score == 1) == all(met for _, met in weighted)
    assert (score == 0) == (not any(met for _, met in weighted))


class Odd(float):
    def __repr__(self) -> str:
        return f"odd.float({float(self)})"


def test_weights_that_write_themselves_in_their_own_way_count_like_others() -> None:
    items = rubric_items([{"description": "a", "weight": Odd(0.5)}, {"description": "b", "weight": 0.5}])

    assert rubric_score(items, [Check(id="rubric-1", satisfied=True), Check(id="rubric-2", satisfied=False)]) == 0.5
