"""The page that compares judges, and the same over HTTP."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from evenhand import Case, Contains, Regex, add_labels, compare_judges, evaluate
from evenhand.store.store import Store

HOSTILE = "<script>alert(1)</script>"
CASES = [Case(id=f"c{number}", candidate_answer=("Paris", "Rome")[number % 2]) for number in range(40)]


def test_evaluators_of_a_run_are_compared(client: TestClient, store: Store, parsed: Any) -> None:
    run = evaluate(CASES, [Contains(value="Paris", name=HOSTILE), Regex(value="Paris|Rome", name="all")], store=store)
    add_labels(run, [{"id": case.id, "human": "pass"} for case in CASES], rater="Ann")

    choice = parsed(client.get("/judges/compare"))
    page = client.get("/judges/compare", params={"run": run.id})
    sent = client.get("/api/judges/compare", params={"run": run.id}).json()

    assert parsed(client.get("/judges")).all("a", href="/judges/compare")
    assert choice.all("input", name="run", value=run.id)
    assert "All agrees with people most often: 1.00" in page.text
    assert HOSTILE not in page.text
    assert sent == compare_judges(run).as_dict()
    assert sent["best"] == "all"


def test_runs_with_other_answers_are_refused_until_the_cases_are_left_out(client: TestClient, store: Store) -> None:
    one = evaluate(CASES, Contains(value="Paris"), store=store)
    other = evaluate([*CASES[1:], Case(id="c0", candidate_answer="Lima")], Contains(value="Paris"), store=store)
    both = {"run": [one.id, other.id]}

    refused, page = client.get("/api/judges/compare", params=both), client.get("/judges/compare", params=both)
    left_out = client.get("/api/judges/compare", params=both | {"anyway": "true"}).json()

    assert refused.status_code == 422
    assert "anyway=true" in refused.text
    assert "Leave these cases out" in page.text
    assert left_out["cases"] == 39
    assert client.get("/api/judges/compare").status_code == 422
    assert client.get("/judges/compare", params={"run": one.id}).text.count("there is one judge") == 1
