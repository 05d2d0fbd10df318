"""The JSON Schema for editors knows what the reader knows."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.domain.gates import Gates
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.embedded.client import OWN_SETTINGS
from evenhand.models.settings import ModelSettings
from evenhand.suites import cases, document, header
from evenhand.suites.document import open_document
from evenhand.suites.suite import problems
from evenhand.suites.template import init_files
from evenhand.suites.values import Mapped, plain

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "suites.md").read_text(encoding="utf-8")
SCHEMA: dict[str, Any] = json.loads((ROOT / "src/evenhand/suites/suite.schema.json").read_text(encoding="utf-8"))
PARTS: dict[str, Any] = SCHEMA["definitions"]
VALIDATOR = jsonschema_rs.validator_for(SCHEMA)

BUILT_IN = sorted(
    name for name, point in registry.points(registry.EVALUATORS).items() if point.value.startswith("evenhand.")
)


def as_written(name: str) -> dict[str, Any]:
    """Return a suite as plain values, with its cases."""
    read = open_document(Path(name))
    values: dict[str, Any] = plain(read.header)
    return values | {"cases": [plain(piece.value) for piece in read.cases()]}


def test_it_is_a_schema() -> None:
    jsonschema_rs.meta.validate(SCHEMA)


def test_it_has_every_key_of_a_suite_and_no_other() -> None:
    assert set(SCHEMA["properties"]) == {*header.KEYS, *document.CASE_KEYS, header.SCHEMA_KEY}


def test_it_has_every_key_of_a_case_and_no_other() -> None:
    assert set(PARTS["case"]["properties"]) == {*cases.KEYS, *cases.ALIASES}


def test_it_has_every_setting_of_a_model_and_no_other() -> None:
    settings = {one.name for one in fields(ModelSettings)} | set(OWN_SETTINGS)

    assert set(PARTS["model_mapping"]["properties"]) == settings | {"model"}
    own = {"prompt", "prompts", "system", "response_schema"}
    assert set(PARTS["target_model"]["properties"]) == settings | own | {"model", "name"}
    assert set(PARTS["target_models"]["properties"]) == settings | own | {"models"}


def test_it_has_every_gate_and_no_other() -> None:
    with pytest.raises(ConfigError) as raised:
        Gates.of({"zzz": 1})
    known = str(raised.value).partition("known: ")[2].split(", ")

    assert sorted(SCHEMA["properties"]["gates"]["properties"]) == known
    assert sorted(SCHEMA["properties"]["gates"]["properties"]["evaluators"]["additionalProperties"]["properties"]) == [
        name for name in known if name != "evaluators"
    ]


def test_it_has_every_type_of_evaluator_and_no_other() -> None:
    assert sorted(PARTS["type"]["enum"]) == BUILT_IN


@pytest.mark.parametrize("name", BUILT_IN)
def test_it_has_every_option_of_an_evaluator_and_no_other(name: str) -> None:
    factory = PromptEvaluator if name == "rubric" else registry.find(registry.EVALUATORS, name, what="type")
    options = inspect.signature(factory).parameters.values()
    part = PARTS[f"evaluator_{name}"]
    while "properties" not in part:
        (part,) = [PARTS[one["$ref"].rpartition("/")[2]] for one in part.get("allOf", [part])]

    # Beside a client, which no file can give, ``model`` names its model; a suite refuses it.
    assert set(part["properties"]) == {one.name for one in options} - {"model"} | {"type"}
    assert set(part.get("required", ())) == {one.name for one in options if one.default is one.empty}


def keys_in_tables() -> Iterator[str]:
    for section in ("Keys of a suite", "Keys of a case"):
        table = PAGE.split(f"## {section}\n")[1].split("\n## ")[0]
        for row in table.splitlines():
            if row.startswith("| `"):
                columns = row.split("|")[1:-1]
                yield from re.findall(r"`(\w+)`", "".join(columns[: len(columns) - 1]))


def test_the_page_has_every_key_and_no_other() -> None:
    assert set(keys_in_tables()) == {*header.KEYS, *document.CASE_KEYS, *cases.KEYS, *cases.ALIASES}


EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_on_the_page_is_right(example: str) -> None:
    Path("cases.jsonl").write_text('{"id": "a"}\n', encoding="utf-8")
    Path("data").mkdir()
    Path("data/more.csv").write_text("id\nb\n", encoding="utf-8")
    Path("minutes").mkdir()
    Path("minutes/march.md").write_text("Decided: three things.\n", encoding="utf-8")
    if "cases:" not in example:
        example += "evaluators: [{name: tone, type: contains}]\ncases: [{id: a}]\n"
    Path("example.yaml").write_text(example, encoding="utf-8")

    assert problems("example.yaml") == []
    assert [error.message for error in VALIDATOR.iter_errors(as_written("example.yaml"))] == []


def test_the_first_suite_is_right() -> None:
    for name, content in init_files().items():
        Path(name).write_text(content, encoding="utf-8")

    assert problems("suite.yaml") == []
    assert [error.message for error in VALIDATOR.iter_errors(as_written("suite.yaml"))] == []


RIGHT: dict[str, Any] = {
    "judge": {"model": "openai/x", "api_key": "${KEY}", "headers": {"Authorization": "Bearer ${KEY}"}},
    "target": {"command": ["app"], "timeout": 5},
    "evaluators": [
        {"type": "llm_judge", "name": "q", "rubrics": ["x", {"id": "y", "description": "z", "score_ranges": {"0": "a"}}]},
        {"type": "composite", "members": [{"type": "contains", "value": ["a", "b"]}], "aggregator": {"type": "threshold", "threshold": 0.5}},
    ],
    "gates": {"min_mean": "80%", "evaluators": {"q": {"max_failed": 3}}},
    "cases": [{"id": "a", "input": [{"role": "user", "content": "x"}], "evaluators": ["q", {"type": "cost", "max": 1}]}, {"metadata": {}}],
}  # fmt: skip


def test_what_is_right_is_right() -> None:
    assert [error.message for error in VALIDATOR.iter_errors(RIGHT)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"evalutors": []},
        {"judge": "gpt-5"},
        {"judge": {"temperature": 0}},
        {"judge": {"model": "openai/x", "temperatur": 0}},
        {"judge": {"model": "openai/x", "api_key": "sk-123"}},
        {"judge": {"model": "openai/x", "headers": {"Authorization": "Bearer sk-123"}}},
        {"target": {"model": "openai/x", "command": ["x"]}},
        {"target": {"command": "app --now"}},
        {"target": {"python": "no colon"}},
        {"evaluators": {"type": "contains"}},
        {"evaluators": ["contains"]},
        {"evaluators": [{"name": "x"}]},
        {"evaluators": [{"type": "llm-jugde"}]},
        {"evaluators": [{"type": "llm_judge", "tempelate": "x"}]},
        {"evaluators": [{"type": "contains", "weight": -1}]},
        {"evaluators": [{"type": "contains", "required": "no"}]},
        {"evaluators": [{"type": "rubric"}]},
        {"evaluators": [{"type": "regex"}]},
        {"evaluators": [{"type": "composite", "members": [{"type": "contains", "vlaue": "x"}]}]},
        {"thresholds": {"pass": 2}},
        {"gates": {"min_meen": 1}},
        {"prices": {"a/b": {"input": 1}}},
        {"timeout": 0},
        {"repeat": 1.5},
        {"tests": []},
        {"cases": []},
        {"cases": "cases.xlsx"},
        {"columns": {}},
        {"columns": {"input": 3}},
        {"columns": "input"},
        {"cases": [{"id": 5}]},
        {"cases": [{"ouput": "x"}]},
        {"cases": [{"candidate_answer": 42}]},
        {"cases": [{"input": "a", "question": "b"}]},
        {"cases": [{"rubrics": [{"id": "a"}]}]},
        {"cases": [{"evaluators": []}]},
        {"cases": ["text"]},
    ],
    ids=json.dumps,
)
def test_what_is_wrong_is_wrong_to_the_schema_and_to_the_reader(wrong: dict[str, Any]) -> None:
    suite = RIGHT | wrong
    Path("suite.json").write_text(json.dumps(suite), encoding="utf-8")

    assert not VALIDATOR.is_valid(suite)
    assert problems("suite.json")


def test_a_mapping_from_a_file_is_a_mapping_to_the_validator() -> None:
    assert VALIDATOR.is_valid(plain(Mapped(1)))
