"""Prompts and test cases as JSON brings them: either spelling, schemas in any form, and mistakes told by name."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import EvaluationMode, FieldError
from evenhand.workspace import documents
from evenhand.workspace.documents import prompt_text

PRICED = '{"type": "object",  "required": ["price"]}\n'


def schema_of(given: Any) -> str | None:
    return documents.test_case_text({"input": "x", "evaluation_schema": given}).evaluation_schema


def refused(**fields: Any) -> FieldError:
    with pytest.raises(FieldError) as caught:
        prompt_text({"name": "p", **fields})
    return caught.value


def test_both_spellings_mean_the_same() -> None:
    fields = {"content": "c", "expected_schema": "{}", "evaluation_mode": "schema", "evaluation_criteria": "k"}
    camel = {"content": "c", "expectedSchema": "{}", "evaluationMode": "schema", "evaluationCriteria": "k"}

    assert prompt_text({"name": "p", **fields}) == prompt_text({"name": "p", **camel})
    assert documents.test_case_text(
        {"input": "x", "evaluationSchema": "{}", "reference": "r"}
    ) == documents.test_case_text({"input": "x", "evaluation_schema": "{}", "reference": "r"})


def test_both_spellings_at_once_are_refused_even_if_they_agree() -> None:
    error = refused(evaluationMode="llm", evaluation_mode="llm")

    assert str(error) == "evaluation_mode: it is given twice, in both spellings"


def test_an_unknown_key_is_refused_by_its_name_with_the_nearest_one() -> None:
    error = refused(evaluationCritera="x")

    assert error.field == "evaluationCritera"
    assert error.told == "a prompt has no such field; did you mean 'evaluation_criteria'?"
    with pytest.raises(FieldError, match=r"^inputs: a test case has no such field; did you mean 'input'\?$"):
        documents.test_case_text({"inputs": "x"})


def test_a_key_of_a_million_letters_is_refused_in_one_line() -> None:
    error = refused(**{"k" * 1_000_000: 1})

    assert len(str(error)) < 250


def test_the_usual_mode_is_llm_and_a_misspelt_one_is_refused() -> None:
    error = refused(evaluation_mode="shema")

    assert prompt_text({"name": "p"}).evaluation_mode is EvaluationMode.LLM
    assert prompt_text({"name": "p", "evaluation_mode": None}).evaluation_mode is EvaluationMode.LLM
    assert str(error) == "evaluation_mode: no mode 'shema'; did you mean 'schema'?"
    assert str(refused(evaluation_mode=["llm"])) == "evaluation_mode: no mode \"['llm']\"; did you mean 'llm'?"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (PRICED, PRICED),
        ({"type": "object"}, '{\n  "type": "object"\n}'),
        ({}, "{}"),
        ("{}", "{}"),
        (True, "true"),
        (False, "false"),
        (" \n\t", " \n\t"),
        ("", ""),
        (None, None),
        ({"const": "ü"}, '{\n  "const": "ü"\n}'),
    ],
)
def test_a_schema_is_kept_as_it_was_typed_or_written_out(given: Any, kept: str | None) -> None:
    assert schema_of(given) == kept


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('{"type":\n  "object",}', r"^evaluation_schema: not JSON at line 2 column 12: "),
        ("{", r"^evaluation_schema: not JSON.* at column 2"),
        ('{"properties": {"price": {"type": "numbr"}}}', r"^evaluation_schema: \$\.properties\.price\.type: \"numbr\""),
        ('{"a": 1, "a": 2}', "duplicate key in an object: 'a'"),
        ("null", "null is not of types"),
        ("[1]", r"\[1\] is not of types"),
        (7, "it must be a JSON Schema, as text or as an object, not int"),
        ([], "it must be a JSON Schema, as text or as an object, not list"),
        ({"const": float("nan")}, "it holds what JSON cannot"),
        ({"const": 10**5000}, "it holds what JSON cannot"),
        ({"const": "\ud800"}, "half of a surrogate pair"),
        ({"const": "\0"}, None),
        ('{"$ref": "#/nowhere"}', r"\$\.\$ref is '#/nowhere', but there is no schema there"),
    ],
)
def test_a_schema_that_is_none_is_refused_with_its_place(given: Any, told: str | None) -> None:
    if told is None:  # JSON spells it with an escape, which can be kept
        assert schema_of(given) == '{\n  "const": "\\u0000"\n}'
        return
    with pytest.raises(FieldError, match=told):
        schema_of(given)


def test_a_schema_that_is_nested_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(5000):
        deep = {"not": deep}

    with pytest.raises(FieldError, match="nested more than 100 levels deep"):
        schema_of(deep)


@pytest.mark.parametrize("given", ['{"type": "array"}', True, "false"])
def test_an_expected_schema_that_no_model_can_keep_to_is_refused_before_a_run(given: Any) -> None:
    assert str(refused(expected_schema=given)).startswith("expected_schema: models generate objects by a schema")
    assert prompt_text({"name": "p", "expected_schema": {}}).expected_schema == "{}"


@pytest.mark.parametrize("name", [None, "", "  \n", 7, "x" * 201])
def test_a_prompt_needs_a_name_of_reasonable_length(name: Any) -> None:
    assert refused(name=name).field == "name"
    with pytest.raises(FieldError, match=r"^name: it is missing"):
        prompt_text({})


@pytest.mark.parametrize("field", ["name", "content", "evaluation_criteria"])
@pytest.mark.parametrize(("sign", "shown"), [("\0", "U+0000"), ("\ud800", "U+D800"), ("\udfff", "U+DFFF")])
def test_what_no_database_keeps_is_refused_with_its_place(field: str, sign: str, shown: str) -> None:
    error = refused(**{field: f"abc{sign}"})

    assert error.field == field
    assert error.told.startswith(f"its character 4 is {shown}, which ")


@pytest.mark.parametrize("field", ["input", "reference"])
def test_a_test_case_refuses_the_same(field: str) -> None:
    with pytest.raises(FieldError, match=rf"^{field}: its character 2 is U\+0000, which no database can keep"):
        documents.test_case_text({"input": "x", field: "a\0"})


@pytest.mark.parametrize("field", ["content", "evaluation_criteria"])
def test_what_is_no_text_is_refused(field: str) -> None:
    assert str(refused(**{field: 5})) == f"{field}: it must be text, not int"


@pytest.mark.parametrize("given", [{"input": None}, {"input": " "}, {"input": 5}, {}])
def test_a_test_case_needs_an_input(given: Any) -> None:
    with pytest.raises(FieldError) as caught:
        documents.test_case_text(given)

    assert caught.value.field == "input"


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ConfigError, match="a prompt is an object with name, content"):
        prompt_text(["name"])  # type: ignore[arg-type]
