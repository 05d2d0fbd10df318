"""Anthropic's dialect, on paper."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Contract
from evenhand.domain.evaluation import Usage
from evenhand.domain.message import Message
from evenhand.models.dialects.anthropic import decode, encode
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.retry import TransportFault

PLAIN = Generation(model="claude")


def test_the_system_text_stands_apart_and_there_is_always_a_limit(ask: Callable[..., Ask]) -> None:
    assert encode(ask(), PLAIN) == {
        "model": "claude",
        "max_tokens": 4096,
        "system": "Be strict.",
        "messages": [{"role": "user", "content": "2 + 2?"}],
    }


def test_a_system_text_alone_is_asked_as_a_question(ask: Callable[..., Ask]) -> None:
    body = encode(ask(messages=(Message("system", "Say 4."),)), PLAIN)

    assert body["messages"] == [{"role": "user", "content": "Say 4."}]
    assert "system" not in body


@pytest.mark.parametrize(("limit", "room", "sent"), [(None, 2, 8192), (100, 1, 100), (100, 4, 400)])
def test_room_multiplies_the_limit(ask: Callable[..., Ask], limit: int | None, room: int, sent: int) -> None:
    assert encode(ask(room=room), replace(PLAIN, max_tokens=limit))["max_tokens"] == sent


def test_a_contract_becomes_a_tool_that_must_be_called(ask: Callable[..., Ask], contract: Contract) -> None:
    body = encode(ask(contract=contract), PLAIN)

    assert [(tool["name"], tool["input_schema"]) for tool in body["tools"]] == [("judgment", contract.schema())]
    assert body["tool_choice"] == {"type": "tool", "name": "judgment"}


def test_structured_none_sends_no_tool(ask: Callable[..., Ask], contract: Contract) -> None:
    body = encode(ask(contract=contract), replace(PLAIN, structured="none"))

    assert not {"tools", "tool_choice"} & body.keys()


def test_a_reply_that_is_no_object_cannot_be_a_tool_call(ask: Callable[..., Ask]) -> None:
    class Listed:
        name = "listed"

        def schema(self) -> dict[str, Any]:
            return {"type": "array"}

    assert "tools" not in encode(ask(contract=Listed()), PLAIN)


def test_settings_are_sent_as_set(ask: Callable[..., Ask]) -> None:
    body = encode(ask(), replace(PLAIN, temperature=0.5, top_p=0.9, extra_body={"metadata": {"user_id": "u"}}))

    assert (body["temperature"], body["top_p"], body["metadata"]) == (0.5, 0.9, {"user_id": "u"})


def test_log_probabilities_cannot_be_had(ask: Callable[..., Ask]) -> None:
    with pytest.raises(TransportFault, match="no log-probabilities") as caught:
        encode(ask(top_logprobs=5), PLAIN)

    assert not caught.value.retryable


def test_the_input_of_the_tool_call_is_the_reply() -> None:
    said = decode(
        {
            "content": [
                {"type": "text", "text": "I shall use the tool."},
                {"type": "tool_use", "name": "judgment", "input": {"score": 0.5, "reasoning": "größer"}},
            ],
            "stop_reason": "tool_use",
        }
    )

    assert json.loads(said.text) == {"score": 0.5, "reasoning": "größer"}
    assert said.finish == "stop"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("refusal", "refusal"),
        (None, "stop"),
    ],
)
def test_the_reason_to_stop_is_told(reason: str | None, finish: Any) -> None:
    said = decode({"content": [{"type": "text", "text": "4"}], "stop_reason": reason})

    assert said == Said(text="4", finish=finish)


def test_texts_are_joined_without_the_thoughts() -> None:
    blocks = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "4"}, {"type": "text", "text": "!"}]

    assert decode({"content": blocks}).text == "4!"


@pytest.mark.parametrize("content", [[], None, [None], [{"type": "text"}], "4"])
def test_nothing_said_is_an_empty_reply(content: object) -> None:
    assert decode({"content": content}) == Said(text="")


def test_tokens_from_the_cache_are_part_of_the_input() -> None:
    usage = {
        "input_tokens": 10,
        "cache_read_input_tokens": 80,
        "cache_creation_input_tokens": 5,
        "output_tokens": 4,
    }

    said = decode({"content": [], "usage": usage})

    assert said.usage == Usage(input_tokens=95, output_tokens=4, cached_tokens=80)


@pytest.mark.parametrize(
    ("body", "error", "retryable"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}, "error_body: busy", True),
        ({"type": "error", "error": {"type": "authentication_error", "message": "key"}}, "error_body: key", False),
        ({"type": "error", "error": {"type": "billing_error", "message": "pay"}}, "quota: pay", False),
        ({"type": "error"}, "error_body: {'type': 'error'}", True),
        ({"id": "x"}, "invalid_body: the response has no 'content'; is base_url right?", True),
    ],
)
def test_a_body_that_tells_of_an_error_is_a_fault(body: object, error: str, retryable: bool) -> None:
    with pytest.raises(TransportFault) as caught:
        decode(body)

    assert str(caught.value) == error
    assert caught.value.retryable is retryable
