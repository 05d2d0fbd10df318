"""An answer that nobody asked for is never taken for the answer to the next request."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from evenhand.models.endpoint import Endpoint
from evenhand.models.exchange import post
from evenhand.models.retry import TransportFault
from evenhand.models.wire.connection import Connection
from evenhand.models.wire.dial import dial
from evenhand.models.wire.route import Route

Serve = Callable[..., Any]
Hear = Callable[..., Any]
OnALine = Callable[..., Any]

FIRST = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def trust(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ssl.SSLContext | None, str | None]:
    """Return what the server needs to speak TLS, and the client to trust it; or nothing."""
    if not request.param:
        return None, None
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    return tls, str(tmp_path / "ca.pem")


def test_an_answer_that_came_while_the_loop_stood_still_belongs_to_nobody(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, trust: tuple[ssl.SSLContext | None, str | None]
) -> None:
    tls, ca_file = trust
    server = serve({"raw": FIRST}, tls=tls)
    send = server._send
    said_more = threading.Event()

    async def send_and_say_more(answer: Any, writer: asyncio.StreamWriter) -> None:
        await send(answer, writer)
        await asyncio.sleep(0.1)
        writer.write(STRAY)
        said_more.set()

    monkeypatch.setattr(server, "_send", send_and_say_more)
    endpoint = Endpoint(url=server.origin, headers={}, ca_file=ca_file)

    async def story() -> list[bytes]:
        heard = []
        for _ in range(3):
            heard.append((await post(endpoint, {}, seconds=60)).content)
            assert said_more.wait(60)  # the stray answer comes, and nobody here notices
            said_more.clear()
            time.sleep(0.2)  # noqa: ASYNC251
        return heard

    assert asyncio.run(story()) == [b"first"] * 3
    assert server.connections == 3
    gc.collect()  # a socket that nobody closed would warn now, which is an error here


def test_an_answer_on_a_new_connection_that_was_there_before_the_request_belongs_to_nobody(
    monkeypatch: pytest.MonkeyPatch, trust: tuple[ssl.SSLContext | None, str | None]
) -> None:
    tls, ca_file = trust
    connected, said = threading.Event(), threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def speak_first() -> None:
        taken, _ = listening.accept()
        taken.settimeout(60)
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # what it says is there, and does not wait
        with taken if tls is None else tls.wrap_socket(taken, server_side=True) as talking:
            assert connected.wait(60)
            talking.sendall(STRAY)
            said.set()
            talking.recv(1)

    async def dial_and_stand_still(route: Route) -> Connection:
        connection = await dial(route)
        connected.set()
        assert said.wait(60)  # the loop stands still, and does not see what comes
        return connection

    monkeypatch.setattr("evenhand.models.wire.pool.dial", dial_and_stand_still)
    speaking = threading.Thread(target=speak_first)
    speaking.start()
    scheme = "http" if tls is None else "https"
    endpoint = Endpoint(url=f"{scheme}://127.0.0.1:{listening.getsockname()[1]}", headers={}, ca_file=ca_file)

    with pytest.raises(
        TransportFault, match=r"^invalid_response: .* does not speak valid HTTP: it sent data that was not requested$"
    ):
        asyncio.run(post(endpoint, {}, seconds=60))

    speaking.join(60)
    listening.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what the other side has acknowledged")
def test_an_answer_to_a_request_of_which_nothing_has_arrived_belongs_to_nobody(on_a_line: OnALine) -> None:
    async def story(line: Any) -> TransportFault:
        near = line.connection._transport.get_extra_info("socket").fileno()
        with contextlib.suppress(BlockingIOError):
            while True:  # the other side reads none of it, until it takes no more
                os.write(near, bytes(65536))
        asking = asyncio.create_task(line.connection.exchange(b"request", most=99, progress=lambda: None))
        await asyncio.sleep(0)
        line.far.sendall(STRAY)
        with pytest.raises(TransportFault) as caught:
            await asking
        return caught.value

    fault: TransportFault = on_a_line(story)

    assert (fault.kind, fault.retryable) == ("invalid_response", True)
    assert fault.message.endswith("does not speak valid HTTP: it sent data before the request")


@pytest.mark.parametrize("length", range(1, len(STRAY) + 1))
def test_whatever_comes_with_an_answer_and_after_it_belongs_to_nobody(hear: Hear, length: int) -> None:
    heard = hear(FIRST + STRAY[:length])

    assert (heard.response.content, heard.clean) == (b"first", False)


def test_a_connection_on_which_nothing_came_is_used_again(
    serve: Serve, trust: tuple[ssl.SSLContext | None, str | None]
) -> None:
    tls, ca_file = trust
    server = serve({"raw": FIRST}, tls=tls)
    endpoint = Endpoint(url=server.origin, headers={}, ca_file=ca_file)

    async def story() -> None:
        for _ in range(5):
            await post(endpoint, {}, seconds=60)

    asyncio.run(story())

    assert server.connections == 1
