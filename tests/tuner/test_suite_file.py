"""A tuned evaluator in a suite's file: in any style, with nothing else changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import read_suite
from evenhand.tuner.suite_file import tuned_suite

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

    text = tuned_suite(path, NEW)
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

    assert json.loads(tuned_suite(path, new)) == {**suite, "evaluators": [new]}


def test_an_evaluator_without_a_name_is_known_by_its_type(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"evaluators:\n- {{name: a, type: llm_judge}}\n- type: llm_judge\n{CASES}", encoding="utf-8")

    text = tuned_suite(path, {"type": "llm_judge", "instructions": "Be strict."})

    assert "- {name: a, type: llm_judge}\n- type: llm_judge\n  instructions: Be strict.\ncases:" in text


def test_a_suite_without_the_evaluator_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"evaluators: [{{type: contains}}]\n{CASES}", encoding="utf-8")

    with pytest.raises(ConfigError, match="there is no evaluator 'quality' in it any more"):
        tuned_suite(path, NEW)
    with pytest.raises(ConfigError, match="cannot be read"):
        tuned_suite(tmp_path / "nowhere.yaml", NEW)
