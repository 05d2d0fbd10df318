"""What counts as being judged differently, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.suites.definition_diff import judging_differences

QUALITY: dict[str, Any] = {
    "name": "quality",
    "type": "llm_judge",
    "rubrics": [{"id": "safe", "description": "Is safe"}, {"id": "kind", "description": "Is kind"}],
}


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"judge": "openai/x"}, {"judge": {"model": "openai/x", "api_key": "${OTHER}", "timeout": 5}}),
        ({"target": "openai/a", "gates": {"min_mean": 1}}, {"target": "openai/b", "repeat": 3, "name": "other"}),
        ({"thresholds": {"pass": 0.8}}, {}),
        ({"evaluators": [QUALITY, {"type": "equals"}]}, {"evaluators": [{"type": "equals"}, QUALITY]}),
        (
            {"evaluators": [QUALITY]},
            {"evaluators": [{**QUALITY, "rubrics": QUALITY["rubrics"][::-1], "template": None}]},
        ),
    ],
)
def test_what_has_no_part_in_judging_may_differ(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert judging_differences(a, b) == []


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ({"judge": "openai/x"}, {}, 'judge.model: "openai/x" in A, nothing in B'),
        (
            {"judge": {"model": "x/y", "temperature": 0}},
            {"judge": {"model": "x/y", "temperature": 1}},
            "judge.temperature: 0 in A, 1 in B",
        ),
        ({}, {"thresholds": {"pass": 0.9}}, "thresholds.pass: 0.8 in A, 0.9 in B"),
        (
            {"evaluators": [{**QUALITY, "required": True}]},
            {"evaluators": [{**QUALITY, "required": 1}]},
            "evaluators[quality].required: true in A, 1 in B",
        ),
        (
            {"evaluators": [QUALITY]},
            {"evaluators": [{**QUALITY, "rubrics": [QUALITY["rubrics"][0], {"id": "kind", "description": "Be kind"}]}]},
            'evaluators[quality].rubrics[kind].description: "Is kind" in A, "Be kind" in B',
        ),
        ({"evaluators": [{"type": "equals"}]}, {}, 'evaluators[equals].type: "equals" in A, nothing in B'),
    ],
)
def test_each_difference_is_named_with_both_values(a: dict[str, Any], b: dict[str, Any], told: str) -> None:
    assert judging_differences(a, b) == [told]


def test_long_texts_that_differ_in_the_middle_differ() -> None:
    one, other = (f"{'before ' * 50}{word}{' after' * 50}" for word in ("must", "may"))

    (told,) = judging_differences(
        {"evaluators": [{**QUALITY, "template": one}]}, {"evaluators": [{**QUALITY, "template": other}]}
    )

    assert told.startswith("evaluators[quality].template: ")
    assert len(told) < 300
