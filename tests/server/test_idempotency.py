"""What is asked for under a key is done once, however often it is asked for (REL-D10)."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand.domain.case import Case
from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import PromptText
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.domain.secret import Secret
from evenhand.engine.job import Job, Scope
from evenhand.server.app import make_app
from evenhand.server.runs.manager import Planner
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store, open_store

BASE = "http://localhost:8642"
KEY = {"Idempotency-Key": "k-1"}


def test_the_same_key_and_body_give_the_same_run_and_another_body_is_refused(client: TestClient, prompt: str) -> None:
    body = {"prompt": prompt, "models": ["vllm/a"]}

    first = client.post("/api/runs", json=body, headers=KEY)
    again = client.post("/api/runs", json={"models": ["vllm/a"], "prompt": prompt, "useCache": True}, headers=KEY)
    other = client.post("/api/runs", json=body | {"repeat": 2}, headers=KEY)
    elsewhere = client.post("/api/import", json={"prompts": []}, headers=KEY)
    without = client.post("/api/runs", json=body)

    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json()["id"] == again.json()["id"]
    assert [one.headers["idempotency-replayed"] for one in (first, again)] == ["false", "true"]
    assert (other.status_code, elsewhere.status_code) == (409, 409)
    assert without.json()["id"] != first.json()["id"]
    assert client.get("/api/runs").json()["total"] == 2


def make_routes(client: TestClient) -> None:
    """Send a request that comes by all routes: each is made by the first one that does.

    Warnings are silenced for the whole process meanwhile, so that of two at once one would see them.
    """
    assert client.get("/api/nowhere").status_code == 404


def test_fifty_at_once_make_one_run(client: TestClient, prompt: str, models: Any) -> None:
    body = {"prompt": prompt, "models": ["vllm/a"]}
    make_routes(client)

    with ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda _: client.post("/api/runs", json=body, headers=KEY), range(50)))

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert [answer.headers["idempotency-replayed"] for answer in answers].count("false") == 1
    assert client.get("/api/runs").json()["total"] == 1


@pytest.mark.slow
@pytest.mark.group("postgres")
def test_two_servers_on_one_database_make_one_run(empty_postgres: str, models: Any) -> None:
    settings = ServerSettings(db=empty_postgres, token=Secret("t" * 16), judge="vllm/judge", page_wait_seconds=60.0)
    with contextlib.ExitStack() as stack:
        clients = [
            stack.enter_context(
                TestClient(make_app(settings), base_url=BASE, headers={"authorization": "Bearer " + "t" * 16})
            )
            for _ in range(2)
        ]
        prompt = clients[0].post("/api/prompts", json={"name": "p", "evaluation_criteria": "Right"}).json()["id"]
        clients[0].post(f"/api/prompts/{prompt}/test-cases", json={"input": "Hi"})
        body = {"prompt": prompt, "models": ["vllm/a"]}
        for client in clients:
            make_routes(client)

        with ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda one: clients[one % 2].post("/api/runs", json=body, headers=KEY), range(20)))
        watched = clients[1].get(f"/api/runs/{answers[0].json()['id']}/events").text

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert [answer.headers["idempotency-replayed"] for answer in answers].count("false") == 1
    assert '"status":"finished"' in watched


def test_a_request_that_was_refused_leaves_its_key_free(client: TestClient, prompt: str) -> None:
    wrong = client.post("/api/runs", json={"prompt": prompt, "models": ["nobody/x"]}, headers=KEY)
    right = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"]}, headers=KEY)

    assert (wrong.status_code, right.status_code) == (422, 201)


def asking(store: Store, cases: Callable[[], Iterator[PlannedCase]]) -> tuple[RunRecord, Job | None]:
    """Ask for a run of these cases under a key."""
    job = Job(name="j", definition={}, cases=cases, evaluators_for=lambda _: ())
    return Planner(store).planned(lambda: job, Scope(), key="k", asked="the same")


def one_by_one(*, until: Callable[[int], None], count: int = 1_500) -> Callable[[], Iterator[PlannedCase]]:
    def cases() -> Iterator[PlannedCase]:
        for number in range(count):
            until(number)
            yield PlannedCase(position=number, case=Case(id=f"c{number}", question="q"))

    return cases


def test_while_a_run_is_planned_others_write_and_who_asks_again_gets_that_run(tmp_path: Path) -> None:
    with contextlib.closing(open_store(str(tmp_path / "e.db"))) as store:
        other = open_store(str(tmp_path / "e.db"))
        seen: list[tuple[str, str]] = []

        def look(number: int) -> None:
            if number == 1_200:
                other.prompts.create(PromptText(name="written meanwhile"))
                again, job = asking(other, one_by_one(until=lambda _: pytest.fail("it is planned once")))
                seen.append((again.id, again.status.value))
                assert job is None

        run, _ = asking(store, one_by_one(until=look))
        other.close()

        assert seen == [(run.id, "planning")]
        assert (run.status, run.cases) == (RunStatus.RUNNING, 1_500)
        assert len(store.runs.newest()) == 1


def test_a_case_that_is_wrong_leaves_no_run_and_the_key_free(tmp_path: Path) -> None:
    def break_off(number: int) -> None:
        if number == 1_200:
            raise ConfigError("case 1200 is wrong")

    with contextlib.closing(open_store(str(tmp_path / "e.db"))) as store:
        with pytest.raises(ConfigError, match="1200"):
            asking(store, one_by_one(until=break_off))
        before = store.runs.newest()
        run, job = asking(store, one_by_one(until=lambda _: None, count=3))

        assert before == []
        assert (run.cases, job is not None) == (3, True)


KILLED_WHILE_PLANNING = """
import os, signal, sys
from evenhand.domain.case import Case
from evenhand.domain.run import PlannedCase
from evenhand.engine.job import Job, Scope
from evenhand.server.runs.manager import Planner
from evenhand.store.store import open_store

def cases():
    for number in range(3_000):
        if number == 2_000:
            os.kill(os.getpid(), signal.SIGKILL)
        yield PlannedCase(position=number, case=Case(id=f"c{number}", question="q"))

job = Job(name="j", definition={"prompt": {"id": "p-1"}}, cases=cases, evaluators_for=lambda _: ())
Planner(open_store(sys.argv[1])).planned(lambda: job, Scope(), key="k", asked="the same")
"""


@pytest.mark.slow
def test_a_run_whose_planning_was_killed_is_named_again_and_says_what_to_do(client: TestClient, app: Any) -> None:
    store, where = app.state.store, app.state.settings.db

    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_PLANNING, where], check=False, timeout=60)
    again, job = asking(store, one_by_one(until=lambda _: pytest.fail("it is planned once")))
    told = client.get(f"/api/runs/{again.id}").json()
    page = client.get(f"/runs/{again.id}").text
    resumed = client.post(f"/api/runs/{again.id}/resume")
    deleted = client.delete(f"/api/runs/{again.id}")

    assert killed.returncode == -signal.SIGKILL
    assert (again.status, job) == (RunStatus.PLANNING, None)
    assert (told["status"], told["cases"]) == ("interrupted", 0)
    assert told["reason"].startswith("its process ended while it was being planned")
    assert "delete it and start it again" in page
    assert f"/runs/{again.id}/resume" not in page
    assert (resumed.status_code, deleted.status_code) == (422, 204)


def test_an_import_is_answered_again_as_it_was(client: TestClient) -> None:
    document = {"prompts": [{"name": "p"}]}

    first, again = (client.post("/api/import", json=document, headers=KEY).json() for _ in range(2))

    assert first == again == {"created": ["p"], "updated": [], "skipped": [], "test_cases": 0, "dry_run": False}


def test_keys_are_forgotten_after_days_and_not_hours(client: TestClient, prompt: str, app: Any) -> None:
    body = {"prompt": prompt, "models": ["vllm/a"]}
    first = client.post("/api/runs", json=body, headers=KEY).json()["id"]
    database = app.state.store.database
    database.execute("UPDATE requests SET created = created - 24 * 3600 - 60")
    client.post("/api/import", json={"prompts": []}, headers={"Idempotency-Key": "k-2"})
    next_day = client.post("/api/runs", json=body, headers=KEY).json()["id"]
    database.execute("UPDATE requests SET created = created - 24 * 3600")
    client.post("/api/import", json={"prompts": []}, headers={"Idempotency-Key": "k-3"})

    assert next_day == first
    assert client.post("/api/runs", json=body, headers=KEY).json()["id"] != first


@pytest.mark.parametrize("key", ["", "x" * 201])
def test_a_key_that_is_none_is_refused(client: TestClient, prompt: str, key: str) -> None:
    answer = client.post("/api/runs", json={"prompt": prompt}, headers={"Idempotency-Key": key})

    assert answer.status_code == 422


@pytest.mark.slow
@pytest.mark.group("server")
def test_after_a_kill_the_same_key_gives_the_same_run_which_goes_on(served: Callable[..., Any], models: Any) -> None:
    models.may_answer.clear()
    server = served()
    prompt = server.client.post("/api/prompts", json={"name": "p", "evaluation_criteria": "Right"}).json()["id"]
    for number in range(6):
        server.client.post(f"/api/prompts/{prompt}/test-cases", json={"input": f"Question {number}"})
    body = {"prompt": prompt, "models": ["vllm/a"], "concurrency": 1}
    first = server.client.post("/api/runs", json=body, headers=KEY).json()["id"]
    server.end(signal.SIGKILL)
    models.may_answer.set()

    after = served()
    again = after.client.post("/api/runs", json=body, headers=KEY)
    standing = after.client.get(f"/api/runs/{first}").json()
    resumed = after.client.post(f"/api/runs/{first}/resume")
    with after.client.stream("GET", f"/api/runs/{first}/events") as stream:
        stream.read()

    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (first, "true")
    assert standing["status"] == "interrupted"
    assert resumed.status_code == 202
    done = after.client.get(f"/api/runs/{first}").json()
    assert (done["status"], done["summary"]["scored"]) == ("finished", 6)
    assert after.client.get("/api/runs").json()["total"] == 1
