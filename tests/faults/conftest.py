"""A provider that misbehaves in every way we know of, and can say beforehand when it will (REL-K2).

    def test_…(faulty):
        provider = faulty(seed=1)
        outcome = provider.outcome(17, 0)      # what the first request about case 17 will get

What a request gets is a function of the seed, the case, and how many requests about that case came before; so what
must become of every case can be worked out without asking. A case is known by ``case-17!`` in the request. The server
is made of sockets alone, runs in a thread of its own, and notes in ``log`` what it was asked. The small question that
is asked when a failure may be everybody's belongs to no case: it is answered, and counted in ``probes``.
"""

from __future__ import annotations

import asyncio
import functools
import gzip
import json
import os
import random
import re
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import pytest

KEY = os.environ["CANARY_KEY"]
FAULTS = 0.3
# How long the client is told to wait: longer than a busy machine keeps an answer from being sent.
FIRST_BYTE_SECONDS = 5.0
WHOLE_SECONDS = 6.0
MAX_BODY_BYTES = 256 * 1024


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a request gets, and what the client must make of it.

    ``sends`` is a response, byte for byte. ``means`` is ``score`` for a reply that can be used, ``reply`` for one that
    cannot, ``transport`` for a request that brings none; ``classes`` are what its failure may be called. A ``final``
    one is not tried again. ``text`` is what the judge said.
    """

    name: str
    sends: bytes = b""
    then: Literal["keep", "close", "reset", "drip", "silence"] = "keep"
    means: Literal["score", "reply", "transport"] = "transport"
    classes: frozenset[str] = frozenset()
    final: bool = False
    text: str | None = None
    score: float | None = None


def response(body: bytes | Any, *, status: int = 200, length: int | None = None, **headers: str) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    known = {
        "Content-Type": "application/json",
        "Content-Length": str(len(content) if length is None else length),
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in known.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + content


def envelope(text: str | None, *, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5},
    }


# Replies that can be used: the text of the judge, and the score that is in it.
def good(chance: random.Random) -> Outcome:
    raw = round(chance.random(), 2)
    said = json.dumps({"reasoning": "because", "hits": ["a"], "misses": [], "score": raw})
    name = chance.choice(["plain", "packed", "fenced", "in prose", "quoted number", "clamped", "odd bytes", "the key"])
    body: bytes | None = None
    match name:
        case "fenced":
            said = f"```json\n{said}\n```"
        case "in prose":
            said = f"Let me think {{hard}}.\n{said}\nThat is all."
        case "quoted number":
            said = json.dumps({"score": str(raw)})
        case "clamped":
            said, raw = json.dumps({"score": 1.7}), 1.0
        case "odd bytes":
            body = json.dumps(envelope(said)).encode().replace(b"because", b"beca\xff\xfeuse")
            said = said.replace("because", "beca\ufffd\ufffduse")
        case "the key":  # a server's words, which must not be kept as they are
            body = json.dumps(envelope(said.replace("because", f"you sent {KEY}"))).encode()
            said = said.replace("because", "you sent ***")
    content = json.dumps(envelope(said)).encode() if body is None else body
    if name == "packed":
        return Outcome(
            name=name,
            sends=response(gzip.compress(content), Content_Encoding="gzip"),
            means="score",
            text=said,
            score=raw,
        )
    return Outcome(name=name, sends=response(content), means="score", text=said, score=raw)


def fault(name: str, classes: str, sends: bytes = b"", **rest: Any) -> Outcome:
    return Outcome(name=name, sends=sends, classes=frozenset(classes.split()), **rest)


def unusable(name: str, text: str | None, classes: str = "", **answer: Any) -> Outcome:
    known = frozenset(classes.split())
    said = answer.get("refusal") or text or ""
    return Outcome(name=name, sends=response(envelope(text, **answer)), means="reply", classes=known, text=said)


PROBLEM = {"error": {"message": "try later", "type": "server_error", "code": "server_error"}}
COMPLETE = json.dumps(envelope('{"score": 1.0}')).encode()

TRANSPORT = [
    fault("429", "rate_limited", response(PROBLEM, status=429)),
    fault("429, a moment", "rate_limited", response(PROBLEM, status=429, Retry_After="0.02")),
    fault("429, nonsense", "rate_limited", response(PROBLEM, status=429, Retry_After="soon")),
    fault("429, negative", "rate_limited", response(PROBLEM, status=429, Retry_After="-7")),
    fault("429, past", "rate_limited", response(PROBLEM, status=429, Retry_After="Thu, 01 Jan 1970 00:00:09 GMT")),
    # The longest that is waited for is a minute, which the case does not have.
    fault("429, a day", "rate_limited", response(PROBLEM, status=429, Retry_After="86400"), final=True),
    fault("500", "server_error", response(PROBLEM, status=500)),
    fault("500, the key", "server_error", response({"error": f"key {KEY} is odd"}, status=500)),
    fault("502", "server_error", response(b"<html>Bad gateway</html>", status=502, Content_Type="text/html")),
    fault("503", "overloaded", response(b"", status=503)),
    fault("529", "overloaded", response(PROBLEM, status=529)),
    fault("400, filtered", "filtered", response({"error": {"code": "content_filter"}}, status=400), final=True),
    fault("closed", "connection", then="close"),
    fault("reset", "connection", then="reset"),
    fault("reset midway", "connection incomplete_body", response(COMPLETE)[:-20], then="reset"),
    fault("broken off", "incomplete_body", response(COMPLETE, length=len(COMPLETE) + 50), then="close"),
    fault("cut short", "invalid_body", response(COMPLETE[:-20], Connection="close"), then="close"),
    fault("silence", "first_byte_timeout", then="silence"),
    fault("drip", "timeout", response(COMPLETE), then="drip"),
    fault("error with 200", "error_body", response(PROBLEM)),
    fault("a page", "invalid_body", response(b"<!doctype html><title>Welcome</title>", Content_Type="text/html")),
    fault("nothing", "invalid_body", response(b"")),
    fault("another API", "invalid_body", response({"object": "list", "data": []})),
    fault("not packed", "invalid_body", response(COMPLETE, Content_Encoding="gzip")),
    fault("packed unasked", "invalid_body", response(COMPLETE, Content_Encoding="br")),
    fault("no HTTP", "invalid_response connection", b"220 mail.example ESMTP\r\n\r\n", then="close"),
    fault("10 MB", "too_large", response(b'"' + b"x" * 10_000_000 + b'"'), then="close", final=True),
    fault("bomb", "too_large", response(gzip.compress(bytes(10_000_000)), Content_Encoding="gzip"), final=True),
]
UNUSABLE = [
    Outcome(name="no choices", sends=response({"choices": []}), means="reply", classes=frozenset({"empty"}), text=""),
    unusable("no content", None, "empty"),
    unusable("refusal", None, "refusal", refusal="I would rather not."),
    unusable("length", '{"score": 1.0}', "truncated", finish="length"),
    unusable("filter", '{"score": 1.0}', "filtered", finish="content_filter"),
    unusable("prose", "Excellent! 10 out of 10, score: 1.0"),
    unusable("cut at the score", '{"score":'),
    unusable("unclosed", '{"reasoning": "good", "score": 1.0'),
    unusable("not a number", '{"score": NaN}'),
    unusable("infinite", '{"score": 1e999}'),
    unusable("true", '{"score": true}'),
    unusable("null", '{"score": null}'),
    unusable("a word", '{"score": "high"}'),
    unusable("no score", '{"verdict": "pass", "reasoning": "fine"}'),
    unusable("a list", "[1.0, 0.5]"),
    unusable("twice", '{"score": 0.1, "score": 1.0}'),
    unusable("trailing comma", '{"score": 1.0,}'),
    unusable("single quotes", "{'score': 1.0}"),
    unusable("hits as text", '{"score": 1.0, "hits": "all of it"}'),
    unusable("a tower", "[" * 5000),
    unusable("white space", " \n\t ", "empty"),
]
_BY_NAME = {one.name: one for one in (*TRANSPORT, *UNUSABLE)}
# Those that cost the client its patience come less often.
_WEIGHTS = [0.3 if one.then in {"silence", "drip"} else 1.0 for one in (*TRANSPORT, *UNUSABLE)]

# Cases that never get better, or as late as possible: the others must not notice.
POISONED: dict[int, tuple[str, ...]] = {
    7: ("500",) * 99,
    13: ("no score",) * 99,
    23: (*("502",) * 4, "prose") * 9,
    29: (*("closed",) * 4, "prose", *("error with 200",) * 4, "refusal", *("529",) * 4),
    31: ("429, a day",),
    37: ("bomb",),
}


@dataclass
class Provider:
    """The server. ``faults`` can be set to 0, and it is a good one."""

    seed: int = 0
    faults: float = FAULTS
    log: list[tuple[int, Outcome]] = field(default_factory=list)
    probes: int = 0
    answers_probes: bool = True
    most_at_once: int = 0

    def __post_init__(self) -> None:
        self._seen: Counter[int] = Counter()
        self._open: dict[asyncio.Task[None], asyncio.StreamReader] = {}
        self._busy: set[asyncio.StreamReader] = set()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @functools.lru_cache(maxsize=100_000)  # noqa: B019 - there is one provider, and it goes with its test
    def outcome(self, case: int, before: int) -> Outcome:
        """Tell what the next request about a case gets, after so many before it."""
        script = POISONED.get(case, ()) if self.faults else ()
        if before < len(script):
            return _BY_NAME[script[before]]
        chance = random.Random(f"{self.seed} {case} {before} {self.faults}")
        if chance.random() >= self.faults or script:
            return good(chance)
        return chance.choices((*TRANSPORT, *UNUSABLE), _WEIGHTS)[0]

    __hash__ = object.__hash__

    def mend(self) -> None:
        """Be a good provider from now on, and forget what was."""
        self.faults = 0.0
        type(self).outcome.cache_clear()
        self.log.clear()
        self._seen.clear()

    @property
    def settings(self) -> dict[str, Any]:
        """A judge that asks this provider, quickly tries again, and is not patient."""
        return {
            "model": "openai/judge",
            "base_url": f"http://127.0.0.1:{self.port}/v1",
            "api_key": KEY,
            "backoff": 0.001,
            "first_byte_timeout": FIRST_BYTE_SECONDS,
            "timeout": WHOLE_SECONDS,
            "max_body_bytes": MAX_BODY_BYTES,
        }

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)
        assert not self._thread.is_alive()

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        # Whoever arrives at this moment is let in first: asyncio would forget the sockets, and warn of them later.
        self._loop.remove_reader(server.sockets[0].fileno())
        for _ in range(10):
            await asyncio.sleep(0)
        server.close()
        for task in self._open:
            task.cancel()
        await asyncio.gather(*self._open, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = reader
        try:
            while await self._exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            del self._open[task]
            self._busy.discard(reader)
            writer.transport.abort()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request, and tell whether the connection goes on."""
        head = await reader.readuntil(b"\r\n\r\n")
        (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
        body = await reader.readexactly(int(length))
        assert f"authorization: bearer {KEY}".lower() in head.decode().lower()
        self._busy.add(reader)
        await asyncio.sleep(0)  # lets this loop hear of those who left before this request was sent
        # A client that has gone away, by saying so or by a reset, waits for nothing any more.
        waiting = [one for one in self._busy if not one.at_eof() and one.exception() is None]
        self.most_at_once = max(self.most_at_once, len(waiting))
        if b"Reply with: ok" in body:
            self.probes += 1
            outcome = (
                Outcome(name="probe", sends=response(envelope("ok"))) if self.answers_probes else self.outcome(0, 0)
            )
        else:
            (number,) = {int(found) for found in re.findall(rb"case-(\d+)!", body)}
            outcome = self.outcome(number, self._seen[number])
            self._seen[number] += 1
            self.log.append((number, outcome))
        await asyncio.sleep(0)
        await self._send(outcome, reader, writer)
        self._busy.discard(reader)
        return outcome.then == "keep"

    async def _send(self, outcome: Outcome, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if outcome.then == "silence":
            await reader.read(1)  # until the client has enough
            return
        if outcome.then == "drip":
            head, _, body = outcome.sends.partition(b"\r\n\r\n")
            writer.write(head + b"\r\n\r\n")
            for byte in body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.1)
            return
        writer.write(outcome.sends)
        await writer.drain()
        if outcome.then == "reset":
            await asyncio.sleep(0.01)  # the bytes arrive before the connection goes
            linger = struct.pack("hh" if hasattr(socket, "SIO_RCVALL") else "ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        elif outcome.then == "close":
            writer.write_eof()
            await reader.read(1)


@pytest.fixture
def faulty() -> Iterator[Callable[..., Provider]]:
    """Start a provider with a seed; it ends with the test."""
    started: list[Provider] = []

    def start(**options: Any) -> Provider:
        started.append(Provider(**options).__enter__())
        return started[-1]

    yield start
    for one in started:
        one.__exit__()


@pytest.fixture
def key() -> str:
    """The key that is sent to the provider, and that nobody may keep."""
    return KEY


class Vanishing:
    """A provider that answers by a function of the question, and can be gone and come back at the same address.

    ``respond`` gets the text of the last message and gives a response, byte for byte. ``asked`` are the texts that came.
    """

    def __init__(self, respond: Callable[[str], bytes]) -> None:
        self.respond = respond
        self.asked: list[str] = []
        self.port = 0
        self._connections: set[asyncio.StreamWriter] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.come_back()

    @property
    def settings(self) -> dict[str, Any]:
        """A judge that asks this provider, and quickly tries again."""
        url = f"http://127.0.0.1:{self.port}/v1"
        return {"model": "openai/judge", "base_url": url, "api_key": KEY, "backoff": 0.001}

    @property
    def probes(self) -> int:
        """How many of the questions were the small one that belongs to no case."""
        return sum(text == "Reply with: ok" for text in self.asked)

    def come_back(self) -> None:
        """Listen, where it was before."""
        asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(60)

    def vanish(self) -> None:
        """Let go of the address and of everybody who is connected; whoever comes is refused."""
        asyncio.run_coroutine_threadsafe(self._leave(), self._loop).result(60)

    def close(self) -> None:
        self.vanish()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(60)
        self._loop.close()

    async def _listen(self) -> None:
        self._server = await asyncio.start_server(self._talk, "127.0.0.1", self.port, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _leave(self) -> None:
        if self._server is not None:
            # Whoever arrives at this moment is let in first: asyncio would forget the sockets, and warn of them later.
            self._loop.remove_reader(self._server.sockets[0].fileno())
            for _ in range(10):
                await asyncio.sleep(0)
            self._server.close()
            self._server = None
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                (length,) = re.findall(rb"(?i)content-length: (\d+)", head)
                text = json.loads(await reader.readexactly(int(length)))["messages"][-1]["content"]
                self.asked.append(text)
                writer.write(self.respond(text))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()


@pytest.fixture
def vanishing() -> Iterator[Callable[..., Vanishing]]:
    """Start a provider that can be gone; it ends with the test."""
    started: list[Vanishing] = []

    def start(respond: Callable[[str], bytes] = lambda text: response(envelope('{"score": 1.0}'))) -> Vanishing:
        started.append(Vanishing(respond))
        return started[-1]

    yield start
    for provider in started:
        provider.close()


@pytest.fixture
def responding() -> Callable[..., bytes]:
    """Write a response: ``responding(body, status=503)``."""
    return response
