"""A secret is in no byte of what a run leaves behind or prints, whatever goes wrong (REL-S1, REL-S2).

The provider repeats every secret that it was sent, in every spelling we know of. What comes out is searched by decoding
it in every way, without the help of what hides them.
"""

from __future__ import annotations

import base64
import html
import http.server
import json
import os
import pickle
import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote, unquote_to_bytes

import pytest
from fastapi.testclient import TestClient
from openai import OpenAI
from tests.engine.preloaded import RunScript, preloaded
from tests.harness.warm import WarmEvenhand

from evenhand import Case, PromptEvaluator, create_llm_as_judge
from evenhand.domain.ask import Ask
from evenhand.domain.errors import EvenhandError
from evenhand.domain.reply import Reply
from evenhand.domain.secret import Secret
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.function import FunctionEvaluator
from evenhand.models.providers import OPENAI
from evenhand.models.resolve import resolve
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

KEY = os.environ["CANARY_KEY"]
SECRETS = {
    "CANARY_KEY": KEY,
    "GATEWAY_HEADER": "hd-canary-51/7a+0c33",
    "GATEWAY_PATH": "pa-canary-62_8b-1d44",
    "PROXY_NAME": "pn-canary-73.9c-2e55",
    "PROXY_PASSWORD": "pw-canary-84~0d-3f66",
    "PROGRAM_TOKEN": "pg-canary-95/1e+4077",
}
VERDICT = {"reasoning": "Fine.", "hits": [], "misses": [], "score": 1}
SERVER_TOKEN = "a-token-that-nobody-guesses"

# A program that says what it was given in every spelling.
PROGRAM = """
import base64, json, os, sys, urllib.parse
key = os.environ["TOKEN"]
spelt = [key, urllib.parse.quote(key, safe=""), base64.b64encode(b"us:" + key.encode()).decode(), key.encode().hex()]
print(" ".join(spelt), key[:14], file=sys.stderr, end="")
escaped = "".join(f"\\\\u{ord(one):04x}" for one in key)
print(json.dumps({"score": 1, "hits": spelt, "reasoning": "@"}).replace("@", escaped))
"""


def spellings(secret: str) -> list[str]:
    """Spell a secret in every way that servers do."""
    escaped = "".join(f"\\u{ord(one):04X}" for one in secret)
    return [
        secret,
        quote(secret, safe=""),
        quote(quote(secret, safe=""), safe=""),
        "".join(f"%{ord(one):02x}" if at % 2 else one for at, one in enumerate(secret)),
        secret.replace("-", "\\u002d").replace("/", "\\/"),
        escaped,
        json.dumps(escaped),
        "".join(f"&#{ord(one)};" for one in secret),
        secret.encode().hex(),
        *(base64.b64encode(before + secret.encode()).decode() for before in (b"", b"x", b"us", b"Bearer ")),
        base64.urlsafe_b64encode(b"Bearer " + secret.encode()).decode(),
        f"{secret[:12]}…",
    ]


SENT = {name: secret for name, secret in SECRETS.items() if name != "PROGRAM_TOKEN"}
EVERYTHING = " | ".join(spelling for secret in SENT.values() for spelling in spellings(secret))


def readings(content: bytes) -> Iterator[bytes]:
    """Read bytes in every way: as they are, and with their escapes, Base64 and hexadecimal resolved."""
    for _ in range(4):
        yield content.lower()
        for run in re.findall(rb"[A-Za-z0-9+/_-]{12,}", content):
            coded = run.translate(bytes.maketrans(b"-_", b"+/"))
            for start in range(4):
                part = coded[start:]
                yield base64.b64decode(part[: len(part) // 4 * 4]).lower()
        for run in re.findall(rb"[0-9A-Fa-f]{16,}", content):
            yield bytes.fromhex(run[: len(run) // 2 * 2].decode()).lower()
        text = unquote_to_bytes(content).decode("latin-1").replace("\\\\", "\\")
        text = re.sub(r"\\u00([0-9A-Fa-f]{2})", lambda found: chr(int(found[1], 16)), text)
        again = html.unescape(text.replace("\\/", "/")).encode("latin-1", "replace")
        if again == content:
            return
        content = again


def found_in(content: bytes) -> list[str]:
    """Name the secrets that can be read in some bytes, or the first twelve characters of them."""
    # Once for what all have in common: most have none.
    read = [one for one in readings(content) if b"-canary-" in one]
    return [name for name, secret in SECRETS.items() if any(secret[:12].lower().encode() in one for one in read)]


@pytest.mark.parametrize("spelt", spellings("pw-canary-84~0d-3f66"))
def test_the_search_finds_every_spelling(spelt: str) -> None:
    assert found_in(f"it was {spelt}".encode()) == ["PROXY_PASSWORD"]


class Telltale(http.server.BaseHTTPRequestHandler):
    """A provider, and the proxy before it, that repeats all that it was ever told."""

    mode: ClassVar[str] = "reply"
    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        type(self).seen.append(f"{self.path}\n{self.headers}")
        self.rfile.read(int(self.headers["Content-Length"]))
        status, content = self._answer()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Echo", KEY)
        self.send_header("Location", f"https://elsewhere.example/?{quote(EVERYTHING)[:20000]}")
        self.end_headers()
        self.wfile.write(content)

    def _answer(self) -> tuple[int, bytes]:
        match self.mode:
            case "reply":
                said = json.dumps({**VERDICT, "reasoning": EVERYTHING, "hits": [KEY], "misses": [quote(KEY)]})
                return 200, json.dumps({"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}).encode()
            case "prose":
                return 200, json.dumps({"choices": [{"message": {"content": EVERYTHING}}]}).encode()
            case "page":
                return 200, f"<html>{EVERYTHING}".encode()
            case "cut off":
                return 403, f'{{"error": {{"message": "wrong key: {KEY[:14]}'.encode()
            case "redirect":
                return 302, b""
        # A line is kept of what a server complains of, so each spelling stands first once.
        number = len(self.seen) % len(spellings(KEY))
        told = " | ".join(spellings(secret)[number] for secret in SENT.values())
        return int(self.mode), json.dumps({"error": {"message": told, "code": KEY}}).encode()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def telltale(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Serve the provider, and give its port."""
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    Telltale.seen.clear()
    Telltale.mode = "reply"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Telltale)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


def judge_at(port: int) -> dict[str, Any]:
    return {
        "model": "openai/judge",
        "base_url": "http://judge.example/${GATEWAY_PATH}/v1",
        "proxy": f"http://${{PROXY_NAME}}:${{PROXY_PASSWORD}}@127.0.0.1:{port}",
        "api_key": "${CANARY_KEY}",
        "headers": {"X-Gateway-Key": "${GATEWAY_HEADER}"},
        "backoff": 0.001,
        "max_transport_attempts": 20,
    }


def write_suite(folder: Path, port: int) -> None:
    evaluators = [
        {"type": "llm_judge", "name": "quality"},
        {
            "type": "code_judge",
            "name": "program",
            "command": [sys.executable, "-c", PROGRAM],
            "env": {"TOKEN": "${PROGRAM_TOKEN}"},
        },
    ]
    cases = [{"id": f"c{n}", "input": "?", "candidate_answer": str(n), "expected_outcome": "n"} for n in range(4)]
    suite = {"judge": judge_at(port), "evaluators": evaluators, "cases": cases}
    (folder / "suite.json").write_text(json.dumps(suite))


def reports() -> list[str]:
    return [word for ending in ("json", "jsonl", "csv", "md", "xml", "html") for word in ("-o", f"report.{ending}")]


def pages(db: Path) -> Iterator[tuple[str, bytes]]:
    """Read what the server shows of the newest run, as pages and as JSON."""
    settings = ServerSettings(db=str(db), token=Secret(SERVER_TOKEN))
    headers = {"authorization": f"Bearer {SERVER_TOKEN}"}
    with TestClient(make_app(settings), base_url="http://localhost:8642", headers=headers) as client:
        run = client.get("/api/runs").json()["items"][0]["id"]
        of_run = ["", "/results", "/results/0", "/results/0/json", "/evaluations", "/evaluations/export.csv"]
        of_run += [f"/download.{ending}" for ending in ("json", "jsonl", "csv", "md", "xml", "html")]
        of_api = ["", "/cases", "/cases/c0", "/report"]
        paths = [
            "/",
            "/runs",
            "/settings",
            "/judges",
            "/api/runs",
            "/api/models",
            *(f"/runs/{run}{one}" for one in of_run),
        ]
        for path in (*paths, *(f"/api/runs/{run}{one}" for one in of_api)):
            answer = client.get(path)
            yield f"{answer.status_code} {path}", answer.content


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "mode",
    [
        "reply",
        *(
            pytest.param(mode, marks=pytest.mark.long)
            for mode in ("cut off", "500", "prose", "page", "redirect", "401", "404")
        ),
    ],
)
def test_a_secret_that_the_provider_repeats_is_found_nowhere(
    tmp_path: Path, telltale: int, warm: WarmEvenhand, mode: str
) -> None:
    write_suite(tmp_path, telltale)
    Telltale.mode = mode

    def evenhand(*argv: str) -> bytes:
        done = warm.run(*argv, cwd=tmp_path)
        return (done.stdout + done.stderr).encode()

    printed = {
        name: evenhand(*argv)
        for name, argv in {
            "estimate": ("run", "suite.json", "--estimate"),
            "run": ("run", "suite.json", "-v", "--log-file", "log.jsonl", *reports()),
            "resume": ("resume", "last", "--retry-errors", "-v"),
            "report": ("report", "last", "--canonical"),
            "export to a file": ("export", "last", "-o", "exported.jsonl"),
            "export": ("export", "last"),
            "config": ("config",),
            "show": ("runs", "show", "last"),
            "cache": ("cache", "show"),
            "import": ("import", "exported.jsonl", "--db", "elsewhere.db"),
            "resume what was imported": ("resume", "last", "--db", "elsewhere.db"),
            "judge": ("judge", "--answer", "x", "--criteria", "y", "--judge", "openai/none", "-v"),
        }.items()
    }
    shown = dict(pages(tmp_path / ".evenhand/evenhand.db"))

    asked = "".join(Telltale.seen)
    login = base64.b64encode(f"{SECRETS['PROXY_NAME']}:{SECRETS['PROXY_PASSWORD']}".encode()).decode()
    assert all(sent in asked for sent in (KEY, SECRETS["GATEWAY_HEADER"], SECRETS["GATEWAY_PATH"], login)), (
        "all was sent"
    )
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {".evenhand/evenhand.db", "log.jsonl", "report.html", "exported.jsonl", "elsewhere.db"} <= set(written)
    assert any("***" in content.decode("utf-8", "replace") for content in written.values()), (
        "what was repeated is hidden"
    )
    assert sum(name.startswith("200 ") for name in shown) >= 15
    everything = {**printed, **written, **shown}
    assert {name: found for name, content in everything.items() if (found := found_in(content))} == {}


TELEMETRY = """
import json, sys
from opentelemetry import trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from evenhand import evaluate

spans = InMemorySpanExporter()
tracers = TracerProvider()
tracers.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(tracers)
exporter = InMemoryLogRecordExporter()
provider = LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
set_logger_provider(provider)
evaluate("suite.json", store=None)
records = [one.log_record for one in exporter.get_finished_logs()]
print(json.dumps([[one.event_name, dict(one.attributes)] for one in records]))
print("\\n".join(span.to_json() for span in spans.get_finished_spans()))
"""


@pytest.fixture(scope="module")
def script() -> Iterator[RunScript]:
    with preloaded("evenhand.engine.execution", "evenhand.drive.run_program", "evenhand.evaluators.prompt") as run:
        yield run


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["reply", "500"])
def test_nor_is_it_in_a_span_or_an_event_of_opentelemetry_with_contents(
    tmp_path: Path, telltale: int, monkeypatch: pytest.MonkeyPatch, script: RunScript, mode: str
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "true")
    write_suite(tmp_path, telltale)
    Telltale.mode = mode

    done = script(TELEMETRY, cwd=tmp_path)

    assert done.stdout.count("gen_ai.evaluation.result") == 8, done.stderr
    assert "***" in done.stdout
    assert '"gen_ai.input.messages"' in done.stdout
    assert found_in((done.stdout + done.stderr).encode()) == []


def clients(port: int) -> dict[str, Callable[[], Any]]:
    """Make judges of every kind that know the key."""
    address = f"http://127.0.0.1:{port}/v1"

    def function(messages: object) -> str:
        raise RuntimeError(f"{len(str(messages))} characters: {' '.join(spellings(KEY))} {KEY[:14]}")

    return {
        "a model": lambda: resolve(judge_at(port)),
        "a client of OpenAI's": lambda: resolve(OpenAI(api_key=KEY, base_url=address), model="gpt-4o"),
        "a function": lambda: resolve(function),
        "a function that says it": lambda: resolve(lambda _: json.dumps({**VERDICT, "reasoning": EVERYTHING})),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(clients(0)))
@pytest.mark.parametrize("mode", ["reply", "prose", "cut off", "401", "500"])
def test_nor_in_what_python_gives_or_raises(telltale: int, kind: str, mode: str) -> None:
    Telltale.mode = mode
    judge = clients(telltale)[kind]()

    evaluation = PromptEvaluator(judge=judge).evaluate(Case(question="?", candidate_answer="x", expected_outcome="y"))
    given = [repr(evaluation), json.dumps(evaluation.as_dict()), repr(judge), repr(getattr(judge, "identity", ""))]
    try:
        given.append(repr(create_llm_as_judge(prompt="{outputs}", judge=judge)(outputs="x")))
    except EvenhandError as error:
        given += [*traceback.format_exception(error), repr(vars(error))]
        chain: BaseException | None = error
        while chain is not None:
            given.append(repr(chain))
            chain = chain.__cause__ or chain.__context__

    # A client of others, or a function, knows its key and those of the environment; the rest nobody sent through it.
    known = set(SENT) if kind == "a model" else {"CANARY_KEY"}
    assert known & set(found_in("\n".join(given).encode())) == set()
    assert known & set(found_in(pickle.dumps(evaluation))) == set()


class Client:
    """A judge of a user's own that holds a key and says it when it breaks."""

    name = "own"
    identity: ClassVar = {"model": "own"}

    def __init__(self) -> None:
        self._api_key = KEY

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        raise RuntimeError(f"refused: {' '.join(spellings(self._api_key))} {KEY[:14]}")


class Checker:
    """A function with a key, as an evaluator."""

    def __init__(self) -> None:
        self.token = KEY

    def __call__(self, case: Case) -> float:
        raise RuntimeError(f"refused: {' '.join(spellings(self.token))} {KEY[:14]}")


@pytest.mark.parametrize(
    "evaluator",
    [
        PromptEvaluator(judge=Client()),
        FunctionEvaluator(function=Checker()),
        FunctionEvaluator(function=Checker().__call__),
    ],
)
def test_nor_in_the_error_of_a_users_own_judge_or_evaluator(
    evaluator: BaseEvaluator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CANARY_KEY", raising=False)  # it holds the key itself

    evaluation = evaluator.evaluate(Case(question="?", candidate_answer="x", expected_outcome="y"))

    assert evaluation.error is not None
    assert "RuntimeError: refused: ***" in evaluation.error
    assert "CANARY_KEY" not in found_in(json.dumps(evaluation.as_dict()).encode())


def test_a_model_with_a_secret_is_not_pickled(telltale: int) -> None:
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(resolve(judge_at(telltale)))
    with pytest.raises(TypeError, match="not pickled"):
        pickle.dumps(OPENAI("m", base_url="http://127.0.0.1:1/${GATEWAY_PATH}"))
