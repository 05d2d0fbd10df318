"""The page of a judge card, and the same over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, evaluate
from evenhand.engine.run import Run
from evenhand.labels.draw import make_draw
from evenhand.labels.queue import case_of, give_label
from evenhand.store.store import Store

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def run(store: Store) -> Run:
    cases = [
        Case(
            id=f"c/{number}{HOSTILE}",
            question=f"{HOSTILE} {number}?",
            candidate_answer="Paris" if number % 2 else "Rome",
        )
        for number in range(40)
    ]
    return evaluate(cases, Contains(value="Paris", name="city"), store=store, name="capitals")


def label(store: Store, run: Run, *raters: str, evaluator: str | None = None) -> None:
    """Draw 24 cases, and label them: as the judge does, but for every eighth."""
    draw = make_draw(store, run.record, sample=24, seed=7, evaluator=evaluator)
    for drawn in draw.cases:
        for rater in raters:
            give_label(
                store,
                run.record,
                case_of(store, run.record, drawn),
                rater=rater,
                value="pass" if bool(drawn.position % 2) != (drawn.position % 8 == 0) else "fail",
                evaluator=evaluator,
                from_draw=True,
            )


def test_without_labels_the_page_says_what_to_do(client: TestClient, run: Run, parsed: Any) -> None:
    response = client.get(f"/runs/{run.id}/card")

    assert "Nobody has labelled answers yet" in response.text
    assert parsed(response).all("a", href=f"/runs/{run.id}/label")
    assert parsed(client.get(f"/runs/{run.id}")).all("a", href=f"/runs/{run.id}/card")
    assert parsed(client.get(f"/runs/{run.id}/label")).all("a", href=f"/runs/{run.id}/card")


def test_the_card_is_shown_with_links_to_the_cases_that_differ(
    client: TestClient, run: Run, store: Store, parsed: Any
) -> None:
    label(store, run, "Ann", "Bob <b>")

    response = client.get(f"/runs/{run.id}/card")
    card = client.get(f"/api/runs/{run.id}/card").json()

    assert "The judge passes" in response.text
    assert "24 cases labelled by Ann, Bob &lt;b&gt;, drawn at random with equal chances (seed 7)" in response.text
    assert HOSTILE not in response.text
    assert "style=" not in response.text.split("<main")[1]
    assert 'popovertarget="word-judge-card"' in response.text
    assert card["differing"] > 0
    for one in card["differences"]:
        assert parsed(response).all("a", href=f"/runs/{run.id}/results/{one['position']}")
    assert card["people"]["people"]["alpha"] == 1
    assert card["raters"][1]["rater"] == "Bob <b>"


def test_an_evaluator_has_a_card_of_its_own(client: TestClient, run: Run, store: Store, parsed: Any) -> None:
    label(store, run, "Ann", evaluator="city")

    whole = client.get(f"/runs/{run.id}/card")
    own = client.get(f"/runs/{run.id}/card", params={"evaluator": "city"})
    card = client.get(f"/api/runs/{run.id}/card", params={"evaluator": "city"}).json()
    empty = client.get(f"/api/runs/{run.id}/card").json()
    unknown = client.get(f"/api/runs/{run.id}/card", params={"evaluator": "town"})

    assert parsed(whole).all("a", href=f"/runs/{run.id}/card?evaluator=city")
    assert "Of the evaluator <strong>city</strong>" in own.text
    assert (card["evaluator"], card["labels"]["cases"]) == ("city", 24)
    assert (empty["basis"], empty["labels"]["elsewhere"]) == ("none", {"city": 24})
    assert empty["corrected"] == {"refused": "there are no labels that count"}
    assert unknown.status_code == 422
    assert "has no evaluator 'town'" in unknown.text


def test_the_run_shows_what_people_would_say_once_they_have_labelled_it(
    client: TestClient, run: Run, store: Store
) -> None:
    before, plain = client.get(f"/api/runs/{run.id}").json(), client.get(f"/runs/{run.id}").text
    label(store, run, "Ann", "Bob <b>")
    after, page = client.get(f"/api/runs/{run.id}").json(), client.get(f"/runs/{run.id}").text
    listed = client.get("/api/runs").json()["items"]

    assert "corrected" not in before["summary"]
    assert "corrected" not in plain
    corrected = after["summary"].pop("corrected")
    assert after == before
    assert corrected["pass_rate"]["interval"]["low"] < corrected["pass_rate"]["value"]
    assert (corrected["labels"], corrected["judged"], corrected["basis"]) == (24, 40, "drawn")
    assert "by the labels of Ann and Bob &lt;b&gt; for 24 of 40 cases, drawn at random" in page
    assert 'popovertarget="word-corrected-pass-rate"' in page
    assert [one["summary"]["corrected"] for one in listed] == [corrected]
