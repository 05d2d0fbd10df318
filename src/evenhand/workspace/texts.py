"""Prompts and test cases from JSON that comes in: names in either spelling, unknown keys refused, schemas looked at."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.domain.prompt import FieldError, PromptText, TestCaseText
from evenhand.evaluators.schema.compiled import compile_schema
from evenhand.evaluators.schema.evaluator import is_empty

PROMPT_FIELDS: Final = ("name", "content", "expected_schema", "evaluation_mode", "evaluation_criteria")
CASE_FIELDS: Final = ("input", "evaluation_schema", "reference")
_CAPITAL: Final = re.compile(r"(?<=[a-z])([A-Z])")


def prompt_text(given: Mapping[str, Any]) -> PromptText:
    """Take a prompt as JSON has it: ``evaluation_mode`` or ``evaluationMode``, a schema as text or as an object."""
    fields = _fields(given, PROMPT_FIELDS, "a prompt")
    if "name" not in fields:
        raise FieldError("name", "it is missing; a prompt needs one")
    fields["expected_schema"] = schema_text(fields.get("expected_schema"), "expected_schema")
    return PromptText(**{name: value for name, value in fields.items() if value is not None or name == "name"})


def test_case_text(given: Mapping[str, Any]) -> TestCaseText:
    """Take a test case as JSON has it."""
    fields = _fields(given, CASE_FIELDS, "a test case")
    if "input" not in fields:
        raise FieldError("input", "it is missing; a test case needs one")
    fields["evaluation_schema"] = schema_text(fields.get("evaluation_schema"), "evaluation_schema")
    return TestCaseText(**fields)


def schema_text(given: object, field: str) -> str | None:
    """Give a schema as text, as it was typed where it was text; one that cannot be used is refused (SPEC-M1)."""
    if given is None or (isinstance(given, str) and is_empty(given)):
        return given if isinstance(given, str) else None
    if not isinstance(given, (str, Mapping, bool)):
        raise FieldError(field, f"it must be a JSON Schema, as text or as an object, not {type(given).__name__}")
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, indent=2)
    try:
        compile_schema(text)
    except ConfigError as error:
        raise FieldError(field, str(error)) from None
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
            raise FieldError(str(written), f"{what} has no such field{did_you_mean(name, known)}")
        if name in fields:
            raise FieldError(name, "it is there twice, in both spellings")
        fields[name] = value
    return fields
