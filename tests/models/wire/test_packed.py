"""Packed bodies are unpacked, and where they cannot be, they do not hide what the status says."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.models.endpoint import Endpoint
from evenhand.models.exchange import post
from evenhand.models.wire.response import Response

Serve = Callable[..., Any]

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: %b\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
WHOLE = gzip.compress(b'{"said": "hi"}', mtime=0)


def ask(serve: Serve, body: bytes, encoding: str, status: int = 200) -> Response:
    server = serve({"status": status, "body": body, "headers": {"Content-Encoding": encoding}})
    return asyncio.run(post(Endpoint(url=server.origin, headers={}), {}, seconds=60))


@pytest.mark.parametrize("encoding", ["gzip", "GZIP", "x-gzip", "gzip "])
def test_a_packed_body_is_unpacked(serve: Serve, encoding: str) -> None:
    assert ask(serve, WHOLE, encoding).json == {"said": "hi"}


@pytest.mark.parametrize("encoding", ["", "identity", "Identity "])
def test_a_body_that_is_not_packed_is_left_alone(serve: Serve, encoding: str) -> None:
    assert ask(serve, b"{}", encoding).content == b"{}"


@pytest.mark.parametrize(
    ("body", "encoding", "told"),
    [
        (b"\x0b\x02\x80", "br", "the response is packed as 'br', unasked"),
        (WHOLE[:-9], "gzip", '{"said": "hi"}'),
        (b"no gzip", "gzip", "the response cannot be unpacked: Error -3"),
    ],
    ids=["another packing", "broken off", "not packed"],
)
def test_a_refusal_whose_body_cannot_be_unpacked_is_still_a_refusal(
    serve: Serve, body: bytes, encoding: str, told: str
) -> None:
    response = ask(serve, body, encoding, status=401)

    assert response.status == 401
    assert response.page.startswith(told)


def test_blanks_after_the_name_of_a_transfer_mean_nothing(hear: Callable[..., Any]) -> None:
    heard = hear(CHUNKED % b"chunked  ")

    assert (heard.response.content, heard.clean) == (b"hi", True)


@pytest.mark.parametrize("coding", [b"chunked\t", b"chunked \t", b"chunked\t ", b"chunked,", b",chunked", b"chunked;a"])
def test_a_transfer_that_the_parser_takes_for_another_is_refused(hear: Callable[..., Any], coding: bytes) -> None:
    heard = hear(CHUNKED % coding)

    assert heard.fault.kind == "invalid_response"
