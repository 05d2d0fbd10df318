"""Which tool a file is from, data sets of openevals, and the YAML that is written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from evenhand import Scripted, evaluate
from evenhand.convert.conversion import convert
from evenhand.convert.draft import suite_text
from evenhand.domain.errors import ConfigError
from evenhand.suites.suite import check


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.yaml", "prompts: ['{{q}}']\ntests: [{vars: {q: a}}]", "promptfoo"),
        ("a.yaml", "tests: [{vars: {prompt: a}}]", "promptfoo"),
        ("a.yaml", "tests: [{id: a, criteria: b, input: c}]", "agentv"),
        ("a.yaml", "evalcases: [{id: a, expected_outcome: b, input_messages: [{role: user, content: c}]}]", "agentv"),
        ("a.json", '[{"inputs": "a", "outputs": "b"}]', "openevals"),
        ("a.jsonl", '{"inputs": "a", "outputs": "b", "reference_outputs": "c"}\n', "openevals"),
        ("a.json", '{"examples": [{"inputs": "a", "outputs": "b"}]}', "openevals"),
    ],
)
def test_a_file_is_recognised_by_its_keys(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)

    assert convert(tmp_path / name).kind == kind


@pytest.mark.parametrize(
    "text", ["judge: openai/x\ncases: [{input: a}]\nevaluators: [{type: equals}]", "a: 1", "- 1", "[]", "x"]
)
def test_any_other_file_is_refused_with_what_was_looked_for(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text)

    with pytest.raises(ConfigError, match=r"promptfoo has prompts|a suite is a mapping"):
        convert(tmp_path / "a.yaml")


def test_the_kind_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("prompts: ['{{q}}']\ntests: [{vars: {q: a}, input: b}]")

    assert convert(tmp_path / "a.yaml", "promptfoo").kind == "promptfoo"


def test_a_data_set_is_judged_for_correctness(tmp_path: Path) -> None:
    examples: list[dict[str, Any]] = [
        {"id": "one", "inputs": "Capital of France?", "outputs": "Paris", "reference_outputs": "Paris"},
        {
            "inputs": {"question": "And of Peru?"},
            "outputs": {"answer": "Lima"},
            "metadata": {"level": 1},
            "context": "Peru",
        },
        {
            "inputs": {"messages": [{"role": "user", "content": "Hi"}]},
            "outputs": [{"role": "assistant", "content": "Hello"}],
        },
    ]
    (tmp_path / "data.json").write_text(json.dumps(examples))
    conversion = convert(tmp_path / "data.json")
    (tmp_path / "suite.yaml").write_text(conversion.text)
    judge = Scripted(['{"checks": [{"id": "rubric-1", "satisfied": true, "reasoning": ""}]}'] * 3)

    run = evaluate(tmp_path / "suite.yaml", judge=judge, store=None, concurrency=1)

    first, second, third = (result.case for result in run)
    assert (first.id, first.question, first.candidate_answer, first.reference_answer) == (
        "one", "Capital of France?", "Paris", "Paris",
    )  # fmt: skip
    assert (second.question, second.candidate_answer) == ('{"question": "And of Peru?"}', '{"answer": "Lima"}')
    assert (second.metadata, second.context) == ({"level": 1}, "Peru")
    assert third.candidate_answer == "Hello"
    assert [result.outcome.score for result in run] == [1.0, 1.0, 1.0]
    assert [line.split(": ", 1)[1] for line in conversion.left] == [
        "a data set says nothing about judging; the suite asks whether answers are correct, so change that"
    ]


texts = strategies.text(alphabet=strategies.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=150)


@pytest.mark.slow
@given(strategies.dictionaries(texts, strategies.one_of(texts, strategies.integers(-999, 999), strategies.booleans())))
def test_whatever_is_written_reads_as_it_was(values: dict[str, Any]) -> None:
    suite_text({"description": "x", "metadata": values, "cases": [{"input": "a"}]})


def test_texts_of_several_lines_and_long_ones_are_blocks(tmp_path: Path) -> None:
    text = suite_text({"description": "word " * 40 + "end", "cases": [{"input": "one\ntwo\n"}]})

    assert "description: >-\n" in text
    assert "- input: |\n    one\n    two\n" in text


@pytest.mark.slow
@pytest.mark.parametrize("count", [400, pytest.param(2_000, marks=pytest.mark.long)])
def test_a_long_list_of_tests_is_converted(tmp_path: Path, count: int) -> None:
    lines = [json.dumps({"id": f"t{number}", "criteria": "Is kind", "input": "Hi"}) for number in range(count)]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))

    conversion = convert(tmp_path / "cases.jsonl")
    (tmp_path / "suite.yaml").write_text(conversion.text)

    assert check(tmp_path / "suite.yaml").cases == count
