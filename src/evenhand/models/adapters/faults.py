"""From an exception of another library to the class of the failure, by its shape."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from evenhand.domain.scale import is_finite_number
from evenhand.models.retry import TransportFault, retry_after_seconds, status_fault

_MOST_CAUSES = 5
# The names of these libraries' classes: requests and Python itself, aiohttp, httpx, the clients that OpenAI's generator
# made (openai, anthropic, groq …), pydantic-ai.
_TIMEOUTS = frozenset({"TimeoutError", "Timeout", "TimeoutException", "APITimeoutError", "ModelTimeoutError"})
_CONNECTIONS = frozenset(
    {"ConnectionError", "ClientConnectionError", "TransportError", "APIConnectionError", "ModelConnectionError"}
)


def fault_of(error: BaseException, message: str) -> TransportFault | None:
    """Class an exception that tells of the way to the model and back; None for any other."""
    for one in _with_causes(error):
        if (status := _status(one)) is not None:
            return status_fault(status, message, code=_code(one), retry_after=_retry_after(one))
        if (fault := connection_fault(one, message)) is not None:
            return fault
        if isinstance(one, RuntimeError) and "event loop" in str(one).lower():
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
    """Give the provider's own words for what happened where the exception has them, else the exception's."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error")
        body = (inner if isinstance(inner, Mapping) else body).get("message")
    return body if isinstance(body, str) and body else str(error)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    one: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if one is None:
            return
        yield one
        one = one.__cause__


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
    told: Any = getattr(error, "retry_after", None)
    if is_finite_number(told) and told > 0:
        return float(told)
    headers = getattr(getattr(error, "response", None), "headers", None)
    return retry_after_seconds(headers.get("retry-after"), now=time.time()) if isinstance(headers, Mapping) else None
