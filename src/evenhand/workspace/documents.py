"""Prompts with their test cases as JSON, checked when it comes in, and as a suite (SPEC-M1, M5, S2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.message import messages_from
from evenhand.domain.prompt import FieldError, Prompt, PromptText, TestCase, TestCaseText
from evenhand.evaluators.output_schema import output_contract
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import is_empty
from evenhand.reports.json import moment
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import asks_judge, case_of, evaluator_of

PROMPT_FIELDS: Final = ("name", "content", "expected_schema", "evaluation_mode", "evaluation_criteria")
CASE_FIELDS: Final = ("input", "evaluation_schema", "reference")
_LONGEST_SHOWN: Final = 80
_CAPITAL: Final = re.compile(r"(?<=[a-z])([A-Z])")


def prompt_text(raw: Mapping[str, Any]) -> PromptText:
    """Parse a prompt from JSON: ``evaluation_mode`` or ``evaluationMode``, a schema as text or as an object."""
    fields = _fields(raw, PROMPT_FIELDS, "a prompt")
    if "name" not in fields:
        raise FieldError("name", "it is missing; a prompt needs one")
    fields["expected_schema"] = expected_schema_text(fields.get("expected_schema"), "expected_schema")
    return PromptText(**{name: value for name, value in fields.items() if value is not None or name == "name"})


def test_case_text(raw: Mapping[str, Any]) -> TestCaseText:
    """Parse a test case from JSON."""
    fields = _fields(raw, CASE_FIELDS, "a test case")
    if "input" not in fields:
        raise FieldError("input", "it is missing; a test case needs one")
    fields["evaluation_schema"] = schema_text(fields.get("evaluation_schema"), "evaluation_schema")
    return TestCaseText(**fields)


def schema_text(value: object, field: str) -> str | None:
    """Return a schema as text, as it was typed where it was text; one that cannot be used is refused (SPEC-M1)."""
    if value is None or (isinstance(value, str) and is_empty(value)):
        return value if isinstance(value, str) else None
    if not isinstance(value, (str, Mapping, bool)):
        raise FieldError(field, f"it must be a JSON Schema, as text or as an object, not {type(value).__name__}")
    try:
        compile_schema(value)
    except ConfigError as error:
        raise FieldError(field, error.problem) from error
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def expected_schema_text(value: object, field: str) -> str | None:
    """Return a schema that models are to generate by as text; one that no model could be held to is refused too."""
    text = schema_text(value, field)
    if text is None or is_empty(text):
        return text
    schema = parse_strict(text)
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise FieldError(field, "models generate objects by a schema, so it must be one of an object")
    try:
        output_contract(schema)
    except ConfigError as error:
        raise FieldError(field, error.problem) from None
    return text


def snake(name: str) -> str:
    """Return a name in snake case.

    >>> snake("evaluationMode")
    'evaluation_mode'
    """
    return _CAPITAL.sub(r"_\1", name).lower()


def _fields(raw: Mapping[str, Any], names: tuple[str, ...], subject: str) -> dict[str, Any]:
    if not isinstance(raw, Mapping):
        raise ConfigError(f"{subject} is an object with {', '.join(names)}, not {type(raw).__name__}")
    fields: dict[str, Any] = {}
    for written, value in raw.items():
        name = snake(str(written))
        if name not in names:
            near = did_you_mean(name[:_LONGEST_SHOWN], names)
            raise FieldError(str(written)[:_LONGEST_SHOWN], f"{subject} has no such field{near}")
        if name in fields:
            raise FieldError(name, "it is given twice, in both spellings")
        fields[name] = value
    return fields


def suite_of(prompt: Prompt, cases: Iterable[TestCase], *, model: str | None, judge: str | None) -> dict[str, Any]:
    """Return the suite that judges what a trial of the prompt would, as plain values.

    The content is a message of each case: in the target's own ``system`` text, double braces in it would be
    placeholders. Without ``model`` there is no target; the run of the suite names one.
    """
    text = prompt.text
    suite: dict[str, Any] = {"name": f"{prompt.name} v{prompt.version}"}
    if not is_empty(text.expected_schema):
        if model is None:
            raise ConfigError(
                f"prompt {prompt.name!r} has an expected schema, which belongs to the model of the suite's target; "
                "name one with --model"
            )
        suite["target"] = {"model": model, "response_schema": text.expected_schema}
    elif model is not None:
        suite["target"] = {"model": model}
    if judge is not None and asks_judge(text):
        suite["judge"] = judge
    suite |= {"evaluators": [evaluator_of(text)], "cases": [_case(case_of(text, case)) for case in cases]}
    if not suite["cases"]:
        raise ConfigError(f"prompt {prompt.name!r} has no test cases yet, and a suite needs some; add one")
    return suite


def _case(case: Case) -> dict[str, Any]:
    fields = {
        "id": case.id,
        "input": [{"role": message.role, "content": message.content} for message in messages_from(case.input_messages)],
        "expected_outcome": case.expected_outcome,
        "reference_answer": case.reference_answer,
        "evaluation_schema": case.evaluation_schema,
    }
    return {name: value for name, value in fields.items() if value is not None}


FORMAT: Final = "evenhand-prompts"
FORMAT_VERSION: Final = 1
CASES: Final = "test_cases"


def export_document(store: Store, names: Iterable[str] | None = None) -> dict[str, Any]:
    """Return prompts with their test cases as one document: all of them, or those that are named."""
    wanted = None if names is None else list(names)

    def written() -> list[dict[str, Any]]:
        prompts = store.prompts.all() if wanted is None else _prompts_named(store, wanted)
        return [
            prompt_dict(prompt.text) | {CASES: [case_dict(case) for case in store.prompts.cases(prompt.id)]}
            for prompt in prompts
        ]

    # What is written meanwhile is in it as a whole or not at all.
    prompts = store.atomically(written, exclusive=True)
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "prompts": prompts}


def _prompts_named(store: Store, names: Iterable[str]) -> list[Prompt]:
    """Return prompts by their ids or names, without duplicates."""
    prompts = [store.prompts.find(name) for name in names]
    return list({prompt.id: prompt for prompt in prompts}.values())


def prompt_dict(text: PromptText) -> dict[str, Any]:
    """Return what a user wrote of a prompt, by the names of the format."""
    values = {name: getattr(text, name) for name in PROMPT_FIELDS}
    return values | {"evaluation_mode": text.evaluation_mode.value}


def case_dict(case: TestCase) -> dict[str, Any]:
    """Return what a user wrote of a test case, by the names of the format."""
    return {
        "input": case.text.input,
        "evaluation_schema": case.text.evaluation_schema,
        "reference": case.text.reference,
    }


def prompt_summary(prompt: Prompt) -> dict[str, Any]:
    """Return everything about a prompt, in plain JSON values; times as ISO 8601."""
    return {
        "id": prompt.id,
        "version": prompt.version,
        "latest_version": prompt.latest,
        **prompt_dict(prompt.text),
        "test_cases": prompt.test_cases,
        "created": moment(prompt.created),
        "edited": moment(prompt.edited),
    }


def case_summary(case: TestCase) -> dict[str, Any]:
    """Return everything about a test case, in plain JSON values; times as ISO 8601."""
    return {
        "id": case.id,
        "prompt_id": case.prompt_id,
        "version": case.version,
        **case_dict(case),
        "created": moment(case.created),
        "edited": moment(case.edited),
    }
