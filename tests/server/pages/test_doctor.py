"""The page of an examination, and the same over HTTP."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand import Case, Contains, JudgeExamination, evaluate, examine_judge
from evenhand.store.store import Store

pytestmark = pytest.mark.slow


def judge(_: Any) -> dict[str, Any]:
    """Pass whatever is shown."""
    return {"reasoning": "<script>alert(1)</script>", "hits": [], "misses": [], "score": 0.9}


@pytest.fixture
def examination(store: Store) -> JudgeExamination:
    return examine_judge(
        judge, probes=["accuracy", "scale_use", "instructions"], size=12, store=store, name="<b>me</b>"
    )


def test_the_page_and_the_api_have_what_the_card_has(
    client: TestClient, examination: JudgeExamination, parsed: Any
) -> None:
    address = f"/runs/{examination.run.id}"

    shown = client.get(f"{address}/doctor")
    told = client.get(f"/api{address}/doctor").json()

    assert "The judge failed 2 of 3 probes: scale_use, accuracy." in shown.text
    assert "<b>me" not in shown.text
    assert 'popovertarget="word-attack-success-rate"' in shown.text
    assert parsed(client.get(address)).all("a", href=f"{address}/doctor")
    assert told["doctor"] == examination.found.as_dict()
    assert told["doctor"]["failed"] == ["scale_use", "accuracy"]
    assert "The judge failed 2 of 3 probes" in client.get(f"{address}/download.md").text


def test_another_run_is_no_examination(client: TestClient, store: Store) -> None:
    run = evaluate([Case(id="a", candidate_answer="x")], Contains(value="x"), store=store)

    answer = client.get(f"/api/runs/{run.id}/doctor")

    assert answer.status_code == 409
    assert f"run {run.id} does not examine a judge" in answer.text
    assert client.get(f"/runs/{run.id}/doctor").status_code == 409
