"""Batches over HTTP and on pages: a run that waits says for what, survives its server, and asks nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand import aevaluate
from evenhand.domain.secret import Secret
from evenhand.engine import batch_submission
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

TOKEN = "a-token-that-nobody-guesses"
MODEL = "openai/gpt-4o-mini"

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(provider: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the provider stand for OpenAI, and look at batches often."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{provider.port}/v1")
    monkeypatch.setattr(batch_submission, "_FIRST_LOOK", 0.1)
    monkeypatch.setattr(batch_submission, "_LAST_LOOK", 0.1)


@pytest.fixture
def serve(folder: Path) -> Callable[[], Any]:
    """Start a server; one after the other has the same database."""

    @contextlib.contextmanager
    def serving() -> Iterator[TestClient]:
        settings = ServerSettings(db=str(folder / ".evenhand" / "evenhand.db"), token=Secret(TOKEN), judge=MODEL)
        headers = {"authorization": f"Bearer {TOKEN}"}
        with TestClient(make_app(settings), base_url="http://localhost:8642", headers=headers) as client:
            yield client

    (folder / ".evenhand").mkdir()
    return serving


def prompt_of(client: TestClient) -> str:
    made = client.post("/api/prompts", json={"name": "capitals", "evaluation_criteria": "Names the city"}).json()["id"]
    for country in ("France", "Spain", "Italy"):
        client.post(f"/api/prompts/{made}/test-cases", json={"input": f"Capital of {country}?"})
    return str(made)


def progress_until(client: TestClient, run: str, held: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
    for _ in range(2400):
        progress = client.get(f"/api/runs/{run}/progress").json()
        if held(progress):
            return dict(progress)
        time.sleep(0.025)
    raise TimeoutError(str(progress))


def is_over(progress: dict[str, Any]) -> bool:
    return progress["status"] not in ("running", "planning")


def test_a_run_that_waits_for_batches_says_so_and_goes_on_with_them_on_another_server(
    provider: Any, serve: Callable[[], Any]
) -> None:
    provider.finished.clear()
    with serve() as client:
        body = {"prompt": prompt_of(client), "models": [MODEL], "batch": True}
        estimate = client.post("/api/runs/estimate", json=body).json()
        run = client.post("/api/runs", json=body).json()["id"]
        waiting = progress_until(
            client, run, lambda now: now["batches"] and provider.batches and provider.batches[0].polls
        )
        page = client.get(f"/runs/{run}").text
    with serve() as client:
        left = client.get(f"/api/runs/{run}/progress").json()
        (listed,) = client.get(f"/api/runs/{run}/batches").json()["items"]
        page_left = client.get(f"/runs/{run}").text
        kept = [client.delete(f"/api/runs/{run}"), client.get(f"/api/runs/{run}/export")]
        kept += [client.get(f"/runs/{run}/delete"), client.post(f"/runs/{run}/delete", data={"token": TOKEN})]
        client.post(f"/api/runs/{run}/resume")
        provider.finished.set()
        progress_until(client, run, is_over)
        ended = client.get(f"/api/runs/{run}").json()
        states = [batch["state"] for batch in client.get(f"/api/runs/{run}/batches").json()["items"]]

    assert estimate["batch"]["saving"]["low"] == pytest.approx(estimate["cost"]["low"])
    assert (waiting["batches"]["pending"], waiting["batches"]["requests"]) == (1, 3)
    assert waiting["batches"]["saving"] > 0
    assert "waiting for 1 batch<" in page
    assert "Waiting for 1 batch with 3 requests; it was submitted less than a minute ago" in page
    assert "Cancel batches" in page
    assert (left["status"], left["batches"]["pending"]) == ("interrupted", 1)
    assert "1 batch to be read" in page_left
    assert [response.status_code for response in kept] == [409] * 4
    assert (listed["id"], listed["provider"], listed["requests"], listed["state"]) == (
        "batch_0",
        "openai",
        3,
        "submitted",
    )
    assert (ended["status"], ended["summary"]["scored"], states) == ("finished", 3, ["over", "over"])
    assert [len(batch.requests) for batch in provider.batches] == [3, 3]
    assert (set(provider.asked.values()), provider.single) == ({1}, [])


def test_cancelled_batches_end_at_the_provider_and_the_rest_is_asked_one_by_one(
    provider: Any, serve: Callable[[], Any]
) -> None:
    provider.finished.clear()
    with serve() as client:
        prompt = prompt_of(client)
        body = {"prompt": prompt, "models": [MODEL], "use_cache": False}
        run = client.post("/api/runs", json=body | {"batch": True}).json()["id"]
        other = client.post("/api/runs", json=body).json()["id"]
        progress_until(client, run, lambda _: provider.batches and provider.batches[0].polls)
        progress_until(client, other, is_over)

        cancelled = client.post(f"/api/runs/{run}/batches/cancel")
        stopped = client.get(f"/api/runs/{run}/progress").json()
        nothing = client.post(f"/api/runs/{other}/batches/cancel")
        strange = client.post(f"/api/runs/{other}/resume", json={"batch": True, "retry_errors": True})
        client.post(f"/runs/{run}/resume", data={"token": TOKEN, "one_by_one": "1"})
        progress_until(client, run, is_over)
        ended = client.get(f"/api/runs/{run}").json()

    (batch,) = cancelled.json()["items"]
    assert (batch["id"], batch["state"], batch["error"]) == ("batch_0", "cancelled", "")
    assert (stopped["status"], provider.batches[0].is_cancelled) == ("interrupted", True)
    assert (nothing.status_code, strange.status_code) == (409, 422)
    assert (ended["status"], ended["summary"]["scored"], len(provider.batches)) == ("finished", 3, 1)
    assert len(provider.single) == 6 + 6  # answers and judgments, of both runs


def test_the_form_offers_batches_and_refuses_models_that_have_none(provider: Any, serve: Callable[[], Any]) -> None:
    with serve() as client:
        prompt = prompt_of(client)
        form = {
            "token": TOKEN, "prompt": prompt, "version": "1", "models": MODEL, "repeat": "1", "batch": "1",
            "do": "estimate",
        }  # fmt: skip
        estimated = client.post("/runs/new", data=form)
        refused = client.post("/runs/new", data=form | {"models": "vllm/qwen", "do": "start"})

    assert (estimated.status_code, refused.status_code) == (200, 422)
    assert "Batches save $" in estimated.text
    assert 'name="batch" value="1" checked' in estimated.text
    assert "vllm/qwen cannot be asked in batches" in refused.text
    assert provider.requests == []


def test_a_run_of_a_suite_whose_program_was_interrupted_is_resumed_by_a_server(
    provider: Any, suite: Callable[..., Path], serve: Callable[[], Any]
) -> None:
    provider.finished.clear()
    path = suite("anthropic", cases=4)

    async def interrupted() -> None:
        task = asyncio.create_task(aevaluate(path, batch=True))
        while not (provider.batches and provider.batches[0].polls) and not task.done():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.wait([task])

    asyncio.run(interrupted())
    provider.finished.set()
    with serve() as client:
        run = client.get("/api/runs").json()["items"][0]["id"]
        client.post(f"/api/runs/{run}/resume")
        ended = progress_until(client, run, is_over)

    assert (ended["status"], ended["done"], len(provider.batches)) == ("finished", 4, 1)
    assert (len(provider.asked), set(provider.asked.values())) == (4, {1})
