"""What a judge would be sent, over HTTP: the very messages, before anything is spent."""

from __future__ import annotations

from typing import Any

from fastapi.testclient import TestClient

CASE = {"question": "Can I send my shoes back?", "answer": "Yes, within 30 days.", "criteria": "Names the 30 days"}


def test_the_messages_are_those_that_the_judge_is_sent(client: TestClient, models: Any) -> None:
    found = client.post("/api/judges/preview", json=CASE | {"model": "vllm/judge"}).json()

    (ask,) = found["asks"]
    assert [one["role"] for one in ask["messages"]] == ["system", "user"]
    assert all(text in ask["messages"][1]["content"] for text in CASE.values())
    assert "score" in found["reply_schema"]["properties"]
    assert found["why_none"] is None
    assert models.asked == []


def test_a_rubric_is_asked_for_item_by_item_if_wanted(client: TestClient) -> None:
    body = CASE | {"mode": "rubric", "rubrics": ["Names the days", {"id": "kind", "description": "Is kind"}]}

    joint = client.post("/api/judges/preview", json=body).json()
    separate = client.post("/api/judges/preview", json=body | {"rubricMode": "separate"}).json()

    assert (len(joint["asks"]), len(separate["asks"])) == (1, 2)
    assert "Is kind" in joint["asks"][0]["messages"][0]["content"]


def test_where_no_judge_would_be_asked_it_says_why(client: TestClient) -> None:
    found = client.post("/api/judges/preview", json={"answer": "Paris"}).json()

    assert found["asks"] == []
    assert found["why_none"]


def test_what_is_wrong_is_told_by_field(client: TestClient) -> None:
    wrong = {
        "rubrics": {"mode": "rubric"},
        "template": {"template": "{{ nobody }}"},
        "scale": {"scale": "from here to there"},
        "mode": {"mode": "fair"},
        "colour": {"colour": "red"},
    }

    answers = {field: client.post("/api/judges/preview", json=CASE | more) for field, more in wrong.items()}

    assert {one.status_code for one in answers.values()} == {422}
    assert {field: one.json()["errors"][0]["field"] for field, one in answers.items()} == {one: one for one in wrong}
