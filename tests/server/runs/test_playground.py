"""The playground: one input is asked and judged as in a run, of which nothing is kept."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evenhand.domain.prompt import EvaluationMode, Prompt, PromptText, TestCaseText
from evenhand.domain.run import RunStatus
from evenhand.server.problems import Problem
from evenhand.server.runs import playground
from evenhand.server.runs.playground import Playground, Tried, TryRequest
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store


@pytest.fixture
def stored(store: Store) -> Prompt:
    return store.prompts.create(PromptText(name="p", content="Be brief.", evaluation_criteria="Names the city"))


async def nobody_left() -> bool:
    return False


def attempted(settings: ServerSettings, prompt: Prompt, **fields: Any) -> Tried:
    usual: dict[str, Any] = {"text": TestCaseText(input="Capital of France?"), "model": "vllm/a"}
    wanted = TryRequest(prompt=prompt, **(usual | fields))
    return asyncio.run(Playground(settings).attempt(wanted, is_gone=nobody_left))


def test_an_input_is_asked_and_judged(settings: ServerSettings, stored: Prompt, models: Any) -> None:
    tried = attempted(settings, stored)

    told = tried.as_dict()
    assert (told["status"], told["verdict"], told["score"]) == ("scored", "pass", 0.9)
    assert (told["answer"], told["stopped"]) == ("Paris", None)
    assert told["evaluations"][0]["reasoning"] == "Right."
    assert told["seconds"] > 0
    assert len(models.asked) == 2


def test_an_input_is_held_against_its_schema_without_a_judge(
    settings: ServerSettings, store: Store, models: Any
) -> None:
    by_schema = store.prompts.create(PromptText(name="s", evaluation_mode=EvaluationMode.SCHEMA))

    tried = attempted(settings, by_schema, text=TestCaseText(input="a", evaluation_schema='{"type": "object"}'))

    assert tried.result.outcome.score == 0
    assert models.asked == ["a"]


def test_a_try_asks_its_judge_as_often_as_was_sent(client: TestClient, prompt: str, models: Any) -> None:
    models.says = lambda model, _text: "I will not say." if model == "judge" else ""
    body = {"input": "Capital of France?", "model": "vllm/a", "max_retries": 1}

    told = client.post(f"/api/prompts/{prompt}/try", json=body).json()

    assert told["status"] == "error"
    assert len(models.asked) == 1 + 2


def test_every_try_asks_anew(settings: ServerSettings, stored: Prompt, models: Any) -> None:
    for _ in range(2):
        attempted(settings, stored)

    assert len(models.asked) == 4


def test_a_judge_that_says_nothing_useful_is_told_in_words(
    settings: ServerSettings, stored: Prompt, models: Any
) -> None:
    models.says = lambda model, _: "No idea." if model == "judge" else ""

    tried = attempted(settings, stored)

    assert tried.run.status is RunStatus.FINISHED
    assert tried.result.judgments[0].evaluation.error is not None
    assert tried.as_dict()["status"] == "error"
    assert len(models.asked) <= playground.MOST_CALLS


def test_who_goes_away_stops_it(settings: ServerSettings, stored: Prompt, models: Any) -> None:
    models.may_answer.clear()
    place = Playground(settings)
    wanted = TryRequest(prompt=stored, text=TestCaseText(input="a"), model="vllm/a")

    async def went_away() -> bool:
        return bool(models.asked)

    with pytest.raises(Problem, match="the client has disconnected"):
        asyncio.run(place.attempt(wanted, is_gone=went_away))
    models.may_answer.set()
    after = asyncio.run(place.attempt(wanted, is_gone=nobody_left))

    assert after.result.outcome.score == 0.9


def test_nobody_waits_forever(
    settings: ServerSettings, stored: Prompt, models: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    models.may_answer.clear()
    monkeypatch.setattr(playground, "LONGEST_SECONDS", 0.0)

    with pytest.raises(Problem, match="no answer within 0 seconds") as told:
        attempted(settings, stored)

    assert told.value.status == 504


def test_there_are_no_more_than_a_few_at_once(
    settings: ServerSettings, stored: Prompt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playground, "MOST_AT_ONCE", 0)

    with pytest.raises(Problem, match="try again when one has ended") as told:
        attempted(settings, stored)

    assert told.value.status == 503


def test_over_http_an_input_or_a_test_case_is_tried_and_nothing_is_kept(
    client: TestClient, prompt: str, models: Any
) -> None:
    case = client.get(f"/api/prompts/{prompt}/test-cases").json()["items"][0]
    address = f"/api/prompts/{prompt}/try"

    typed = client.post(address, json={"input": "Capital of Peru?", "model": "vllm/a", "judge": "vllm/judge"})
    stored = client.post(address, json={"testCase": case["id"], "model": "vllm/a"})

    assert (typed.json()["verdict"], stored.json()["verdict"]) == ("pass", "pass")
    assert models.asked[0] == "Capital of Peru?"
    assert models.asked[2] == case["input"]
    assert client.get("/api/runs").json()["total"] == 0
    assert client.get(f"/api/prompts/{prompt}").json()["test_cases"] == 3


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"model": "vllm/a"}, 422, "input"),
        ({"input": " ", "model": "vllm/a"}, 422, "input"),
        ({"input": "a", "model": " "}, 422, "model"),
        ({"input": "a", "model": "nobody/a"}, 422, "model"),
        ({"input": "a", "model": "recorded/a.jsonl"}, 422, "model"),
        ({"input": "a", "model": "openai/gpt-5-mini"}, 422, "model"),
        ({"input": "a", "model": "vllm/a", "judge": "openai/gpt-5-mini"}, 422, "judge"),
        ({"input": "a", "test_case": "t-1", "model": "vllm/a"}, 422, "test_case"),
        ({"test_case": "t-gone", "model": "vllm/a"}, 404, None),
    ],
)
def test_what_may_not_be_asked_for_is_refused_by_field_and_nobody_is_asked(
    client: TestClient, prompt: str, models: Any, body: dict[str, Any], status: int, field: str | None
) -> None:
    answer = client.post(f"/api/prompts/{prompt}/try", json=body)

    assert answer.status_code == status
    assert [error["field"] for error in answer.json().get("errors", [])] == ([] if field is None else [field])
    assert models.asked == []


def test_a_slow_model_holds_nobody_else_up(client: TestClient, prompt: str, models: Any) -> None:
    asked = threading.Event()
    models.may_answer.clear()
    models.asked = Noted(asked)
    answers = []
    body = {"input": "a", "model": "vllm/a"}
    trying = threading.Thread(target=lambda: answers.append(client.post(f"/api/prompts/{prompt}/try", json=body)))

    trying.start()
    assert asked.wait(60)
    beside = client.get("/api/health").status_code
    models.may_answer.set()
    trying.join(60)

    assert beside == 200
    assert answers[0].json()["answer"] == "Paris"


class Noted(list[str]):
    """A list that says when the first item comes."""

    def __init__(self, event: threading.Event) -> None:
        super().__init__()
        self._event = event

    def append(self, item: str) -> None:
        super().append(item)
        self._event.set()
