"""A user's own format for a judge's reply: JSON Schema, ``TypedDict`` or Pydantic model (SPEC-F6)."""

from __future__ import annotations

import copy
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from evenhand.domain.contract import Accepted
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.evaluators.schema.compiled import CompiledSchema, compile_schema

_PLAIN: Mapping[object, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
    list: {"type": "array"},
    dict: {"type": "object"},
}


def is_typed_dict(value: object) -> bool:
    """Return whether a value is a ``TypedDict`` class, of ``typing`` or ``typing_extensions``."""
    return isinstance(value, type) and issubclass(value, dict) and hasattr(value, "__total__")


def typed_dict_schema(kind: type) -> dict[str, Any]:
    """Return the JSON Schema that values of a ``TypedDict`` satisfy.

    >>> from typing import TypedDict
    >>> Grade = TypedDict("Grade", {"quality": float})
    >>> typed_dict_schema(Grade)["properties"]
    {'quality': {'type': 'number'}}
    """
    return _schema_of_typed_dict(kind, kind.__name__, ())


def _schema_of_typed_dict(kind: type, where: str, outer: tuple[type, ...]) -> dict[str, Any]:
    if kind in outer:
        raise ConfigError(f"{where} contains itself; write it as a JSON Schema with $ref")
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise ConfigError(f"{where} names a type that cannot be found: {error}") from None
    return {
        "title": kind.__name__,
        "type": "object",
        "properties": {name: _schema_of(hint, f"{where}.{name}", (*outer, kind)) for name, hint in hints.items()},
        "required": [name for name, hint in hints.items() if _is_required(kind, name, hint)],
        "additionalProperties": False,
    }


def _is_required(kind: type, name: str, hint: object) -> bool:
    # Under postponed annotations the class itself cannot see Required and NotRequired, so the hint decides first.
    origin = get_origin(hint)
    while origin is Annotated:
        hint = get_args(hint)[0]
        origin = get_origin(hint)
    if origin is Required:
        return True
    if origin is NotRequired:
        return False
    return name in getattr(kind, "__required_keys__", ())


def _schema_of(hint: Any, where: str, outer: tuple[type, ...]) -> dict[str, Any]:
    if is_typed_dict(hint):
        return _schema_of_typed_dict(hint, where, outer)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    origin = get_origin(hint)
    if origin is not None:
        return _schema_of_generic(origin, get_args(hint), where, outer)
    for plain, schema in _PLAIN.items():
        if hint is plain:
            return dict(schema)
    raise _no_json_form(hint, where)


def _schema_of_generic(origin: Any, args: tuple[Any, ...], where: str, outer: tuple[type, ...]) -> dict[str, Any]:
    if origin is Annotated:
        texts = [note for note in args[1:] if isinstance(note, str)]
        described: dict[str, Any] = {"description": texts[0]} if texts else {}
        return _schema_of(args[0], where, outer) | described
    if origin in {Required, NotRequired}:
        return _schema_of(args[0], where, outer)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_schema_of(arg, where, outer) for arg in args]}
    if origin in {list, Sequence}:
        return {"type": "array"} | ({"items": _schema_of(args[0], f"{where}[]", outer)} if args else {})
    if origin in {dict, Mapping} and (not args or args[0] is str):
        return {"type": "object"} | ({"additionalProperties": _schema_of(args[1], f"{where}.*", outer)} if args else {})
    raise _no_json_form(origin, where)


def _no_json_form(hint: object, where: str) -> ConfigError:
    return ConfigError(
        f"{where} has the type {hint!r}, which has no JSON form here; "
        "use str, int, float, bool, None, Literal, list, dict, unions or a TypedDict"
    )


VALUE = "value"
_MOST_ERRORS_SHOWN = 5


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
        """Return the JSON Schema for a model with structured output."""
        return dict(self.described)

    def accept(self, value: object) -> Accepted:
        """Check a parsed reply."""
        return Accepted({VALUE: self.make(value)})

    def decision(self, accepted: Accepted) -> object:
        """Return the whole reply: every part of it is the user's."""
        return _distinguish_booleans(accepted.values[VALUE])


def _distinguish_booleans(value: object) -> object:
    """Mark booleans, so that true differs from 1, which Python holds to be equal."""
    match value:
        case bool():
            return (bool, value)
        case dict():
            return {key: _distinguish_booleans(item) for key, item in value.items()}
        case list():
            return [_distinguish_booleans(item) for item in value]
        case _:
            return value


def output_contract(schema: object) -> SchemaContract:
    """Make the contract of an output schema, in any form that a user may give it."""
    try:
        return _output_contract(schema)
    except ConfigError as error:
        raise error.within("output_schema") from None


def _output_contract(schema: object) -> SchemaContract:
    if isinstance(schema, type) and hasattr(schema, "model_json_schema") and hasattr(schema, "model_validate_json"):
        described = schema.model_json_schema()
        return SchemaContract(described=described, make=_instance_of(schema, _compiled(described)))
    if isinstance(schema, type) and is_typed_dict(schema):
        schema = typed_dict_schema(schema)
    schema = _unwrapped(schema)
    if not isinstance(schema, Mapping):
        raise ConfigError(f"it must be a JSON Schema, a TypedDict or a Pydantic model, not {schema!r:.80}")
    if schema.get("type", "object") != "object":
        raise ConfigError(f"its type is {schema['type']!r}; a judge replies with an object, so wrap it in one")
    compiled = _compiled(schema)

    def valid(value: object) -> object:
        _require_valid(compiled, value)
        return value

    # A copy: what the user does with theirs later must not change what the judge is told.
    return SchemaContract(described=copy.deepcopy(dict(schema)), make=valid)


# The keys around a schema in OpenAI's ``response_format``.
_AROUND_A_SCHEMA = frozenset({"name", "description", "strict", "schema"})


def _unwrapped(schema: object) -> object:
    """Return the schema within OpenAI's form of it, in which it would check nothing; any other as it is."""
    if isinstance(schema, Mapping) and schema.get("type") == "json_schema":
        schema = schema.get("json_schema")
    if isinstance(schema, Mapping) and "schema" in schema and schema.keys() <= _AROUND_A_SCHEMA:
        return schema["schema"]
    return schema


def _compiled(described: Mapping[str, Any]) -> CompiledSchema:
    compiled = compile_schema(described)
    if compiled.apart:  # better said now than after the judge was paid
        raise ConfigError(f"replies cannot be checked against it at once: {compiled.apart}")
    return compiled


def _require_valid(compiled: CompiledSchema, value: object) -> None:
    errors = compiled.errors(value)[:_MOST_ERRORS_SHOWN]
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
