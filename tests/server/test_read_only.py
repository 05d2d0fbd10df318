"""A server on a database that cannot be written to shows what is there, and says what it cannot do."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace

import pytest
from bench.large_run import filled
from fastapi.testclient import TestClient

from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.store import open_store


@pytest.fixture
def run(settings: ServerSettings) -> str:
    with contextlib.closing(open_store(settings.db)) as store:
        return filled(store, 60).id


@pytest.fixture
def reader(settings: ServerSettings, run: str) -> Iterator[TestClient]:
    """Ask a server that may only read."""
    app = make_app(replace(settings, db=f"sqlite:///{settings.db}?mode=ro"))
    token = {"authorization": f"Bearer {settings.token.reveal()}"} if settings.token else {}
    with TestClient(app, base_url="http://localhost:8642", headers=token, follow_redirects=False) as client:
        yield client


def test_pages_and_answers_to_programs_are_given(reader: TestClient, run: str) -> None:
    paths = ["/", "/runs", "/prompts", f"/runs/{run}", f"/runs/{run}/results", f"/runs/{run}/results/3"]
    paths += [f"/runs/{run}/download.html", "/api/runs", f"/api/runs/{run}", f"/api/runs/{run}/evaluations?sort=score"]

    answers = {path: reader.get(path).status_code for path in paths}

    assert answers == dict.fromkeys(paths, 200)
    assert reader.get(f"/api/runs/{run}").json()["summary"]["n"] == 60


def test_what_would_write_is_refused_and_changes_nothing(reader: TestClient, run: str) -> None:
    made = reader.post("/api/prompts", json={"name": "capitals"})
    deleted = reader.delete(f"/api/runs/{run}")
    tried = reader.post("/api/prompts/p/try", json={"input": "a", "model": "vllm/a"})

    assert (made.status_code, deleted.status_code, tried.status_code) == (409, 409, 409)
    assert "is read-only, and this would write to it" in made.json()["detail"]
    assert [one["id"] for one in reader.get("/api/runs").json()["items"]] == [run]
