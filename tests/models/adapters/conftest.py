"""Asking an adapter, as the driver would."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.contract import Contract, FieldContract, Score, Text
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.scale import UNIT
from evenhand.models.adapters.adapt import adapt
from evenhand.models.retry import RetryPolicy

MESSAGES = (Message("system", "Judge strictly."), Message("user", "Is 2 + 2 = 4?"))


@pytest.fixture
def contract() -> Contract:
    return FieldContract(name="judgment", fields=(Text(name="reasoning"), Score(scale=UNIT)))


@pytest.fixture
def adapted() -> Callable[..., ModelClient]:
    """Adapt an object that can be adapted, with retries that do not wait."""

    def make(given: object, *, model: str | None = None, attempts: int = 5) -> ModelClient:
        judge = adapt(given, model=model, policy=RetryPolicy(base=0.0, max_transport_attempts=attempts))
        assert judge is not None
        return judge

    return make


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """An event loop for the whole test: clients keep their connections on it."""
    with asyncio.Runner() as one:
        yield one


@pytest.fixture
def put(runner: asyncio.Runner) -> Callable[..., Reply | Unanswered]:
    """Put a question to a judge and wait for the answer; ``seconds`` is the time until the deadline."""

    def ask(judge: ModelClient, *, seconds: float | None = None, **options: Any) -> Reply | Unanswered:
        deadline = None if seconds is None else time.monotonic() + seconds
        question = Ask(**{"messages": MESSAGES, "judge": judge, **options})
        return runner.run(judge.ask(question, deadline=deadline))

    return ask


@pytest.fixture
def put_many(runner: asyncio.Runner) -> Callable[..., list[Reply | Unanswered]]:
    """Put a question to a judge a hundred times at once."""

    def ask(judge: ModelClient, **options: Any) -> list[Reply | Unanswered]:
        async def at_once() -> list[Reply | Unanswered]:
            questions = [Ask(messages=MESSAGES, judge=judge, sample=number, **options) for number in range(100)]
            return await asyncio.gather(*(judge.ask(question) for question in questions))

        return runner.run(at_once())

    return ask


class HundredsAtOnce(ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # a client that gave up is part of the tests
            super().handle_error(request, client_address)


class Server:
    """A provider on the loopback interface: gives its responses in turn, the last one again and again.

    A response is a reply's text, or a status, a body and headers. ``requests`` has the bodies that came.
    """

    def __init__(self) -> None:
        self.responses: list[str | tuple[int, object, dict[str, str]]] = []
        self.requests: list[dict[str, Any]] = []
        self.seconds = 0.0
        self._over = threading.Event()
        self._turn = threading.Lock()
        self._http = HundredsAtOnce(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @staticmethod
    def completion(text: str | None, *, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
        """Make the body of a chat completion."""
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": "gpt-test",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": text, **message},
                }
            ],
            "usage": {
                "prompt_tokens": 11,
                "completion_tokens": 7,
                "total_tokens": 18,
                "prompt_tokens_details": {"cached_tokens": 5},
            },
        }

    def close(self) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def wait_for(self, count: int) -> None:
        """Wait until so many requests have been read: a client that gave up does not know when that is."""
        end = time.monotonic() + 60
        while len(self.requests) < count and time.monotonic() < end:
            time.sleep(0.01)

    def respond(self, request: dict[str, Any]) -> tuple[int, object, dict[str, str]]:
        with self._turn:
            self.requests.append(request)
            response = self.responses.pop(0) if len(self.responses) > 1 else self.responses[0]
        return (200, self.completion(response), {}) if isinstance(response, str) else response

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status, body, headers = server.respond(request)
                server._over.wait(server.seconds)
                content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
                self.send_response(status)
                kind = "text/html" if isinstance(body, str) else "application/json"
                for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *args: Any) -> None:
                pass

        return Handler


@pytest.fixture
def provider() -> Iterator[Server]:
    """A provider on the loopback interface."""
    server = Server()
    try:
        yield server
    finally:
        server.close()
