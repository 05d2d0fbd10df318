"""What a run costs in the server while somebody watches it, beside the same run from the command line."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench import provider
from bench.measure import ROUNDS, Row
from bench.server_process import TOKEN, serving, spent
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.store.store import open_store

CASES = 1_000
MORE = "25 % more than the command line"


def rows() -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, provider.running() as port:
        db = str(Path(folder) / "bench.db")
        first = filled(db)
        env = {
            **os.environ,
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OPENAI_API_KEY": "k",
        }
        env.pop("PYTHONDONTWRITEBYTECODE", None)
        start = min(of_the_command(db, env, "--only", first) for _ in range(ROUNDS))
        command = min(of_the_command(db, env) for _ in range(ROUNDS)) - start
        with serving(db, env) as (process, address):
            watched = min(of_the_server(process, address) for _ in range(ROUNDS))
    yield f"a judgment of {CASES:,} by the command line", f"{command / CASES * 1e6:.0f} µs", ""
    yield f"a judgment of {CASES:,} in the server, watched", f"{watched / CASES * 1e6:.0f} µs", ""
    yield "watched in the server over the command line", f"{watched / command:.2f}", MORE


def filled(db: str) -> str:
    """Keep a prompt with its test cases, and give the id of the first."""
    with contextlib.closing(open_store(db)) as store:
        prompt = store.prompts.create(PromptText(name="bench", content="Be brief.", evaluation_criteria="It is brief"))
        texts = [TestCaseText(input=f"What is the capital of country {number}?") for number in range(CASES)]
        return store.prompts.add_cases(prompt.id, texts)[0].id


def of_the_command(db: str, env: dict[str, str], *more: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = ["--model", "openai/bench", "--judge", "openai/bench", "--no-cache", "--quiet", "--db", db]
    command = [sys.executable, "-m", "evenhand", "prompts", "run", "bench", *options, *more]
    subprocess.run(command, env=env, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def of_the_server(process: int, address: tuple[str, int]) -> float:
    asked(address, "GET", "/api/prompts")  # loads what the first request loads
    before = spent(process)
    body = {"prompt": "bench", "models": ["openai/bench"], "judge": "openai/bench", "use_cache": False}
    run = asked(address, "POST", "/api/runs", body)
    watching = http.client.HTTPConnection(*address)
    watching.request("GET", f"/api/runs/{run['id']}/events")
    watching.getresponse().read()  # until the run has ended
    watching.close()
    return spent(process) - before


def asked(address: tuple[str, int], method: str, path: str, body: Any = None) -> Any:
    connection = http.client.HTTPConnection(*address)
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), headers)
    response = connection.getresponse()
    said = response.read()
    connection.close()
    assert response.status < 300, said
    return json.loads(said)
