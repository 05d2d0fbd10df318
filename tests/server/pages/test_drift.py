"""The page of drift, and the same over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, add_labels, drift, evaluate
from evenhand.engine.run import Run
from evenhand.store.store import Store

HOSTILE = "<script>alert(1)</script>"
CASES = [
    Case(id=f"c/{number}{HOSTILE}", question="Where?", candidate_answer="Paris" if number % 2 else "Rome")
    for number in range(60)
]


def judged(store: Store, cases: list[Case], **settings: Any) -> Run:
    """Judge by a definition, which can be judged again."""
    return evaluate(cases, {"type": "regex", "name": "city", "value": "Paris"} | settings, store=store, name="towns")


@pytest.fixture
def before(store: Store) -> Run:
    run = judged(store, CASES)
    rows = [{"id": case.id, "human": "pass" if case.candidate_answer == "Paris" else "fail"} for case in CASES]
    add_labels(run, rows, rater="Ann")
    return run


def test_a_run_of_anchors_leads_to_what_it_found(client: TestClient, store: Store, before: Run, parsed: Any) -> None:
    report = drift(before, store=store)

    shown = parsed(client.get(f"/runs/{report.now}"))
    page = client.get("/drift", params={"then": before.id, "now": report.now})
    sent = client.get("/api/drift", params={"then": before.id, "now": report.now}).json()

    assert shown.all("a", href=f"/drift?then={before.id}&now={report.now}")
    assert not parsed(client.get(f"/runs/{before.id}")).all("a", href=f"/drift?then={before.id}&now={report.now}")
    assert "Ok: the agreement with people has surely not fallen by more than 0.05." in page.text
    assert sent == report.as_dict()
    assert (sent["outcome"], sent["anchors"], sent["flips"], sent["left_out"]) == ("ok", 60, 0, {})


def test_a_judge_that_has_changed_is_shown_and_what_cannot_be_compared_is_named(
    client: TestClient, store: Store, before: Run
) -> None:
    other = judged(store, CASES, value="o|P")  # everything passes
    query = {"then": before.id, "now": other.id}

    refused = client.get("/drift", params=query)
    refused_here = client.get("/api/drift", params=query)
    page = client.get("/drift", params=query | {"anyway": "yes"})
    sent = client.get("/api/drift", params=query | {"anyway": "true"}).json()

    assert "evaluators[city].value" in refused.text
    assert "Compare what can be compared" in refused.text
    assert refused_here.status_code == 422
    assert "anyway=true" in refused_here.text
    assert (sent["outcome"], sent["flips"]) == ("drifted", 30)
    assert "Drifted: the judge agrees with people less than it did." in page.text
    assert HOSTILE not in page.text
    assert client.get("/drift", params={"then": before.id, "now": before.id}).text.count("cannot be held against") == 1
    assert client.get("/api/drift", params={"then": before.id, "now": "nobody"}).status_code == 404


def test_one_evaluator_is_compared_by_its_own_labels(client: TestClient, store: Store) -> None:
    two = [Contains(value="Paris", name="city"), Contains(value="Rome", name="other")]
    first, second = (evaluate(CASES, two, store=store, cache=False) for _ in range(2))
    add_labels(first, [{"id": case.id, "human": "pass", "evaluator": "other"} for case in CASES], rater="Ann")

    sent = client.get("/api/drift", params={"then": first.id, "now": second.id, "evaluator": "other"}).json()
    whole = client.get("/api/drift", params={"then": first.id, "now": second.id}).json()

    assert (sent["labelled"], sent["agreement_then"]["value"], sent["evaluator"]) == (True, 0.5, "other")
    assert (whole["labelled"], whole["anchors"]) == (False, 60)
    assert drift(first, second, evaluator="other").as_dict() == sent
