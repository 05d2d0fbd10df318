"""Marks and evaluators are put into a suite as its author would, and nothing else is touched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import read_suite
from evenhand.suites.suite_edit import with_evaluator, with_thresholds

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


NEW: dict[str, Any] = {
    "name": "quality",
    "type": "llm_judge",
    "instructions": "Dates count:\n- no date: fail\n- 'soon' # is none",
    "examples": [{"question": "When?", "candidate_answer": "yes\n\n  no: {x}", "verdict": "fail"}],
}
CASES = "cases:\n  - {id: a, input: Why?, candidate_answer: So., expected_outcome: Says why}\n"
STYLES = {
    "a block": "evaluators:\n  - name: quality\n    type: llm_judge\n  # next\n  - {name: exact, type: contains}\n",
    "a block without indent": "evaluators:\n- type: llm_judge\n  name: quality\n\n# the end\n",
    "braces": "evaluators:\n  - {name: quality, type: llm_judge}  # here\n  - type: contains\n",
    "all in brackets": "evaluators: [{name: quality, type: llm_judge}, {type: contains}]\n",
    "after one of its type": "evaluators:\n  - name: quality\n    type: llm_judge\n  - type: llm_judge\n",
    "with what it had": "evaluators:\n  - name: quality\n    type: llm_judge\n    instructions: |\n      Old.\n      Lines.\n",
}


@pytest.mark.parametrize("style", STYLES)
def test_only_the_evaluator_changes(style: str, tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"# töp €\njudge: openai/gpt-5-mini\n{STYLES[style]}{CASES}# bottom\n", encoding="utf-8")
    before = read_suite(path).definition

    text = with_evaluator(path.read_text(encoding="utf-8"), NEW)
    (tmp_path / "tuned.yaml").write_text(text, encoding="utf-8")
    after = read_suite(tmp_path / "tuned.yaml").definition

    assert after == {**before, "evaluators": [NEW, *before["evaluators"][1:]]}
    assert text.startswith("# töp €\n")
    assert text.endswith(f"{CASES}# bottom\n")
    assert text.count("#") - NEW["instructions"].count("#") == path.read_text(encoding="utf-8").count("#")


def test_a_suite_in_json_stays_one(tmp_path: Path) -> None:
    suite = {"evaluators": [{"type": "llm_judge"}], "cases": [{"id": "a", "candidate_answer": "So."}]}
    path = tmp_path / "suite.json"
    path.write_text(json.dumps(suite, indent=2), encoding="utf-8")
    new = {"type": "llm_judge", "instructions": "Be strict."}

    assert json.loads(with_evaluator(path.read_text(encoding="utf-8"), new)) == {**suite, "evaluators": [new]}


def test_an_evaluator_without_a_name_is_known_by_its_type(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"evaluators:\n- {{name: a, type: llm_judge}}\n- type: llm_judge\n{CASES}", encoding="utf-8")

    text = with_evaluator(path.read_text(encoding="utf-8"), {"type": "llm_judge", "instructions": "Be strict."})

    assert "- {name: a, type: llm_judge}\n- type: llm_judge\n  instructions: Be strict.\ncases:" in text


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f"evaluators: [{{type: contains}}]\n{CASES}", "it has no evaluator 'quality'"),
        ("evaluators: [\n", "it cannot be read as YAML"),
        ("[]", "it is no mapping"),
        ("evaluators:\n- &a {name: quality, type: llm_judge}\n- *a\n", "it cannot be read as YAML: line 2"),
    ],
)
def test_an_evaluator_is_not_put_where_it_does_not_belong(text: str, why: str) -> None:
    with pytest.raises(ConfigError, match=f"suite.yaml cannot be edited safely: {why}"):
        with_evaluator(text, NEW, name="suite.yaml")


def test_the_ends_of_lines_stay_as_they_are() -> None:
    text = "\ufeffevaluators:\r\n- {name: quality, type: llm_judge} # ours\r\n"

    changed = with_evaluator(text, {"name": "quality", "type": "llm_judge", "scale": "1-5"})

    assert changed == "\ufeffevaluators:\r\n- name: quality\r\n  type: llm_judge\r\n  scale: 1-5 # ours\r\n"
