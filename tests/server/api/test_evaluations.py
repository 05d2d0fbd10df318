"""The evaluations of a run as a list: filtered, sorted, and page by page, in SQLite and in PostgreSQL."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import Judgment, MadeAnswer, RunRecord, RunStatus
from evenhand.domain.secret import Secret
from evenhand.domain.verdict import Thresholds
from evenhand.server.app import make_app
from evenhand.server.runs import results
from evenhand.server.settings import ServerSettings
from evenhand.store import scratch_listing
from evenhand.store.rows import Batch, answer_row, dumps, evaluation_row
from evenhand.store.store import Store

COUNT = 30
SORTS = ("position", "score", "cost", "seconds", "evaluator", "verdict", "status", "model", "case_id")


def judged(position: int, *, number: int = 0) -> Judgment:
    score = position * 7 % 10 / 10
    if position % 10 == 3 and number == 0:
        evaluation = Evaluation.with_error(evaluator="tone", type="llm_judge", error="truncated: cut off")
    elif position % 10 == 4:
        evaluation = Evaluation.without_score(evaluator="tone", type="llm_judge", reasoning="No criteria.")
    else:
        evaluation = Evaluation.with_score(
            evaluator="tone" if position % 2 else "facts",
            type="llm_judge",
            score=score,
            verdict=Thresholds().verdict(score),
            reasoning="So it is. " * 100,
            retry_count=int(position % 10 == 5),
        )
    return Judgment(evaluation=evaluation, round=number, cost=None if position % 3 else position / 10, seconds=0.5)


def filled(store: Store) -> RunRecord:
    definition: Any = {"name": "some", "evaluators": []}
    run = store.runs.create(name="some", source="some.yaml", definition=definition, options={})
    places = range(COUNT)
    cases = [
        {"id": f"case/{place:02}", "question": f'Say "{place}"!\nNow.', "metadata": {"model": f"m/{place % 2}"}}
        for place in places
    ]
    store.add_cases(
        [(run.number, place, cases[place]["id"], "h", 1, dumps({"case": cases[place]})) for place in places]
    )
    store.commit(
        Batch(
            answers=[answer_row(run.number, place, MadeAnswer(text=f"ÜBER {place:02} 100%")) for place in places],
            evaluations=[evaluation_row(run.number, place, 0, judged(place)) for place in places],
        )
    )
    return store.runs.mark(run, RunStatus.FINISHED, cases=COUNT)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=[pytest.mark.slow, pytest.mark.group("postgres")])])
def rows(request: pytest.FixtureRequest, settings: ServerSettings) -> Iterator[Callable[..., Any]]:
    """Make a run of thirty evaluations, and give a function that lists them."""
    db = settings.db if request.param == "sqlite" else request.getfixturevalue("empty_postgres")
    app = make_app(ServerSettings(db=db, token=Secret("t" * 16), page_wait_seconds=60.0))
    with TestClient(app, base_url="http://localhost:8642") as client:
        run = filled(app.state.store)

        def ask(expected: int = 200, **query: Any) -> Any:
            answer = client.get(f"/api/runs/{run.id}/evaluations", params=query)
            assert answer.status_code == expected, answer.text
            return answer.json()

        ask.store, ask.run = app.state.store, run  # type: ignore[attr-defined]
        yield ask


def positions(page: Any) -> list[int]:
    return [one["position"] for one in page["items"]]


def test_evaluations_are_filtered_by_everything_at_once_and_alone(rows: Any) -> None:
    everything = rows(limit=500)["items"]

    def those(holds: Callable[[Any], bool]) -> list[int]:
        return [one["position"] for one in everything if holds(one)]

    assert len(everything) == COUNT
    assert positions(rows(verdict="fail")) == those(lambda one: one["verdict"] == "fail")
    assert positions(rows(verdict=["pass", "borderline"])) == those(
        lambda one: one["verdict"] in ("pass", "borderline")
    )
    assert positions(rows(status="not_evaluated")) == [4, 14, 24]
    assert positions(rows(has_error=True)) == [3, 13, 23]
    assert len(positions(rows(has_error=False))) == COUNT - 3
    assert positions(rows(retried=True)) == [5, 15, 25]
    assert positions(rows(evaluator="facts")) == those(lambda one: one["evaluator"] == "facts")
    assert positions(rows(model="m/1")) == list(range(1, COUNT, 2))
    assert positions(rows(min_score=0.5, max_score=0.7, status="scored")) == those(
        lambda one: one["status"] == "scored" and 0.5 <= one["score"] <= 0.7
    )
    assert positions(rows(model="m/1", verdict="pass", text="über 2")) == those(
        lambda one: one["model"] == "m/1" and one["verdict"] == "pass" and one["position"] >= 20
    )
    assert rows(verdict="fail", limit=1)["total"] == len(those(lambda one: one["verdict"] == "fail"))


def test_words_are_found_in_id_question_and_answer_and_in_no_name_of_a_field(rows: Any) -> None:
    assert positions(rows(text="CASE/07")) == [7]
    assert positions(rows(text='"7"!\nnow')) == [7]
    assert positions(rows(text="über 07")) == [7]
    assert positions(rows(text="7 100%")) == [7, 17, 27]
    assert positions(rows(text="metadata")) == []
    assert positions(rows(text="%_")) == []


def test_pages_follow_each_other_in_every_order_and_miss_nothing(rows: Any) -> None:
    filtered = [("score", True, "scored"), ("position", False, "scored")]
    for sort, descending, status in (*itertools.product(SORTS, (False, True), [None]), *filtered):
        asked = {"sort": sort, "descending": descending, "limit": 7} | ({"status": status} if status else {})
        whole = positions(rows(**(asked | {"limit": 500})))
        found: list[int] = []
        cursor = None
        while True:
            page = rows(**asked, **({"cursor": cursor} if cursor else {}))
            found += positions(page)
            cursor = page["next"]
            if cursor is None:
                break

        assert found == whole, asked
        assert len(found) == page["total"]


def test_what_has_nothing_to_be_sorted_by_comes_last(rows: Any) -> None:
    up, down = rows(sort="score")["items"], rows(sort="score", descending=True)["items"]
    scores = [one["score"] for one in up if one["status"] == "scored"]

    unscored = ["error", "not_evaluated"] * 3  # an error is recorded as 0, which is no score
    assert sorted(one["status"] for one in up[-6:]) == sorted(one["status"] for one in down[-6:]) == sorted(unscored)
    assert scores == sorted(scores)


def test_a_later_round_counts_instead_of_an_earlier_one(rows: Any) -> None:
    before = positions(rows(has_error=True))
    store, run = rows.store, rows.run
    store.commit(Batch(evaluations=[evaluation_row(run.number, 3, 0, judged(3, number=1))]))
    store.runs.mark(run, RunStatus.FINISHED)

    again = rows(limit=5)["items"][3]

    assert (before, positions(rows(has_error=True))) == ([3, 13, 23], [13, 23])
    assert (again["round"], again["status"]) == (1, "scored")
    assert rows()["total"] == COUNT


def test_nothing_is_missed_when_another_run_is_deleted_meanwhile(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        scratch_listing, "_STALE_SECONDS", 0.0
    )  # on PostgreSQL a growing run is looked at now and then only
    store = rows.store
    run = store.runs.mark(rows.run, RunStatus.STOPPED)
    other = filled(store)
    before = rows(has_error=True)["total"]
    store.runs.delete(other)
    later = [evaluation_row(run.number, position, 1, judged(3)) for position in range(COUNT)]

    store.commit(Batch(evaluations=later))

    assert (before, rows(has_error=True)["total"]) == (3, 3 + COUNT)


def test_long_texts_are_cut(rows: Any) -> None:
    (row,) = rows(text="case/01")["items"]

    assert len(row["reasoning"]) == 300
    assert row["answer"] == "ÜBER 01 100%"
    assert row["question"] == 'Say "1"!\nNow.'


def test_what_cannot_be_right_is_refused(rows: Any) -> None:
    of_another_order = rows(limit=1, sort="score")["next"]

    assert rows(422, cursor=of_another_order)["errors"][0]["field"] == "cursor"
    for place in ([2**63, 1, 0, 0], [1, 2**60, 0, 0], [1, -1, 0, 0], [None, 1, 0, 0], [1, 1, 0], [[1], 1, 0, 0]):
        crafted = results.encode_cursor(["score", False, *place])
        assert rows(422, cursor=crafted, sort="score")["errors"][0]["field"] == "cursor"
    for query in (
        {"limit": 0},
        {"limit": 501},
        {"sort": "colour"},
        {"verdict": "good"},
        {"min_score": 2},
        {"text": "x" * 201},
    ):
        assert rows(422, **query)["errors"][0]["field"].split(".")[0] == next(iter(query))
