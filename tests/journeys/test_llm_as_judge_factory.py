"""The judge factory, scenario by scenario, sync and async."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from evenhand import Scripted, create_async_llm_as_judge, create_llm_as_judge

REPLY = '{"reasoning": "A plain greeting.", "score": %s}'


def sync_evaluator(**options: Any) -> Callable[..., Any]:
    return create_llm_as_judge(**options)


def async_evaluator(**options: Any) -> Callable[..., Any]:
    made = create_async_llm_as_judge(**options)

    async def awaited(**values: Any) -> Any:
        return await made(**values)

    return lambda **values: asyncio.run(awaited(**values))


@pytest.fixture(params=[sync_evaluator, async_evaluator], ids=["sync", "async"])
def create(request: pytest.FixtureRequest) -> Callable[..., Callable[..., Any]]:
    made: Callable[..., Callable[..., Any]] = request.param
    return made


def test_string_prompt_evaluator_returns_scored_result(create: Callable[..., Callable[..., Any]]) -> None:
    result = create(prompt="Rate: {outputs}", judge=Scripted([REPLY % "true"]))(outputs="Hello world")

    assert result["key"] == "score"
    assert result["score"] is True


def test_continuous_scoring_returns_float(create: Callable[..., Callable[..., Any]]) -> None:
    result = create(prompt="Rate: {outputs}", continuous=True, judge=Scripted([REPLY % "0.75"]))(outputs="Hello world")

    assert isinstance(result["score"], float)
    assert 0.0 <= result["score"] <= 1.0


def test_choices_scoring_returns_enum_value(create: Callable[..., Callable[..., Any]]) -> None:
    judge = Scripted([REPLY % "0.7", REPLY % "0.5"])

    result = create(prompt="Rate: {outputs}", choices=[0.0, 0.5, 1.0], judge=judge)(outputs="Hello world")

    assert result["score"] in [0.0, 0.5, 1.0]
    assert len(judge.asked) == 2


def test_reasoning_mode_returns_comment(create: Callable[..., Callable[..., Any]]) -> None:
    result = create(prompt="Rate: {outputs}", use_reasoning=True, judge=Scripted([REPLY % "true"]))(outputs="Hello")

    assert result["comment"] == "A plain greeting."


def test_few_shot_examples_are_appended_to_prompt(create: Callable[..., Callable[..., Any]]) -> None:
    judge = Scripted([REPLY % "true"])
    examples = [{"inputs": "Greet", "outputs": "Hi", "reasoning": "Short.", "score": 1.0}]

    create(prompt="Rate: {outputs}", few_shot_examples=examples, judge=judge)(outputs="Hello")

    last = [message for message in judge.asked[0].messages if message.role == "user"][-1]
    assert last.content.startswith("Rate: Hello")
    assert last.content.endswith(
        "<example>\n<input>Greet</input>\n<output>Hi</output>\n<reasoning>Short.</reasoning>\n<score>1.0</score>\n</example>"
    )


def test_output_schema_returns_structured_dict(create: Callable[..., Callable[..., Any]]) -> None:
    schema = {"type": "object", "properties": {"quality": {"type": "number"}}, "required": ["quality"]}

    result = create(prompt="Rate: {outputs}", output_schema=schema, judge=Scripted(['{"quality": 0.9}']))(outputs="x")

    assert result == {"quality": 0.9}


def test_async_evaluator_returns_same_structure_as_sync() -> None:
    options: dict[str, Any] = {"prompt": "Rate: {outputs}", "continuous": True}

    sync = sync_evaluator(judge=Scripted([REPLY % "0.5"]), **options)(outputs="x")
    awaited = async_evaluator(judge=Scripted([REPLY % "0.5"]), **options)(outputs="x")

    assert sync == awaited
    assert json.dumps(sync) == json.dumps(awaited)
