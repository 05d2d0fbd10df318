"""A real HTTP server on the loopback interface that answers by a script and counts what reaches its sockets.

    def test_…(serve, language):
        server = serve({"status": 429, "headers": {"Retry-After": "1"}}, language.reply("Paris"))
        model = language.model(server)
        …
        assert len(server.requests) == 2

Answers are given in order, one to each request, and the last one is repeated; a function from the request to the
answer will do too. An answer is plain data, the fields of ``Answer``. It says what goes over the wire byte by byte, so
that it can be cut short, reset, or dripped. The server is made of sockets alone, and knows nothing of the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Self

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Contract, FieldContract, Score, Text, Texts
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.scale import Range
from evenhand.models.client import HttpModel
from evenhand.models.providers import ANTHROPIC, BEDROCK, GEMINI, OLLAMA, OPENAI, Provider

# With characters that look different in URLs and in JSON.
KEY = "sk-canary-7f3a9e/41+c"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server sends: a head, a body (JSON or bytes) whole or in drips, and what becomes of the connection.

    ``raw`` is sent in place of all that, for servers that do not speak HTTP.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    json: object = None
    body: bytes | None = None
    raw: bytes | None = None
    declared_length: int | None = None
    wait: float = 0.0
    drip: float | None = None
    then: Literal["keep", "close", "reset"] = "keep"

    @property
    def content(self) -> bytes:
        return json.dumps(self.json).encode() if self.body is None else self.body

    @property
    def head(self) -> bytes:
        length = len(self.content) if self.declared_length is None else self.declared_length
        headers = {"Content-Type": "application/json", "Content-Length": str(length), **self.headers}
        lines = [f"HTTP/1.1 {self.status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"


@dataclass(frozen=True, kw_only=True)
class Request:
    """What reached the server; the names of headers are in lower case."""

    target: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Script = Callable[[Request], Mapping[str, Any]]


class Listener:
    """Something that listens on the loopback interface, in a thread of its own, while it is entered."""

    tls: ssl.SSLContext | None = None

    def __init__(self) -> None:
        self.connections = 0
        self._open: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        assert not self._thread.is_alive()

    @property
    def origin(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, ssl=self.tls, backlog=512)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        # Whoever arrives at this moment is let in within the next rounds of the loop. If the server is closed by then,
        # asyncio forgets their sockets, of which it warns later, in another test.
        self._loop.remove_reader(server.sockets[0].fileno())
        for _ in range(10):
            await asyncio.sleep(0)
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = self._loop.create_task(self._talk_to_the_end(reader, writer, self.connections))
        self._open.add(task)
        task.add_done_callback(self._open.discard)
        # Not in the task: one that is ended before it began does nothing any more.
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _talk_to_the_end(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int
    ) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await self._talk(reader, writer, connection)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        raise NotImplementedError


class Server(Listener):
    """A server that answers by a script; ``requests`` and ``connections`` tell what it saw."""

    def __init__(self, script: Script | tuple[Mapping[str, Any], ...], *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__()
        self.requests: list[Request] = []
        self._script = script
        self.tls = tls

    def _answer(self, request: Request) -> Answer:
        if callable(self._script):
            return Answer(**self._script(request))
        return Answer(**self._script[min(len(self.requests), len(self._script)) - 1])

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        while True:
            first, headers = read_head(await reader.readuntil(b"\r\n\r\n"))
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            request = Request(target=first.split(" ")[1], headers=headers, body=body, connection=connection)
            self.requests.append(request)
            answer = self._answer(request)
            await self._send(answer, writer)
            if answer.then == "reset":
                # Without a farewell: what the client reads next is a reset.
                linger = struct.pack("hh" if hasattr(socket, "SIO_RCVALL") else "ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            if answer.then != "keep":
                return

    async def _send(self, answer: Answer, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(answer.wait)
        if answer.raw is not None:
            writer.write(answer.raw)
        elif answer.drip is None:
            writer.write(answer.head + answer.content)
        else:
            writer.write(answer.head)
            for number in answer.content:
                writer.write(bytes([number]))
                await writer.drain()
                await asyncio.sleep(answer.drip)
        await writer.drain()
        if answer.then != "keep":
            await asyncio.sleep(0.02)  # the bytes arrive before the connection goes


class Proxy(Listener):
    """A proxy that leads every name to one server, and keeps the heads of the requests to itself in ``seen``."""

    def __init__(
        self,
        server: Server,
        *,
        refuses_with: int | None = None,
        says: bytes = b"HTTP/1.1 200 Connected\r\n\r\n",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        super().__init__()
        self.seen: list[tuple[str, Mapping[str, str]]] = []
        self.tls = tls
        self._server = server
        self._refuses_with = refuses_with
        self._says = says

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: int) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        first, headers = read_head(head)
        self.seen.append((first, headers))
        if self._refuses_with is not None:
            writer.write(f"HTTP/1.1 {self._refuses_with} Refused\r\nContent-Length: 0\r\n\r\n".encode())
            await writer.drain()
            return
        inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", self._server.port)
        if first.startswith("CONNECT "):
            writer.write(self._says)
        else:
            inner_writer.write(head)
        try:
            await asyncio.gather(pipe(reader, inner_writer), pipe(inner_reader, writer))
        finally:
            inner_writer.transport.abort()


async def pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.transport.abort()


def read_head(head: bytes) -> tuple[str, dict[str, str]]:
    first, *lines = head.decode().strip().split("\r\n")
    return first, {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}


@dataclass(frozen=True)
class Language:
    """A dialect as a server speaks it: the provider that uses it, and the shape of its replies."""

    name: str
    provider: Provider
    _: KW_ONLY
    path: str
    envelope: Callable[[str], dict[str, Any]]

    def reply(self, text: str = "Paris", **rest: Any) -> dict[str, Any]:
        """Answer with a reply in this language."""
        return {"json": self.envelope(text), **rest}

    def model(self, server: Server, **settings: Any) -> HttpModel:
        """Make a model that asks the server, and is quick to try again."""
        return self.provider("m", **{"api_key": KEY, "backoff": 0.001, "base_url": server.origin, **settings})


LANGUAGES = (
    Language(
        "openai",
        OPENAI,
        path="/chat/completions",
        envelope=lambda text: {
            "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 7, "completion_tokens": 3},
        },
    ),
    Language(
        "anthropic",
        ANTHROPIC,
        path="/v1/messages",
        envelope=lambda text: {
            "content": [{"type": "text", "text": text}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 7, "output_tokens": 3},
        },
    ),
    Language(
        "gemini",
        GEMINI,
        path="/v1beta/models/m:generateContent",
        envelope=lambda text: {
            "candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": 3},
        },
    ),
    Language(
        "ollama",
        OLLAMA,
        path="/api/chat",
        envelope=lambda text: {
            "message": {"role": "assistant", "content": text},
            "done_reason": "stop",
            "prompt_eval_count": 7,
            "eval_count": 3,
        },
    ),
    Language(
        "bedrock",
        BEDROCK,
        path="/model/m/converse",
        envelope=lambda text: {
            "output": {"message": {"role": "assistant", "content": [{"text": text}]}},
            "stopReason": "end_turn",
            "usage": {"inputTokens": 7, "outputTokens": 3, "totalTokens": 10},
        },
    ),
)


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Start servers: ``serve(answer, answer, …)`` or ``serve(function)``; they end with the test."""
    with ExitStack() as stack:

        def start(*answers: Any, tls: ssl.SSLContext | None = None) -> Server:
            script = answers[0] if callable(answers[0]) else answers
            return stack.enter_context(Server(script, tls=tls))

        yield start


@pytest.fixture
def lead_through() -> Iterator[Callable[..., Proxy]]:
    """Start proxies to a server: ``lead_through(server)``; they end with the test."""
    with ExitStack() as stack:
        yield lambda server, **options: stack.enter_context(Proxy(server, **options))


@pytest.fixture(params=LANGUAGES, ids=lambda language: language.name)
def language(request: pytest.FixtureRequest) -> Language:
    """Each dialect in turn, as a server speaks it."""
    spoken: Language = request.param
    return spoken


@pytest.fixture
def languages() -> Mapping[str, Language]:
    """All dialects by their names."""
    return {language.name: language for language in LANGUAGES}


@pytest.fixture
def openai() -> Language:
    """The dialect of tests that need just one."""
    return LANGUAGES[0]


@pytest.fixture
def contract() -> Contract:
    """A contract such as evaluators have."""
    return FieldContract(
        name="judgment", fields=(Text(name="reasoning"), Score(scale=Range()), Texts(name="hits", most=4))
    )


@pytest.fixture
def put() -> Callable[..., Reply | Unanswered]:
    """Put a question to a model on a loop of its own; ``seconds`` is the time until the deadline."""

    def ask(model: HttpModel, *, seconds: float | None = None, **options: Any) -> Reply | Unanswered:
        question = Ask(**{"messages": (Message("user", "Capital of France?"),), "judge": model, **options})
        deadline = None if seconds is None else time.monotonic() + seconds
        return asyncio.run(model.ask(question, deadline=deadline))

    return ask


@pytest.fixture
def key() -> str:
    """The key that the models here send, and that nobody else may see."""
    return KEY
