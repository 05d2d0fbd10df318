"""A changed definition is named field by field."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.suites.definition_diff import definition_differences


@pytest.mark.parametrize(
    ("stored", "now", "told"),
    [
        ({}, {}, []),
        ({"judge": "a/b", "metadata": {"x": [1, {"y": 2}]}}, {"metadata": {"x": [1, {"y": 2}]}, "judge": "a/b"}, []),
        (
            {"judge": {"temperature": 0.2}},
            {"judge": {"temperature": 0.3}},
            ["judge.temperature: 0.2 in the run, 0.3 now"],
        ),
        ({"judge": "a/b"}, {"judge": "a/c"}, ['judge: "a/b" in the run, "a/c" now']),
        ({"judge": "a/b"}, {}, ['judge: "a/b" in the run, not set now']),
        ({}, {"timeout": 5}, ["timeout: not set in the run, 5 now"]),
        ({"judge": "a/b"}, {"judge": {"model": "a/b"}}, ['judge: "a/b" in the run, {"model": "a/b"} now']),
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": 1}, {"a": True}, ["a: 1 in the run, true now"]),
        ({"a": None}, {}, ["a: null in the run, not set now"]),
        (
            {"evaluators": [{"type": "contains"}, {"name": "q", "type": "llm_judge", "weight": 1}]},
            {"evaluators": [{"name": "q", "type": "llm_judge", "weight": 2}, {"type": "equals"}]},
            [
                'evaluators[contains]: {"type": "contains"} in the run, not set now',
                "evaluators[q].weight: 1 in the run, 2 now",
                'evaluators[equals]: not set in the run, {"type": "equals"} now',
            ],
        ),
        ({"a": [1, 2]}, {"a": [1, 3, 4]}, ["a[1]: 2 in the run, 3 now", "a[2]: not set in the run, 4 now"]),
        ({"a": "x" * 500}, {"a": ""}, [f'a: "{"x" * 39} … {"x" * 39}" in the run, "" now']),
    ],
)
def test_what_has_changed_is_named(stored: dict[str, Any], now: dict[str, Any], told: list[str]) -> None:
    assert definition_differences(stored, now) == told
