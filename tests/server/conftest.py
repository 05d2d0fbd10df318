"""A server as its users have it, and a model on the loopback interface for it to ask.

    def test_…(client, prompt):
        made = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"]})

``client`` shows the token and asks the application in this process; ``strangers`` shows none. ``models`` is the server
that stands for every provider. ``served`` starts a server in a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.harness.warm import Started, WarmEvenhand, warm_evenhand

from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.runs.summaries import BackgroundCache
from evenhand.server.settings import ServerSettings

HERE = Path(__file__).parent
TOKEN = "a-token-that-nobody-guesses"
AUTH = {"authorization": f"Bearer {TOKEN}"}
BASE = "http://localhost:8642"
GOOD = {"score": 0.9, "hits": ["names the city"], "misses": [], "reasoning": "Right."}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of the server out of the fast ones: each starts an application, and there are hundreds."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


class Models:
    """Speaks OpenAI's chat completions: the model ``judge`` says 0.9 of everything, any other one says Paris.

    ``wait`` is how long each answer takes; none is given while ``may_answer`` is cleared. ``asked`` has the questions;
    ``says`` what a model says instead, by its name and the question.
    """

    def __init__(self) -> None:
        self.wait = 0.0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.says: Callable[[str, str], str] = lambda _model, _text: ""
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                text = body["messages"][-1]["content"]
                outer.asked.append(text)
                time.sleep(outer.wait)
                outer.may_answer.wait(60)
                said = outer.says(body["model"], text) or (json.dumps(GOOD) if body["model"] == "judge" else "Paris")
                choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
                answer = json.dumps(
                    {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 2}}
                ).encode()
                with contextlib.suppress(OSError):  # a run that is given up does not wait
                    self.send_response(200)
                    self.send_header("content-type", "application/json")
                    self.send_header("content-length", str(len(answer)))
                    self.end_headers()
                    self.wfile.write(answer)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 128

            def handle_error(self, *_: Any) -> None:
                """Say nothing of clients that went away."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def wait_seconds(client: TestClient) -> Callable[[float], None]:
    """Set how long the server waits for numbers that are being worked out."""

    def wait(seconds: float) -> None:
        app: Any = client.app
        app.state.settings = replace(app.state.settings, page_wait_seconds=seconds, result_wait_seconds=seconds)

    return wait


@pytest.fixture
def may_end(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let what is worked out aside come to its end only after this was set."""
    event = threading.Event()
    work = BackgroundCache._work

    def held(*about: Any) -> None:
        event.wait(60)
        work(*about)

    monkeypatch.setattr(BackgroundCache, "_work", held)
    yield event
    event.set()


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Iterator[Models]:
    """Start a server that stands for the provider ``vllm``."""
    found = Models()
    monkeypatch.setenv("VLLM_BASE_URL", found.url)
    yield found
    found.close()


@pytest.fixture
def settings(tmp_path: Path, empty_database: Callable[[Path], str]) -> ServerSettings:
    return ServerSettings(
        db=empty_database(tmp_path / "evenhand.db"),
        token=Secret(TOKEN),
        judge="vllm/judge",
        changes_a_minute=1_000_000,
        # As long as it takes: what is shown without the numbers is tested where it is meant.
        page_wait_seconds=60.0,
        result_wait_seconds=60.0,
    )


@pytest.fixture
def app(settings: ServerSettings) -> FastAPI:
    return make_app(settings)


@pytest.fixture(scope="session")
def document() -> dict[str, Any]:
    """Work out the OpenAPI document, which takes longer than most tests."""
    return make_app(ServerSettings(db="nowhere.db", token=Secret(TOKEN))).openapi()


@pytest.fixture
def documented(document: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let applications have their document already."""
    monkeypatch.setattr(FastAPI, "openapi", lambda _: document)


@pytest.fixture
def client(app: FastAPI, models: Models) -> Iterator[TestClient]:
    """Ask the application with the token."""
    with TestClient(app, base_url=BASE, headers=AUTH, follow_redirects=False) as found:
        yield found


@pytest.fixture
def strangers(app: FastAPI, client: TestClient) -> TestClient:
    """Ask the application without a token, on the same loop: runs live on it."""
    found = TestClient(app, base_url=BASE, follow_redirects=False)
    found.portal = client.portal
    return found


@pytest.fixture
def prompt(client: TestClient) -> str:
    """Make a prompt with three test cases, and give its id."""
    made = client.post("/api/prompts", json={"name": "capitals", "evaluation_criteria": "Names the city"}).json()["id"]
    for country in ("France", "Spain", "Italy"):
        client.post(f"/api/prompts/{made}/test-cases", json={"input": f"Capital of {country}?"})
    return str(made)


@pytest.fixture
def ended(client: TestClient) -> Callable[[str], dict[str, Any]]:
    """Wait until a run has ended, and give it."""

    def wait(run: str) -> dict[str, Any]:
        for _ in range(1200):
            if client.get(f"/api/runs/{run}/progress").json()["status"] not in ("running", "planning"):
                return dict(client.get(f"/api/runs/{run}").json())
            time.sleep(0.05)
        raise TimeoutError(run)

    return wait


@pytest.fixture(scope="session")
def warm_server() -> Iterator[WarmEvenhand]:
    """Give a way to run `evenhand serve` without its start. Tests that use it are of the group ``server``."""
    with warm_evenhand("tests.server.warm_server") as made:
        yield made


class Served:
    """A server in a process of its own."""

    def __init__(self, process: Started) -> None:
        self.process = process
        while "\n" not in process.stdout:
            assert is_there(process), process.stderr
            time.sleep(0.01)
        assert process.stdout.startswith("Evenhand is at http"), process.stdout
        self.url = process.stdout.split()[-1]
        self.client = httpx.Client(base_url=self.url, headers=AUTH, timeout=60)

    @property
    def said(self) -> str:
        """What it wrote for people."""
        return self.process.stderr

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal, and give the exit code."""
        self.process.send_signal(number)
        return self.process.wait(60)


def is_there(process: Started) -> bool:
    """Tell whether a process that nobody has waited for runs."""
    try:
        os.kill(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.fixture
def served(tmp_path: Path, models: Models, warm_server: WarmEvenhand) -> Iterator[Callable[..., Served]]:
    """Start servers, which share a folder."""
    settings = {"VLLM_BASE_URL": models.url, "EVENHAND_TOKEN": TOKEN, "EVENHAND_JUDGE": "vllm/judge"}
    with contextlib.ExitStack() as stack:

        def start(*options: str) -> Served:
            env = {**os.environ, **settings}
            process = warm_server.start("serve", "--port", "0", *options, cwd=tmp_path, env=env)
            found = Served(stack.enter_context(process))
            stack.callback(found.client.close)
            return found

        yield start
