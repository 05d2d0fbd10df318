"""Labels by people over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand import Case, Contains, evaluate
from evenhand.engine.run import Run


@pytest.fixture
def run(client: TestClient) -> Run:
    app: Any = client.app
    cases = [Case(id=f"c/{number}", question="Capital?", candidate_answer=f"Paris {number}") for number in range(4)]
    return evaluate(cases, Contains(value="Paris", name="city"), store=app.state.store, name="capitals")


def test_cases_are_drawn_labelled_and_listed(client: TestClient, run: Run) -> None:
    base = f"/api/runs/{run.id}"
    drawn = client.post(f"{base}/label-draws", json={"sample": 2, "seed": 7})
    given = []
    for value in ("pass", 0.25):
        queue = client.get(f"{base}/label-queue", params={"rater": "Ann"}).json()
        shown = queue["next"]
        body = {"rater": "Ann", "value": value, "drawn": True, "answer_hash": shown["answer_hash"]}
        given.append(client.put(f"{base}/labels/{shown['case']}", json=body))
    outside = next(f"c/{number}" for number in range(4) if f"c/{number}" not in {one.json()["case"] for one in given})
    client.put(f"{base}/labels/{outside}", json={"rater": "Bob", "value": "fail", "note": "rude"})
    listed = client.get(f"{base}/labels").json()
    done = client.get(f"{base}/label-queue", params={"rater": "Ann"}).json()

    assert drawn.status_code == 201
    assert drawn.json().items() >= {"seed": 7, "size": 2, "eligible": 4, "uncertain": 0.0}.items()
    assert not {"score", "verdict", "reasoning"} & set(shown)
    assert shown["answer"].startswith("Paris")
    assert [one.status_code for one in given] == [200, 200]
    assert [(one["rater"], one["value"], one["p"]) for one in listed["items"]] == [
        ("Ann", "pass", 0.5),
        ("Ann", 0.25, 0.5),
        ("Bob", "fail", None),
    ]
    assert listed["agreement"]["raters"] == ["Ann", "Bob"]
    assert [draw["seed"] for draw in listed["draws"]] == [7]
    assert (done["done"], done["next"]) == (2, None)


def test_a_label_is_changed_and_taken_back(client: TestClient, run: Run) -> None:
    there = f"/api/runs/{run.id}/labels/c/1"
    for value in ("pass", "fail"):
        client.put(there, json={"rater": "Ann", "value": value, "evaluator": "city"})
    listed = client.get(f"/api/runs/{run.id}/labels").json()["items"]

    gone = client.delete(there, params={"rater": "Ann", "evaluator": "city"})
    again = client.delete(there, params={"rater": "Ann", "evaluator": "city"})

    assert [(one["case"], one["value"], one["evaluator"]) for one in listed] == [("c/1", "fail", "city")]
    assert (gone.status_code, again.status_code) == (204, 404)
    assert client.get(f"/api/runs/{run.id}/labels").json()["items"] == []


def test_what_cannot_be_done_is_said(client: TestClient, run: Run) -> None:
    base = f"/api/runs/{run.id}"
    good = {"rater": "Ann", "value": "pass"}
    answers = [
        (client.put(f"{base}/labels/c/9", json=good), 404, "has no case 'c/9'"),
        (client.put(f"{base}/labels/c/1", json=good | {"value": "perhaps"}), 422, ""),
        (client.put(f"{base}/labels/c/1", json=good | {"value": 1.5}), 422, ""),
        (client.put(f"{base}/labels/c/1", json=good | {"rater": " Ann"}), 422, "a line of 1 to 100 characters"),
        (client.put(f"{base}/labels/c/1", json=good | {"drawn": True}), 422, "was not drawn"),
        (client.put(f"{base}/labels/c/1", json=good | {"evaluator": "town"}), 422, "has no evaluator 'town'"),
        (client.put(f"{base}/labels/c/1", json=good | {"answer_hash": "h1"}), 422, "read it again"),
        (client.get(f"{base}/label-queue", params={"rater": "Ann"}), 404, "nothing was drawn"),
        (client.post(f"{base}/label-draws", json={"sample": 1, "uncertain": 0.5}), 422, "sample is 1"),
        (client.post(f"{base}/label-draws", json={"sample": 3, "uncertain": 0.95}), 422, ""),
    ]

    for answer, status, told in answers:
        assert answer.status_code == status, answer.text
        assert told in answer.text


def test_cases_that_were_left_to_people_are_a_queue_of_their_own(client: TestClient) -> None:
    app: Any = client.app
    stages = [{"name": name, "type": "levenshtein", "value": "Paris"} for name in ("cheap", "strong")]
    cascade = {"type": "cascade", "stages": stages, "confident": 0.5, "then": "people"}
    cases = [Case(id=f"c{n}", candidate_answer=text) for n, text in enumerate(["Paris", "Pari"])]
    run = evaluate(cases, [cascade], store=app.state.store)

    queue = client.get(f"/api/runs/{run.id}/label-queue", params={"rater": "Ann", "undecided": True}).json()

    assert (queue["seed"], queue["size"], queue["done"]) == (None, 1, 0)
    assert queue["next"].items() >= {"case": "c1", "p": None, "answer": "Pari"}.items()
