"""JSON Schema from a ``TypedDict``, whichever module and Python it comes from (SPEC-F6)."""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin

from evenhand.domain.errors import ConfigError

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


def is_typed_dict(thing: object) -> bool:
    """Tell whether a thing is a ``TypedDict`` class, of ``typing`` or ``typing_extensions``."""
    return isinstance(thing, type) and issubclass(thing, dict) and hasattr(thing, "__total__")


def typed_dict_schema(kind: type) -> dict[str, Any]:
    """Give the JSON Schema that values of a ``TypedDict`` satisfy.

    >>> from typing import TypedDict
    >>> Grade = TypedDict("Grade", {"quality": float})
    >>> typed_dict_schema(Grade)["properties"]
    {'quality': {'type': 'number'}}
    """
    return _of_typed_dict(kind, kind.__name__, ())


def _of_typed_dict(kind: type, where: str, outer: tuple[type, ...]) -> dict[str, Any]:
    if kind in outer:
        raise ConfigError(f"output_schema: {where} contains itself; write it as a JSON Schema with $ref")
    try:
        hints = typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise ConfigError(f"output_schema: {where} names a type that cannot be found: {error}") from None
    return {
        "title": kind.__name__,
        "type": "object",
        "properties": {name: _of(hint, f"{where}.{name}", (*outer, kind)) for name, hint in hints.items()},
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


def _of(hint: Any, where: str, outer: tuple[type, ...]) -> dict[str, Any]:
    if is_typed_dict(hint):
        return _of_typed_dict(hint, where, outer)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return {"enum": [member.value for member in hint]}
    origin = get_origin(hint)
    if origin is not None:
        return _of_generic(origin, get_args(hint), where, outer)
    for plain, schema in _PLAIN.items():
        if hint is plain:
            return dict(schema)
    raise _no_json_form(hint, where)


def _of_generic(origin: Any, args: tuple[Any, ...], where: str, outer: tuple[type, ...]) -> dict[str, Any]:
    if origin is Annotated:
        texts = [note for note in args[1:] if isinstance(note, str)]
        described: dict[str, Any] = {"description": texts[0]} if texts else {}
        return _of(args[0], where, outer) | described
    if origin in {Required, NotRequired}:
        return _of(args[0], where, outer)
    if origin is Literal:
        return {"enum": list(args)}
    if origin in {Union, types.UnionType}:
        return {"anyOf": [_of(arg, where, outer) for arg in args]}
    if origin in {list, Sequence}:
        return {"type": "array"} | ({"items": _of(args[0], f"{where}[]", outer)} if args else {})
    if origin in {dict, Mapping} and (not args or args[0] is str):
        return {"type": "object"} | ({"additionalProperties": _of(args[1], f"{where}.*", outer)} if args else {})
    raise _no_json_form(origin, where)


def _no_json_form(hint: object, where: str) -> ConfigError:
    return ConfigError(
        f"output_schema: {where} has the type {hint!r}, which has no JSON form here; "
        "use str, int, float, bool, None, Literal, list, dict, unions or a TypedDict"
    )
