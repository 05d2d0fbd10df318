"""A server that mangles its answers by a seed: every question gets its own answer or a failure that has a class.

A question says in its prompt who it is and what shall become of its answer; the server works out the rest from that,
so whatever goes wrong here goes wrong again with the same seed. Each asker has a server of its own and waits until it
has said everything: whose turn it is never depends on time.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import gc
import gzip
import json
import random
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.models.providers import ANTHROPIC, BEDROCK, GEMINI, OLLAMA, OPENAI

ASKERS = 4
MAX_BODY_BYTES = 64 * 1024
QUESTION = re.compile(rb"<(\w+) (\d+) ([a-z0-9 ]+)>")
ID = re.compile(r"<reply (\d+)>")

# What a failure may be called; docs/results.md says what they mean.
CLASSES = frozenset(
    [
        "connection",
        "incomplete_body",
        "invalid_response",
        "first_byte_timeout",
        "timeout",
        "rate_limited",
        "overloaded",
        "server_error",
        "error_body",
        "invalid_body",
        "unauthorized",
        "forbidden",
        "not_found",
        "bad_request",
        "quota",
        "redirect",
        "too_large",
        "http_error",
    ]
)

ENVELOPES: dict[str, Callable[[Any], Any]] = {
    "openai": lambda text: {"choices": [{"message": {"content": text}, "finish_reason": "stop"}], "usage": {}},
    "anthropic": lambda text: {"content": [{"type": "text", "text": text}], "stop_reason": "end_turn"},
    "gemini": lambda text: {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]},
    "ollama": lambda text: {"message": {"content": text}, "done_reason": "stop"},
    "bedrock": lambda text: {"output": {"message": {"content": [{"text": text}]}}, "stopReason": "end_turn"},
}
PROVIDERS = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI, "ollama": OLLAMA, "bedrock": BEDROCK}

INTERIM = ["100 Continue", "102 Processing", "103 Early Hints"]
LENGTHS = ["-1", "+5", "0x5", "1e9", "x", "9" * 30]
SIZES = [b"-1", b"0x5", b"g", b"f" * 17, b"", b" 5", b"5 ;"]
NO_REPLIES = [b"", b"<html>", b"[" * 50_000, b"9" * 50_000, b'{"a":', b"null", b'"x"', b"nul", b"\xff", b"{}"]
BOMB = gzip.compress(bytes(10 * MAX_BODY_BYTES))

# What becomes of a question: its answer for certain, either, or certainly a failure.
Ending: TypeAlias = Literal["reply", "any", "failure"]
# What a server does: says bytes, lets them go out, leaves, breaks the connection, or is silent until it is left.
Step: TypeAlias = "bytes | Literal['flush', 'leave', 'reset', 'silence']"


class Question(NamedTuple):
    """Who asks, in which dialect, and what shall become of the answer."""

    dialect: str
    number: int
    mischief: str

    @property
    def body(self) -> bytes:
        return json.dumps(ENVELOPES[self.dialect](f"<reply {self.number}>")).encode()


def head(*lines: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    return "\r\n".join([f"HTTP/{version} {status}", *lines, "\r\n"]).encode("latin-1")


def framed(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    return head(f"Content-Length: {len(body)}", *lines, status=status) + body


def chunked(body: bytes, chance: random.Random, *, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    said = head("Transfer-Encoding: chunked")
    while body:
        size = chance.randint(1, len(body))
        said += b"%x%b\r\n%b\r\n" % (size, extension, body[:size])
        body = body[size:]
    return said + b"0" + extension + b"\r\n" + trailer + b"\r\n"


def packed(body: bytes, *lines: str) -> bytes:
    return framed(body, "Content-Encoding: gzip", *lines)


def cut(said: bytes, chance: random.Random) -> bytes:
    return said[: chance.randrange(len(said))]


def stranger(question: Question) -> bytes:
    """An answer to somebody else."""
    return framed(question._replace(number=question.number + 1_000_000).body)


def whole(question: Question, chance: random.Random) -> bytes:
    """An honest answer, in one of the forms that it may have."""
    body = question.body
    return chance.choice([framed(body), chunked(body, chance), packed(gzip.compress(body))])


def dripped(said: bytes, chance: random.Random) -> Iterator[Step]:
    while said:
        size = chance.choice((1, 1, 1, 2, 30))
        yield said[:size]
        yield "flush"
        said = said[size:]


def shape(question: Question, chance: random.Random) -> bytes:
    """JSON that is no reply of the dialect, or one in another's."""
    body: Any = ENVELOPES[question.dialect]("")
    odd: Any = chance.choice([None, [], {}, "", 0, -1, 1.5, True, "x", [None], [[]], {"a": 1}, [{}], 10**30, "\ud800"])
    place, key = body, chance.choice(list(body))
    while chance.random() < 0.7 and isinstance(place[key], (dict, list)) and place[key]:
        place = place[key]
        key = chance.choice(list(place)) if isinstance(place, dict) else 0
    place[key] = odd
    return json.dumps(chance.choice([body, body, body, odd])).encode()


def refusal(question: Question, chance: random.Random) -> list[Step]:
    status = chance.choice([400, 401, 402, 403, 404, 409, 422, 429, 500, 503, 529, 599, 999])
    wait = chance.choice(["0.001", "-1", "1e999", "nan", "9" * 5000, "Thu, 99 Foo", "\xe9", "," * 9999])
    content = chance.choice([b"", b"<html>", complaint(chance), question.body, b"[" * 5000])
    return [framed(content, f"Retry-After: {wait}", status=f"{status} Whatever")]


def complaint(chance: random.Random) -> bytes:
    words: list[Any] = [
        "server_error",
        "429",
        "9" * 5000,
        503,
        10**15,
        None,
        "insufficient_quota",
        [],
        "\u0663" * 3,
        -1,
    ]
    error = {"message": chance.choice(["try later", "", None, "x" * 9999]), "code": chance.choice(words)}
    return json.dumps({"error": chance.choice([error, error, "overloaded", [1], 1])}).encode()


def steps(*given: Step) -> list[Step]:
    return list(given)


# Of what becomes of a question, and what its server does, by name.
MISCHIEF: dict[str, tuple[Ending, Callable[[Question, random.Random], list[Step]]]] = {
    "honest": ("reply", lambda q, r: steps(whole(q, r))),
    "dripped": ("reply", lambda q, r: list(dripped(whole(q, r), r))),
    "interim": ("reply", lambda q, r: steps(head("A: b", status=r.choice(INTERIM)) * r.randint(1, 5), whole(q, r))),
    "trailers": ("reply", lambda q, r: steps(chunked(q.body, r, extension=b";a=b", trailer=b"X-Sum: 1\r\n"))),
    "old version": ("reply", lambda q, _: steps(head(version="1.0") + q.body, "leave")),
    "until it leaves": ("reply", lambda q, _: steps(head("Connection: close") + q.body, "leave")),
    "says close": ("reply", lambda q, _: steps(framed(q.body, "Connection: close"))),
    "leaves unsaid": ("reply", lambda q, _: steps(framed(q.body, "Connection: keep-alive"), "leave")),
    "double keys": ("reply", lambda q, _: steps(framed(b"%b, %b" % (q.body[:-1], q.body[1:])))),
    "no text": ("reply", lambda q, _: steps(framed(q.body.replace(b"<reply", b"\xff\xfe<reply")))),
    "no finite number": ("reply", lambda q, _: steps(framed(q.body[:-1] + b', "usage": {"x": NaN, "y": 1e999}}'))),
    "one too many": ("reply", lambda q, r: steps(whole(q, r) + stranger(q)[: r.randint(1, 200)])),
    "one too many later": ("reply", lambda q, r: steps(whole(q, r), "flush", stranger(q))),
    "cut short": ("failure", lambda q, r: steps(cut(framed(q.body), r), r.choice(["leave", "reset"]))),
    "chunks cut short": ("failure", lambda q, r: steps(cut(chunked(q.body, r), r), r.choice(["leave", "reset"]))),
    "packing cut short": ("failure", lambda q, r: steps(packed(gzip.compress(q.body)[: -r.randint(1, 20)]))),
    "packing left": (
        "failure",
        lambda q, r: steps(head("Content-Encoding: gzip") + gzip.compress(q.body)[: -r.randint(1, 20)], "leave"),
    ),
    "packing and more": ("failure", lambda q, r: steps(packed(gzip.compress(q.body) + r.randbytes(r.randint(1, 9))))),
    "bomb": ("failure", lambda _q, _r: steps(packed(BOMB))),
    "not packed": ("failure", lambda q, r: steps(framed(q.body, f"Content-Encoding: {r.choice(['gzip', 'br', 'x'])}"))),
    "short length": ("failure", lambda q, r: steps(head(f"Content-Length: {r.randrange(len(q.body))}") + q.body)),
    "long length": ("failure", lambda q, r: steps(head(f"Content-Length: {len(q.body) + 1}") + q.body, "leave")),
    "odd length": ("failure", lambda q, r: steps(head(f"Content-Length: {r.choice(LENGTHS)}") + q.body, "leave")),
    "two lengths": (
        "failure",
        lambda q, r: steps(framed(q.body, f"Content-Length: {r.choice([len(q.body), 1])}")),
    ),
    "length and chunks": (
        "failure",
        lambda q, r: steps(chunked(q.body, r).replace(b"\r\n", b"\r\nContent-Length: 9\r\n", 1)),
    ),
    "odd chunk": (
        "failure",
        lambda q, r: steps(head("Transfer-Encoding: chunked") + r.choice(SIZES) + b"\r\n" + q.body, "leave"),
    ),
    "garbage": ("failure", lambda _, r: steps(r.randbytes(r.randint(1, 500)), "leave")),
    "only a body": ("failure", lambda q, _: steps(q.body, "leave")),
    "bare line feeds": ("failure", lambda q, _: steps(framed(q.body, "X: y").replace(b"\r\n", b"\n"), "leave")),
    "folded": ("failure", lambda q, _: steps(framed(q.body, "X: a\r\n b"), "leave")),
    "zeros": ("failure", lambda q, r: steps(framed(q.body, f"X: a{r.choice(chr(0) + chr(10) + chr(13))}b"), "leave")),
    "long head": ("failure", lambda q, _: steps(framed(q.body, f"X: {'x' * 70_000}"), "leave")),
    "many headers": ("failure", lambda q, _: steps(framed(q.body, *(f"X-{n}: x" for n in range(300))), "leave")),
    "large": ("failure", lambda q, _: steps(framed(b" " * (MAX_BODY_BYTES + 1) + q.body))),
    "upgrade": (
        "failure",
        lambda q, _: steps(head("Upgrade: h2c", "Connection: Upgrade", status="101 S") + framed(q.body)),
    ),
    "no content": ("failure", lambda q, r: steps(framed(q.body, status=r.choice(["204 No Content", "304 Unchanged"])))),
    "redirect": ("failure", lambda q, _: steps(framed(q.body, "Location: http://127.0.0.1:1/", status="302 Found"))),
    "status": ("failure", refusal),
    "complaint": ("failure", lambda _, r: steps(framed(complaint(r)))),
    "shape": ("any", lambda q, r: steps(framed(shape(q, r)))),
    "no json": ("failure", lambda _, r: steps(framed(r.choice(NO_REPLIES)))),
    "reset": ("failure", lambda _q, _r: steps("reset")),
    "silence": ("failure", lambda q, r: steps(cut(chunked(q.body, r), r), "silence")),
}


class Mangler:
    """Servers on the loopback interface, in a thread of their own, that do to each question what it asks for.

    ``said_all[number]`` is when nothing more will come about a question; it has to be there before it is asked.
    """

    def __init__(self) -> None:
        self.said_all: dict[int, concurrent.futures.Future[None]] = {}
        self.origins: list[str] = []
        self._talking: set[asyncio.Task[None]] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    def __enter__(self) -> Mangler:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(ASKERS):
                server = await stack.enter_async_context(await asyncio.start_server(self._connected, "127.0.0.1", 0))
                self.origins.append(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
            self._ready.set()
            await self._stop.wait()
            for task in self._talking:
                task.cancel()
            await asyncio.gather(*self._talking, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._talk(reader, writer))
        self._talking.add(task)
        task.add_done_callback(self._talking.discard)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while not writer.is_closing():
                asked = await reader.readuntil(b"\r\n\r\n")
                asked = await reader.readexactly(
                    int(asked.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
                )
                match = QUESTION.search(asked)
                assert match
                question = Question(match[1].decode(), int(match[2]), match[3].decode())
                try:
                    await self._answer(question, reader, writer)
                finally:
                    self.said_all[question.number].set_result(None)

    async def _answer(self, question: Question, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _, answer = MISCHIEF[question.mischief]
        for step in answer(question, random.Random(f"{question.mischief} {question.number}")):
            match step:
                case bytes():
                    writer.write(step)
                case "flush":
                    await writer.drain()
                    await asyncio.sleep(0)
                case "silence":
                    await reader.read()
                case "leave" | "reset":
                    if step == "reset":
                        linger = struct.pack("ii", 1, 0)
                        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                    writer.close()
                    await writer.wait_closed()
        await writer.drain()


def chosen(number: int, seed: int) -> Question:
    """Make up a question; every fourth is to be answered honestly, to see what came after the others."""
    chance = random.Random(f"{seed} {number}")
    mischief = "honest" if number % 4 == 3 else chance.choice(list(MISCHIEF))
    return Question(chance.choice(list(ENVELOPES)), number, mischief)


def complaint_about(question: Question, outcome: Reply | Unanswered) -> str | None:
    """Tell what is wrong with how a question ended, if anything is."""
    ending, _ = MISCHIEF[question.mischief]
    if isinstance(outcome, Reply):
        ids = ID.findall(outcome.text)
        right = ids == [str(question.number)] if ending == "reply" else ending == "any" and not ids
    else:
        right = ending != "reply" and outcome.error.partition(":")[0] in CLASSES and len(outcome.attempts) == 1
    return None if right else f"{question}: {outcome}"


async def ask_all(servers: Mangler, questions: int, seed: int) -> list[str]:
    numbers = iter(range(questions))
    wrong: list[str] = []

    async def asker(origin: str) -> None:
        usual = {"api_key": "k", "base_url": origin, "max_transport_attempts": 1, "max_body_bytes": MAX_BODY_BYTES}
        models = {name: provider("m", **usual) for name, provider in PROVIDERS.items()}
        hasty = {name: provider("m", **usual, first_byte_timeout=0.05) for name, provider in PROVIDERS.items()}
        for number in numbers:
            question = chosen(number, seed)
            model = (hasty if question.mischief == "silence" else models)[question.dialect]
            words = f"<{question.dialect} {question.number} {question.mischief}>"
            said_all = servers.said_all[number] = concurrent.futures.Future()
            async with asyncio.timeout(60):
                outcome = await model.ask(Ask(messages=(Message("user", words),), judge=model))
                await asyncio.wrap_future(said_all)
            del servers.said_all[number]
            if told := complaint_about(question, outcome):
                wrong.append(told)

    async with asyncio.TaskGroup() as group:
        for origin in servers.origins:
            group.create_task(asker(origin))
    assert asyncio.all_tasks() == {asyncio.current_task()}
    return wrong


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


def fuzz(questions: int, seed: int) -> list[str]:
    """Ask so many questions, see to it that nothing is left open, and tell what went wrong."""
    gc.collect()
    before = open_files()
    with Mangler() as servers:
        wrong = asyncio.run(ask_all(servers, questions, seed))
    gc.collect()  # a socket that nobody closed would warn now, which is an error here
    assert open_files() == before
    return wrong


@pytest.mark.parametrize(
    ("questions", "seed"),
    [
        pytest.param(400, 1, id="sample"),
        pytest.param(20_000, 2, id="all", marks=pytest.mark.sweep),
    ],
)
def test_every_question_gets_its_own_answer_or_a_failure_with_a_class(questions: int, seed: int) -> None:
    assert fuzz(questions, seed) == []
