"""An answer that nobody asked for is never taken for the answer to the next request."""

from __future__ import annotations

import asyncio
import gc
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from evenhand.models.endpoint import Endpoint
from evenhand.models.exchange import post

Serve = Callable[..., Any]

FIRST = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirst"
STRAY = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstray"


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def trust(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[ssl.SSLContext | None, str | None]:
    """Give what the server needs to speak TLS, and the client to trust it; or nothing."""
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
