"""A server whose connections to PostgreSQL are lost serves on, and says whether it can."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from evenhand.server.settings import ServerSettings

pytestmark = pytest.mark.group("postgres")


@pytest.fixture
def settings(settings: ServerSettings, postgres_url: str) -> ServerSettings:
    return replace(settings, db=postgres_url)


@contextlib.contextmanager
def ended_at_random(url: str, seed: int, asked: threading.Semaphore) -> Iterator[Callable[[], int]]:
    """End a connection of the server each time it is asked for; the function returns how many were ended.

    However slow the machine is, a page has to do with no more of them than pages are asked for meanwhile.
    """
    over, chance, ended = threading.Event(), random.Random(seed), 0

    def end_some() -> None:
        nonlocal ended
        with psycopg.connect(url, autocommit=True) as connection:
            while asked.acquire() and not over.wait(chance.uniform(0, 0.02)):
                rows = connection.execute(
                    "SELECT pid FROM pg_stat_activity WHERE application_name = 'evenhand' "
                    "AND datname = current_database() ORDER BY pid"
                ).fetchall()
                if rows:
                    connection.execute("SELECT pg_terminate_backend(%s)", chance.choice(rows))
                    ended += 1

    thread = threading.Thread(target=end_some)
    thread.start()
    try:
        yield lambda: ended
    finally:
        over.set()
        asked.release()
        thread.join()


@pytest.mark.parametrize(("seed", "pages"), [(0, 80), pytest.param(1, 200, marks=pytest.mark.long)])
def test_pages_and_a_run_go_on_while_connections_are_ended_at_random(
    client: TestClient,
    app: FastAPI,
    models: Any,
    postgres_url: str,
    ended: Callable[[str], dict[str, Any]],
    seed: int,
    pages: int,
) -> None:
    made = client.post("/api/prompts", json={"name": "capitals", "evaluation_criteria": "Names the city"}).json()["id"]
    cases = [{"input": f"Capital of country {number}?"} for number in range(60)]
    document = {"prompts": [{"name": "many", "evaluation_criteria": "Names the city", "test_cases": cases}]}
    assert client.post("/api/import", json=document).status_code == 200
    models.wait = 0.02

    asked = threading.Semaphore(1)
    with ended_at_random(postgres_url, seed, asked) as count:
        run = client.post("/api/runs", json={"prompt": "many", "models": ["vllm/a"], "concurrency": 4}).json()["id"]
        addresses = [
            "/", "/runs", "/prompts", f"/prompts/{made}", "/io", f"/runs/{run}", f"/runs/{run}/results",
            "/api/runs", "/api/prompts", f"/api/runs/{run}/progress", f"/api/runs/{run}/evaluations", "/api/ready",
        ]  # fmt: skip
        failed = []
        for number in range(pages):
            asked.release()
            answer = client.get(addresses[number % len(addresses)])
            if answer.status_code == 503:  # as its Retry-After says, once
                answer = client.get(addresses[number % len(addresses)])
            if answer.status_code != 200:
                failed.append((answer.url.path, answer.status_code, answer.text))
        changed = [
            client.post(f"/api/prompts/{made}/test-cases", json={"input": f"{number}?"}).status_code
            for number in range(20)
        ]
        found = ended(run)
        assert count() > 20

    assert failed == []
    assert changed == [201] * 20
    assert (found["status"], found["summary"]["scored"]) == ("finished", 60)
    assert len(models.asked) == 120  # each answer and each judgment once
    database = app.state.store.database
    assert database.rows("SELECT COUNT(*), MAX(round) FROM evaluations") == [(60, 0)]
    assert len(client.get(f"/api/prompts/{made}/test-cases?limit=500").json()["items"]) == 20


def test_a_server_is_ready_when_its_database_is(
    client: TestClient, strangers: TestClient, postgres: str, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.postgres.RECONNECT_SECONDS", 0.2)
    name = postgres_url.partition("?")[0].rpartition("/")[2]
    before = strangers.get("/api/ready")

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        gone, health, page, api = (client.get(path) for path in ("/api/ready", "/api/health", "/runs", "/api/runs"))
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())

    assert (before.status_code, before.json()["status"]) == (200, "ready")
    assert (gone.status_code, gone.headers["retry-after"], gone.json()["title"]) == (503, "5", "Not ready")
    assert name not in gone.text
    assert (health.status_code, page.status_code, api.status_code) == (200, 503, 503)
    assert api.headers["retry-after"] == "5"
    assert [client.get(path).status_code for path in ("/api/ready", "/runs", "/api/runs")] == [200] * 3


def test_a_database_that_does_not_answer_in_time_is_not_ready(client: TestClient, postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("LOCK TABLE evenhand.schema_version IN ACCESS EXCLUSIVE MODE")

        answers = [client.get("/api/ready").status_code for _ in range(2)]

    assert answers == [503, 503]
    assert client.get("/api/health").status_code == 200


def test_tables_of_a_newer_version_are_not_ready(client: TestClient, app: FastAPI) -> None:
    app.state.store.database.execute("UPDATE schema_version SET version = 999")

    assert client.get("/api/ready").status_code == 503
