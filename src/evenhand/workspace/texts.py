"""Prompts and test cases from JSON that comes in: names in either spelling, unknown keys refused, schemas looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.prompt import FieldError, PromptText, TestCaseText
from evenhand.evaluators.output_schema import output_contract
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import is_empty

PROMPT_FIELDS: Final = ("name", "content", "expected_schema", "evaluation_mode", "evaluation_criteria")
CASE_FIELDS: Final = ("input", "evaluation_schema", "reference")
_LONGEST_SHOWN: Final = 80
_CAPITAL: Final = re.compile(r"(?<=[a-z])([A-Z])")


def prompt_text(given: Mapping[str, Any]) -> PromptText:
    """Take a prompt as JSON has it: ``evaluation_mode`` or ``evaluationMode``, a schema as text or as an object."""
    fields = _fields(given, PROMPT_FIELDS, "a prompt")
    if "name" not in fields:
        raise FieldError("name", "it is missing; a prompt needs one")
    fields["expected_schema"] = expected_schema_text(fields.get("expected_schema"), "expected_schema")
    return PromptText(**{name: value for name, value in fields.items() if value is not None or name == "name"})


def test_case_text(given: Mapping[str, Any]) -> TestCaseText:
    """Take a test case as JSON has it."""
    fields = _fields(given, CASE_FIELDS, "a test case")
    if "input" not in fields:
        raise FieldError("input", "it is missing; a test case needs one")
    fields["evaluation_schema"] = schema_text(fields.get("evaluation_schema"), "evaluation_schema")
    return TestCaseText(**fields)


def schema_text(given: object, field: str) -> str | None:
    """Return a schema as text, as it was typed where it was text; one that cannot be used is refused (SPEC-M1)."""
    if given is None or (isinstance(given, str) and is_empty(given)):
        return given if isinstance(given, str) else None
    if not isinstance(given, (str, Mapping, bool)):
        raise FieldError(field, f"it must be a JSON Schema, as text or as an object, not {type(given).__name__}")
    try:
        compile_schema(given)
    except ConfigError as error:
        raise FieldError(field, str(error).removeprefix("schema: ")) from None
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)


def expected_schema_text(given: object, field: str) -> str | None:
    """Return a schema that models are to generate by as text; refused too is one that none could be told to keep to."""
    text = schema_text(given, field)
    if text is None or is_empty(text):
        return text
    schema = parse_strict(text)
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise FieldError(field, "models generate objects by a schema, so it must be one of an object")
    try:
        output_contract(schema)
    except ConfigError as error:
        raise FieldError(field, str(error).removeprefix("output_schema: ")) from None
    return text


def snake(name: str) -> str:
    """Write a name as we do.

    >>> snake("evaluationMode")
    'evaluation_mode'
    """
    return _CAPITAL.sub(r"_\1", name).lower()


def _fields(given: Mapping[str, Any], known: tuple[str, ...], what: str) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        raise ConfigError(f"{what} is an object with {', '.join(known)}, not {type(given).__name__}")
    fields: dict[str, Any] = {}
    for written, value in given.items():
        name = snake(str(written))
        if name not in known:
            near = did_you_mean(name[:_LONGEST_SHOWN], known)
            raise FieldError(str(written)[:_LONGEST_SHOWN], f"{what} has no such field{near}")
        if name in fields:
            raise FieldError(name, "it is given twice, in both spellings")
        fields[name] = value
    return fields
