"""Runs over HTTP: started, watched, cancelled, resumed, and looked at."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

Ended = Callable[[str], dict[str, Any]]


def start(client: TestClient, prompt: str, **more: Any) -> str:
    answer = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"], **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def test_a_run_is_planned_driven_and_summed_up(client: TestClient, prompt: str, ended: Ended) -> None:
    run = start(client, prompt, models=["vllm/a", "vllm/b"], repeat=2)
    found = ended(run)
    listed = client.get("/api/runs", params={"prompt": prompt}).json()
    progress = client.get(f"/api/runs/{run}/progress").json()

    assert (found["status"], found["cases"], found["models"]) == ("finished", 6, ["vllm/a", "vllm/b"])
    assert (found["summary"]["n"], found["summary"]["mean"], found["judge"]) == (6, 0.9, "vllm/judge")
    assert [one["id"] for one in listed["items"]] == [run]
    assert listed["items"][0]["summary"]["scored"] == 6
    assert (progress["done"], progress["total"], progress["status"]) == (12, 12, "finished")
    assert client.get("/api/runs", params={"prompt": "nobody"}).status_code == 404


def test_runs_are_listed_page_by_page(client: TestClient, prompt: str, ended: Ended) -> None:
    made = [start(client, prompt) for _ in range(3)]
    for run in made:
        ended(run)

    first = client.get("/api/runs?limit=2").json()
    second = client.get("/api/runs", params={"limit": 2, "cursor": first["next"]}).json()

    assert [one["id"] for one in first["items"] + second["items"]] == made[::-1]
    assert (first["total"], second["next"]) == (3, None)


def test_an_estimate_asks_nobody_and_keeps_nothing(client: TestClient, prompt: str, models: Any) -> None:
    told = client.post("/api/runs/estimate", json={"prompt": prompt, "models": ["vllm/a"]}).json()

    assert (told["cases"], told["calls"]["low"]) == (3, 6)
    assert models.asked == []
    assert client.get("/api/runs").json()["items"] == []


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"models": []}, "models"),
    ({"models": ["vllm/a"] * 21}, "models"),
    ({"models": [{"model": "vllm/a", "base_url": "http://169.254.169.254"}]}, "models.0"),
    ({"models": ["recorded//etc/passwd"]}, "models"),
    ({"models": ["vllm/a\nb"]}, "models"),
    ({"models": [" recorded:/etc/passwd"]}, "models"),
    ({"models": ["embedded//etc/passwd.gguf"]}, "models"),
    ({"models": ["embedded/../x.gguf"]}, "models"),
    ({"models": ["nobody/x"]}, "models"),
    ({"judge": "recorded/replies.jsonl"}, "judge"),
    ({"judge": {"model": "vllm/a", "base_url": "http://10.0.0.1"}}, "judge"),
    ({"base_url": "http://10.0.0.1"}, "base_url"),
    ({"repeat": 0}, "repeat"),
    ({"repeat": 101}, "repeat"),
    ({"concurrency": 1001}, "concurrency"),
    ({"max_cost": -1}, "max_cost"),
    ({"max_cost": 1}, "max_cost"),
    ({"max_calls": -1}, "max_calls"),
    ({"test_cases": ["t-nobody"]}, "test_cases"),
    ({"test_cases": []}, "test_cases"),
    ({"version": 0}, "version"),
    ({"idempotencyKey": "x"}, "idempotency_key"),
]


def test_a_run_that_cannot_be_right_is_refused_by_field(client: TestClient, prompt: str) -> None:
    for more, field in WRONG:
        answer = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"]} | more)

        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field), more
    assert client.get("/api/runs").json()["items"] == []


def test_what_the_server_offers_may_be_a_file(client: TestClient, prompt: str, app: Any) -> None:
    app.state.settings.__dict__["models"] = ("recorded/nothing.jsonl",)

    answer = client.post("/api/runs", json={"prompt": prompt, "models": ["recorded/nothing.jsonl"]})

    assert answer.status_code == 422
    assert "nothing.jsonl cannot be read" in answer.json()["detail"]


@pytest.mark.slow
def test_a_run_is_watched_until_it_ends(client: TestClient, prompt: str, models: Any) -> None:
    models.wait = 0.3
    run = start(client, prompt, concurrency=1)

    with client.stream("GET", f"/api/runs/{run}/events") as stream:
        lines = [line for line in stream.iter_lines() if line]

    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]
    assert stream.headers["content-type"].startswith("text/event-stream")
    assert [one["done"] for one in events] == sorted(one["done"] for one in events)
    assert (events[0]["status"], events[-1]["status"], events[-1]["done"]) == ("running", "finished", 3)
    assert "event: end" in lines


def test_a_run_is_cancelled_resumed_and_deleted(client: TestClient, prompt: str, models: Any, ended: Ended) -> None:
    models.wait = 0.5
    run = start(client, prompt, concurrency=1)
    busy = client.delete(f"/api/runs/{run}")
    twice = client.post(f"/api/runs/{run}/resume")
    cancelled = client.post(f"/api/runs/{run}/cancel")
    stopped = ended(run)
    models.wait = 0
    resumed = client.post(f"/api/runs/{run}/resume", json={"concurrency": 2})
    finished = ended(run)
    over = client.post(f"/api/runs/{run}/cancel")
    done = client.post(f"/api/runs/{run}/resume")
    gone = client.delete(f"/api/runs/{run}")

    assert (busy.status_code, twice.status_code) == (409, 409)
    assert (cancelled.status_code, cancelled.json()["stopping"]) == (202, True)
    assert stopped["status"] == "interrupted"
    assert stopped["summary"]["pending"] > 0
    assert (resumed.status_code, finished["status"], finished["summary"]["n"]) == (202, "finished", 3)
    assert (over.status_code, done.status_code, gone.status_code) == (409, 409, 204)
    assert client.get(f"/api/runs/{run}").status_code == 404


def test_errors_are_done_again_if_asked_for(client: TestClient, prompt: str, models: Any, ended: Ended) -> None:
    models.says = lambda model, text: "I will not say." if model == "judge" and "Spain" in text else ""
    run = start(client, prompt)
    before = ended(run)["summary"]["errors"]
    models.says = lambda *_: ""

    client.post(f"/api/runs/{run}/resume", json={"retryErrors": True})

    assert (before, ended(run)["summary"]["errors"]) == (1, 0)


def test_a_run_is_downloaded_as_lines(client: TestClient, prompt: str, ended: Ended) -> None:
    run = start(client, prompt)
    ended(run)

    answer = client.get(f"/api/runs/{run}/export")

    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert answer.headers["content-disposition"] == f'attachment; filename="{run}.jsonl"'
    assert (lines[0]["run"]["id"], len(lines)) == (run, 4)


def test_a_case_is_shown_in_full(client: TestClient, prompt: str, ended: Ended) -> None:
    run = start(client, prompt, models=["vllm/a", "vllm/b"])
    ended(run)
    row = client.get(f"/api/runs/{run}/evaluations?limit=1").json()["items"][0]

    case = client.get(f"/api/runs/{run}/cases/{row['case_id']}").json()

    assert "/" in row["case_id"]
    assert (case["case_id"], case["answer"], case["verdict"]) == (row["case_id"], "Paris", "pass")
    (evaluation,) = case["evaluations"]
    assert "Capital of France?" in evaluation["evaluator_provider_request"]["userPrompt"]
    assert "names the city" in evaluation["attempts"][0]["raw"]
    assert evaluation["hits"] == ["names the city"]
    assert client.get(f"/api/runs/{run}/cases/nobody").status_code == 404


def test_a_run_from_elsewhere_is_not_resumed_here(client: TestClient, prompt: str, ended: Ended, app: Any) -> None:
    run = start(client, prompt)
    ended(run)
    database = app.state.store.database
    database.execute("UPDATE runs SET status = 'interrupted', finished = NULL, options = ?", ['{"imported": true}'])
    imported = client.post(f"/api/runs/{run}/resume")
    database.execute("UPDATE runs SET options = '{}', definition = '{}'")
    of_a_program = client.post(f"/api/runs/{run}/resume")

    assert (imported.status_code, of_a_program.status_code) == (422, 422)
    assert "was imported" in imported.json()["detail"]
    assert "by a program" in of_a_program.json()["detail"]


def test_a_run_whose_process_is_gone_is_told_as_interrupted(
    client: TestClient, prompt: str, app: Any, ended: Ended
) -> None:
    run = start(client, prompt)
    ended(run)
    owner = ["somewhere:1:abcd", time.time() - 3600]
    app.state.store.database.execute("UPDATE runs SET status = 'running', finished = NULL, owner = ?, seen = ?", owner)

    watched = client.get(f"/api/runs/{run}/events").text

    assert client.get(f"/api/runs/{run}").json()["status"] == "interrupted"
    assert client.get("/api/runs").json()["items"][0]["status"] == "interrupted"
    assert '"status":"interrupted"' in watched


def test_models_are_listed_and_no_key_is_told(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")

    answer = client.get("/api/models")

    told = answer.json()
    keys = {one["name"]: one["has_key"] for one in told["providers"]}
    assert (keys["openai"], keys["anthropic"], keys["ollama"]) == (True, False, None)
    assert "recorded" not in keys
    assert told["judge"] == "vllm/judge"
    assert "embedded/smollm2-135m" in [one["name"] for one in told["embedded"]]
    assert "sk-very-secret" not in answer.text


def test_the_page_about_the_api_names_every_route(client: TestClient) -> None:
    page = client.get("/api/docs").text
    document = client.get("/api/openapi.json").json()

    assert [path for path in document["paths"] if path not in page] == []
    assert "javascript:" not in page
    assert client.get("/api/health").json()["status"] == "ok"


@pytest.mark.parametrize(
    ("more", "field", "told"),
    [
        ({"models": ["gpt-5-mini"]}, "models", "names no provider; write one before it"),
        ({"models": ["openai/gpt-5-mini"]}, "models", "openai/gpt-5-mini needs an API key: set OPENAI_API_KEY where"),
        ({"judge": "openai/gpt-5-mini"}, "judge", "openai/gpt-5-mini needs an API key: set OPENAI_API_KEY where"),
        ({"models": ["embedded/qwen2.5-coder-1.5b"]}, "models", "is not on this machine"),
    ],
)
def test_a_model_that_cannot_be_asked_is_named_by_its_field(
    client: TestClient,
    prompt: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    more: dict[str, Any],
    field: str,
    told: str,
) -> None:
    monkeypatch.setenv("EVENHAND_MODELS", str(tmp_path))

    answer = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"]} | more)

    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert (error["field"], told in error["detail"]) == (field, True), error


def test_a_run_that_needs_a_judge_says_how_to_name_one(tmp_path: Path, models: Any) -> None:
    app = make_app(ServerSettings(db=str(tmp_path / "no-judge.db"), token=Secret("t" * 16)))
    with TestClient(app, base_url="http://localhost:8642", headers={"authorization": f"Bearer {'t' * 16}"}) as client:
        made = client.post("/api/prompts", json={"name": "p", "evaluation_criteria": "Is kind"}).json()["id"]
        client.post(f"/api/prompts/{made}/test-cases", json={"input": "Hi"})

        answer = client.post("/api/runs", json={"prompt": made, "models": ["vllm/a"]})

    assert answer.json()["errors"] == [
        {
            "field": "judge",
            "detail": "there is none; name one, such as openai/gpt-5-mini, or start the server with --judge",
        }
    ]
