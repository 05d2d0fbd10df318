"""The keys that a user's object or function holds, which its errors may repeat."""

from __future__ import annotations

import contextlib
import functools
import os
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.domain.secret import SECRET_NAMES, Secret, scrubber_of

# Clients are wrapped in models, and those in chains, bindings and functions.
_DEEPEST: Final = 6
_MOST_OBJECTS: Final = 500
# What is shorter is a setting, such as max_tokens, or a placeholder.
_LEAST: Final = 8
_PLAIN: Final = (str, bytes, int, float, bool, type(None), type)


def keys_of(source: object) -> list[Secret]:
    """Find the keys in an object, and those in the environment, where its library may have looked for one."""
    values = [
        *_held_values(source),
        *(value.strip() for name, value in os.environ.items() if SECRET_NAMES.search(name)),
    ]
    return [Secret(value) for value in dict.fromkeys(values) if len(value) >= _LEAST]


def _held_values(source: object) -> Iterator[str]:
    """Look through an object's attributes, and those of what they hold, without running any code of theirs."""
    seen: set[int] = set()
    level: list[tuple[str, Any]] = [("", source)]
    for _ in range(_DEEPEST):
        below: list[tuple[str, Any]] = []
        for name, value in level:
            if (revealed := _revealed(name, value)) is not None:
                yield from (revealed, *revealed.split())
            elif not isinstance(value, _PLAIN) and id(value) not in seen and len(seen) < _MOST_OBJECTS:
                seen.add(id(value))
                below += _parts(value)
        level = below


def _revealed(name: str, value: Any) -> str | None:
    if hasattr(type(value), "get_secret_value"):  # pydantic's SecretStr
        value = value.get_secret_value()
        name = "secret"
    return value if isinstance(value, str) and SECRET_NAMES.search(name) else None


def _parts(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return [(str(name), item) for name, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [("", item) for item in value]
    parts = [*_dict(value, "__dict__").items(), *_dict(value, "__pydantic_private__").items()]
    # A method, a function that was made with a key in it, and what functools.partial makes of either.
    if isinstance(value, types.MethodType):
        parts += [("", value.__self__), ("", value.__func__)]
    if isinstance(value, functools.partial):
        parts += [("", value.func), ("", value.args), ("", value.keywords)]
    names = getattr(getattr(value, "__code__", None), "co_freevars", ())
    cells = getattr(value, "__closure__", None)
    if not isinstance(names, tuple) or not isinstance(cells, tuple):  # a mock has such attributes, of other types
        return parts
    for name, cell in zip(names, cells, strict=False):
        with contextlib.suppress(ValueError):  # not filled yet
            parts.append((name, cell.cell_contents))
    return parts


def _dict(value: Any, name: str) -> Mapping[str, Any]:
    attribute = getattr(value, name, None)
    return attribute if isinstance(attribute, dict) else {}


def message_of(error: BaseException, source: object) -> str:
    """Return the words of an exception that a user's object or function raised, without the keys that it holds."""
    try:
        words = str(error)
    except Exception:  # anybody's code
        return "(its message cannot be read)"
    return scrubber_of(keys_of(source)).scrub(words) if words else ""
