"""Every page and list works on PostgreSQL, those without a single row too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand.server.settings import ServerSettings

pytestmark = pytest.mark.group("postgres")

LISTS = ("", "/results", "/evaluations", "/results/0", "/evaluations/export.csv", "/download.json")
QUERIES = (
    "verdict=fail",
    "verdict=pass&sort=score",
    "status=error",
    "evaluator=nobody",
    "differ=1",
    "model=vllm/nobody",
    "metadata.lang=de",
    "text=nothing like this",
    "text=Paris",
    "min_score=0.2&max_score=0.3",
    "page=9",
    *(f"sort={column}&descending=1" for column in ("position", "verdict", "score", "case_id", "cost")),
)


@pytest.fixture
def settings(settings: ServerSettings, empty_postgres: str) -> ServerSettings:
    return replace(settings, db=empty_postgres)


@pytest.fixture
def run(client: TestClient, prompt: str, ended: Callable[[str], dict[str, Any]]) -> str:
    """Make two runs of two models, and return the id of the second."""
    asked = {"prompt": prompt, "models": ["vllm/a", "vllm/b"]}
    return [str(ended(client.post("/api/runs", json=asked).json()["id"])["id"]) for _ in range(2)][-1]


def test_every_page_of_a_run_is_shown_whatever_is_filtered(client: TestClient, run: str) -> None:
    pages = [f"/runs/{run}{page}" for page in LISTS]
    pages += [f"/runs/{run}/{view}?{query}" for view in ("results", "evaluations") for query in QUERIES]
    api = [f"/api/runs/{run}{path}" for path in ("", "/progress", "/cases", "/evaluations")]
    api += [f"/api/runs/{run}/{view}?text=nothing" for view in ("cases", "evaluations")]

    statuses = {path: client.get(path).status_code for path in (*pages, *api)}

    assert {path: status for path, status in statuses.items() if status != 200} == {}


def test_the_other_pages_are_shown(client: TestClient, run: str, prompt: str) -> None:
    lists = ("/", "/prompts", "/runs", "/compare", "/judges", "/io", "/settings", "/runs/new")
    ours = (f"/prompts/{prompt}", f"/compare?a={run}", f"/runs?prompt={prompt}&q=nothing")
    api = ("/api/runs", "/api/prompts", f"/api/prompts/{prompt}/test-cases", "/api/ready", f"/api/compare?a={run}")

    statuses = {path: client.get(path).status_code for path in (*lists, *ours, *api)}

    assert {path: status for path, status in statuses.items() if status != 200} == {}
