"""Gemini's dialect, on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Contract
from evenhand.domain.evaluation import Usage
from evenhand.domain.message import Message
from evenhand.domain.reply import TokenChoice
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.dialects.gemini import decode, encode
from evenhand.models.retry import TransportFault

PLAIN = Generation(model="gemini")


def test_the_system_text_stands_apart(ask: Callable[..., Ask]) -> None:
    assert encode(ask(), PLAIN) == {
        "systemInstruction": {"parts": [{"text": "Be strict."}]},
        "contents": [{"role": "user", "parts": [{"text": "2 + 2?"}]}],
    }


def test_the_assistant_is_called_model(ask: Callable[..., Ask]) -> None:
    body = encode(ask(messages=(Message("user", "2 + 2?"), Message("assistant", "5"), Message("user", "Sure?"))), PLAIN)

    assert [turn["role"] for turn in body["contents"]] == ["user", "model", "user"]


def test_settings_go_by_their_names_here(ask: Callable[..., Ask]) -> None:
    body = encode(ask(room=2), replace(PLAIN, temperature=0, top_p=0.5, seed=7, max_tokens=100))

    assert body["generationConfig"] == {"temperature": 0, "topP": 0.5, "seed": 7, "maxOutputTokens": 200}


@pytest.mark.parametrize(
    ("structured", "keys"),
    [
        ("json_schema", {"responseMimeType", "responseJsonSchema"}),
        ("json_object", {"responseMimeType"}),
        ("none", set()),
    ],
)
def test_a_contract_shapes_the_reply(
    ask: Callable[..., Ask], contract: Contract, structured: Any, keys: set[str]
) -> None:
    config = encode(ask(contract=contract), replace(PLAIN, structured=structured)).get("generationConfig", {})

    assert config.keys() == keys
    assert config.get("responseJsonSchema", contract.schema()) == contract.schema()


def test_log_probabilities_are_asked_for(ask: Callable[..., Ask]) -> None:
    assert encode(ask(top_logprobs=5), PLAIN)["generationConfig"] == {"responseLogprobs": True, "logprobs": 5}


def test_extra_keys_join_the_configuration(ask: Callable[..., Ask]) -> None:
    extra = {"generationConfig": {"thinkingConfig": {"thinkingBudget": 0}}}

    body = encode(ask(), replace(PLAIN, temperature=0, extra_body=extra))

    assert body["generationConfig"] == {"temperature": 0, "thinkingConfig": {"thinkingBudget": 0}}


def body_with(**candidate: Any) -> dict[str, Any]:
    return {"candidates": [{"content": {"parts": [{"text": "4"}]}, **candidate}]}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "filtered"),
        ("RECITATION", "filtered"),
        ("LANGUAGE", "filtered"),
        ("BLOCKLIST", "filtered"),
        ("PROHIBITED_CONTENT", "filtered"),
        ("SPII", "filtered"),
        ("OTHER", "stop"),
        (None, "stop"),
    ],
)
def test_the_reason_to_stop_is_told(reason: str | None, finish: Any) -> None:
    assert decode(body_with(finishReason=reason)) == Said(text="4", finish=finish)


def test_a_blocked_prompt_was_filtered() -> None:
    assert decode({"promptFeedback": {"blockReason": "SAFETY"}}) == Said(text="", finish="filtered")


@pytest.mark.parametrize(
    "body",
    [
        {"candidates": []},
        {"candidates": [{}]},
        {"candidates": [{"content": {"role": "model"}}]},
        {"candidates": [{"content": {"parts": [{"inlineData": {}}]}}]},
    ],
)
def test_nothing_said_is_an_empty_reply(body: dict[str, Any]) -> None:
    assert decode(body) == Said(text="")


def test_tokens_without_candidates_are_an_empty_reply() -> None:
    said = decode({"usageMetadata": {"promptTokenCount": 9}})

    assert said == Said(text="", usage=Usage(input_tokens=9))


def test_thoughts_are_no_part_of_the_reply_and_cost_tokens() -> None:
    said = decode(
        {
            "candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "4"}]}}],
            "usageMetadata": {
                "promptTokenCount": 10,
                "candidatesTokenCount": 1,
                "thoughtsTokenCount": 30,
                "cachedContentTokenCount": 8,
            },
        }
    )

    assert said == Said(text="4", usage=Usage(input_tokens=10, output_tokens=31, cached_tokens=8))


def test_the_alternatives_for_the_first_token_are_given() -> None:
    top = [{"token": "4", "logProbability": -0.1}, {"token": "5", "logProbability": -2.5}]

    said = decode(body_with(logprobsResult={"topCandidates": [{"candidates": top}, {"candidates": []}]}))

    assert said.first_token == (TokenChoice(token="4", logprob=-0.1), TokenChoice(token="5", logprob=-2.5))


def test_a_wait_that_the_error_asks_for_is_read() -> None:
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "slow down", "details": [{"@type": "x"}, info]}

    with pytest.raises(TransportFault) as caught:
        decode({"error": error})

    assert (str(caught.value), caught.value.retry_after) == ("rate_limited: HTTP 429: slow down", 34.5)


@pytest.mark.parametrize(
    ("body", "error", "retryable"),
    [
        ({"error": {"status": "INVALID_ARGUMENT", "message": "no"}}, "error_body: no", False),
        ({"error": {"status": "UNAVAILABLE", "message": "busy"}}, "error_body: busy", True),
        ({"modelVersion": "x"}, "invalid_body: the response has no 'candidates'; is base_url right?", True),
    ],
)
def test_a_body_that_tells_of_an_error_is_a_fault(body: object, error: str, retryable: bool) -> None:
    with pytest.raises(TransportFault) as caught:
        decode(body)

    assert str(caught.value) == error
    assert caught.value.retryable is retryable
