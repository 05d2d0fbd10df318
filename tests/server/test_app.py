"""`evenhand serve` as a program: where it listens, whom it lets in, and how it ends."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.harness.warm import WarmEvenhand

from evenhand.cli.commands.serve import token_of

TOKEN = "a-token-that-nobody-guesses"


@pytest.mark.slow
@pytest.mark.group("server")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda one: one.name)
def test_a_server_ends_soon_though_somebody_watches_a_run_and_the_run_can_be_resumed(
    served: Callable[..., Any], models: Any, number: signal.Signals
) -> None:
    models.wait = 30.0
    server = served()
    key = server.client.post("/api/prompts", json={"name": "p", "evaluation_mode": "schema"}).json()["id"]
    server.client.post(f"/api/prompts/{key}/test-cases", json={"input": "Hi", "evaluation_schema": "{}"})
    run = server.client.post("/api/runs", json={"prompt": key, "models": ["vllm/a"]}).json()["id"]
    heard: list[str] = []
    begun = threading.Semaphore(0)

    def watch(address: str) -> None:
        events = {"accept": "text/event-stream"}
        with httpx.stream("GET", f"{server.url}{address}", headers=events, timeout=60) as stream:
            is_first = True
            for line in stream.iter_lines():
                heard.append(line)
                if line.startswith("data:") and is_first:
                    is_first = False
                    begun.release()

    watching = [threading.Thread(target=watch, args=[address]) for address in (f"/api/runs/{run}/events", "/live")]
    for thread in watching:
        thread.start()
    assert all(begun.acquire(timeout=60) for _ in watching)
    began = time.monotonic()
    code = server.end(number)
    taken = time.monotonic() - began
    for thread in watching:
        thread.join(60)
    models.wait = 0.0

    after = served()
    standing = after.client.get(f"/api/runs/{run}").json()
    status, reason = standing["status"], standing["reason"]
    after.client.post(f"/api/runs/{run}/resume")
    with after.client.stream("GET", f"/api/runs/{run}/events") as stream:
        stream.read()

    assert code == 0
    assert f"run {run} was interrupted; resume with: evenhand resume {run}\n" in server.said
    assert reason == f"the server was stopped; resume the run here or with: evenhand resume {run}"
    assert taken < 29  # far less, but the machine may be busy; without an end to streams it would be 30
    assert not any(thread.is_alive() for thread in watching)
    assert "event: runs" in heard
    assert "event: end" not in heard
    assert status == "interrupted"
    assert after.client.get(f"/api/runs/{run}").json()["status"] == "finished"


@pytest.mark.slow
def test_a_token_is_made_for_its_owner_and_stays(tmp_path: Path) -> None:
    """The first server is a program as its users start it; all others here are forks of one that is loaded."""
    process = subprocess.Popen(
        [sys.executable, "-m", "evenhand", "serve", "--port", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    token = (tmp_path / ".evenhand/token").read_text().strip()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    status = httpx.post(f"{address}/api/check-schema", content=b"{}", headers=headers, timeout=60).status_code
    process.terminate()
    process.communicate(timeout=60)

    mode = stat.S_IMODE((tmp_path / ".evenhand/token").stat().st_mode)
    assert (status, process.returncode) == (200, 0)
    assert (len(token) >= 40, mode) == (True, 0o600)
    assert token_of(str(tmp_path / ".evenhand/token")) == token


def test_git_leaves_the_token_alone_wherever_the_database_is(tmp_path: Path) -> None:
    token_of(str(tmp_path / ".evenhand/token"))
    token_of(str(tmp_path / "mine/token"))

    assert (tmp_path / ".evenhand/.gitignore").read_text() == "*\n"
    assert not (tmp_path / "mine/.gitignore").exists()


@pytest.mark.slow
@pytest.mark.group("server")
def test_what_cannot_be_served_is_refused_with_a_message(tmp_path: Path, warm_server: WarmEvenhand) -> None:
    def serve(*options: str, **env: str) -> subprocess.CompletedProcess[str]:
        return warm_server.run("serve", *options, cwd=tmp_path, env={**os.environ, **env})

    public = serve("--host", "0.0.0.0")
    short = serve("--host", "0.0.0.0", EVENHAND_TOKEN="short")
    (tmp_path / "open").write_text(TOKEN)
    (tmp_path / "open").chmod(0o644)
    readable = serve("--token-file", "open")
    elsewhere = serve("--host", "192.0.2.1", EVENHAND_TOKEN=TOKEN)

    assert [one.returncode for one in (public, short, readable, elsewhere)] == [2, 2, 2, 2]
    assert "set EVENHAND_TOKEN" in public.stderr
    assert "fewer than 16 characters" in short.stderr
    assert "chmod 600" in readable.stderr
    assert "cannot listen on 192.0.2.1" in elsewhere.stderr
    assert not (tmp_path / ".evenhand/token").exists()


@pytest.mark.slow
@pytest.mark.group("server")
def test_a_server_for_others_says_how_they_reach_it(served: Callable[..., Any]) -> None:
    nameless, named = served("--host", "0.0.0.0"), served("--host", "0.0.0.0", "--allow-host", "evals.example")

    assert (nameless.end(), named.end()) == (0, 0)

    assert "--allow-host NAME" in nameless.said
    assert "--allow-host" not in named.said


@pytest.mark.slow
def test_without_the_extra_it_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError('no', name='uvicorn')")

    done = subprocess.run(
        [sys.executable, "-m", "evenhand", "serve"],
        cwd=tmp_path, env=dict(os.environ) | {"PYTHONPATH": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert "pip install 'evenhand[web]'" in done.stderr
