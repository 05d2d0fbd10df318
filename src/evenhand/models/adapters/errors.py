"""Errors of other libraries: their kind, by the shape of the exception, and the keys their messages may repeat."""

from __future__ import annotations

import contextlib
import functools
import os
import time
import types
from collections.abc import Iterator, Mapping
from typing import Any, Final

from evenhand.domain.scale import is_finite_number
from evenhand.domain.secret import Secret
from evenhand.models.environment import SECRET_NAMES
from evenhand.models.retry import TransportFault, retry_after_seconds, status_fault

# Clients are wrapped in models, and those in chains and bindings.
_DEEPEST: Final = 5
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
    for name, cell in zip(names, getattr(value, "__closure__", None) or (), strict=False):
        with contextlib.suppress(ValueError):  # not filled yet
            parts.append((name, cell.cell_contents))
    return parts


def _dict(value: Any, name: str) -> Mapping[str, Any]:
    attribute = getattr(value, name, None)
    return attribute if isinstance(attribute, dict) else {}


_MOST_CAUSES = 5
# The names of these libraries' classes: requests and Python itself, aiohttp, httpx, the clients that OpenAI's generator
# made (openai, anthropic, groq …), pydantic-ai.
_TIMEOUTS = frozenset({"TimeoutError", "Timeout", "TimeoutException", "APITimeoutError", "ModelTimeoutError"})
_CONNECTIONS = frozenset(
    {"ConnectionError", "ClientConnectionError", "TransportError", "APIConnectionError", "ModelConnectionError"}
)


def fault_of(error: BaseException, message: str) -> TransportFault | None:
    """Class an exception that concerns the way to the model and back; None for any other."""
    for cause in _with_causes(error):
        if (status := _status(cause)) is not None:
            return status_fault(status, message, code=_code(cause), retry_after=_retry_after(cause))
        if (fault := connection_fault(cause, message)) is not None:
            return fault
        if isinstance(cause, RuntimeError) and "event loop" in str(cause).lower():
            # A pool handed out a connection of a loop that has ended; having failed, it is in the pool no more.
            return TransportFault("connection", message, retryable=True, at_once=True)
    return None


def connection_fault(error: BaseException, message: str) -> TransportFault | None:
    """Class a connection that failed or took too long; None for any other exception."""
    names = {each.__name__ for each in type(error).__mro__}
    if names & _TIMEOUTS:
        return TransportFault("timeout", message, retryable=True)
    if names & _CONNECTIONS:
        return TransportFault("connection", message, retryable=True)
    return None


def words_of(error: BaseException) -> str:
    """Return the provider's own words for what happened where the exception has them, else the exception's."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error")
        body = (inner if isinstance(inner, Mapping) else body).get("message")
    return body if isinstance(body, str) and body else str(error)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if cause is None:
            return
        yield cause
        cause = cause.__cause__


def _status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for value in (
        getattr(error, "status_code", None),
        getattr(response, "status_code", None),
        getattr(error, "code", None),
    ):
        if isinstance(value, int) and 400 <= value <= 599:
            return value
    return None


def _code(error: BaseException) -> str | None:
    for name in ("code", "provider_error_code"):
        if isinstance(value := getattr(error, name, None), str):
            return value
    return None


def _retry_after(error: BaseException) -> float | None:
    seconds: Any = getattr(error, "retry_after", None)
    if is_finite_number(seconds) and seconds > 0:
        return float(seconds)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return retry_after_seconds(headers.get("retry-after"), now=time.time()) if isinstance(headers, Mapping) else None
