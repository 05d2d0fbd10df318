"""Marks are put into a suite as its author would, and nothing else is touched."""

from __future__ import annotations

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.suites.thresholds_edit import with_thresholds

BOTH = {"pass": 0.7, "borderline": 0.5}

EDITS: tuple[tuple[str, str | None, str], ...] = (
    # What is there, whose thresholds these are, and what becomes of it.
    ("thresholds: {pass: 0.8, borderline: 0.6} # ours\n", None, "thresholds: {pass: 0.7, borderline: 0.5} # ours\n"),
    ("thresholds:\n  # strict\n  pass: 0.8 # why\n", None, "thresholds:\n  # strict\n  pass: 0.7 # why\n  borderline: 0.5\n"),
    ("# head\nname: a # mine\ncases: c.jsonl\n", None, "# head\nname: a # mine\nthresholds: {pass: 0.7, borderline: 0.5}\ncases: c.jsonl\n"),
    ("# head\ncases:\n  - {id: a}\n", None, "# head\nthresholds: {pass: 0.7, borderline: 0.5}\ncases:\n  - {id: a}\n"),
    ("name: a", None, "name: a\nthresholds: {pass: 0.7, borderline: 0.5}"),
    ("name: a\r\njudge: x\r\n", None, "name: a\r\njudge: x\r\nthresholds: {pass: 0.7, borderline: 0.5}\r\n"),
    ('{"name": "a", "cases": []}', None, '{"name": "a", "cases": [], "thresholds": {"pass": 0.7, "borderline": 0.5}}'),
    ("evaluators:\n  - {type: contains, name: q} # one\n", "q", "evaluators:\n  - {type: contains, name: q, thresholds: {pass: 0.7, borderline: 0.5}} # one\n"),
    ("evaluators:\n  - type: other\n  - name: q\n    rubrics: [a]\n", "q", "evaluators:\n  - type: other\n  - name: q\n    thresholds: {pass: 0.7, borderline: 0.5}\n    rubrics: [a]\n"),
    ("evaluators:\n- type: q\n  thresholds: {borderline: 0.1}\n", "q", "evaluators:\n- type: q\n  thresholds: {borderline: 0.5, pass: 0.7}\n"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "evaluator", "expected"), EDITS)
def test_comments_and_layout_stay(text: str, evaluator: str | None, expected: str) -> None:
    assert with_thresholds(text, BOTH, evaluator=evaluator) == expected
    assert with_thresholds(expected, BOTH, evaluator=evaluator) == expected
    assert with_thresholds(f"\ufeff{text}", BOTH, evaluator=evaluator) == f"\ufeff{expected}"


@pytest.mark.parametrize(
    ("text", "evaluator", "why"),
    [
        ("- a\n", None, "it is no mapping"),
        ("name: [\n", None, "cannot be read as YAML"),
        ("thresholds: 0.8\n", None, "not a mapping with marks"),
        ("thresholds: {pass: {a: 1}}\n", None, "its mark pass is not a number"),
        ("evaluators: [{type: contains}]\n", "q", "it has no evaluator 'q'"),
        ("name: &a x\nother: {pass: *a}\nthresholds: {pass: *a}\n", None, "cannot be read as YAML"),
    ],
)
def test_what_cannot_be_edited_safely_is_refused_with_what_to_write(text: str, evaluator: str | None, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        with_thresholds(text, {"pass": 2 / 3}, evaluator=evaluator, name="suite.yaml")

    assert why in str(raised.value)
    assert "write it there yourself: thresholds: {pass: 0.666666667}" in str(raised.value)
