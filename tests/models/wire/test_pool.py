"""Connections are used again while that is safe, and not a moment longer."""

from __future__ import annotations

import asyncio
import gc
import ssl
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply
from evenhand.models.wire import pool
from evenhand.models.wire.pool import Pool, Slot
from evenhand.models.wire.route import request_head, route_to

Serve = Callable[..., Any]


async def ask(place: Slot, url: str) -> int:
    """Ask once and give the status."""
    connection = await place.connection()
    try:
        head = request_head(url, {}, route_to(url))
        return (await connection.exchange(head + b"0\r\n\r\n", most=999, progress=lambda: None)).status
    finally:
        place.give_back(connection)


def at_a_place(url: str, story: Callable[[Slot], Awaitable[None]]) -> None:
    async def told() -> None:
        shared = Pool(256)
        try:
            await story(shared.place(route_to(url)))
        finally:
            await shared.close()

    asyncio.run(told())
    gc.collect()  # a socket that nobody closed would warn now, which is an error here


def used(server: Any) -> list[int]:
    return [request.connection for request in server.requests]


def test_the_connection_that_was_used_last_is_used_next(serve: Serve) -> None:
    server = serve({"json": 1, "wait": 0.05}, {"json": 1, "wait": 0.1}, {"json": 1})

    async def story(place: Slot) -> None:
        await asyncio.gather(ask(place, server.origin), ask(place, server.origin))
        for _ in range(3):
            await ask(place, server.origin)

    at_a_place(server.origin, story)

    assert server.connections == 2
    assert len({*used(server)[2:]}) == 1


def test_the_same_route_leads_to_the_same_place() -> None:
    async def story() -> None:
        shared = Pool(256)

        assert shared.place(route_to("http://box/a")) is shared.place(route_to("http://box/b"))
        assert shared.place(route_to("http://box/a")) is not shared.place(route_to("https://box/a"))
        assert shared.place(route_to("http://box/a")) is not shared.place(route_to("http://box:81/a"))
        assert shared.place(route_to("https://box")) is not shared.place(route_to("https://box", ca_file="a"))

    asyncio.run(story())


@pytest.mark.parametrize("proxied", [False, True])
def test_encrypted_connections_are_used_again_too(
    serve: Serve, lead_through: Callable[..., Any], openai: Any, tmp_path: Path, proxied: bool
) -> None:
    authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    server = serve(openai.reply(), tls=tls)
    proxy = lead_through(server).origin if proxied else ""
    model = openai.model(server, ca_file=str(tmp_path / "ca.pem"), proxy=proxy)

    async def story() -> None:
        for _ in range(3):
            assert isinstance(await model.ask(Ask(messages=(Message("user", "?"),), judge=model)), Reply)

    asyncio.run(story())
    gc.collect()

    assert used(server) == [1, 1, 1]


ENDED: dict[str, dict[str, Any]] = {
    "closed": {"json": 1, "then": "close"},
    "reset": {"json": 1, "then": "reset"},
    "announced": {"json": 1, "headers": {"Connection": "close"}},
    "spoken to": {"raw": b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 408 Late\r\n\r\n"},
}


@pytest.mark.parametrize("answer", ENDED.values(), ids=ENDED.keys())
def test_a_connection_that_ended_is_not_used_again(serve: Serve, answer: dict[str, Any]) -> None:
    server = serve(answer)

    async def story(place: Slot) -> None:
        for _ in range(3):
            assert await ask(place, server.origin) == 200
            # Nobody else knows when the server has left; the wait comes to its end also where it stays.
            for _ in range(6000):
                if not any(connection.is_open for connection in place._idle):
                    break
                await asyncio.sleep(0.01)

    at_a_place(server.origin, story)

    assert used(server) == [1, 2, 3]


def test_a_connection_that_waited_too_long_is_closed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "_LONGEST_IDLE", 0.1)
    server = serve({"json": 1})

    async def story(place: Slot) -> None:
        await ask(place, server.origin)
        assert len(place._idle) == 1

        await asyncio.sleep(0.3)

        assert place._idle == []
        assert place._timer is None
        await ask(place, server.origin)

    at_a_place(server.origin, story)

    assert used(server) == [1, 2]


def test_a_connection_that_was_closed_while_the_loop_stood_still_is_not_used(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_UNSEEN", 0.1)
    server = serve({"json": 1, "then": "close"})

    async def story(place: Slot) -> None:
        assert await ask(place, server.origin) == 200
        for _ in range(6000):  # meanwhile the server leaves, and nobody here notices
            if not server._open:
                break
            time.sleep(0.01)  # noqa: ASYNC251
        time.sleep(0.2)  # noqa: ASYNC251
        assert await ask(place, server.origin) == 200

    at_a_place(server.origin, story)

    assert used(server) == [1, 2]


def test_whoever_gives_up_while_a_connection_is_looked_at_closes_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool, "_UNSEEN", 0.0)
    server = serve({"json": 1})

    async def story(place: Slot) -> None:
        connection = await place.connection()
        await connection.exchange(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n", most=9, progress=lambda: None)
        place.give_back(connection)
        asking = asyncio.create_task(place.connection())
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert not connection.is_open

    at_a_place(server.origin, story)


def test_connections_gone_stale_cost_one_request_and_not_all_that_are_allowed(serve: Serve, openai: Any) -> None:
    """A server that was started anew, or one that closes what idles: all that waited are as old."""
    before: Counter[int] = Counter()

    def once_a_connection(request: Any) -> dict[str, Any]:
        before[request.connection] += 1
        if before[request.connection] > 1:
            return {"raw": b"", "then": "close"}
        return {**openai.reply(), "wait": 0.1}

    server = serve(once_a_connection)
    # Whoever waits before the second try would wait for a long time here.
    model = openai.model(server, backoff=300)
    question = Ask(messages=(Message("user", "?"),), judge=model)

    async def story() -> Any:
        await asyncio.gather(*(model.ask(question) for _ in range(8)))
        return await model.ask(question, deadline=time.monotonic() + 60)

    reply = asyncio.run(story())

    assert isinstance(reply, Reply), reply
    assert [one.kind for one in reply.attempts] == ["transport", "reply"]
    assert len(server.requests) == 10  # each is in the record: none was sent again in silence
    assert server.connections == 9


def test_a_new_connection_that_is_closed_at_once_is_tried_again_after_a_wait(serve: Serve, openai: Any) -> None:
    server = serve({"raw": b"", "then": "close"})
    model = openai.model(server, backoff=300)

    async def story() -> Any:
        return await model.ask(Ask(messages=(Message("user", "?"),), judge=model), deadline=time.monotonic() + 60)

    answer = asyncio.run(story())

    assert answer.error.endswith("; the next try would have missed the deadline")
    assert len(server.requests) == 1
