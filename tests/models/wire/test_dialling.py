"""Every way to a server is found, and what stands in it is named."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import socket
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from evenhand.domain.secret import Secret
from evenhand.models.providers import OPENAI
from evenhand.models.retry import TransportFault
from evenhand.models.wire.connection import Response
from evenhand.models.wire.dial import _Answer, dial
from evenhand.models.wire.route import request_head, route_to

Serve = Callable[..., Any]
LeadThrough = Callable[..., Any]

# So long after we left, the server behind a proxy has noticed: one that is stopped while somebody arrives leaves sockets.
SETTLED = 0.05


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture(scope="module")
def ca_file(authority: trustme.CA, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def serving_as(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


def ask(url: str, **way: Any) -> Response:
    """Ask a URL once, over a connection of its own."""

    async def asking() -> Response:
        route = route_to(url, **way)
        connection = None
        try:
            connection = await dial(route)
            head = request_head(url, {"authorization": Secret("open-sesame")}, route)
            return await connection.exchange(head + b"2\r\n\r\n{}", most=999, progress=lambda: None)
        finally:
            if connection is not None:
                connection.close()
            await asyncio.sleep(SETTLED)

    return asyncio.run(asking())


def test_a_server_is_reached(serve: Serve) -> None:
    server = serve({"json": "hello"})

    assert ask(server.origin).content == b'"hello"'


def test_a_server_by_name_is_reached(serve: Serve) -> None:
    server = serve({"json": "hello"})

    assert ask(f"http://localhost:{server.port}/").content == b'"hello"'


def test_a_server_over_tls_is_reached_and_agrees_on_the_protocol(
    serve: Serve, authority: trustme.CA, ca_file: str
) -> None:
    server = serve({"json": "hello"}, tls=serving_as(authority, "127.0.0.1"))

    # With h2 it would have understood nothing.
    assert ask(server.origin, ca_file=ca_file).content == b'"hello"'


@pytest.mark.parametrize("over", ["http", "https"])
@pytest.mark.parametrize("to", ["http", "https"])
def test_a_server_is_reached_through_a_proxy(
    serve: Serve, lead_through: LeadThrough, authority: trustme.CA, ca_file: str, over: str, to: str
) -> None:
    server = serve({"json": "hello"}, tls=serving_as(authority, "judge.example") if to == "https" else None)
    proxy = lead_through(server, tls=serving_as(authority, "127.0.0.1") if over == "https" else None)
    login = Secret(f"{over}://me:p%40ss@127.0.0.1:{proxy.port}")

    response = ask(f"{to}://judge.example/v1", proxy=login, ca_file=ca_file)

    ((first, headers),) = proxy.seen
    assert response.content == b'"hello"'
    assert server.requests[0].headers["authorization"] == "open-sesame"
    assert headers["proxy-authorization"] == "Basic bWU6cEBzcw=="
    if to == "https":
        assert first == "CONNECT judge.example:443 HTTP/1.1"
        assert "open-sesame" not in str(proxy.seen)
        assert "proxy-authorization" not in server.requests[0].headers
    else:
        assert first == "POST http://judge.example/v1 HTTP/1.1"


PROXIES: dict[str, tuple[bytes, str]] = {
    "no": (b"HTTP/1.1 403 Not here\r\n\r\n", "proxy: the proxy answered HTTP 403: Not here"),
    "busy": (b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", "proxy: the proxy answered HTTP 503: Busy"),
    "an upgrade": (
        b"HTTP/1.1 101 Odd\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n",
        "proxy: the proxy answered HTTP 101: Odd",
    ),
    "no HTTP": (b"220 mail.example ESMTP\r\n\r\n", "invalid_response: the proxy does not speak valid HTTP: "),
    "bytes before the server's": (
        b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        "invalid_response: the proxy does not speak valid HTTP: it sent data into the tunnel",
    ),
    "no end": (
        b"HTTP/1.1 200 OK\r\nA: " + b"b" * 2**17,
        "invalid_response: the proxy does not speak valid HTTP: its answer has no end",
    ),
}


@pytest.mark.parametrize(("says", "told"), PROXIES.values(), ids=PROXIES.keys())
def test_a_proxy_that_opens_no_tunnel_gets_nothing_more(
    serve: Serve, lead_through: LeadThrough, says: bytes, told: str
) -> None:
    server = serve({"json": "hello"})
    proxy = lead_through(server, says=says)

    with pytest.raises(TransportFault) as caught:
        ask("https://judge.example", proxy=Secret(proxy.origin))

    assert str(caught.value).startswith(told)
    assert server.requests == []


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_the_answer_of_a_proxy_may_come_in_pieces(size: int) -> None:
    said = b"HTTP/1.1 200 Connected\r\nA: \r\nB: \r\n\r\n"

    async def story() -> tuple[list[bool], bytes]:
        answer = _Answer(asyncio.get_running_loop())
        was_there = []
        for start in range(0, len(said), size):
            was_there.append(answer.head.done())
            answer.data_received(said[start : start + size])
        return was_there, await answer.head

    was_there, head = asyncio.run(story())

    assert not any(was_there)
    assert head == said


def test_a_proxy_that_leaves_is_a_broken_connection(serve: Serve) -> None:
    server = serve({"raw": b"", "then": "close"})

    with pytest.raises(TransportFault) as caught:
        ask("https://judge.example", proxy=Secret(server.origin))

    assert str(caught.value) == "connection: the connection to https://judge.example broke: the proxy closed it"


def test_a_proxy_that_is_not_trusted_is_told_nothing(
    serve: Serve, lead_through: LeadThrough, authority: trustme.CA
) -> None:
    server = serve({"json": "hello"})
    proxy = lead_through(server, tls=serving_as(authority, "127.0.0.1"))

    with pytest.raises(TransportFault) as caught:
        ask("http://judge.example", proxy=Secret(proxy.origin))

    assert str(caught.value).startswith("certificate: the proxy is not trusted (")
    assert not caught.value.retryable
    assert proxy.seen == []


def test_a_server_behind_a_proxy_that_is_another_is_told_nothing(
    serve: Serve, lead_through: LeadThrough, authority: trustme.CA, ca_file: str
) -> None:
    server = serve({"json": "hello"}, tls=serving_as(authority, "evil.example"))
    proxy = lead_through(server)

    with pytest.raises(TransportFault) as caught:
        ask("https://judge.example", proxy=Secret(proxy.origin), ca_file=ca_file)

    assert str(caught.value).startswith("certificate: https://judge.example is not trusted (")
    assert server.requests == []


def test_a_server_without_tls_is_no_question_of_trust() -> None:
    def answer_in_plain_text(listening: socket.socket) -> None:
        asking, _ = listening.accept()
        with asking:
            asking.recv(9999)
            asking.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        answering = threading.Thread(target=answer_in_plain_text, args=(listening,))
        answering.start()
        url = f"https://127.0.0.1:{listening.getsockname()[1]}"

        with pytest.raises(TransportFault) as caught:
            ask(url)

        answering.join(60)

    plain = url.replace("https", "http")
    assert str(caught.value) == f"connection: {url} does not speak TLS; write http instead of https: {plain}"
    assert caught.value.retryable


@pytest.mark.parametrize("silent", ["the server", "the proxy", "the server behind the proxy"])
def test_whoever_is_silent_before_there_is_a_connection_has_as_long_as_connecting_may_take(
    serve: Serve, lead_through: LeadThrough, put: Callable[..., Any], silent: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:  # the system lets everybody in, and nobody answers
        there = f"127.0.0.1:{listening.getsockname()[1]}"
        url, proxy = "https://judge.example", ""
        if silent == "the server":
            url = f"https://{there}"
        elif silent == "the proxy":
            proxy = f"http://{there}"
        else:
            proxy = lead_through(serve({"json": "it waits for a request"})).origin

        answer = put(OPENAI("m", base_url=url, api_key="k", proxy=proxy, connect_timeout=0.3, max_transport_attempts=1))

    assert answer.error.startswith("connect_timeout: no connection within 0.3 s")
    gc.collect()


@pytest.mark.parametrize("over", ["http", "https"])
@pytest.mark.parametrize("to", ["http", "https"])
@pytest.mark.slow  # many servers
@pytest.mark.parametrize("rounds", range(0, 24, 3))
def test_whoever_no_longer_wants_a_connection_leaves_none(
    serve: Serve, lead_through: LeadThrough, authority: trustme.CA, ca_file: str, over: str, to: str, rounds: int
) -> None:
    """Warnings are errors here, also those of sockets that nobody closed."""
    server = serve({"json": "hello"}, tls=serving_as(authority, "judge.example") if to == "https" else None)
    proxy = lead_through(server, tls=serving_as(authority, "127.0.0.1") if over == "https" else None)
    route = route_to(f"{to}://judge.example", Secret(proxy.origin), ca_file)

    async def give_up() -> None:
        dialling = asyncio.create_task(dial(route))
        for _ in range(rounds):
            await asyncio.sleep(0.0005)
        dialling.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            (await dialling).close()
        await asyncio.sleep(SETTLED)

    asyncio.run(give_up())
    gc.collect()
