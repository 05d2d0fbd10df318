"""How exceptions of other libraries are classed."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import httpx
import pytest

from evenhand.models.adapters.adapter import fault_of, words_of

REQUEST = httpx.Request("POST", "http://127.0.0.1/v1")


def with_attributes(**attributes: object) -> Exception:
    error = Exception("failed")
    vars(error).update(attributes)
    return error


def caused_by(cause: Exception, *, depth: int) -> Exception:
    error = cause
    for _ in range(depth):
        wrapper = ValueError("wrapped")
        wrapper.__cause__ = error
        error = wrapper
    return error


def of_an_ended_loop() -> Exception:
    loop = asyncio.new_event_loop()
    loop.close()
    try:
        loop.call_soon(print)
    except RuntimeError as error:
        return error
    raise AssertionError("a closed loop took a call")


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (ConnectionRefusedError("x"), "connection", True),
        (TimeoutError("x"), "timeout", True),
        (httpx.ConnectError("x"), "connection", True),
        (httpx.ReadTimeout("x"), "timeout", True),
        (httpx.HTTPStatusError("x", request=REQUEST, response=httpx.Response(503)), "overloaded", True),
        (of_an_ended_loop(), "connection", True),
        (with_attributes(status_code=403), "forbidden", False),
        (with_attributes(code=429), "rate_limited", True),
        (with_attributes(status_code=429, code="insufficient_quota"), "quota", False),
        (with_attributes(response=SimpleNamespace(status_code=500)), "server_error", True),
        (caused_by(ConnectionError("x"), depth=2), "connection", True),
    ],
)
def test_an_exception_of_the_transport_is_classed(error: Exception, kind: str, retryable: bool) -> None:
    fault = fault_of(error, "in words")

    assert fault is not None
    assert (fault.kind, fault.retryable) == (kind, retryable)
    assert fault.message.endswith("in words")


@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"),
        RuntimeError("x"),
        RuntimeError("Event loop is closed"),  # somebody's words, and no loop's
        with_attributes(status_code=200),
        with_attributes(code=7),
        with_attributes(code="gone"),
        caused_by(ConnectionError("too far away"), depth=9),
    ],
)
def test_any_other_exception_is_not(error: Exception) -> None:
    assert fault_of(error, "in words") is None


@pytest.mark.parametrize(
    "error",
    [
        with_attributes(status_code=429, response=httpx.Response(429, headers={"Retry-After": "7"})),
        with_attributes(status_code=429, retry_after=7),
    ],
)
def test_the_wait_that_a_server_asks_for_is_kept(error: Exception) -> None:
    fault = fault_of(error, "in words")

    assert fault is not None
    assert fault.retry_after == 7.0


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("plain"), "plain"),
        (with_attributes(body={"message": "the provider's"}), "the provider's"),
        (with_attributes(body={"error": {"message": "nested"}}), "nested"),
        (with_attributes(body={"error": "text"}), "failed"),
        (with_attributes(body="a page"), "a page"),
        (with_attributes(body=None), "failed"),
    ],
)
def test_the_providers_own_words_are_preferred(error: Exception, words: str) -> None:
    assert words_of(error) == words
