"""The factory of openevals for JSON: its own tests, with the scores that they expect, and what is beyond them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from evenhand import JudgeError, Scripted, create_async_json_match_evaluator, create_json_match_evaluator
from evenhand.domain.errors import ConfigError


def results(outputs: Any, reference_outputs: Any, **options: Any) -> dict[str, Any]:
    made = create_json_match_evaluator(**options)(outputs=outputs, reference_outputs=reference_outputs)
    return {result["key"]: result["score"] for result in made}


def checked(**satisfied: bool) -> str:
    found = [{"id": key, "reasoning": f"about {key}", "satisfied": right} for key, right in satisfied.items()]
    return json.dumps({"checks": found})


def test_each_key_has_a_result() -> None:
    assert results({"a": 1, "b": 2}, {"a": 1, "b": 2}) == {"json_match:a": 1.0, "json_match:b": 1.0}
    assert results({"a": 1, "c": 2}, {"a": 1, "b": 2}) == {
        "json_match:a": 1.0,
        "json_match:b": 0.0,
        "json_match:c": 0.0,
    }


def test_a_key_may_have_more_than_one_letter() -> None:
    outputs, reference = {"name": "Ann", "size": 2}, {"name": "Ann", "size": 3}

    assert results(outputs, reference) == {"json_match:name": 1.0, "json_match:size": 0.0}
    assert results([outputs], [reference]) == {"json_match:name": 1.0, "json_match:size": 0.0}


def test_the_keys_are_combined_when_told() -> None:
    outputs, reference = {"a": 1, "b": 2}, {"a": 1, "b": 3}

    assert results(outputs, reference, aggregator="average") == {"json_match:average": 0.5}
    assert results(outputs, reference, aggregator="all") == {"json_match:all": 0.0}
    assert results(outputs, reference, aggregator="average", exclude_keys=["b"]) == {"json_match:average": 1.0}


def test_a_judge_decides_the_keys_with_a_rubric() -> None:
    judge = Scripted([checked(**{"$.a": True})])
    match = create_json_match_evaluator(judge=judge, rubric={"a": "Does it name all the fruits?"})

    found = match(outputs={"a": "Mango, Bananas", "b": 2}, reference_outputs={"a": "Bananas, Mango", "b": 3})

    assert [(result["key"], result["score"]) for result in found] == [("json_match:a", 1.0), ("json_match:b", 0.0)]
    assert [result["comment"] for result in found] == ["about $.a", None]
    assert found[0]["metadata"]["judge"] == judge.name
    assert found[1]["metadata"] == {}


def test_without_reasoning_there_is_no_comment() -> None:
    judge = Scripted([checked(**{"$.a": False})])
    match = create_json_match_evaluator(judge=judge, rubric={"a": "Is it kind?"}, use_reasoning=False)

    (result,) = match(outputs={"a": "x"}, reference_outputs={"a": "y"})

    assert (result["score"], result["comment"]) == (0.0, None)


def test_a_judge_without_a_usable_reply_is_an_error_and_no_score() -> None:
    match = create_json_match_evaluator(judge=Scripted(['{"checks": []}'] * 3), rubric={"a": "Is it kind?"})

    with pytest.raises(JudgeError, match="gave no usable reply"):
        match(outputs={"a": "x"}, reference_outputs={"a": "y"})


@pytest.mark.parametrize(
    ("mode", "outputs", "options", "score"),
    [
        ("same_elements", [{"a": 1, "b": 2}, {"a": 1, "b": 2}], {}, 1.0),
        ("same_elements", [{"a": 1, "b": 2}], {}, 0.0),
        ("same_elements", [{"a": 1, "b": 2}], {"list_aggregator": "average"}, 0.5),
        ("same_elements", [{"a": 1, "b": 2}, {"a": 1, "b": 3}], {"list_aggregator": "average"}, 0.75),
        ("subset", [{"a": 1, "b": 2}], {}, 1.0),
        ("superset", [{"a": 1, "b": 2}] * 3, {}, 1.0),
        ("superset", [{"a": 1, "b": 2}], {}, 0.0),
        ("ordered", [{"a": 1, "b": 2}, {"a": 1, "b": 2}], {}, 1.0),
        ("ordered", [{"a": 1, "b": 2}] * 3, {"list_aggregator": "average"}, 2 / 3),
    ],
)
def test_lists_of_objects_are_paired(mode: Any, outputs: Any, options: dict[str, Any], score: float) -> None:
    reference = [{"a": 1, "b": 2}, {"a": 1, "b": 2}]

    found = results(outputs, reference, aggregator="average", list_match_mode=mode, **options)

    assert found == {"json_match:average": pytest.approx(score)}


def test_the_order_of_objects_does_not_matter_unless_told() -> None:
    outputs, reference = [{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}]

    assert results(outputs, reference) == {"json_match:a": 1.0}
    assert results(outputs, reference, list_match_mode="ordered") == {"json_match:a": 0.0}


def test_a_list_within_a_key_is_compared_as_it_stands() -> None:
    assert results({"a": [1, 2]}, {"a": [2, 1]}) == {"json_match:a": 0.0}
    assert results([{"a": [1, 2]}], [{"a": [1, 2]}]) == {"json_match:a": 1.0}
    assert results({"a": True}, {"a": 1}) == {"json_match:a": 0.0}


def test_an_object_that_nobody_expected_counts_by_itself() -> None:
    # The first expected object is paired with the second of the outputs; the first of the outputs is left over.
    outputs, reference = [{"a": 9, "b": 9}, {"a": 1, "b": 1}], [{"a": 1, "b": 1}]

    assert results(outputs, reference, aggregator="average", list_aggregator="average") == {"json_match:average": 0.5}


def test_json_may_be_given_as_text() -> None:
    assert results('{"a": 1}', {"a": 1}) == {"json_match:a": 1.0}


def test_the_async_form_gives_the_same() -> None:
    match = create_async_json_match_evaluator(aggregator="all")

    async def awaited() -> Any:
        return await match(outputs={"a": 1}, reference_outputs={"a": 1})

    assert asyncio.run(awaited())[0]["score"] == 1.0


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"aggregator": "mean"}, "aggregator is 'mean'; it must be None or average or all"),
        ({"list_match_mode": "exact"}, "list_match_mode is 'exact'; it must be superset or subset"),
        ({"rubric": ["a"]}, "rubric must be a mapping from keys"),
        ({"exclude_keys": "a"}, "exclude_keys is 'a'; it must be a list of keys"),
        ({"judge": Scripted([])}, "a judge is asked about the keys in rubric alone"),
        ({"rubrics": {"a": "x"}}, "create_json_match_evaluator: no option 'rubrics'; did you mean 'rubric'?"),
    ],
)
def test_a_wrong_option_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^{complaint}".replace("?", r"\?")):
        create_json_match_evaluator(**options)


@pytest.mark.parametrize(
    ("outputs", "complaint"),
    [
        ([{"a": 1}], "outputs and reference_outputs must both be lists of objects, or both objects"),
        ("text", "outputs is not JSON"),
        (5, "outputs must be an object, or a list of objects"),
        ([1], "outputs must be an object, or a list of objects"),
        (None, "outputs must be an object, or a list of objects"),
    ],
)
def test_what_has_no_keys_is_refused(outputs: Any, complaint: str) -> None:
    with pytest.raises(ConfigError, match=f"^{complaint}"):
        create_json_match_evaluator()(outputs=outputs, reference_outputs={"a": 1})
