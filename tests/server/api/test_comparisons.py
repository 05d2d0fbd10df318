"""Runs and their targets compared over HTTP: the same numbers as the command line and the page have."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand import Case, Contains, Profile, Run, Scripted, compare, evaluate, score
from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

JUDGE = {"type": "llm_judge", "name": "quality"}


def judged(where: Path | str, scores: list[float], evaluator: dict[str, Any] | None = None) -> str:
    cases = [Case(id=f"case-{n}", question="q", candidate_answer="a", expected_outcome="x") for n in range(len(scores))]
    replies = [json.dumps({"score": one, "hits": [], "misses": [], "reasoning": "x"}) for one in scores]
    store = where if isinstance(where, str) else str(where / "evenhand.db")
    return evaluate(cases, evaluator or JUDGE, judge=Scripted(replies), store=store, concurrency=1).id


def test_it_says_what_the_library_says(client: TestClient, tmp_path: Path) -> None:
    a = judged(tmp_path, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9])
    b = judged(tmp_path, [0.5, 0.6, 0.8, 0.9, 0.9, 0.9, 1.0, 0.2])

    found = client.get(f"/api/compare?a={a}&b=last&limit=3").json()
    by_one = client.get(f"/api/compare?a={a}&b={b}&evaluator=quality").json()

    known = compare(a, b, limit=3, store=str(tmp_path / "evenhand.db")).as_dict()
    assert found == json.loads(json.dumps(known))
    assert (found["a"]["id"], found["b"]["id"]) == (a, b)
    assert (found["cases"]["scores"]["wins"], found["changed"], len(found["changes"])) == (7, 8, 3)
    assert by_one["evaluator"] == "quality"


@pytest.mark.parametrize("mark", [None, 5])
def test_scorings_have_transitions_only_where_a_mark_was_set(
    client: TestClient, tmp_path: Path, mark: float | None
) -> None:
    def scored(*points: int) -> str:
        replies = [json.dumps({"score": one, "justification": "Because."}) for one in points]
        people = [Profile(id=f"p{number}", text="A nurse.") for number in range(len(points))]
        where = str(tmp_path / "evenhand.db")
        options: dict[str, Any] = {"pass_mark": mark, "store": where, "concurrency": 1}
        return score(people, criteria="Care", judge=Scripted(replies), **options).run.id

    a, b, c = scored(2, 9, 4), scored(7, 9, 4), scored(9, 9, 9)

    two = client.get(f"/api/compare?a={a}&b={b}").json()
    several = client.get(f"/api/compare?a={a}&b={b}&b={c}").json()

    compared = [two["cases"], *two["evaluators"].values(), *several["others"].values()]
    (change,) = two["changes"]
    assert (change["score_a"], change["score_b"], change["difference"]) == (2.0, 7.0, 5.0)
    if mark is None:
        assert [one["transitions"] for one in compared] == [None] * 4
        assert (change["standing_a"], change["standing_b"]) == (None, None)
    else:
        assert [one["transitions"]["fail"]["pass"] for one in compared] == [1, 1, 1, 2]
        assert (change["standing_a"], change["standing_b"]) == ("fail", "pass")


def test_what_is_not_to_be_compared_is_refused_in_the_words_of_the_api(client: TestClient, tmp_path: Path) -> None:
    a = judged(tmp_path, [0.1, 0.2])
    b = judged(tmp_path, [0.1, 0.2], {**JUDGE, "name": "brief"})

    refused = client.get(f"/api/compare?a={a}&b={b}")
    anyway = client.get(f"/api/compare?a={a}&b={b}&anyway=true")
    itself = client.get(f"/api/compare?a={a}&b={a}")
    nobody = client.get(f"/api/compare?a={a}&b=nobody")
    unnamed = client.get(f"/api/compare?a={a}")

    assert (refused.status_code, itself.status_code, nobody.status_code, unnamed.status_code) == (422, 422, 404, 422)
    assert "anyway=true" in refused.json()["detail"]
    assert "--anyway" not in refused.json()["detail"]
    assert anyway.json()["differing"] != []
    assert anyway.json()["cases"]["scores"]["lacking"]


def test_a_model_is_chosen_in_a_run_of_several(
    client: TestClient, prompt: str, ended: Callable[[str], dict[str, Any]]
) -> None:
    def tried(*models: str) -> str:
        body = {"prompt": prompt, "models": list(models), "judge": "vllm/judge"}
        run: str = client.post("/api/runs", json=body).json()["id"]
        ended(run)
        return run

    one, other, several = tried("vllm/a"), tried("vllm/c"), tried("vllm/a", "vllm/b")

    same = client.get(f"/api/compare?a={one}&b={several}").json()
    unclear = client.get(f"/api/compare?a={other}&b={several}")
    chosen = client.get(f"/api/compare?a={other}&b={several}&model_b=vllm/b").json()
    within = client.get(f"/api/compare?a={several}&b={several}&model_a=vllm/a&model_b=vllm/b").json()

    assert (same["b"]["model"], same["cases"]["in_common"], same["cases"]["only_b"]) == ("vllm/a", 3, 0)
    assert unclear.status_code == 422
    assert "choose which to compare, vllm/a or vllm/b: --model-b NAME, or model_b" in unclear.json()["detail"]
    assert (chosen["a"]["model"], chosen["b"]["model"], chosen["cases"]["in_common"]) == (None, "vllm/b", 3)
    assert (within["a"]["model"], within["b"]["model"], within["cases"]["in_common"]) == ("vllm/a", "vllm/b", 3)


def test_what_takes_long_is_asked_for_again(
    client: TestClient, tmp_path: Path, wait_seconds: Callable[[float], None], may_end: threading.Event
) -> None:
    a, b = judged(tmp_path, [0.1] * 8), judged(tmp_path, [0.2] * 8)
    wait_seconds(0.0)

    answer = client.get(f"/api/compare?a={a}&b={b}")
    wait_seconds(60.0)
    may_end.set()
    then = client.get(f"/api/compare?a={a}&b={b}")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert then.status_code == 200


def test_a_run_is_pinned_as_the_baseline_and_unpinned(client: TestClient, tmp_path: Path) -> None:
    first, second = judged(tmp_path, [0.1]), judged(tmp_path, [0.2])

    pinned = client.put(f"/api/runs/{first}/baseline")
    client.put(f"/api/runs/{second}/baseline")
    moved = [client.get(f"/api/runs/{one}").json()["baseline"] for one in (first, second)]
    gone = client.delete(f"/api/runs/{second}/baseline")

    assert (pinned.status_code, pinned.json()["baseline"]) == (200, True)
    assert moved == [False, True]
    assert gone.status_code == 204
    assert client.get(f"/api/runs/{second}").json()["baseline"] is False


@pytest.mark.slow
@pytest.mark.group("postgres")
def test_postgresql_gives_the_same(empty_postgres: str) -> None:
    first, second = judged(empty_postgres, [0.1, 0.9]), judged(empty_postgres, [0.7, 0.9])
    settings = ServerSettings(db=empty_postgres, token=Secret("t" * 16), page_wait_seconds=60.0)
    headers = {"authorization": "Bearer " + "t" * 16}
    with TestClient(make_app(settings), base_url="http://localhost:8642", headers=headers) as client:
        pinned = client.put(f"/api/runs/{first}/baseline").json()
        moved = client.put(f"/api/runs/{second}/baseline").json()
        before = client.get(f"/api/runs/{first}").json()
        changed = client.get(f"/api/compare?a={first}&b={second}").json()["changes"]
        lines = client.get(f"/api/runs/{first}/evaluations/export?format=jsonl&sort=score&descending=true").text
        told = client.get(f"/api/runs/{first}/progress").json()

    assert (pinned["baseline"], moved["baseline"], before["baseline"]) == (True, True, False)
    assert [(one["case_id"], one["standing_b"]) for one in changed] == [("case-0", "borderline")]
    assert [json.loads(line)["case_id"] for line in lines.splitlines()] == ["case-1", "case-0"]
    assert (told["passed"], told["failed"], told["errors"], told["retries"]) == (1, 1, 0, 0)


def test_several_runs_are_compared_with_the_first_and_refused_one_by_one(client: TestClient, tmp_path: Path) -> None:
    def answered(answer: str, **rest: Any) -> str:
        cases = [Case(id=f"case-{number}", candidate_answer=answer) for number in range(8)]
        return evaluate(cases, Contains(value="Paris"), store=str(tmp_path / "evenhand.db"), **rest).id

    a, b, c = answered("Rome"), answered("Paris"), answered("Lima")
    strict = answered("Paris", thresholds={"pass": 0.5})

    found = client.get("/api/compare", params={"a": a, "b": [b, c, strict]})
    none = client.get("/api/compare", params={"a": a})
    many = client.get("/api/compare", params={"a": a, "b": [b] * 9})

    assert found.status_code == 200
    assert list(found.json()["others"]) == [b, c]
    assert found.json()["others"][b]["better"] is True
    assert "thresholds.pass" in found.json()["refused"][strict]
    assert (none.status_code, many.status_code) == (422, 422)


def first(case: Case) -> str:
    return f"Paris, for {case.question}"


def second(case: Case) -> str:
    return f"Rome, for {case.question}"


def third(case: Case) -> str:
    return f"Paris or Lima, for {case.question}"


@pytest.fixture
def several_targets(tmp_path: Path) -> Run:
    targets = [{"name": each.__name__, "python": f"{__name__}:{each.__name__}"} for each in (first, second, third)]
    cases = [Case(id=f"case {number}", question="which?") for number in range(8)]
    return evaluate(cases, Contains(value="Paris", name="capital"), target=targets, store=str(tmp_path / "evenhand.db"))


def test_the_targets_of_one_run_are_compared_as_the_library_compares_them(
    client: TestClient, several_targets: Run
) -> None:
    a = several_targets.id

    found = client.get("/api/compare", params={"a": a})
    with_second = client.get("/api/compare", params={"a": "last", "model_a": "second", "evaluator": "capital"}).json()

    known, other = (
        several_targets.compare_targets(),
        several_targets.compare_targets(baseline="second", evaluator="capital"),
    )
    assert known is not None
    assert other is not None
    assert found.status_code == 200
    assert found.json() == json.loads(json.dumps(known.as_dict()))
    assert with_second == json.loads(json.dumps(other.as_dict()))
    assert (found.json()["baseline"], list(found.json()["others"])) == ("first", ["second", "third"])
    assert found.json()["others"]["second"]["worse"] is True
    assert {name: took["answers"] for name, took in found.json()["took"].items()} == dict.fromkeys(
        ("first", "second", "third"), 8
    )
    assert (with_second["baseline"], with_second["evaluator"]) == ("second", "capital")
    assert with_second["others"]["first"]["better"] is True


def test_a_run_without_another_is_refused_where_its_targets_are_not_what_is_asked_for(
    client: TestClient, several_targets: Run, tmp_path: Path
) -> None:
    several, one = several_targets.id, judged(tmp_path, [0.1, 0.2])

    def detail(**parameters: str) -> str:
        answer = client.get("/api/compare", params=parameters)
        assert answer.status_code == 422
        return str(answer.json()["detail"])

    assert f"run {one} has one target, and so nothing to compare; name a second run with b" in detail(a=one)
    assert "did you mean 'second'" in detail(a=several, model_a="secnd")
    assert "no evaluator of these runs is named 'capitol'" in detail(a=several, evaluator="capitol")
    assert "model_b is for a run B" in detail(a=several, model_b="second")


def test_targets_that_take_long_to_compare_are_asked_for_again(
    client: TestClient, several_targets: Run, wait_seconds: Callable[[float], None], may_end: threading.Event
) -> None:
    wait_seconds(0.0)

    answer = client.get("/api/compare?a=last")
    wait_seconds(60.0)
    may_end.set()
    then = client.get("/api/compare?a=last")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert then.status_code == 200
