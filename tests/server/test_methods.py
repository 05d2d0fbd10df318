"""HEAD is GET without a body, and who uses a method that a path lacks is told which it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fastapi.testclient import TestClient


@pytest.mark.usefixtures("documented")
@pytest.mark.parametrize(
    "path", ["/", "/prompts", "/prompts/new", "/io", "/static/app.css", "/api/health", "/api/prompts", "/api/openapi.json", "/nobody"]
)  # fmt: skip
def test_head_returns_the_headers_of_get(client: TestClient, path: str) -> None:
    whole, head = client.get(path), client.head(path)

    assert head.content == b""
    assert (head.status_code, head.headers["content-type"]) == (whole.status_code, whole.headers["content-type"])
    assert head.headers["content-length"] == whole.headers["content-length"]


@pytest.mark.group("server")
def test_head_of_a_stream_ends(served: Callable[..., Any], models: Any) -> None:
    server = served()
    made = server.client.post("/api/prompts", json={"name": "p", "evaluation_criteria": "Right"}).json()["id"]
    server.client.post(f"/api/prompts/{made}/test-cases", json={"input": "Hi"})
    models.may_answer.clear()
    run = server.client.post("/api/runs", json={"prompt": made, "models": ["vllm/a"]}).json()["id"]

    heads = [server.client.head(f"/api/runs/{run}/{path}") for path in ("events", "export", "progress")]

    assert [head.status_code for head in heads] == [200] * 3
    assert [head.content for head in heads] == [b""] * 3
    models.may_answer.set()
    assert server.end() == 0
    assert "Traceback" not in server.said


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/api/prompts", "GET, HEAD, POST"),
        ("POST", "/api/prompts/x", "DELETE, GET, HEAD, PUT"),
        ("PUT", "/api/runs/x", "DELETE, GET, HEAD, PATCH"),
        ("GET", "/api/runs/x/baseline", "DELETE, PUT"),
        ("PROPFIND", "/api/runs/x", "DELETE, GET, HEAD, PATCH"),
        ("DELETE", "/io", "GET, HEAD, POST"),
    ],
)
def test_the_methods_of_a_path_are_named(client: TestClient, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)

    assert (answer.status_code, answer.headers["allow"]) == (405, allowed)


def test_problems_name_the_fields_as_they_were_sent(client: TestClient, prompt: str) -> None:
    def fields(method: str, path: str, **sent: Any) -> list[str]:
        answer = client.request(method, path, **sent)
        assert answer.status_code == 422, answer.text
        return [error["field"] for error in answer.json()["errors"]]

    cases = f"/api/prompts/{prompt}/test-cases"
    assert fields("POST", cases, json={"input": "a", "evaluation_schema": 1}) == ["evaluation_schema"]
    assert fields("POST", cases, json={"input": "a", "evaluationSchema": [1]}) == ["evaluationSchema"]
    assert fields("POST", cases, json={"input": "a", "evaluationSchema": {"type": 1}}) == ["evaluationSchema"]
    assert fields("POST", cases, json={"evaluationSchema": {}}) == ["input"]
    assert fields("POST", "/api/prompts", json={"name": "p", "evaluationMode": "x"}) == ["evaluationMode"]
    assert fields("POST", "/api/prompts", json={"name": "p", "evaluationMood": "x"}) == ["evaluationMood"]
    assert fields("POST", "/api/prompts", json={"name": "p", "expectedSchema": {"type": "array"}}) == ["expectedSchema"]
    assert fields("POST", "/api/runs", json={"prompt": prompt, "maxCalls": -1, "models": ["a", 1]}) == [
        "models.1", "maxCalls",
    ]  # fmt: skip
    assert fields("POST", "/api/judges/preview", json={"rubrics": ["a", 1]}) == ["rubrics.1"]
    assert fields("GET", "/api/prompts?limit=x") == ["limit"]
    assert fields("GET", f"/api/prompts/{prompt}/versions/x") == ["version"]
    twice = client.post("/api/prompts", json={"name": "p", "evaluation_mode": "llm", "evaluationMode": "llm"})
    assert twice.json()["errors"][0]["field"] == "evaluationMode"


def test_a_schema_may_be_an_object_a_boolean_or_text(client: TestClient, prompt: str) -> None:
    schemas: list[Any] = [{}, True, '{"type": "object"}', None, 1.0, 0]
    made = [
        client.post(f"/api/prompts/{prompt}/test-cases", json={"input": "a", "evaluation_schema": schema}).status_code
        for schema in schemas
    ]

    assert made == [201, 201, 201, 201, 422, 422]


def test_when_too_many_runs_wait_the_next_is_told_to(
    client: TestClient, prompt: str, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.server.runs.manager.MOST_WAITING", 2)
    models.may_answer.clear()
    answers = [client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"]}) for _ in range(7)]
    models.may_answer.set()

    assert [answer.status_code for answer in answers] == [201] * 6 + [503]
    assert answers[-1].headers["retry-after"] == "30"
    assert answers[-1].json()["title"] == "Too many runs"


def test_the_document_names_what_every_route_may_return(document: dict[str, Any]) -> None:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert {"405", "421", "503"} <= operation["responses"].keys(), (method, path)
