"""Single evaluations as OpenTelemetry spans and events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

# In processes of their own.
pytestmark = pytest.mark.slow

SINGLE = """
import asyncio
from evenhand import (
    Case, Contains, JudgeError, PromptEvaluator, Scripted, create_async_llm_as_judge, create_json_match_evaluator,
    create_llm_as_judge,
)

def judge(*replies):
    return Scripted(replies or ['{"score": 0.9, "reasoning": "It says so."}'], name="openai/gpt-5-mini")

case = Case(id="paris", candidate_answer="Paris", expected_outcome="Paris")
quality = PromptEvaluator(name="quality", judge=judge())
with tracers.get_tracer("mine").start_as_current_span("my own"):
    quality.evaluate(case)
asyncio.run(PromptEvaluator(name="awaited", judge=judge()).aevaluate(case))
Contains(name="no judge", value="a").evaluate(case)
PromptEvaluator(name="failing", judge=judge(ConnectionError("gone"))).evaluate(case)
create_llm_as_judge(prompt="Rate: {outputs}", judge=judge(), continuous=True, feedback_key="made")(outputs="x")
rate = create_async_llm_as_judge(prompt="Rate: {outputs}", judge=judge(), continuous=True, feedback_key="made async")
asyncio.run(rate(outputs="x"))
schema = {"type": "object", "properties": {"mood": {"type": "string"}}, "required": ["mood"]}
create_llm_as_judge(
    prompt="{outputs}", judge=judge('{"mood": "glad"}'), output_schema=schema, feedback_key="own schema"
)(outputs="x")
try:
    create_llm_as_judge(prompt="{outputs}", judge=judge(ConnectionError("gone")), feedback_key="raising")(outputs="x")
except JudgeError:
    pass
create_json_match_evaluator()(outputs={"a": 1, "b": 2}, reference_outputs={"a": 1, "b": 3})
print(json.dumps(told()))
"""


@pytest.fixture(scope="module")
def told(traced: Callable[..., Any]) -> Any:
    return traced(SINGLE)


def span_of(told: Any, name: str) -> Any:
    (span,) = [span for span in told["spans"] if span["name"] == name]
    return span


def events_of(told: Any, span: Any) -> list[Any]:
    return [event["attributes"] for event in told["events"] if event["span"] == span["id"]]


def chats_of(told: Any, span: Any) -> list[Any]:
    return [each for each in told["spans"] if each["parent"] == span["id"] and each["name"] == "chat gpt-5-mini"]


def test_an_evaluation_is_a_span_in_the_one_in_which_it_was_made_with_its_event_and_its_question(told: Any) -> None:
    span = span_of(told, "evaluate quality")

    assert span["parent"] == span_of(told, "my own")["id"]
    assert span["attributes"] == {"evenhand.evaluator": "quality", "evenhand.case.id": "paris"}
    assert events_of(told, span) == [
        {
            "gen_ai.evaluation.name": "quality",
            "gen_ai.evaluation.score.value": 0.9,
            "gen_ai.evaluation.score.label": "pass",
            "gen_ai.request.model": "gpt-5-mini",
            "evenhand.status": "scored",
            "evenhand.case.id": "paris",
        }
    ]
    (chat,) = chats_of(told, span)
    assert chat["attributes"]["gen_ai.provider.name"] == "openai"
    assert chat["attributes"]["evenhand.evaluator"] == "quality"


@pytest.mark.parametrize(("name", "questions"), [("awaited", 1), ("no judge", 0)])
def test_so_is_one_that_is_awaited_and_one_that_asks_nobody(told: Any, name: str, questions: int) -> None:
    span = span_of(told, f"evaluate {name}")

    assert [event["evenhand.status"] for event in events_of(told, span)] == ["scored"]
    assert len(chats_of(told, span)) == questions


def test_a_judge_that_fails_marks_the_span_and_has_no_score(told: Any) -> None:
    span = span_of(told, "evaluate failing")

    assert (span["status"], span["attributes"]["error.type"]) == ("ERROR", "scripted")
    (event,) = events_of(told, span)
    assert event["error.type"] == "scripted"
    assert not [name for name in event if "score" in name]


@pytest.mark.parametrize("name", ["made", "made async"])
def test_judges_made_by_a_factory_have_both_too(told: Any, name: str) -> None:
    span = span_of(told, f"evaluate {name}")

    assert events_of(told, span) == [
        {
            "gen_ai.evaluation.name": name,
            "gen_ai.evaluation.score.value": 0.9,
            "gen_ai.request.model": "gpt-5-mini",
            "evenhand.status": "scored",
        }
    ]
    assert len(chats_of(told, span)) == 1


def test_what_an_output_schema_describes_is_a_span_without_an_event(told: Any) -> None:
    span = span_of(told, "evaluate own schema")

    assert events_of(told, span) == []
    assert len(chats_of(told, span)) == 1


def test_a_factory_whose_judge_fails_emits_an_event_without_a_score(told: Any) -> None:
    span = span_of(told, "evaluate raising")

    assert (span["status"], span["attributes"]["error.type"]) == ("ERROR", "scripted")
    assert events_of(told, span) == [
        {"gen_ai.evaluation.name": "raising", "evenhand.status": "error", "error.type": "scripted"}
    ]


def test_keys_that_are_compared_are_an_event_each(told: Any) -> None:
    events = events_of(told, span_of(told, "evaluate json_match"))

    assert {event["gen_ai.evaluation.name"]: event["gen_ai.evaluation.score.value"] for event in events} == {
        "json_match:a": 1.0,
        "json_match:b": 0.0,
    }
