"""The two evaluation modes from creation to import elsewhere, through the REST API (SPEC-M1 to M5)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

PRICED = '{"type": "object", "required": ["price"],\n "properties": {"price": {"type": "number"}}}'


def made(client: TestClient, *cases: dict[str, Any], **fields: Any) -> str:
    prompt = client.post("/api/prompts", json={"name": "shop", "content": "You sell mugs.", **fields})
    assert prompt.status_code == 201, prompt.text
    for case in cases:
        answer = client.post(f"/api/prompts/{prompt.json()['id']}/test-cases", json=case)
        assert answer.status_code == 201, answer.text
    return str(prompt.json()["id"])


def results(client: TestClient, prompt: str, ended: Callable[[str], dict[str, Any]]) -> list[dict[str, Any]]:
    run = client.post("/api/runs", json={"prompt": prompt, "models": ["vllm/shop"]}).json()["id"]
    assert ended(run)["status"] == "finished"
    return list(client.get(f"/api/runs/{run}/evaluations").json()["items"])


def test_a_prompt_stores_its_mode_and_criteria_and_the_mode_is_llm_unless_said(client: TestClient) -> None:
    prompt = made(client, evaluationCriteria="Is kind")

    stored = client.get(f"/api/prompts/{prompt}").json()

    assert (stored["evaluation_mode"], stored["evaluation_criteria"]) == ("llm", "Is kind")


def test_in_mode_llm_a_grader_sees_prompt_input_output_and_criteria_and_its_score_is_stored(
    client: TestClient, models: Any, ended: Callable[[str], dict[str, Any]]
) -> None:
    models.says = lambda model, _: "A blue mug is 9 euros." if model == "shop" else ""
    prompt = made(client, {"input": "What is a blue mug?"}, evaluation_criteria="Names the price")

    (result,) = results(client, prompt, ended)

    graded = models.asked[-1]
    assert all(
        text in graded
        for text in ("You sell mugs.", "What is a blue mug?", "A blue mug is 9 euros.", "Names the price")
    )
    assert (result["status"], result["score"], result["verdict"]) == ("scored", 0.9, "pass")


@pytest.mark.parametrize("criteria", [None, "", " \n"])
def test_empty_criteria_skip_the_evaluation_and_the_run_is_not_evaluated(
    client: TestClient, models: Any, ended: Callable[[str], dict[str, Any]], criteria: str | None
) -> None:
    prompt = made(client, {"input": "Hi"}, evaluation_criteria=criteria)

    (result,) = results(client, prompt, ended)

    assert (result["status"], result["score"], result["answer"]) == ("not_evaluated", None, "Paris")
    assert len(models.asked) == 1  # the model, and no grader


def test_in_mode_schema_every_test_case_is_held_against_its_own_schema(
    client: TestClient, models: Any, ended: Callable[[str], dict[str, Any]]
) -> None:
    said = {"valid": '{"price": 9}', "invalid": '{"price": "nine"}', "prose": "nine euros", "none": "{}"}
    models.says = lambda _, text: said[text]
    prompt = made(
        client,
        {"input": "valid", "evaluationSchema": PRICED},
        {"input": "invalid", "evaluation_schema": PRICED},
        {"input": "prose", "evaluation_schema": {"type": "object"}},
        {"input": "none", "evaluation_schema": ""},
        evaluation_mode="schema",
        evaluation_criteria="unused, and kept",
        expected_schema={"type": "object"},
    )

    found = {result["question"]: result for result in results(client, prompt, ended)}

    assert {text: (one["status"], one["score"]) for text, one in found.items()} == {
        "valid": ("scored", 1.0),
        "invalid": ("scored", 0.0),
        "prose": ("scored", 0.0),
        "none": ("not_evaluated", None),
    }
    assert client.get(f"/api/prompts/{prompt}").json()["evaluation_criteria"] == "unused, and kept"


def test_what_is_exported_has_modes_criteria_and_schemas_and_comes_in_again_elsewhere(
    client: TestClient, tmp_path: Path
) -> None:
    made(client, {"input": "Hi", "reference": "Hello"}, name="first", evaluation_criteria="Is kind")
    made(client, {"input": "One mug", "evaluation_schema": PRICED}, name="second", evaluation_mode="schema")
    document = client.get("/api/export").json()

    elsewhere = make_app(ServerSettings(db=str(tmp_path / "elsewhere.db"), token=Secret("t" * 16)))
    with TestClient(
        elsewhere, base_url="http://localhost:8642", headers={"authorization": f"Bearer {'t' * 16}"}
    ) as other:
        tried = other.post("/api/import?dry_run=true", json=document).json()
        empty = other.get("/api/prompts").json()
        taken = other.post("/api/import", json=document).json()
        again = other.post("/api/import", json=document).json()
        exported = other.get("/api/export").json()

    assert [(one["evaluation_mode"], one["evaluation_criteria"]) for one in document["prompts"]] == [
        ("llm", "Is kind"),
        ("schema", None),
    ]
    assert document["prompts"][1]["test_cases"][0]["evaluation_schema"] == PRICED  # as it was typed
    assert tried["created"] == taken["created"] == again["skipped"] == ["first", "second"]
    assert empty["items"] == []
    assert exported == document
