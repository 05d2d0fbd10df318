"""A server that answers before it has read a request is heard, and its connection is not used for another."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import ssl
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import trustme

from evenhand.domain.secret import Secret
from evenhand.models.endpoint import Endpoint
from evenhand.models.exchange import post
from evenhand.models.retry import TransportFault
from evenhand.models.wire.dial import dial
from evenhand.models.wire.route import route_to

Then = Literal["stays", "half leaves", "leaves"]
Hear = Callable[..., Any]

# More than all buffers between the two take.
LARGE = 16 * 1024 * 1024
FRAMED = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig"
UNFRAMED = b"HTTP/1.1 413 Too Large\r\nConnection: close\r\n\r\nbig"


class Impatient:
    """A server that reads the beginning of one request, says something, and does no more with it."""

    def __init__(self, says: bytes, then: Then, tls: ssl.SSLContext | None) -> None:
        self._says, self._then, self._tls = says, then, tls
        self._over = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.origin = f"{'https' if tls else 'http'}://127.0.0.1:{self._listening.getsockname()[1]}"

    def __enter__(self) -> Impatient:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(60)
        self._listening.close()

    def _serve(self) -> None:
        connected, _ = self._listening.accept()
        connected.settimeout(60)
        if self._tls is not None:
            connected = self._tls.wrap_socket(connected, server_side=True)
        with connected:
            connected.recv(1000)
            connected.sendall(self._says)
            if self._then == "half leaves":
                socket.socket.shutdown(connected, socket.SHUT_WR)
            if self._then != "leaves":
                self._over.wait(60)


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def impatient(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[[bytes, Then], Any]]:
    """Start a server: ``server, ca_file = impatient(answer, "leaves")``."""
    tls, ca_file = None, None
    if request.param:
        authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(tls)
        ca_file = str(tmp_path / "ca.pem")
        authority.cert_pem.write_to_path(ca_file)
    with contextlib.ExitStack() as stack:
        yield lambda says, then: (stack.enter_context(Impatient(says, then, tls)), ca_file)
    gc.collect()  # a socket that nobody closed would warn now, which is an error here


@pytest.mark.parametrize("then", ["stays", "half leaves", "leaves"])
def test_a_refusal_of_a_request_that_was_not_read_is_reported(impatient: Any, then: Then) -> None:
    server, ca_file = impatient(FRAMED, then)
    endpoint = Endpoint(url=server.origin, headers={}, ca_file=ca_file, first_byte_timeout=60)

    response = asyncio.run(post(endpoint, {"text": "x" * LARGE}, seconds=60))

    assert (response.status, response.content) == (413, b"big")


@pytest.mark.parametrize("then", ["half leaves", "leaves"])
def test_a_refusal_that_ends_with_the_connection_is_reported(impatient: Any, then: Then) -> None:
    server, ca_file = impatient(UNFRAMED, then)
    endpoint = Endpoint(url=server.origin, headers={}, ca_file=ca_file, first_byte_timeout=60)

    response = asyncio.run(post(endpoint, {"text": "x" * LARGE}, seconds=60))

    assert (response.status, response.content) == (413, b"big")


def test_a_server_that_stops_speaking_while_it_is_spoken_to_is_not_waited_for(impatient: Any) -> None:
    server, ca_file = impatient(b"HTTP/1.1 200 OK\r\nContent-", "half leaves")
    endpoint = Endpoint(url=server.origin, headers={}, ca_file=ca_file, first_byte_timeout=60)

    with pytest.raises(TransportFault, match=r"^connection: the connection to .* broke: the server closed it$"):
        asyncio.run(post(endpoint, {"text": "x" * LARGE}, seconds=60))


def test_a_request_that_nobody_reads_ends_in_time(impatient: Any) -> None:
    server, ca_file = impatient(b"", "stays")
    endpoint = Endpoint(url=server.origin, headers={}, ca_file=ca_file, first_byte_timeout=0.3)

    with pytest.raises(TransportFault, match=r"^first_byte_timeout: "):
        asyncio.run(post(endpoint, {"text": "x" * LARGE}, seconds=60))


def test_a_request_that_failed_is_not_kept() -> None:
    async def story() -> int:
        server = await asyncio.start_server(lambda _, writer: writer.transport.abort(), "127.0.0.1", 0)
        async with server:
            endpoint = Endpoint(url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", headers={})
            for number in range(10):
                with pytest.raises(TransportFault):
                    await post(endpoint, {"text": str(number) * 10**6}, seconds=60)
            await asyncio.sleep(0)
            return tracemalloc.get_traced_memory()[0]

    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        kept = asyncio.run(story())
    finally:
        tracemalloc.stop()
        gc.enable()

    assert kept < 3 * 10**6


def test_a_connection_is_not_clean_while_any_of_the_request_is_unsent(impatient: Any) -> None:
    server, ca_file = impatient(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "stays")

    async def story() -> tuple[bytes, bool]:
        connection = await dial(route_to(server.origin, ca_file=ca_file))
        try:
            response = await connection.exchange(b"x" * LARGE, most=99, progress=lambda: None)
            return response.content, connection.is_clean
        finally:
            connection.close()
            await asyncio.sleep(0)

    assert asyncio.run(story()) == (b"hi", False)


def test_half_of_an_answer_that_is_no_refusal_is_no_answer(hear: Hear) -> None:
    refusal = hear(b"HTTP/1.1 400 Bad\r\n\r\nhalf", then="reset")
    success = hear(b"HTTP/1.1 200 OK\r\n\r\nhalf", then="reset")
    cut_short = hear(b"HTTP/1.1 400 Bad\r\nContent-Length: 9\r\n\r\nhalf", then="reset")

    assert (refusal.response.status, refusal.response.content, refusal.clean) == (400, b"half", False)
    assert {success.fault.kind, cut_short.fault.kind} == {"incomplete_body"}


@pytest.mark.parametrize("by", ["server", "proxy"])
def test_whoever_leaves_during_the_handshake_is_said_to_have_left(by: str) -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1000)
        writer.close()

    async def story() -> None:
        async with await asyncio.start_server(hang_up, "127.0.0.1", 0) as server:
            here = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            await dial(route_to(here) if by == "server" else route_to("https://judge.example", Secret(here)))

    with pytest.raises(
        TransportFault, match=r"cannot connect to .*: the other side closed the connection during the handshake$"
    ):
        asyncio.run(story())


def test_small_packets_do_not_wait_for_each_other(impatient: Any) -> None:
    server, ca_file = impatient(b"", "leaves")

    async def story() -> int:
        connection = await dial(route_to(server.origin, ca_file=ca_file))
        try:
            connected = connection._transport.get_extra_info("socket")
            told: int = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            return told
        finally:
            connection.close()
            await asyncio.sleep(0)

    assert asyncio.run(story()) == 1
