"""A label cannot be invalid."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.label import DrawnCase, Label, answer_hash, label_value


@pytest.mark.parametrize(
    ("wrong", "key"),
    [
        ({"rater": ""}, "rater"),
        ({"rater": " Ann"}, "rater"),
        ({"rater": "A\nB"}, "rater"),
        ({"rater": "x" * 101}, "rater"),
        ({"value": "borderline"}, "value"),
        ({"value": 1.01}, "value"),
        ({"value": float("nan")}, "value"),
        ({"value": True}, "value"),
        ({"note": "x" * 10_001}, "note"),
        ({"p": 0.0}, "p"),
        ({"p": 1.5}, "p"),
    ],
)
def test_a_label_that_cannot_be_is_refused_by_name(wrong: dict[str, Any], key: str) -> None:
    fields: dict[str, Any] = {"case": "a", "position": 0, "rater": "Ann", "value": "pass", "answer": "h1"}

    with pytest.raises(ConfigError) as refused:
        Label(**(fields | wrong))

    assert refused.value.key == key


def test_a_drawn_case_has_a_chance() -> None:
    with pytest.raises(ConfigError, match="p is 0"):
        DrawnCase(case="a", position=0, p=0, answer="h1")


@pytest.mark.parametrize("text", ["", "yes", "1_0", "0.5.", "1e999", "-0.1", "pass!", "0" * 50, "½"])
def test_what_is_no_label_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="pass, fail, or a score from 0 to 1"):
        label_value(text)


def test_equal_answers_have_the_same_hash_and_others_do_not() -> None:
    assert answer_hash("a") == answer_hash("a") != answer_hash("a ")
    assert answer_hash("\ud800").startswith("h")
