from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Generator
from typing import Any

import pytest

from evenhand import Case, Evaluation, Exec, SchemaEvaluator, Status, Verdict
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.reply import Exited
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import find_errors
from evenhand.registry import evaluator

pytestmark = pytest.mark.slow  # many small ones, which together would take the fast tests beyond their minute

PRICED = {"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}}


def judged(answer: str | None, against: Any = PRICED, /, **options: Any) -> Evaluation:
    return SchemaEvaluator(**options).evaluate(Case(candidate_answer=answer, evaluation_schema=against))


def test_a_valid_answer_scores_one() -> None:
    evaluation = judged('{"price": 3.5}')

    assert evaluation.status is Status.SCORED
    assert (evaluation.score, evaluation.verdict) == (1.0, Verdict.PASS)
    assert evaluation.hits == ("The answer is valid against the schema.",)
    assert evaluation.details == {"valid": True, "errors": []}


def test_an_invalid_answer_scores_zero_with_every_error_and_its_path() -> None:
    schema = {"properties": {"items": {"items": {"type": "number"}}, "name": {"minLength": 3}}}

    evaluation = judged('{"items": [1, "x", null], "name": "ab"}', schema)

    assert evaluation.status is Status.SCORED
    assert (evaluation.score, evaluation.verdict) == (0.0, Verdict.FAIL)
    assert sorted(evaluation.misses) == [
        '$.items[1]: "x" is not of type "number"',
        '$.items[2]: null is not of type "number"',
        '$.name: "ab" is shorter than 3 characters',
    ]
    assert evaluation.hits == ()
    assert evaluation.details["valid"] is False
    assert {"path": "$.items[1]", "message": '"x" is not of type "number"'} in evaluation.details["errors"]
    assert evaluation.reasoning == "The answer is not valid against the schema: 3 errors."


@pytest.mark.parametrize("schema", [json.dumps(PRICED), f"\n  {json.dumps(PRICED, indent=2)}\n", PRICED])
def test_the_schema_of_a_case_is_text_or_an_object(schema: Any) -> None:
    assert judged('{"price": "dear"}', schema).misses == ('$.price: "dear" is not of type "number"',)


@pytest.mark.parametrize(("schema", "score"), [(True, 1), (False, 0), ("true", 1), ("false", 0), ({}, 1), ("{}", 1)])
def test_true_false_and_an_empty_object_are_schemas(schema: Any, score: float) -> None:
    assert judged("[]", schema).score == score


@pytest.mark.parametrize("schema", [None, "", " \n\t "])
def test_without_a_schema_nothing_is_evaluated(schema: Any) -> None:
    evaluation = judged("{}", schema)

    assert evaluation.status is Status.NOT_EVALUATED
    assert (evaluation.score, evaluation.verdict) == (None, None)
    assert evaluation.reasoning == "There is no evaluation schema."


def test_without_an_answer_nothing_is_evaluated() -> None:
    evaluation = judged(None)

    assert evaluation.status is Status.NOT_EVALUATED
    assert evaluation.reasoning == "There is no candidate answer."


def test_the_evaluators_own_schema_is_for_cases_that_have_none() -> None:
    assert judged('{"price": 1}', None, schema=PRICED).score == 1
    assert judged('{"price": 1}', " ", schema=json.dumps(PRICED)).score == 1
    assert judged('{"price": 1}', {"required": ["name"]}, schema=PRICED).score == 0


# Reading the answer


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        ("", "there is no text"),
        ("Sorry, I cannot.", "not JSON at column 1"),
        ('{"price": 1', "not JSON at column 12"),
        ('```json\n{"price": 1}\n```', "not JSON at line 1 column 1"),
        ('{"price": 1, "price": 2}', "duplicate key"),
        ('{"price": NaN}', "NaN is not JSON"),
        ('{"price": 1e999}', "too large a number"),
        ("[" * 1000 + "]" * 1000, "nested too deep"),
    ],
)
def test_an_answer_that_is_no_json_is_a_wrong_answer_and_no_error(answer: str, complaint: str) -> None:
    evaluation = judged(answer)

    assert evaluation.status is Status.SCORED
    assert (evaluation.score, evaluation.verdict) == (0.0, Verdict.FAIL)
    assert complaint in evaluation.misses[0]
    assert evaluation.details["errors"][0]["path"] == "$"


@pytest.mark.parametrize("answer", ['Here: {"price": 1}. Anything else?', '```json\n{"price": 1}\n```', '{"price": 1}'])
def test_tolerantly_the_first_object_in_the_answer_counts(answer: str) -> None:
    assert judged(answer, parse="tolerant").score == 1


def test_tolerantly_the_first_array_counts_too() -> None:
    assert judged("See [1, 2] and {}", {"type": "array"}, parse="tolerant").score == 1


def test_tolerantly_an_answer_without_json_is_still_wrong() -> None:
    evaluation = judged("Sorry.", parse="tolerant")

    assert (evaluation.status, evaluation.score) == (Status.SCORED, 0.0)
    assert "no JSON object or array" in evaluation.misses[0]


def test_half_a_surrogate_pair_in_an_answer_can_be_stored() -> None:
    evaluation = judged('{"\\ud800": "\\udfff"}', {"additionalProperties": {"type": "number"}})

    stored = json.dumps(evaluation.as_dict(), ensure_ascii=False).encode("utf-8")

    assert evaluation.score == 0
    assert b"is not of type" in stored


# Schemas that are none


@pytest.mark.parametrize("schema", ["{", {"type": "strin"}, {"$ref": "#"}, {"$ref": "https://example.org/s"}, "[]"])
def test_a_schema_that_is_none_is_an_error_and_no_wrong_answer(schema: Any) -> None:
    evaluation = judged("{}", schema)

    assert evaluation.status is Status.ERROR
    assert str(evaluation.error).startswith("schema: ")
    assert (evaluation.score, evaluation.verdict, evaluation.misses) == (0.0, Verdict.FAIL, ())


def test_a_schema_that_is_none_is_refused_as_an_option() -> None:
    with pytest.raises(ConfigError, match=r"^schema 'prices': schema: \$\.type"):
        SchemaEvaluator(name="prices", schema={"type": "strin"})


def test_parse_has_two_ways() -> None:
    with pytest.raises(ConfigError, match="parse is 'loose'; it must be 'strict' or 'tolerant'"):
        SchemaEvaluator(parse="loose")  # type: ignore[arg-type]  # what a file may say


def test_it_is_registered_as_schema() -> None:
    made = evaluator({"type": "schema", "name": "shape", "schema": "{}", "parse": "tolerant"})

    assert isinstance(made, SchemaEvaluator)
    assert made.name == "shape"


# In a process of its own


def test_what_cannot_be_counted_is_checked_in_a_process_of_its_own() -> None:
    tree = {
        "$id": "https://example.org/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
        "$defs": {
            "tree": {
                "$id": "tree",
                "$dynamicAnchor": "node",
                "properties": {"data": True, "children": {"items": {"$dynamicRef": "#node"}}},
            }
        },
    }

    assert judged('{"children": [{"data": 1}]}', tree).score == 1
    assert judged('{"children": [{"daat": 1}]}', tree).misses == (
        "$.children[0]: Unevaluated properties are not allowed ('daat' was unexpected)",
    )


def test_schemas_can_themselves_be_judged_by_their_meta_schema() -> None:
    meta = {"$ref": "https://json-schema.org/draft/2020-12/schema"}

    assert judged('{"type": "object"}', meta).score == 1
    assert "$.type" in judged('{"type": "objekt"}', meta).misses[0]


def test_a_large_answer_is_checked_in_a_process_of_its_own() -> None:
    answer = json.dumps([*range(30_000), "x", "\ud800é"])

    evaluation = judged(answer, {"items": {"type": "integer"}})

    assert len(evaluation.misses) == 2
    assert evaluation.misses[0] == '$[30000]: "x" is not of type "integer"'


@pytest.mark.slow
def test_an_answer_with_too_many_errors_to_list_is_wrong_all_the_same() -> None:
    evaluation = judged(json.dumps([1] * 400_000), {"items": {"type": "string"}})

    assert (evaluation.status, evaluation.score) == (Status.SCORED, 0.0)
    assert evaluation.misses == ("$: the value is not valid, and has more errors than could be listed",)


def test_a_reference_that_only_the_other_process_can_resolve_is_still_the_schemas_failure() -> None:
    evaluation = judged("1", {"$dynamicRef": "#nowhere"})

    assert evaluation.error == "schema: $: Anchor 'nowhere' does not exist"


def answered(exited: Exited) -> list[tuple[str, str]]:
    """Let a process that checks a value end in some way."""
    checking = find_errors(compile_schema({"$dynamicAnchor": "a", "items": {"$dynamicRef": "#a"}}), [])
    (want,) = next(checking)
    assert isinstance(want, Exec)
    assert want.argv[0] == sys.executable
    assert json.loads(want.stdin)["value"] == []
    return outcome(checking, exited)


def outcome(steps: Generator[Any, Any, list[tuple[str, str]]], exited: Exited) -> list[tuple[str, str]]:
    with pytest.raises(StopIteration) as stop:
        steps.send((exited,))
    found: list[tuple[str, str]] = stop.value.value
    return found


def test_a_process_that_found_errors_is_believed() -> None:
    exited = Exited(code=0, stdout='{"valid": false}\n{"errors": [["$", "wrong"]]}\n', stderr="", seconds=0.1)

    assert answered(exited) == [("$", "wrong")]


def test_a_process_that_had_too_much_to_say_is_believed_that_the_answer_is_wrong() -> None:
    said = '{"valid": false}\n{"errors": [["$", "wro'
    exited = Exited(code=None, stdout=said, stderr="", seconds=1, problem="output_too_large: 10 MiB")

    assert answered(exited) == [("$", "the value is not valid, and has more errors than could be listed")]


@pytest.mark.parametrize(
    ("exited", "why"),
    [
        (Exited(code=1, stdout="", stderr="Timeout (0:00:01)!", seconds=1.2), "it took more than 1 s"),
        (Exited(code=-11, stdout="", stderr="", seconds=0.1), "exit code -11"),
        (Exited(code=None, stdout="", stderr="", seconds=30, problem="timeout: 30 s"), "timeout: 30 s"),
    ],
)
def test_a_process_that_died_leaves_the_answer_unchecked(exited: Exited, why: str) -> None:
    with pytest.raises(
        ContractError, match=rf"could not be checked: {why}; not done at once because \$\.items"
    ) as raised:
        answered(exited)

    assert raised.value.kind == "schema"


def test_a_schema_with_long_texts_is_applied_apart_where_many_errors_would_repeat_them() -> None:
    case = Case(candidate_answer=json.dumps([1] * 9000), evaluation_schema={"items": {"const": "x" * 200 * 1024}})

    evaluation = SchemaEvaluator().evaluate(case)

    assert evaluation.verdict == "fail"


def test_long_keys_do_not_multiply_when_a_schema_is_compiled() -> None:
    schema: dict[str, Any] = {
        "properties": {"k" * 400_000: {"properties": {f"a{number}": {} for number in range(1000)}}}
    }

    tracemalloc.start()
    SchemaEvaluator(schema=schema)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert most < 100 * 1024 * 1024
