"""A key is in no byte of what a run leaves behind or prints, whatever goes wrong (REL-S1, REL-S2)."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import pytest

KEY = os.environ["CANARY_KEY"]
FORMS = [KEY.encode(), quote(KEY, safe="").encode(), base64.b64encode(KEY.encode())]
VERDICT = {"reasoning": "Fine.", "hits": [], "misses": [], "score": 1}


class Telltale(http.server.BaseHTTPRequestHandler):
    """A provider that repeats the key it was given in all that it says."""

    status: ClassVar[int] = 200
    seen: ClassVar[list[str]] = []

    def do_POST(self) -> None:
        key = self.headers["Authorization"].removeprefix("Bearer ")
        type(self).seen.append(key)
        self.rfile.read(int(self.headers["Content-Length"]))
        said = json.dumps({**VERDICT, "reasoning": f"Your key is {key}, or {quote(key, safe='')}."})
        body: dict[str, Any] = {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}
        if self.status != 200:
            body = {"error": {"message": f"bad key {key} ({base64.b64encode(key.encode()).decode()})"}}
        content = json.dumps(body).encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Echo", key)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def telltale() -> Iterator[str]:
    """Serve the provider, and give its address."""
    Telltale.seen.clear()
    Telltale.status = 200
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Telltale)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def evenhand(folder: Path, *arguments: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "evenhand", *arguments], cwd=folder, capture_output=True, timeout=300, check=False
    )
    return done.stdout + done.stderr


def write_suite(folder: Path, address: str) -> None:
    judge = {"model": "openai/judge", "base_url": address, "api_key": "${CANARY_KEY}", "backoff": 0.001}
    judge["headers"] = {"X-Other-Key": "${CANARY_KEY}"}
    cases = [{"id": f"c{n}", "input": "?", "candidate_answer": str(n), "expected_outcome": "n"} for n in range(4)]
    suite = {"judge": judge, "evaluators": [{"type": "llm_judge", "name": "quality"}], "cases": cases}
    (folder / "suite.json").write_text(json.dumps(suite))


def reports() -> list[str]:
    return [word for ending in ("json", "jsonl", "csv", "md", "xml", "html") for word in ("-o", f"report.{ending}")]


@pytest.mark.slow
@pytest.mark.timeout(600)  # ten programs
@pytest.mark.parametrize("status", [200, 401, 500, 404])
def test_a_key_that_the_provider_repeats_is_found_nowhere(tmp_path: Path, telltale: str, status: int) -> None:
    write_suite(tmp_path, telltale)
    Telltale.status = status

    printed = [
        evenhand(tmp_path, "run", "suite.json", "-v", "--log-file", "log.jsonl", *reports()),
        evenhand(tmp_path, "resume", "last", "--retry-errors", "-v"),
        evenhand(tmp_path, "report", "last", "--canonical"),
        evenhand(tmp_path, "export", "last", "-o", "exported.jsonl"),
        evenhand(tmp_path, "export", "last"),
        evenhand(tmp_path, "config"),
        evenhand(tmp_path, "runs", "show", "last"),
        evenhand(tmp_path, "cache", "show"),
        evenhand(tmp_path, "import", "exported.jsonl", "--db", "elsewhere.db"),
        evenhand(tmp_path, "judge", "--answer", "x", "--criteria", "y", "--judge", "openai/none", "-v"),
    ]

    assert set(Telltale.seen) == {KEY}
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {".evenhand/evenhand.db", "log.jsonl", "report.html", "exported.jsonl", "elsewhere.db"} <= {
        str(path.relative_to(tmp_path)) for path in written
    }
    assert [str(path) for path, content in written.items() if any(form in content for form in FORMS)] == []
    assert not any(form in output for output in printed for form in FORMS)
