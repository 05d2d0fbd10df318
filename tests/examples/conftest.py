"""The examples in a folder of their own, and one server that stands for all providers.

def test_…(example, evenhand, answering):
    answering(lambda asked: {"score": 0.9})
    example("jury")
    assert evenhand("run", "suite.yaml").returncode == 0
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import WarmEvenhand

EXAMPLES = Path(__file__).parents[2] / "examples"
KEY = os.environ["CANARY_KEY"]

_CANDIDATE = re.compile(r"<candidate_answer id=\S+>\n(.*)\n</candidate_answer", re.DOTALL)
_PROFILE = re.compile(r"<profile id=\S+>\n(.*)\n</profile", re.DOTALL)
_ITEM = re.compile(r'^- id "(.+?)": .*(\n  - 0 to )?', re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request: to which provider, and what it says."""

    provider: str
    system: str
    user: str

    @property
    def answer(self) -> str | None:
        """The answer that is to be judged; None where the model itself is to answer."""
        found = _CANDIDATE.search(self.user)
        return found and found[1].strip()

    @property
    def profile(self) -> str | None:
        """The profile that is to be scored; None where something else is asked."""
        found = _PROFILE.search(self.user)
        return found and found[1].strip()

    @property
    def items(self) -> dict[str, bool]:
        """The rubric items by id, and whether they have score bands."""
        return {found[1]: bool(found[2]) for found in _ITEM.finditer(self.system)}

    def checks(self, unmet: dict[str, int]) -> dict[str, Any]:
        """Find every item met, or 10 of 10, but those in ``unmet``: 0, or the points of an item with bands."""
        return {
            "checks": [
                {"id": item, "reasoning": "Read with care.", "score": unmet.get(item, 10)}
                if banded
                else {"id": item, "reasoning": "Read with care.", "satisfied": item not in unmet}
                for item, banded in self.items.items()
            ],
            "overall_reasoning": "",
        }


# What a provider says: a text, an object that is written as JSON, or None where its filter steps in.
Script = Callable[[Asked], object]


def _openai(text: str | None) -> object:
    message = {"role": "assistant", "content": text or ""}
    return {"choices": [{"message": message, "finish_reason": "content_filter" if text is None else "stop"}]}


def _anthropic(text: str | None) -> object:
    return {"content": [{"type": "text", "text": text or ""}], "stop_reason": "refusal" if text is None else "end_turn"}


def _gemini(text: str | None) -> object:
    if text is None:
        return {"promptFeedback": {"blockReason": "OTHER"}}
    return {"candidates": [{"content": {"parts": [{"text": text}]}, "finishReason": "STOP"}]}


_SAYING = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini}


def _asked(provider: str, body: dict[str, Any]) -> Asked:
    if provider == "gemini":
        system = body.get("systemInstruction", {}).get("parts", [{"text": ""}])[0]["text"]
        return Asked(provider=provider, system=system, user=body["contents"][-1]["parts"][0]["text"])
    *before, last = body["messages"]
    system = body.get("system") or "".join(one["content"] for one in before if one["role"] == "system")
    return Asked(provider=provider, system=system, user=last["content"])


@contextmanager
def _serving(script: Script) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            provider = self.path.split("/")[1]
            asked = _asked(provider, json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            said = script(asked)
            text = said if isinstance(said, str | None) else json.dumps(said)
            body = json.dumps(_SAYING[provider](text)).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing: what is asked stands in the run."""

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # as many as are asked at once, and more

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


@pytest.fixture
def answering(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Script], None]]:
    """Let a script answer for every provider that the examples name."""
    with ExitStack() as stack:

        def start(script: Script) -> None:
            url = stack.enter_context(_serving(script))
            monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/openai/v1")
            monkeypatch.setenv("ANTHROPIC_BASE_URL", f"{url}/anthropic")
            monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"{url}/gemini")
            for provider in _SAYING:
                monkeypatch.setenv(f"{provider.upper()}_API_KEY", KEY)

        yield start


@pytest.fixture
def example(tmp_path: Path, path_with_evenhand: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Copy an example and go there, so that its runs and caches stay out of the tree."""

    def enter(name: str) -> Path:
        # Programs of an example find this Python, and what was installed with it, as in an activated environment.
        monkeypatch.setenv("PATH", path_with_evenhand)
        # Neither may decide how wide or colourful a report is.
        monkeypatch.setenv("COLUMNS", "100")
        for variable in ("CI", "NO_COLOR", "FORCE_COLOR"):
            monkeypatch.delenv(variable, raising=False)
        folder = tmp_path / name
        shutil.copytree(EXAMPLES / name, folder, ignore=shutil.ignore_patterns("__pycache__", ".evenhand"))
        monkeypatch.chdir(folder)
        return folder

    return enter


@pytest.fixture
def evenhand(warm: WarmEvenhand) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run a command: ``evenhand("run", "suite.yaml")``."""
    return warm.run
