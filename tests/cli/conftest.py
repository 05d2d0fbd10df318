"""The command line as a user has it, and a judge on the loopback interface for it to ask.

    def test_…(provider, command, suite):
        suite(cases=3, judge=provider)
        done = command("run", "suite.yaml")
        assert done.code == 0

``command`` runs the verb within this process, which is quick; ``process`` in a process of its own that has loaded
everything, for what only that can show: signals and what is left behind. Both work in a folder of their own.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.harness.warm import Started, WarmEvenhand
from typer.testing import CliRunner

from evenhand.cli.main import app

GOOD = {"score": 0.9, "hits": ["names the city"], "misses": [], "reasoning": "Right."}
KEY = os.environ["CANARY_KEY"]

Script = Callable[[str], Mapping[str, Any]]


class Provider:
    """A server that speaks OpenAI's chat completions, in a thread of its own.

    ``script`` gets the text of the last message, and says what to answer: ``says`` (a text, or an object that is
    written as JSON), or ``body`` (a whole body, word for word), ``status``, ``headers``, ``wait`` (seconds). ``asked`` has the texts in the order they came, ``bodies``
    the whole requests.
    """

    def __init__(self, script: Script | None = None) -> None:
        self.asked: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self._script = script or (lambda _: {})
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    def __enter__(self) -> Provider:
        self._thread.start()
        assert self._ready.wait(60)
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    async def _serve(self) -> None:
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self._talk, "127.0.0.1", 0, backlog=512)
        self.port: int = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        # Whoever arrives at this moment is let in first: asyncio would forget the sockets, and warn of them later.
        self._loop.remove_reader(server.sockets[0].fileno())
        for _ in range(10):
            await asyncio.sleep(0)
        server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.strip().split("\r\n")[1:])
                body = json.loads(await reader.readexactly(int(fields["content-length"])))
                self.keys.add(fields.get("authorization", ""))
                text = body["messages"][-1]["content"]
                self.asked.append(text)
                self.bodies.append(body)
                answer = self._script(text)
                await asyncio.sleep(answer.get("wait", 0))
                writer.write(_response(answer))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()


def _response(answer: Mapping[str, Any]) -> bytes:
    said = answer.get("says", GOOD)
    text = said if isinstance(said, str) else json.dumps(said)
    status = answer.get("status", 200)
    content: Any = {
        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100},
    }
    if status != 200:
        content = {"error": {"message": text}}
    body = answer["body"].encode() if "body" in answer else json.dumps(content).encode()
    headers = {"Content-Type": "application/json", "Content-Length": str(len(body)), **answer.get("headers", {})}
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@pytest.fixture
def serve() -> Iterator[Callable[..., Provider]]:
    """Start providers: ``serve()`` says 0.9 of everything, ``serve(script)`` what the script wants."""
    with ExitStack() as stack:
        yield lambda script=None: stack.enter_context(Provider(script))


@pytest.fixture
def provider(serve: Callable[..., Provider]) -> Provider:
    """A judge that finds everything good."""
    return serve()


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which commands run."""
    monkeypatch.chdir(tmp_path)
    for name in ("CI", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JUDGE_KEY", KEY)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path.with_name(f"{tmp_path.name}-config")))
    return tmp_path


@pytest.fixture
def key() -> str:
    """The key of the judge, which nobody else may see."""
    return KEY


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def command() -> Callable[..., Done]:
    """Run a command within this process: ``command("run", "suite.yaml")``."""

    def run(*argv: str, given: str | bytes | None = None) -> Done:
        before = dict(os.environ)
        code: Any = 0
        try:
            with CliRunner().isolation(given) as (out, err, _):
                try:
                    _commands().main(args=argv, prog_name="evenhand")
                except SystemExit as ended:
                    code = ended.code or 0
                sys.stdout.flush()
                sys.stderr.flush()
                shown = [stream.getvalue().decode().replace("\r\n", "\n") for stream in (out, err)]
        finally:  # what a command puts into its environment ends with it
            os.environ.clear()
            os.environ.update(before)
        return Done(code, *shown)

    return run


@functools.cache
def _commands() -> Any:
    """Make of the functions what runs them: once, as typer takes a fifth of a short command's time for it."""
    return typer.main.get_command(app)


@pytest.fixture
def process(warm: WarmEvenhand) -> Iterator[Callable[..., Started]]:
    """Start a command in a process of its own: ``process("run", "suite.yaml")``; it does not outlive the test."""
    with ExitStack() as stack:
        yield lambda *argv: stack.enter_context(warm.start(*argv))


@pytest.fixture
def on_a_terminal(path_with_evenhand: str) -> Callable[..., tuple[int, str]]:
    """Run a command on a terminal of its own, and answer its ``question``; return the exit code and what was shown."""
    evenhand = shutil.which("evenhand", path=path_with_evenhand) or ""

    def run(*argv: str, question: str | None = None, answer: str = "") -> tuple[int, str]:
        import pty  # not on all systems

        master, terminal = pty.openpty()
        shown = b""
        with subprocess.Popen([evenhand, *argv], stdin=terminal, stdout=terminal, stderr=terminal) as started:
            os.close(terminal)
            while question is not None and question.encode() not in shown:
                shown += os.read(master, 4096)
            if question is not None:
                os.write(master, f"{answer}\n".encode())
            with suppress(OSError):  # which is how a terminal ends that nobody has open any more
                while part := os.read(master, 4096):
                    shown += part
            code = started.wait(60)
        os.close(master)
        return code, shown.decode()

    return run


@pytest.fixture
def stored_nothing(folder: Path, empty_database: Callable[[Path], str]) -> None:
    """Put a database with empty tables where commands look for it: to make one takes longer than most of them."""
    (folder / ".evenhand").mkdir()
    empty_database(folder / ".evenhand" / "evenhand.db")


@pytest.fixture
def suite(folder: Path) -> Callable[..., Path]:
    """Write a suite: ``suite(3, judge=provider)`` has three cases; a judge may be a name or its settings, too; ``more`` are further keys of the suite."""

    def write(count: int = 1, *, judge: Any = None, name: str = "suite.yaml", **more: Any) -> Path:
        usual: dict[str, Any] = {"evaluators": [{"name": "right", "type": "contains"}]}
        if isinstance(judge, str):
            usual["judge"] = judge
        elif isinstance(judge, dict):
            usual = {"judge": judge, "evaluators": [{"name": "quality", "type": "llm_judge"}]}
        elif judge is not None:
            model = {"model": "openai/gpt-4o-mini", "base_url": judge.url, "api_key": "${JUDGE_KEY}", "backoff": 0.01}
            usual = {"judge": model, "evaluators": [{"name": "quality", "type": "llm_judge"}]}
        cases = [
            {
                "id": f"case-{number}",
                "input": f"Question {number}?",
                "candidate_answer": f"Answer {number}.",
                "reference_answer": f"Answer {number}",
                "expected_outcome": f"Names {number}",
            }
            for number in range(count)
        ]
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # JSON is YAML.
        path.write_text(json.dumps({**usual, "cases": cases, **more}, indent=1), encoding="utf-8")
        return path

    return write


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], None]:
    """Wait until something holds; what never does fails the test."""

    def wait(holds: Callable[[], Any], seconds: float = 60.0) -> None:
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, "it never came"
            time.sleep(0.01)

    return wait
