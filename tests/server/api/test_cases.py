"""The list of a run's cases over HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Scripted, evaluate

JUDGE = {"type": "llm_judge", "name": "quality"}


def reply(score: float) -> str:
    return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": f"It is {score}."})


@pytest.fixture
def run(client: TestClient, tmp_path: Path) -> str:
    """Have two targets answer three cases, of which the second target fails the first and breaks the judge at the last."""
    cases = [
        Case(id=name, question=f"Is it {name}?", expected_outcome="x", metadata={"lang": name[0]}) for name in "abc"
    ]
    targets = [{"command": ["echo", "short"], "name": "echo"}, {"command": ["echo", "in more words"], "name": "talk"}]
    replies = [reply(0.9), reply(0.1), reply(0.9), reply(0.85), reply(0.7), *["no verdict"] * 3]
    store = str(tmp_path / "evenhand.db")
    return evaluate(cases, JUDGE, judge=Scripted(replies), target=targets, store=store, concurrency=1).id


def listed(client: TestClient, run: str, **query: Any) -> dict[str, Any]:
    answer = client.get(f"/api/runs/{run}/cases", params=query)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


@pytest.mark.starts(6, "a program answers six cases")
def test_a_case_has_an_answer_of_each_target_with_what_came_of_it(client: TestClient, run: str) -> None:
    page = listed(client, run)

    assert (page["total"], page["matching"], page["next"]) == (3, 6, None)
    first = page["items"][0]
    assert {name: first[name] for name in ("position", "case_id", "question", "metadata")} == {
        "position": 0, "case_id": "a", "question": "Is it a?", "metadata": {"lang": "a"},
    }  # fmt: skip
    assert [
        (one["model"], one["answer"], one["status"], one["verdict"], one["score"], one["evaluations"][0]["reasoning"])
        for one in first["answers"]
    ] == [
        ("echo", "short", "scored", "pass", 0.9, "It is 0.9."),
        ("talk", "in more words", "scored", "fail", 0.1, "It is 0.1."),
    ]
    assert [one["status"] for one in page["items"][2]["answers"]] == ["scored", "error"]


@pytest.mark.parametrize(
    ("query", "ids", "matching"),
    [
        ({"verdict": "pass"}, ["a", "b"], 3),
        ({"verdict": "fail"}, ["a"], 1),
        ({"verdict": ["fail", "borderline"]}, ["a", "c"], 2),
        ({"status": "error"}, ["c"], 1),
        ({"status": ["scored", "error"]}, ["a", "b", "c"], 6),
        ({"model": "talk", "verdict": "pass"}, ["b"], 1),
        ({"evaluator": "quality", "verdict": "fail"}, ["a"], 1),
        ({"differ": True}, ["a", "c"], 4),
        ({"min_score": 0.7, "max_score": 0.87}, ["b", "c"], 2),
        ({"retried": True}, ["c"], 1),
        ({"text": "it is 0.85"}, ["b"], 1),
        ({"metadata.lang": "b"}, ["b"], 2),
        ({"sort": "score"}, ["a", "c", "b"], 6),
        ({"sort": "case_id", "descending": True}, ["c", "b", "a"], 6),
    ],
)
@pytest.mark.starts(6, "a program answers six cases")
def test_filters_and_orders(client: TestClient, run: str, query: dict[str, Any], ids: list[str], matching: int) -> None:
    page = listed(client, run, **query)

    assert ([one["case_id"] for one in page["items"]], page["total"], page["matching"]) == (ids, len(ids), matching)


@pytest.mark.starts(6, "a program answers six cases")
def test_pages_follow_one_another(client: TestClient, run: str) -> None:
    found, cursor = list[str](), None

    while True:
        page = listed(client, run, limit=1, **({} if cursor is None else {"cursor": cursor}))
        found += [one["case_id"] for one in page["items"]]
        if (cursor := page["next"]) is None:
            break

    assert found == ["a", "b", "c"]


@pytest.mark.parametrize("query", ["verdict=good", "status=none", "sort=seconds", "min_score=2", "cursor=x", "limit=0"])
@pytest.mark.starts(6, "a program answers six cases")
def test_what_makes_no_sense_is_refused_by_its_name(client: TestClient, run: str, query: str) -> None:
    refused = client.get(f"/api/runs/{run}/cases?{query}")

    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"].startswith(query.split("=", maxsplit=1)[0])
