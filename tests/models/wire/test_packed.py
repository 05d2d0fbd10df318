"""Packed bodies are unpacked, and where they cannot be, they do not hide what the status says."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.models.endpoint import Endpoint
from evenhand.models.exchange import post
from evenhand.models.retry import TransportFault
from evenhand.models.wire.connection import Response

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
        (b"\x0b\x02\x80", "br", "the response is compressed as 'br', which was not requested"),
        (WHOLE[:-9], "gzip", '{"said": "hi"}'),
        (WHOLE + b"garbage", "gzip", '{"said": "hi"}'),
        (b"", "gzip", "an empty body"),
        (b"no gzip", "gzip", "the response cannot be decompressed: Error -3"),
    ],
    ids=["another packing", "broken off", "garbage after it", "empty", "not packed"],
)
def test_a_refusal_whose_body_cannot_be_unpacked_is_still_a_refusal(
    serve: Serve, body: bytes, encoding: str, told: str
) -> None:
    response = ask(serve, body, encoding, status=401)

    assert response.status == 401
    assert response.page.startswith(told)


def complaints(serve: Serve, *bodies: bytes) -> set[tuple[str, bool]]:
    """Return the classes of the faults that packed bodies bring, and whether they are worth another try."""
    server = serve(*({"body": body, "headers": {"Content-Encoding": "gzip"}} for body in bodies))
    faults = []

    async def story() -> None:
        for _ in bodies:
            with pytest.raises(TransportFault) as caught:
                await post(Endpoint(url=server.origin, headers={}), {}, seconds=60)
            faults.append((caught.value.kind, caught.value.retryable))

    asyncio.run(story())
    return set(faults)


def test_a_packed_body_that_broke_off_is_no_answer(serve: Serve) -> None:
    cut_short = [WHOLE[:length] for length in range(1, len(WHOLE))]
    cut_after_a_part = [WHOLE + WHOLE[:length] for length in range(1, len(WHOLE))]

    assert complaints(serve, *cut_short, *cut_after_a_part) == {("incomplete_body", True)}


@pytest.mark.parametrize(
    "body",
    [
        WHOLE + b"garbage",
        WHOLE + b"\n\n\n",
        WHOLE + bytes(100),
        WHOLE[:-8] + bytes([WHOLE[-8] ^ 1]) + WHOLE[-7:],
        WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]),
    ],
    ids=["garbage after it", "line breaks after it", "zeros after it", "another checksum", "another length"],
)
def test_a_packed_body_that_is_not_what_was_packed_is_no_answer(serve: Serve, body: bytes) -> None:
    assert complaints(serve, body) == {("invalid_body", True)}


def test_a_body_that_was_packed_in_parts_is_read_whole(serve: Serve) -> None:
    parts = [b'{"said":', b"", b' "hi"', b"}"]

    response = ask(serve, b"".join(gzip.compress(part) for part in parts), "gzip")

    assert response.content == b'{"said": "hi"}'


def test_the_parts_of_a_packed_body_are_counted_and_their_sizes_added(serve: Serve) -> None:
    many = serve({"body": gzip.compress(b" ") * 1000, "headers": {"Content-Encoding": "gzip"}})
    large = serve({"body": gzip.compress(bytes(600)) * 2, "headers": {"Content-Encoding": "gzip"}})

    with pytest.raises(TransportFault, match=r"^invalid_body: the response is compressed in more than 32 parts$"):
        asyncio.run(post(Endpoint(url=many.origin, headers={}), {}, seconds=60))
    with pytest.raises(TransportFault, match=r"^too_large: the response is larger than 1000 bytes$"):
        asyncio.run(post(Endpoint(url=large.origin, headers={}, max_body_bytes=1000), {}, seconds=60))


def test_blanks_after_the_name_of_a_transfer_mean_nothing(hear: Callable[..., Any]) -> None:
    heard = hear(CHUNKED % b"chunked  ")

    assert (heard.response.content, heard.clean) == (b"hi", True)


@pytest.mark.parametrize("coding", [b"chunked\t", b"chunked \t", b"chunked\t ", b"chunked,", b",chunked", b"chunked;a"])
def test_a_transfer_that_the_parser_takes_for_another_is_refused(hear: Callable[..., Any], coding: bytes) -> None:
    heard = hear(CHUNKED % coding)

    assert heard.fault.kind == "invalid_response"
