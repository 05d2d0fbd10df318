"""Cases as a Python program gives them: mappings, rows of a data frame, and files of cases."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

from evenhand import Case, ConfigError, Contains, Run, Scripted, evaluate

PARIS = Contains(value="Paris")


def cases_of(run: Run) -> dict[str, Case]:
    return {result.id: result.case for result in run}


def judged(cases: Any, **options: Any) -> dict[str, Case]:
    return cases_of(evaluate(cases, PARIS, store=None, **options))


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_file_of_cases_needs_no_suite_beside_it(as_path: Any, tmp_path: Path) -> None:
    path = tmp_path / "capitals.jsonl"
    rows = [{"id": 1, "input": "France?", "output": "Paris", "topic": "geo"}, {"id": "b", "output": "Rome"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    run = evaluate(as_path(path), PARIS, store=None)

    assert run.name == "capitals"
    cases = cases_of(run)
    assert list(cases) == ["1", "b"]
    assert cases["1"].metadata == {"topic": "geo"}
    assert [result.outcome.score for result in run] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cases.yaml", "- {id: a, output: Paris, topic: geo}\n- id: 7\n  output: Rome\n"),
        ("cases.json", '[{"id": "a", "output": "Paris", "topic": "geo"}, {"id": 7, "output": "Rome"}]'),
        ("cases.ndjson", '{"id": "a", "output": "Paris", "topic": "geo"}\n\n{"id": 7, "output": "Rome"}'),
    ],
)
def test_a_list_of_cases_may_be_yaml_or_json(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)

    cases = judged(tmp_path / name)

    assert {key: dict(case.metadata) for key, case in cases.items()} == {"a": {"topic": "geo"}, "7": {}}


def test_a_suite_beside_a_file_of_cases_counts(tmp_path: Path) -> None:
    (tmp_path / "cases.yaml").write_text("evaluators: [{type: contains, value: Rome}]\n")
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "output": "Rome"}\n')

    (result,) = evaluate(tmp_path / "cases.jsonl", store=None)

    assert result.outcome.score == 1.0


def test_cases_of_a_file_may_bring_what_judges_them(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "output": "Rome", "rubrics": ["Is a city"]}\n')
    judge = Scripted(['{"checks": [{"id": "rubric-1", "satisfied": true}]}'])

    (result,) = evaluate(tmp_path / "cases.jsonl", judge=judge, store=None)

    assert result.outcome.score == 1.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "a", "output": "x"}\n{"id": "b", "output": 5}', 'cases.jsonl:2, case "b": output must be text, not 5'),
        ('{"id": "a", "outptu": "x"}', "cases.jsonl:1, case \"a\": no key 'outptu'; did you mean 'output'?"),
        (
            '{"id": 1, "output": "x"}\n{"id": "1", "output": "x"}',
            'cases.jsonl:2, case "1": duplicate id, first in line 1; ids must differ',
        ),
        ("{", "cases.jsonl:1"),
        ("3", "cases.jsonl:1, case 1: a case is a mapping"),
        ("", "there are no cases"),
    ],
)
def test_a_mistake_in_a_file_of_cases_has_its_place(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(text)

    with pytest.raises(ConfigError) as raised:
        judged(path)

    assert message in str(raised.value)


def test_a_file_of_cases_that_nothing_judges_is_refused(tmp_path: Path) -> None:
    (tmp_path / "cases.jsonl").write_text('{"id": "a", "output": "x"}\n')

    with pytest.raises(ConfigError, match=r'cases\.jsonl:1, case "a": nothing judges this case; list evaluators'):
        evaluate(tmp_path / "cases.jsonl", store=None)


def test_whole_numbers_are_ids() -> None:
    cases = judged([{"id": 1, "output": "Paris"}, {"id": np.int64(2), "output": "Paris"}])

    assert list(cases) == ["1", "2"]


@pytest.mark.parametrize("identity", [True, 1.0, 1.5])
def test_other_numbers_are_no_ids(identity: Any) -> None:
    with pytest.raises(ConfigError, match="id must be text"):
        judged([{"id": identity, "output": "Paris"}])


def test_a_whole_number_and_the_same_as_text_are_one_id() -> None:
    with pytest.raises(ConfigError, match="two cases have the id '1'"):
        judged([{"id": 1, "output": "Paris"}, {"id": "1", "output": "Rome"}])


@pytest.mark.parametrize("missing", [math.nan, np.float32("nan"), pd.NA, pd.NaT])
def test_a_missing_value_in_an_optional_key_is_none(missing: Any) -> None:
    row = {"id": "a", "output": "Paris", "question": missing, "criteria": missing, "cost": missing, "topic": missing}

    (case,) = judged([row]).values()

    assert (case.question, case.expected_outcome, case.cost, dict(case.metadata)) == (None, None, None, {})


def test_a_case_whose_id_is_missing_is_named_by_its_content() -> None:
    (name,) = judged([{"id": math.nan, "output": "Paris"}])

    assert name.startswith("case-")


@pytest.mark.parametrize("key", ["output", "candidate_answer"])
@pytest.mark.parametrize("missing", [math.nan, pd.NA])
def test_a_missing_answer_is_an_error_that_says_so(key: str, missing: Any) -> None:
    with pytest.raises(
        ConfigError, match=f"case 'a': {key} is missing .NaN.; give text, leave out the row, or give a target"
    ):
        judged([{"id": "a", key: missing}])


def test_a_missing_answer_is_made_by_the_target() -> None:
    cases: list[dict[str, Any]] = [
        {"id": "a", "input": "France?", "output": math.nan},
        {"id": "b", "input": "Italy?", "output": "Rome"},
    ]

    run = evaluate(cases, PARIS, target=lambda case: "Paris", store=None)

    assert [result.outcome.score for result in run] == [1.0, 0.0]


def test_further_keys_become_metadata() -> None:
    row = {"id": "a", "output": "Paris", "topic": "geo", "n": np.int64(3), "question_id": 7, "metadata": {"by": "me"}}

    (case,) = judged([row]).values()

    assert case.metadata == {"by": "me", "topic": "geo", "n": 3, "question_id": 7}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"topic": "geo", "metadata": {"topic": "x"}}, "'topic' is a key of the metadata too; give it once"),
        ({"expected_outcom": "x"}, "no key 'expected_outcom'; did you mean 'expected_outcome'?"),
        ({"inputs": "x"}, "no key 'inputs'; did you mean 'input'?"),
        ({"topic": "x", "metadata": 3}, "metadata must be a mapping, not a number"),
    ],
)
def test_a_key_that_is_probably_a_mistake_is_refused(row: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=f"case 'a': {message}".replace("?", r"\?")):
        judged([{"id": "a", "output": "Paris", **row}])


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("ground_truth", "reference_answer"),
        ("assert", "evaluators"),
        ("query", "input"),
        ("contexts", "context"),
        ("documents", "context"),
        ("retrieval_context", "context"),
        ("retrieved_contexts", "context"),
    ],
)
def test_what_other_tools_call_a_field_is_not_taken_for_metadata(key: str, name: str) -> None:
    with pytest.raises(ConfigError, match=f"case 1: no key '{key}'; it is called '{name}' here"):
        judged([{"output": "Paris", key: "x"}])


def test_a_context_is_a_field_and_a_content_is_metadata() -> None:
    rows = [{"id": "a", "output": "x", "context": ["d", {"id": "e", "text": "f"}], "content": "y", "context_id": 3}]

    case = judged(rows)["a"]

    assert case.context_text == '[1]\nd\n\n[2] "e"\nf'
    assert case.metadata == {"content": "y", "context_id": 3}
    with pytest.raises(ConfigError, match="case 'a': context: document 1: no key 'title'; known: id, text"):
        judged([{"id": "a", "output": "x", "context": [{"text": "d", "title": "t"}]}])


def test_another_tools_name_beside_the_field_itself_is_metadata() -> None:
    row = {"id": "a", "input": "France?", "output": "Paris", "reference_answer": "Paris", "ideal": "Lutetia"}

    asked = judged([row | {"query": "q", "response": "r"}])["a"]
    answered = judged([{"id": "a", "input": "France?", "response": "r"}], target=lambda question: "Paris")["a"]

    assert asked.metadata == {"ideal": "Lutetia", "query": "q", "response": "r"}
    assert answered.metadata == {"response": "r"}


def test_a_data_frame_is_taken_row_by_row() -> None:
    frame = pd.DataFrame(
        {"id": [1, 2], "output": ["Paris", "Rome"], "criteria": ["Names Paris", None], "votes": [1.5, math.nan]}
    )

    cases = judged(frame)

    assert {key: (case.expected_outcome, dict(case.metadata)) for key, case in cases.items()} == {
        "1": ("Names Paris", {"votes": 1.5}),
        "2": (None, {}),
    }
