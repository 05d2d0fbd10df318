"""A user's own format for a judge's reply: JSON Schema, ``TypedDict`` or Pydantic model (SPEC-F6)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.domain.contract import Accepted
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.evaluators.json_schema import compile_schema
from evenhand.evaluators.typed_schema import is_typed_dict, typed_dict_schema

VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaContract:
    """A contract that is a JSON Schema; ``make`` turns a valid reply into what the user gets."""

    described: Mapping[str, Any]
    make: Callable[[Any], Any]
    name: str = field(default="output", init=False)
    closed: bool = field(default=False, init=False)

    def instructions(self) -> str:
        """Tell the judge how to reply."""
        schema = json.dumps(self.described, ensure_ascii=False)
        return (
            "Reply with a single JSON object and nothing else: no code fence, no text before or after it.\n"
            f"It must satisfy this JSON Schema:\n{schema}"
        )

    def schema(self) -> dict[str, Any]:
        """Give the JSON Schema for a model with structured output."""
        return dict(self.described)

    def accept(self, value: object) -> Accepted:
        """Check a parsed reply."""
        return Accepted({VALUE: self.make(value)})

    def decision(self, accepted: Accepted) -> object:
        """Give the whole reply: every part of it is the user's."""
        return accepted.values[VALUE]


def output_contract(given: object) -> SchemaContract:
    """Take an output schema as a user may give it."""
    if isinstance(given, type) and hasattr(given, "model_json_schema") and hasattr(given, "model_validate"):
        return SchemaContract(described=given.model_json_schema(), make=_validated_by(given))
    if isinstance(given, type) and is_typed_dict(given):
        given = typed_dict_schema(given)
    if not isinstance(given, Mapping):
        raise ConfigError(f"output_schema must be a JSON Schema, a TypedDict or a Pydantic model, not {given!r:.80}")
    compiled = compile_schema(given)

    def valid(value: object) -> object:
        errors = compiled.errors(value)
        if errors:
            raise ContractError("; ".join(f"{path}: {message}" for path, message in errors[:5]))
        return value

    return SchemaContract(described=given, make=valid)


def _validated_by(model: Any) -> Callable[[Any], Any]:
    def valid(value: object) -> object:
        try:
            return model.model_validate(value)
        except ValueError as error:  # pydantic's ValidationError is one
            raise ContractError(" ".join(str(error).split())) from None

    return valid
