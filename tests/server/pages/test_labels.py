"""The page on which people label answers, and the labels on the page of a case: all of it without JavaScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, evaluate
from evenhand.engine.run import Run
from evenhand.labels.draw import make_draw
from evenhand.store.store import Store

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]


@pytest.fixture
def run(store: Store) -> Run:
    cases = [
        Case(id=f"c/{number}", question=f"Question {number}?", candidate_answer="Paris" if number % 2 else "Rome")
        for number in range(6)
    ]
    return evaluate(cases, Contains(value="Paris", name="city"), store=store, name="capitals")


@pytest.fixture
def begun(client: TestClient, post: Post, run: Run) -> str:
    """Draw three cases, say who labels, and give the address of the page."""
    address = f"/runs/{run.id}/label"
    assert post(f"{address}-draw", sample="3", uncertain="0", seed="7", evaluator="").headers["location"] == address
    assert post(f"{address}-as", rater="Ann Ü").headers["location"] == address
    return address


def test_the_page_asks_for_a_name_and_a_draw_first(client: TestClient, run: Run, parsed: Parsed) -> None:
    page = parsed(client.get(f"/runs/{run.id}/label"))

    assert page.value("rater") == ""
    assert page.value("sample") == "100"
    assert not page.all("article")
    assert parsed(client.get(f"/runs/{run.id}")).all("a", href=f"/runs/{run.id}/label")


def test_cases_are_shown_one_by_one_without_the_judges_view(
    client: TestClient, post: Post, begun: str, parsed: Parsed, run: Run, store: Store
) -> None:
    draw = store.labels.draw(run.record)
    assert draw is not None
    shown = []
    for value in ("pass", "fail", "0,5"):
        response = client.get(begun)
        page = parsed(response)
        assert "badge" not in response.text.split("<main")[1]
        shown.append(int(page.value("position")))
        field = "score" if value == "0,5" else "value"
        given = {"position": page.value("position"), "answer_hash": page.value("answer_hash"), field: value}
        assert post(f"{begun}s", drawn="1", note="why not", **given).status_code == 303
    done = client.get(begun)

    assert shown == [one.position for one in draw.cases]
    assert "All 3 cases of the draw are labelled" in done.text
    assert [(label.rater, label.value, label.note, label.p) for label in store.labels.of(run.record)] == [
        ("Ann Ü", "pass", "why not", 0.5),
        ("Ann Ü", "fail", "why not", 0.5),
        ("Ann Ü", 0.5, "why not", 0.5),
    ]


def test_the_judges_view_comes_after_the_label_to_whoever_wants_it(
    client: TestClient, post: Post, begun: str, parsed: Parsed
) -> None:
    position = parsed(client.get(begun)).value("position")
    there = post(f"{begun}s", drawn="1", position=position, value="pass").headers["location"]

    hidden = client.get(there).text
    post(f"{begun}-as", rater="Ann Ü", judge="1")
    shown = client.get(there).text
    undecided = client.get(f"{begun}?decided={(int(position) + 1) % 6}").text

    assert there == f"{begun}?decided={position}"
    assert "You said <strong>pass</strong>" in hidden
    assert "The judge:" not in hidden
    assert "The judge:" in shown
    assert "The judge:" not in undecided


def test_a_label_is_taken_back_and_a_case_is_skipped(
    client: TestClient, post: Post, begun: str, parsed: Parsed, run: Run, store: Store
) -> None:
    first = parsed(client.get(begun)).value("position")
    post(f"{begun}s", drawn="1", position=first, value="fail", note="hasty")

    there = post(f"{begun}-undo").headers["location"]
    again = parsed(client.get(there))
    skipped = parsed(client.get(f"{begun}?after={first}"))
    nothing = post(f"{begun}-undo")

    assert there == f"{begun}?at={first}"
    assert again.value("position") == first
    assert skipped.value("position") != first
    assert (nothing.status_code, nothing.headers["location"]) == (303, begun)
    assert store.labels.of(run.record) == []


def test_two_people_are_kept_apart_and_their_agreement_is_shown(
    client: TestClient, post: Post, begun: str, parsed: Parsed
) -> None:
    for rater, value in (("Ann Ü", "pass"), ("Bob", "fail")):
        post(f"{begun}-as", rater=rater)
        position = parsed(client.get(begun)).value("position")
        post(f"{begun}s", drawn="1", position=position, value=value)

    text = client.get(begun).text

    assert "On 1 case that several people labelled, 0 of 1 pair of labels are the same" in text
    assert text.count('<th scope="row" dir="auto">') == 2


def test_any_case_takes_a_label_which_is_marked_as_not_drawn(
    client: TestClient, post: Post, run: Run, store: Store, parsed: Parsed
) -> None:
    address = f"/runs/{run.id}/results/2"
    form = parsed(client.get(address))

    there = post(
        f"/runs/{run.id}/labels",
        position="2",
        rater="Bob",
        value="pass",
        note="<b>",
        answer_hash=form.value("answer_hash"),
    )
    page = client.get(there.headers["location"]).text
    (label,) = store.labels.of(run.record)
    back = post(f"/runs/{run.id}/label-undo", position="2")

    assert there.headers["location"] == back.headers["location"] == address
    assert (label.rater, label.value, label.is_drawn) == ("Bob", "pass", False)
    assert "not drawn" in page
    assert "&lt;b&gt;" in page
    assert store.labels.of(run.record) == []


def test_an_evaluator_has_a_queue_of_its_own(
    client: TestClient, post: Post, run: Run, store: Store, begun: str
) -> None:
    there = post(f"{begun}-draw", sample="2", evaluator="city").headers["location"]

    page = client.get(there)
    post(
        f"{begun}s",
        drawn="1",
        position=str(store.labels.draws(run.record)[1].cases[0].position),
        value="pass",
        evaluator="city",
    )

    assert there == f"{begun}?evaluator=city"
    assert "What the evaluator" in page.text
    assert [label.evaluator for label in store.labels.of(run.record)] == ["city"]
    assert "0 of 3" in client.get(begun).text
    assert "1 of 2" in client.get(there).text


WRONG: list[tuple[str, dict[str, str], int, str]] = [
    ("label-draw", {"sample": "many"}, 422, "it must be a whole number"),
    ("label-draw", {"sample": "3", "uncertain": "1"}, 422, "the judge is sure need a chance too"),
    ("label-draw", {"sample": "3", "uncertain": "half"}, 422, "it must be a share from 0 to 0.9"),
    ("label-draw", {"sample": "3", "evaluator": "town"}, 422, "has no evaluator"),
    ("label-as", {"rater": " "}, 422, "it must be a line of 1 to 100 characters"),
    ("labels", {"position": "0", "value": "pass"}, 422, "it must be a line of 1 to 100 characters"),
    ("labels", {"position": "99", "value": "pass", "rater": "Ann"}, 404, "has no case at position 99"),
    ("labels", {"position": "0", "value": "", "rater": "Ann"}, 422, "is no label"),
    ("labels", {"position": "0", "value": "pass", "rater": "Ann", "drawn": "1"}, 422, "was not drawn"),
    ("labels", {"position": "0", "value": "pass", "rater": "Ann", "answer_hash": "h0"}, 422, "read it again"),
    ("label-undo", {"position": "0"}, 404, "has no label"),
    ("label-undo", {}, 404, "nothing was drawn"),
]


def test_what_cannot_be_done_is_said(post: Post, run: Run) -> None:
    for path, fields, status, told in WRONG:
        answer = post(f"/runs/{run.id}/{path}", **fields)

        assert answer.status_code == status, fields
        assert told in answer.text, fields


def test_a_draw_with_labels_is_not_replaced(client: TestClient, post: Post, begun: str, parsed: Parsed) -> None:
    post(f"{begun}s", drawn="1", position=parsed(client.get(begun)).value("position"), value="pass")

    refused = post(f"{begun}-draw", sample="3", seed="8")
    enlarged = post(f"{begun}-draw", sample="5", seed="7")

    assert refused.status_code == 422
    assert "has labels already" in refused.text
    assert enlarged.status_code == 303
    assert "1 of 5" in client.get(begun).text


def test_texts_of_models_do_nothing_on_the_page(
    client: TestClient,
    post: Post,
    store: Store,
    hostile: list[str],
    elements: Callable[[str], set[str]],
    parsed: Parsed,
) -> None:
    unique = list(dict.fromkeys(hostile))
    cases = [Case(id=f"c{place}", question=text, candidate_answer=text) for place, text in enumerate(unique)]
    run = evaluate(cases, Contains(value="a", name="<script>alert(1)</script>"), store=store, name="hostile")
    make_draw(store, run.record, sample=len(unique), seed=1)
    post(f"/runs/{run.id}/label-as", rater="<script>alert(2)</script>")

    for case in range(0, len(unique), 5):
        page = parsed(client.get(f"/runs/{run.id}/label?at={case}"))
        own = "article details summary section textarea option select progress pre strong h3 h4 table tbody td th thead tr kbd code b i bdi mark"
        assert {one.name for one in page.elements} <= elements(own)


def test_what_a_cascade_left_to_people_is_labelled_as_not_drawn(
    client: TestClient, post: Post, store: Store, parsed: Parsed
) -> None:
    stages = [{"name": name, "type": "levenshtein", "value": "Paris"} for name in ("cheap", "strong")]
    cascade = {"type": "cascade", "stages": stages, "confident": 0.5, "then": "people"}
    cases = [Case(id=f"c{n}", candidate_answer=text) for n, text in enumerate(["Paris", "Pari", "Parus"])]
    run = evaluate(cases, [cascade], store=store)
    address = f"/runs/{run.id}/label"

    assert parsed(client.get(address)).all("a", href=f"{address}?undecided=1")
    assert post(f"{address}-as", rater="Ann", undecided="1").headers["location"] == f"{address}?undecided=1"
    shown = parsed(client.get(f"{address}?undecided=1"))
    assert (shown.value("position"), shown.value("drawn")) == ("1", "0")
    given = post(
        f"/runs/{run.id}/labels",
        position="1",
        drawn="0",
        undecided="1",
        value="pass",
        answer_hash=shown.value("answer_hash"),
    )

    assert given.headers["location"] == f"{address}?decided=1&undecided=1"
    assert parsed(client.get(given.headers["location"])).value("position") == "2"
    assert [(label.case, label.p) for label in store.labels.of(store.runs.find(run.id))] == [("c1", None)]
    assert post(f"{address}-undo", undecided="1").headers["location"] == f"{address}?at=1&undecided=1"
