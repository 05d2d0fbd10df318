"""A judge card read back from the plain values that it was kept as."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import types
import typing
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, Literal, Union

from evenhand.stats.refusal import Refused
from evenhand.trust.card import JudgeCard

# To be raised when numbers of the same name are worked out in another way.
_VERSION: Final = 1
_REFUSED: Final = "refused"


def card_from(data: Mapping[str, Any]) -> JudgeCard:
    """Make a card from what its ``as_dict`` returned; anything else raises KeyError, TypeError or ValueError."""
    card = _value(JudgeCard, data)
    if not isinstance(card, JudgeCard):
        raise TypeError(f"no judge card: {card!r:.80}")
    return card


@functools.cache
def card_format() -> str:
    """Return an id of the format of cards, so that none is read that was written in an older format."""
    names = sorted(f"{kind.__name__} {' '.join(_hints(kind))}" for kind in _kinds(JudgeCard, set()))
    return f"{_VERSION}:{hashlib.sha256(repr(names).encode()).hexdigest()[:16]}"


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    fields = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else list(hints)
    return {name: hints[name] for name in fields}


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and (dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"))


def _kinds(kind: Any, seen: set[type]) -> set[type]:
    """Return the classes of which a card is made."""
    if _is_record(kind):
        if kind not in seen:
            seen.add(kind)
            for part in _hints(kind).values():
                _kinds(part, seen)
    else:
        for part in typing.get_args(kind):
            _kinds(part, seen)
    return seen


def _value(kind: Any, data: Any) -> Any:
    """Return plain data as what a type says it is."""
    if kind is Any:
        return data
    origin, parts = typing.get_origin(kind), typing.get_args(kind)
    if origin in (Union, types.UnionType):
        return _one_of(parts, data)
    if origin is Literal:
        return data if data in parts else _refuse(kind, data)
    if origin is tuple:
        return tuple(_value(parts[0], each) for each in _checked(list, data))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        # The key None is written as an empty text.
        none = type(None) in typing.get_args(parts[0])
        return {None if none and key == "" else key: _value(parts[1], each) for key, each in data.items()}
    if _is_record(kind):
        given = _checked(dict, data)
        hints = _hints(kind)
        return kind(**{name: _value(hints[name], each) for name, each in given.items()})
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return kind(data)
    return _checked((int, float) if kind is float else kind, data)


def _one_of(parts: tuple[Any, ...], data: Any) -> Any:
    if data is None and type(None) in parts:
        return None
    if isinstance(data, dict) and data.keys() == {_REFUSED} and Refused in parts:
        return Refused(_checked(str, data[_REFUSED]))
    (kind,) = (part for part in parts if part not in (type(None), Refused))
    return _value(kind, data)


def _checked(kind: Any, data: Any) -> Any:
    return data if isinstance(data, kind) else _refuse(kind, data)


def _refuse(kind: Any, data: Any) -> Any:
    raise TypeError(f"{data!r:.80} is no {kind}")
