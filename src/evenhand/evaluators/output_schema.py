"""A user's own format for a judge's reply: JSON Schema, ``TypedDict`` or Pydantic model (SPEC-F6)."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evenhand.domain.contract import Accepted
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.evaluators.schema.compiled import CompiledSchema, compile_schema
from evenhand.evaluators.typed_schema import is_typed_dict, typed_dict_schema

VALUE = "value"
_MOST_TOLD = 5


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
        return _told_apart(accepted.values[VALUE])


def _told_apart(value: object) -> object:
    """Tell true from 1, which Python holds to be equal."""
    match value:
        case bool():
            return (bool, value)
        case dict():
            return {key: _told_apart(one) for key, one in value.items()}
        case list():
            return [_told_apart(one) for one in value]
        case _:
            return value


def output_contract(given: object) -> SchemaContract:
    """Take an output schema as a user may give it."""
    if isinstance(given, type) and hasattr(given, "model_json_schema") and hasattr(given, "model_validate_json"):
        described = given.model_json_schema()
        return SchemaContract(described=described, make=_instance_of(given, _compiled(described)))
    if isinstance(given, type) and is_typed_dict(given):
        given = typed_dict_schema(given)
    if not isinstance(given, Mapping):
        raise ConfigError(f"output_schema must be a JSON Schema, a TypedDict or a Pydantic model, not {given!r:.80}")
    if given.get("type", "object") != "object":
        raise ConfigError(
            f"output_schema: its type is {given['type']!r}; a judge replies with an object, so wrap it in one"
        )
    compiled = _compiled(given)

    def valid(value: object) -> object:
        _require_valid(compiled, value)
        return value

    # A copy: what the user does with theirs later must not change what the judge is told.
    return SchemaContract(described=copy.deepcopy(dict(given)), make=valid)


def _compiled(described: Mapping[str, Any]) -> CompiledSchema:
    compiled = compile_schema(described)
    if compiled.apart:  # better said now than after the judge was paid
        raise ConfigError(f"output_schema: replies cannot be checked against it at once: {compiled.apart}")
    return compiled


def _require_valid(compiled: CompiledSchema, value: object) -> None:
    errors = compiled.errors(value)[:_MOST_TOLD]
    if errors:
        places = ", ".join(dict.fromkeys(path for path, _ in errors))
        raise ContractError(
            "; ".join(f"{path}: {message}" for path, message in errors),
            told=f"it does not satisfy the schema at {places}",
        )


def _instance_of(model: Any, compiled: CompiledSchema) -> Callable[[Any], Any]:
    """Make instances of a Pydantic model. The schema comes first: models would take true for 1, and "NaN"."""

    def instance(value: object) -> object:
        _require_valid(compiled, value)
        try:
            return model.model_validate_json(json.dumps(value))
        except Exception as error:  # its validators are the user's code
            raise ContractError(
                " ".join(str(error).split()), told="it does not satisfy the model's own checks"
            ) from None

    return instance
