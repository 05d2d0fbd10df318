"""One exchange with a server: its time, its size, its connection."""

from __future__ import annotations

import asyncio
import functools
import gzip
import json
import socket
import time
import tracemalloc
import zlib
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models import exchange
from evenhand.models.providers import OPENAI

# Many, and together they take a while.
pytestmark = pytest.mark.slow

Put = Callable[..., Reply | Unanswered]
Serve = Callable[..., Any]


def transport_errors(answer: Reply | Unanswered) -> list[str | None]:
    return [one.error for one in answer.attempts if one.kind == "transport"]


def test_a_body_that_drips_ends_with_the_deadline(serve: Serve, language: Any, put: Put) -> None:
    server = serve(language.reply("x" * 500, drip=0.05))

    answer = put(language.model(server), seconds=0.9)

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("timeout: no whole response within 0.")
    assert len(answer.attempts) == len(server.requests) == 1


def test_a_body_that_drips_and_comes_in_time_is_read(serve: Serve, language: Any, put: Put) -> None:
    server = serve(language.reply("Paris", drip=0.001))

    reply = put(language.model(server))

    assert isinstance(reply, Reply)
    assert reply.text == "Paris"


def test_a_request_ends_with_its_timeout(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(openai.reply("x" * 500, drip=0.05), openai.reply())

    reply = put(openai.model(server, timeout=1.2))

    assert isinstance(reply, Reply)
    assert transport_errors(reply) == ["timeout: no whole response within 1.2 s"]


def test_a_response_that_does_not_begin_is_a_fault_of_its_own(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(openai.reply(wait=60), openai.reply())

    reply = put(openai.model(server, first_byte_timeout=1.2))

    assert isinstance(reply, Reply)
    assert transport_errors(reply) == ["first_byte_timeout: no response began within 1.2 s"]


def test_a_response_that_stands_still_is_a_timeout(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(openai.reply(declared_length=9999), openai.reply())

    reply = put(openai.model(server, first_byte_timeout=1.2))

    assert isinstance(reply, Reply)
    assert transport_errors(reply) == ["timeout: the response stalled for 1.2 s"]


def test_a_connection_that_is_not_made_is_a_fault_of_its_own(put: Put) -> None:
    with socket.socket() as full:
        # A queue of one that is taken: further connections wait for ever.
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(3)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        url = f"http://127.0.0.1:{full.getsockname()[1]}"

        answer = put(OPENAI("m", base_url=url, connect_timeout=0.2, max_transport_attempts=1))

        for one in waiting:
            one.close()

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("connect_timeout: no connection within 0.2 s")


def test_ten_megabytes_are_read(serve: Serve, openai: Any, put: Put) -> None:
    server = serve(openai.reply("x" * 10_000_000))

    reply = put(openai.model(server))

    assert isinstance(reply, Reply)
    assert len(reply.text) == 10_000_000


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzip"])
def test_a_body_beyond_the_limit_is_a_fault_that_lasts(serve: Serve, language: Any, put: Put, packed: bool) -> None:
    body = json.dumps(language.envelope("x" * 2000)).encode()
    sent = {"body": gzip.compress(body), "headers": {"Content-Encoding": "gzip"}} if packed else {"body": body}
    server = serve(sent)

    answer = put(language.model(server, max_body_bytes=1000))

    assert isinstance(answer, Unanswered)
    assert answer.error == "too_large: the response is larger than 1000 bytes"
    assert len(server.requests) == 1


@functools.cache
def bomb() -> bytes:
    """A tenth of a megabyte that unpacks to 96 MiB."""
    packer = zlib.compressobj(wbits=31)
    return b"".join(packer.compress(b" " * 2**20) for _ in range(96)) + packer.flush()


def test_a_compressed_bomb_is_not_unpacked(serve: Serve, language: Any, put: Put) -> None:
    server = serve({"body": bomb(), "headers": {"Content-Encoding": "gzip"}})
    tracemalloc.start()

    answer = put(language.model(server))

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(answer, Unanswered)
    assert answer.error == "too_large: the response is larger than 16777216 bytes"
    assert len(server.requests) == 1
    assert peak < 64 * 2**20


def test_a_compressed_reply_is_read(serve: Serve, language: Any, put: Put) -> None:
    body = gzip.compress(json.dumps(language.envelope("Paris")).encode())
    server = serve({"body": body, "headers": {"Content-Encoding": "gzip"}})

    reply = put(language.model(server))

    assert isinstance(reply, Reply)
    assert reply.text == "Paris"


def test_cookies_of_a_server_are_not_sent_back(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply(headers={"Set-Cookie": "session=1"}))
    model = openai.model(server)
    question = Ask(messages=(Message("user", "?"),), judge=model)

    async def twice() -> None:
        await model.ask(question)
        await model.ask(question)

    asyncio.run(twice())

    assert ["cookie" in request.headers for request in server.requests] == [False, False]


def test_many_questions_at_once_share_connections(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply())
    model = openai.model(server)
    question = Ask(messages=(Message("user", "?"),), judge=model)

    async def three_hundred_twice() -> list[Reply | Unanswered]:
        first = await asyncio.gather(*(model.ask(question) for _ in range(300)))
        return first + await asyncio.gather(*(model.ask(question) for _ in range(300)))

    replies = asyncio.run(three_hundred_twice())

    assert all(isinstance(reply, Reply) and len(reply.attempts) == 1 for reply in replies)
    assert len(server.requests) == 600
    assert server.connections <= 256


def test_cancelling_a_question_ends_its_request(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply(wait=30))
    model = openai.model(server)

    async def ask_for_a_moment() -> None:
        asking = asyncio.create_task(model.ask(Ask(messages=(Message("user", "?"),), judge=model)))
        async with asyncio.timeout(60):
            while not server.requests:  # noqa: ASYNC110 - the server is in another thread
                await asyncio.sleep(0.01)
        asking.cancel()
        await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(ask_for_a_moment())

    assert len(server.requests) == 1


def test_waiting_for_a_turn_counts_against_the_deadline_and_no_other_limit(
    serve: Serve, openai: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exchange, "_AT_ONCE", 1)
    server = serve(openai.reply(wait=0.4))
    model = openai.model(server, first_byte_timeout=1.5, timeout=1.5)
    question = Ask(messages=(Message("user", "?"),), judge=model)

    async def five(*, seconds: float) -> tuple[Reply | Unanswered, ...]:
        deadline = time.monotonic() + seconds
        return tuple(await asyncio.gather(*(model.ask(question, deadline=deadline) for _ in range(5))))

    patient = asyncio.run(five(seconds=30))
    hurried = asyncio.run(five(seconds=0.6))

    assert all(isinstance(answer, Reply) and len(answer.attempts) == 1 for answer in patient)
    assert all(
        isinstance(answer, Unanswered) and answer.error.startswith("timeout: no whole response within 0.")
        for answer in hurried[1:]
    )
    assert len(server.requests) <= 7
