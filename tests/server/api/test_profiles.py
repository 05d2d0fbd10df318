"""Rankings and audits over HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand import Profile, audit, rank, score

PROFILES = [Profile(id=f"p{number}", text=f"worth {number}") for number in range(8)]
DESIGN: dict[str, Any] = {
    "template": "{name}, {years} years a nurse.",
    "factors": {"name": ["Anna", "Ben"], "years": [2, 10]},
    "groups": ["name"],
    "criteria": "Experience",
    "repetitions": 1,
    "gates": {"max_group_effect": 0.3, "max_unscored": 0},
}


def ordered(messages: Any) -> str:
    shown = re.findall(r'<profile_([A-Z]) id="\w+">\nworth (\d+)', messages[-1]["content"])
    best = sorted(shown, key=lambda one: -int(one[1]))
    return json.dumps({"reasoning": "Years.", "order": [label for label, _ in best]})


def scoring(messages: Any) -> str:
    said = messages[-1]["content"]
    return json.dumps({"score": 4 + 2 * ("10 years" in said) + ("Ben" in said), "justification": "Years."})


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "evenhand.db")


def test_a_ranking_has_places_and_how_sure_they_are(client: TestClient, db: str) -> None:
    made = rank(PROFILES, criteria="Worth", judge=ordered, group_size=4, rounds=3, store=db)

    told = client.get(f"/api/runs/{made.run.id}/ranking").json()

    assert (told["run"], told["status"]) == (made.run.id, "finished")
    assert told["ranking"]["order"] == list(made.order)
    assert told["profiles"] == made.to_dicts()
    assert (told["ranking"]["design"], told["ranking"]["group_size"]) == ("swiss", 4)
    assert told["ranking"]["position_bias"]["test"] == "Friedman"
    assert client.get("/api/runs/last/ranking").json() == told


def test_an_audit_has_effects_and_gates(client: TestClient, db: str) -> None:
    made = audit(DESIGN, judge=scoring, store=db)

    told = client.get(f"/api/runs/{made.run.id}/audit").json()

    assert told["audit"]["effects"] == json.loads(json.dumps([one.as_dict() for one in made.effects]))
    assert [one["name"] for one in told["gates"]] == ["max_unscored", "max_group_effect", "equal_refusals"]
    assert "not a legal certificate" in told["audit"]["notice"]


def test_an_audit_says_which_error_decides_and_what_was_refused(client: TestClient, db: str) -> None:
    made = audit(DESIGN | {"gates": {"max_group_effect": 0.3, "decided_by": "interval"}}, judge=scoring, store=db)

    told = client.get(f"/api/runs/{made.run.id}/audit").json()

    effect = told["audit"]["effects"][0]
    assert (effect["decided_by"], effect["replicate"], effect["clustered"]["df"]) == ("clusters", None, effect["df"])
    assert told["audit"]["refusals"] == [one.as_dict() for one in made.numbers.refusals]
    assert [one["decided_by"] for one in told["gates"]] == ["interval", "test"]


def test_a_run_of_another_kind_is_a_conflict_that_says_what_it_is(client: TestClient, db: str) -> None:
    judge = '{"score": 5, "justification": "So."}'
    scored = score(PROFILES[:2], criteria="Worth", judge=lambda _: judge, store=db).run.id
    audited = audit(DESIGN, judge=scoring, store=db).run.id

    for run, way, kind in (
        (scored, "ranking", "a scoring of profiles"),
        (scored, "audit", "a scoring of profiles"),
        (audited, "ranking", f"an audit, available at {audited}/audit"),
    ):
        answer = client.get(f"/api/runs/{run}/{way}")
        assert answer.status_code == 409
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"] == f"run {run} is not {'an' if way == 'audit' else 'a'} {way}: it is {kind}"
    assert client.get("/api/runs/nobody/ranking").status_code == 404


def test_a_run_over_cases_is_no_ranking(client: TestClient, prompt: str) -> None:
    run = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/a"]}).json()["id"]

    answer = client.get(f"/api/runs/{run}/ranking")

    assert (answer.status_code, answer.json()["detail"]) == (409, f"run {run} is not a ranking: it is a run over cases")


@pytest.mark.usefixtures("may_end")  # which it may not, before the answer is there
def test_who_cannot_wait_is_told_to_ask_again(
    client: TestClient, db: str, wait_seconds: Callable[[float], None]
) -> None:
    run = rank(PROFILES, criteria="Worth", judge=ordered, group_size=4, rounds=3, store=db).run.id
    wait_seconds(0.0)

    answer = client.get(f"/api/runs/{run}/ranking")

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_evaluations_are_filtered_by_profile(client: TestClient, db: str) -> None:
    run = rank(PROFILES, criteria="Worth", judge=ordered, group_size=4, rounds=3, store=db).run.id

    found = client.get(f"/api/runs/{run}/evaluations", params={"profile": "p1"}).json()

    assert found["total"] == 3
    assert all("p1" in one["question"].split(", ") for one in found["items"])
    assert all(sorted(one["answer"].split(" > ")) == sorted(one["question"].split(", ")) for one in found["items"])
    assert client.get(f"/api/runs/{run}/evaluations", params={"profile": "p"}).json()["total"] == 0
