"""What holds for every dialect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand.models.dialects.anthropic import ANTHROPIC
from evenhand.models.dialects.bedrock import BEDROCK
from evenhand.models.dialects.dialect import Dialect, Generation, Said, merged, without_structure
from evenhand.models.dialects.gemini import GEMINI
from evenhand.models.dialects.ollama import OLLAMA
from evenhand.models.dialects.openai import OPENAI
from evenhand.models.retry import TransportFault

DIALECTS = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI, "ollama": OLLAMA, "bedrock": BEDROCK}
# The words that bodies are made of, so that what is generated goes deep.
WORDS = """
choices message content error code details retryDelay finish_reason refusal usage prompt_tokens logprobs text token
top_logprobs logprob type input stop_reason candidates parts promptFeedback blockReason finishReason logprobsResult
topCandidates logProbability usageMetadata metadata raw object eval_count thought model modelVersion output toolUse stopReason inputTokens
totalTokens __type
"""
KEYS = st.sampled_from(WORDS.split())
NO_COUNTS = [-1, True, 1.0, 10.5, "10", [10], {"tokens": 10}, 10**400, 2**53, float("nan"), float("inf")]
LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["error", "tool_use", "stop", "4", "1s"])
)
BODIES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=25
)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
@given(body=BODIES)
def test_any_body_is_a_reply_or_a_fault(dialect: Dialect, body: Any) -> None:
    try:
        said = dialect.decode(body)
    except TransportFault:
        return

    assert isinstance(said, Said)
    assert isinstance(said.text, str)
    assert all(choice.logprob <= 0 for choice in said.first_token)


@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
def test_numbers_of_any_size_are_read_or_left(dialect: Dialect) -> None:
    huge = json.loads(f'{{"token": "a", "logprob": -{"9" * 400}, "logProbability": {"9" * 400}}}')

    said = dialect.decode(
        {
            "choices": [{"logprobs": {"content": [{"top_logprobs": [huge]}]}}],
            "candidates": [{"logprobsResult": {"topCandidates": [{"candidates": [huge]}]}}],
            "message": {},
            "content": [],
            "output": {},
            "logprobs": [{"top_logprobs": [huge]}],
        }
    )

    assert said.first_token == ()


@pytest.mark.parametrize(
    "complaint",
    [
        "'response_format' of type 'json_schema' is not supported with this model",
        "This model does not support response format `json_schema`",
        "Unknown name \"responseJsonSchema\" at 'generation_config'",
        "tool_choice: forced tool use is not supported",
        "Failed to generate JSON: json_validate_failed",
        "failed to parse grammar",
        'invalid format: expected "json" or a JSON schema',
        "Structured outputs are not available",
    ],
)
def test_a_complaint_about_structured_output_gives_it_up(complaint: str) -> None:
    generation = Generation(model="m")

    assert without_structure(generation, complaint) == replace(generation, structured="none")


def test_a_complaint_about_something_else_changes_nothing() -> None:
    assert without_structure(Generation(model="m"), "max_tokens is too large") is None


def test_what_was_given_up_cannot_be_given_up_again() -> None:
    assert without_structure(Generation(model="m", structured="none"), "json_schema") is None


def test_extra_keys_win_and_objects_are_joined() -> None:
    joined = merged({"a": 1, "b": {"c": 1, "d": 1}}, {"a": 2, "b": {"c": 2, "e": 2}, "f": 2})

    assert joined == {"a": 2, "b": {"c": 2, "d": 1, "e": 2}, "f": 2}


def counted(dialect: str, count: Any) -> dict[str, Any]:
    """Write a response of a provider with a count of tokens."""
    match dialect:
        case "openai":
            message = {"choices": [{"message": {"content": "so"}}]}
            return {**message, "usage": {"prompt_tokens": count, "completion_tokens": 5}}
        case "anthropic":
            told = {"input_tokens": 5, "cache_read_input_tokens": count, "output_tokens": 5}
            return {"content": [{"type": "text", "text": "so"}], "usage": told}
        case "gemini":
            parts = {"candidates": [{"content": {"parts": [{"text": "so"}]}}]}
            return {**parts, "usageMetadata": {"promptTokenCount": 5, "thoughtsTokenCount": count}}
        case "bedrock":
            counts = {"inputTokens": 5, "cacheReadInputTokens": count, "outputTokens": 5}
            return {"output": {"message": {"content": [{"text": "so"}]}}, "usage": counts}
        case _:
            return {"message": {"content": "so"}, "prompt_eval_count": 5, "eval_count": count}


@pytest.mark.parametrize("wrong", NO_COUNTS, ids=lambda value: f"{value!r:.12}")
@pytest.mark.parametrize("name", DIALECTS)
def test_a_count_that_cannot_be_true_makes_the_usage_unknown_and_leaves_the_reply(name: str, wrong: Any) -> None:
    dialect = DIALECTS[name]

    said, sound = dialect.decode(counted(name, wrong)), dialect.decode(counted(name, 7))

    assert (said.text, said.usage) == ("so", None)
    assert sound.usage is not None
    assert 7 in (sound.usage.input_tokens, sound.usage.output_tokens, sound.usage.cached_tokens)


@pytest.mark.parametrize(
    ("dialect", "body"),
    [
        (OPENAI, {"model": "m-1", "choices": [{"message": {"content": "4"}}]}),
        (OPENAI, {"model": "m-1", "choices": [{"message": {"refusal": "No."}}]}),
        (OPENAI, {"model": "m-1", "choices": []}),
        (ANTHROPIC, {"model": "m-1", "content": [{"type": "text", "text": "4"}]}),
        (GEMINI, {"modelVersion": "m-1", "candidates": [{"content": {"parts": [{"text": "4"}]}}]}),
        (GEMINI, {"modelVersion": "m-1", "promptFeedback": {"blockReason": "SAFETY"}}),
        (OLLAMA, {"model": "m-1", "message": {"content": "4"}}),
    ],
)
def test_the_model_that_a_reply_says_it_is_of_is_read(dialect: Dialect, body: dict[str, Any]) -> None:
    assert dialect.decode(body).model == "m-1"


@pytest.mark.parametrize("name", [None, 5, "", ["m"], "x" * 201, "a\nb"])
def test_what_is_no_name_of_a_model_is_none(name: object) -> None:
    assert OPENAI.decode({"model": name, "choices": [{"message": {"content": "4"}}]}).model is None
