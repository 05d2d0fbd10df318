"""What arrives on a connection is read the same way however it is cut, and what is odd is never read past."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.models.wire.connection import Connection

Hear = Callable[..., Any]
OnALine = Callable[[Callable[[Any], Any]], Any]

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
TWO = OK + b"Content-Length: 2\r\n\r\nhi"
IMPROPER = "invalid_response: http://judge.example does not speak valid HTTP: "
BROKE_OFF = "incomplete_body: the response was cut short: "
LOST = "connection: the connection to http://judge.example broke: "


def whole(stream: bytes) -> Iterable[bytes]:
    return [stream]


def bytewise(stream: bytes) -> Iterable[bytes]:
    return [stream[place : place + 1] for place in range(len(stream))]


def at_random(stream: bytes) -> Iterable[bytes]:
    chance = random.Random(len(stream))
    places = [chance.randrange(len(stream) + 1) for _ in range(5)]
    return cut_at(places, stream)


def cut_at(places: list[int], stream: bytes) -> list[bytes]:
    edges = [0, *sorted(place for place in places if place < len(stream)), len(stream)]
    return [stream[begin:end] for begin, end in itertools.pairwise(edges) if begin < end]


cut = pytest.mark.parametrize("cut", [whole, bytewise, at_random])

# Name: what arrives, whether the server closes then, status and body, and whether another request may follow.
READ: dict[str, tuple[bytes, bool, int, bytes, bool]] = {
    "a length": (TWO, False, 200, b"hi", True),
    "no body": (OK + b"content-length: 0\r\n\r\n", False, 200, b"", True),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi", False, 200, b"hi", True),
    "an empty line first": (b"\r\n" + TWO, False, 200, b"hi", True),
    "chunks": (CHUNKED + b"1\r\nh\r\n1;a=b\r\ni\r\n0\r\n\r\n", False, 200, b"hi", True),
    "chunks and trailers": (CHUNKED + b"2\r\nhi\r\n0\r\nDigest: x\r\n\r\n", False, 200, b"hi", True),
    "chunks in capitals": (OK + b"TRANSFER-ENCODING: Chunked\r\n\r\n0\r\n\r\n", False, 200, b"", True),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", False, 204, b"", True),
    "304 with a length": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n", False, 304, b"", True),
    "100 first": (b"HTTP/1.1 100 Continue\r\n\r\n" + TWO, False, 200, b"hi", True),
    "103 twice": (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" * 2 + TWO, False, 200, b"hi", True),
    "the last on its connection": (
        OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi", False, 200, b"hi", False,
    ),
    "the last, in other words": (
        OK + b"cOnnection: Keep-Alive, CLOSE\r\nContent-Length: 2\r\n\r\nhi", False, 200, b"hi", False,
    ),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", False, 200, b"hi", False),
    "HTTP/1.0 that stays": (
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nhi", False, 200, b"hi", True,
    ),
    "a body until the end": (OK + b"\r\nhi", True, 200, b"hi", False),
    "no body until the end": (OK + b"\r\n", True, 200, b"", False),
    "an offer to upgrade": (
        OK + b"Upgrade: h2c\r\nConnection: upgrade\r\nContent-Length: 2\r\n\r\nhi", False, 200, b"hi", True,
    ),
    "a second response": (TWO + TWO, False, 200, b"hi", False),
    "more than its length": (TWO + b"!", False, 200, b"hi", False),
    "more after the last": (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nhi!", False, 200, b"hi", False),
    "204 with a body": (b"HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\nhi", False, 204, b"", False),
}  # fmt: skip


@cut
@pytest.mark.parametrize(("stream", "closes", "status", "body", "clean"), READ.values(), ids=READ.keys())
def test_a_response_is_read(
    hear: Hear, cut: Any, stream: bytes, closes: bool, status: int, body: bytes, clean: bool
) -> None:
    heard = hear(cut(stream), then="close" if closes else "nothing")

    assert (heard.response.status, heard.response.content, heard.clean) == (status, body, clean)


REFUSED: dict[str, tuple[bytes, str]] = {
    "another protocol": (b"220 mail.example ESMTP\r\n", IMPROPER),
    "a request": (b"GET / HTTP/1.1\r\n\r\n", IMPROPER),
    "a status of four digits": (b"HTTP/1.1 2000 OK\r\n\r\n", IMPROPER),
    "lines that end otherwise": (b"HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", IMPROPER),
    "a folded header": (OK + b"A: b\r\n c\r\nContent-Length: 2\r\n\r\nhi", IMPROPER),
    "a NUL in a header": (OK + b"A: b\0c\r\nContent-Length: 2\r\n\r\nhi", IMPROPER),
    "a blank before the colon": (OK + b"Content-Length : 2\r\n\r\nhi", IMPROPER),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi", IMPROPER),
    "a list of lengths": (OK + b"Content-Length: 2, 2\r\n\r\nhi", IMPROPER),
    "a negative length": (OK + b"Content-Length: -2\r\n\r\nhi", IMPROPER),
    "an immense length": (OK + b"Content-Length: 99999999999999999999\r\n\r\nhi", IMPROPER),
    "a length and chunks": (OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", IMPROPER),
    "chunks and a length": (OK + b"Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n0\r\n\r\n", IMPROPER),
    "another transfer": (
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        IMPROPER + "its body is sent as 'gzip, chunked', which was not requested",
    ),
    "chunks within": (OK + b"Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", IMPROPER),
    "an upgrade": (
        b"HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\nPRI",
        IMPROPER + "it switches the protocol, which was not requested",
    ),
    "an upgrade to nothing": (
        b"HTTP/1.1 101 Switching\r\n\r\nPRI",
        IMPROPER + "it switches the protocol, which was not requested",
    ),
    "too many headers": (OK + b"A: b\r\n" * 257 + b"\r\n", IMPROPER + "it has more than 256 headers"),
    "a head without end": (
        OK + b"A: " + b"b" * 2**16,
        IMPROPER + "its head is longer than 65536 bytes",
    ),
    "a head too long": (
        OK + b"A: " + b"b" * 2**16 + b"\r\nContent-Length: 2\r\n\r\nhi",
        IMPROPER + "its head is longer than 65536 bytes",
    ),
    "hints without end": (
        b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n" * 2000,
        IMPROPER + "it has more than 256 headers",
    ),
    "a chunk of no size": (CHUNKED + b"zz\r\nhi\r\n0\r\n\r\n", BROKE_OFF),
    "a chunk of another size": (CHUNKED + b"1\r\nhi\r\n0\r\n\r\n", BROKE_OFF),
    "a chunk of immense size": (CHUNKED + b"fffffffffffffffff\r\nhi", BROKE_OFF),
    "trailers too long": (
        CHUNKED + b"2\r\nhi\r\n0\r\n" + b"A: b\r\n" * 40_000 + b"\r\n",
        BROKE_OFF + "its trailers are longer than 65536 bytes",
    ),
    "too much": (OK + b"Content-Length: 101\r\n\r\n" + b"x" * 101, "too_large: the response is larger than 100 bytes"),
    "too much in chunks": (CHUNKED + b"65\r\n" + b"x" * 101 + b"\r\n", "too_large: "),
}


@cut
@pytest.mark.parametrize(("stream", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_is_odd_is_a_fault_and_ends_the_connection(hear: Hear, cut: Any, stream: bytes, told: str) -> None:
    heard = hear(cut(stream), most=100)

    assert str(heard.fault).startswith(told)
    assert heard.fault.retryable is (heard.fault.kind != "too_large")
    assert not heard.clean


BROKEN: dict[str, tuple[bytes, str, str]] = {
    "before the head": (b"", "close", LOST + "the server closed it"),
    "before the head, hard": (b"", "reset", LOST + "[Errno "),
    "within the head": (b"HTTP/1.1 200 OK\r\nContent-", "close", LOST + "the server closed it"),
    "after a hint": (b"HTTP/1.1 100 Continue\r\n\r\n", "close", LOST + "the server closed it"),
    "before the body": (OK + b"Content-Length: 2\r\n\r\n", "close", BROKE_OFF + "the server closed the connection"),
    "within the body": (OK + b"Content-Length: 2\r\n\r\nh", "close", BROKE_OFF + "the server closed the connection"),
    "within the body, hard": (OK + b"Content-Length: 2\r\n\r\nh", "reset", BROKE_OFF + "[Errno "),
    "within a body until the end": (OK + b"\r\nh", "reset", BROKE_OFF + "[Errno "),
    "between chunks": (CHUNKED + b"1\r\nh\r\n", "close", BROKE_OFF + "the server closed the connection"),
    "before the last line of chunks": (CHUNKED + b"0\r\n", "close", BROKE_OFF + "the server closed the connection"),
}


@cut
@pytest.mark.parametrize(("stream", "then", "told"), BROKEN.values(), ids=BROKEN.keys())
def test_a_connection_that_breaks_is_a_fault(hear: Hear, cut: Any, stream: bytes, then: str, told: str) -> None:
    heard = hear(cut(stream), then=then)

    assert str(heard.fault).startswith(told)
    assert heard.fault.retryable
    assert not heard.fault.at_once


# Two hundred lines take a few seconds.
@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=300), max_size=8),
    chunked=st.booleans(),
    places=st.lists(st.integers(0, 3000), max_size=8),
)
def test_a_body_comes_out_as_it_went_in(chunks: list[bytes], chunked: bool, places: list[int]) -> None:
    body = b"".join(chunks)
    if chunked:
        stream = CHUNKED + b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks) + b"0\r\n\r\n"
    else:
        stream = OK + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    heard = read_in_pieces(cut_at(places, stream))

    assert heard == (200, body)


class Nowhere(asyncio.Transport):
    def write(self, data: Any) -> None: ...

    def is_closing(self) -> bool:
        return False


def read_in_pieces(pieces: list[bytes]) -> tuple[int, bytes]:
    """Read a stream without any network: for very many of them."""

    async def read() -> tuple[int, bytes]:
        connection = Connection("http://judge.example", asyncio.get_running_loop())
        connection.connection_made(Nowhere())
        asking = asyncio.create_task(connection.exchange(b"", most=10**6, progress=lambda: None))
        await asyncio.sleep(0)
        for piece in pieces:
            connection.data_received(piece)
        response = await asking
        return response.status, response.content

    return asyncio.run(read())


def test_names_of_headers_have_no_case_and_what_came_twice_is_joined(hear: Hear) -> None:
    heard = hear(OK + "Content-Length: 0\r\nVIA: a\r\nvia: b\r\nOdd:\r\nLocation: /ü\r\n\r\n".encode())

    assert heard.response.headers == {"content-length": "0", "via": "a, b", "odd": "", "location": "/ü"}


def test_trailers_are_no_headers(hear: Hear) -> None:
    heard = hear(CHUNKED + b"0\r\nRetry-After: 9\r\n\r\n")

    assert heard.response.headers == {"transfer-encoding": "chunked"}


def test_a_trailer_that_does_not_end_is_not_kept_for_ever(hear: Hear) -> None:
    heard = hear([CHUNKED + b"0\r\nA: ", *[b"b" * 2**14] * 9])

    assert str(heard.fault) == BROKE_OFF + "it sends much, and none of it is the body"


def test_progress_is_told_of_while_a_body_comes(hear: Hear) -> None:
    heard = hear([OK, b"Content-Length: 3\r\n\r\n", b"a", b"b", b"c"])

    assert heard.progress == 3


def test_a_short_response_makes_no_progress_but_is_there(hear: Hear) -> None:
    assert hear(TWO).progress == 0


def test_many_requests_follow_each_other(on_a_line: OnALine) -> None:
    async def story(line: Any) -> list[bytes]:
        return [
            (await line.exchange([OK + b"Content-Length: 1\r\n\r\n%d" % number])).response.content
            for number in range(5)
        ]

    assert on_a_line(story) == [b"0", b"1", b"2", b"3", b"4"]


def test_a_request_is_written_whole_and_once(on_a_line: OnALine) -> None:
    async def story(line: Any) -> bytes:
        await line.exchange([TWO], request=b"POST / HTTP/1.1\r\n\r\nbody")
        received: bytes = line.far.recv(100)
        return received

    assert on_a_line(story) == b"POST / HTTP/1.1\r\n\r\nbody"


def test_a_response_before_all_of_the_request_was_sent_is_the_last(on_a_line: OnALine) -> None:
    async def story(line: Any) -> Any:
        return await line.exchange([TWO], request=b"x" * 50_000_000)

    heard = on_a_line(story)

    assert (heard.response.content, heard.clean) == (b"hi", False)


@pytest.mark.parametrize("said", [TWO, b"HTTP/1.1 408 Request Timeout\r\n\r\n", b"\r\n", b"x"])
def test_a_server_that_speaks_between_requests_is_not_asked_again(on_a_line: OnALine, said: bytes) -> None:
    async def story(line: Any) -> tuple[bool, bool]:
        before = (await line.exchange([TWO])).clean
        line.far.sendall(said)
        await asyncio.sleep(0.05)
        return before, line.connection.is_clean

    assert on_a_line(story) == (True, False)


def test_a_server_that_speaks_first_does_not_speak_http(on_a_line: OnALine) -> None:
    async def story(line: Any) -> Any:
        line.far.sendall(b"220 mail.example ESMTP\r\n")
        await asyncio.sleep(0.05)
        return await line.exchange([])

    assert str(on_a_line(story).fault) == IMPROPER + "it sent data that was not requested"


def test_a_server_that_leaves_at_once_was_not_asked(on_a_line: OnALine) -> None:
    async def story(line: Any) -> Any:
        line.far.close()
        await asyncio.sleep(0.05)
        return await line.exchange([])

    assert str(on_a_line(story).fault) == LOST + "the server closed it"


def test_a_request_on_a_connection_gone_stale_may_be_tried_at_once(on_a_line: OnALine) -> None:
    async def story(line: Any) -> tuple[Any, bool]:
        await line.exchange([TWO])
        return await line.exchange([], then="close"), line.connection.was_stale

    heard, stale = on_a_line(story)

    assert str(heard.fault) == LOST + "the server closed it"
    assert heard.fault.at_once
    assert stale


def test_a_connection_that_breaks_after_a_byte_was_not_stale(on_a_line: OnALine) -> None:
    async def story(line: Any) -> tuple[Any, bool]:
        await line.exchange([TWO])
        return await line.exchange([b"H"], then="close"), line.connection.was_stale

    heard, stale = on_a_line(story)

    assert not heard.fault.at_once
    assert not stale


@pytest.mark.parametrize("arrived", [b"", b"HTTP/1.1 2", OK + b"Content-Length: 2\r\n\r\nh", TWO])
def test_a_request_that_is_given_up_leaves_nothing_behind(on_a_line: OnALine, arrived: bytes) -> None:
    async def story(line: Any) -> bool:
        asking = asyncio.create_task(line.connection.exchange(b"?", most=99, progress=lambda: None))
        await asyncio.sleep(0)
        line.connection.data_received(arrived)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        line.far.close()  # and what comes after concerns nobody
        line.connection.close()
        await asyncio.sleep(0.01)
        clean: bool = line.connection.is_clean
        return clean

    assert on_a_line(story) is False


def test_an_interruption_while_a_response_is_read_goes_on_its_way() -> None:
    class Interrupted(Connection):
        def on_body(self, data: bytes) -> None:
            raise KeyboardInterrupt

    async def story() -> None:
        connection = Interrupted("http://judge.example", asyncio.get_running_loop())
        connection.connection_made(Nowhere())
        asking = asyncio.create_task(connection.exchange(b"", most=99, progress=lambda: None))
        await asyncio.sleep(0)
        with pytest.raises(KeyboardInterrupt):
            connection.data_received(TWO)
        asking.cancel()

    asyncio.run(story())
