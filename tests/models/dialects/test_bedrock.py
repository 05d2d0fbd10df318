"""Bedrock's dialect, Converse, on paper."""

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
from evenhand.models.dialects.bedrock import complaint, decode, encode
from evenhand.models.dialects.dialect import Complaint, Generation, Said
from evenhand.models.retry import TransportFault

PLAIN = Generation(model="anthropic.claude-x")


def saying(*blocks: object, **rest: Any) -> dict[str, Any]:
    return {"output": {"message": {"role": "assistant", "content": list(blocks)}}, **rest}


def test_the_system_text_stands_apart_and_the_model_is_in_the_address_alone(ask: Callable[..., Ask]) -> None:
    assert encode(ask(), PLAIN) == {
        "system": [{"text": "Be strict."}],
        "messages": [{"role": "user", "content": [{"text": "2 + 2?"}]}],
    }


def test_a_system_text_alone_is_asked_as_a_question(ask: Callable[..., Ask]) -> None:
    body = encode(ask(messages=(Message("system", "Say 4."),)), PLAIN)

    assert body == {"messages": [{"role": "user", "content": [{"text": "Say 4."}]}]}


def test_turns_of_one_side_in_a_row_are_one_message_since_the_roles_must_alternate(ask: Callable[..., Ask]) -> None:
    turns = (Message("user", "2 + 2?"), Message("assistant", "5"), Message("user", "No."), Message("user", "Again?"))

    body = encode(ask(messages=turns), PLAIN)

    assert body["messages"] == [
        {"role": "user", "content": [{"text": "2 + 2?"}]},
        {"role": "assistant", "content": [{"text": "5"}]},
        {"role": "user", "content": [{"text": "No."}, {"text": "Again?"}]},
    ]


def test_settings_are_sent_by_their_names_there(ask: Callable[..., Ask]) -> None:
    more = {"inferenceConfig": {"stopSequences": ["END"]}, "additionalModelRequestFields": {"top_k": 5}}

    body = encode(ask(), replace(PLAIN, temperature=0.5, top_p=0.9, max_tokens=100, extra_body=more))

    assert body["inferenceConfig"] == {"temperature": 0.5, "topP": 0.9, "maxTokens": 100, "stopSequences": ["END"]}
    assert body["additionalModelRequestFields"] == {"top_k": 5}


@pytest.mark.parametrize(("limit", "room", "sent"), [(100, 1, 100), (100, 4, 400)])
def test_room_multiplies_the_limit(ask: Callable[..., Ask], limit: int, room: int, sent: int) -> None:
    body = encode(ask(room=room), replace(PLAIN, max_tokens=limit))

    assert body["inferenceConfig"] == {"maxTokens": sent}


def test_a_contract_becomes_a_tool_that_must_be_called(ask: Callable[..., Ask], contract: Contract) -> None:
    body = encode(ask(contract=contract), PLAIN)

    (tool,) = body["toolConfig"]["tools"]
    assert (tool["toolSpec"]["name"], tool["toolSpec"]["inputSchema"]) == ("judgment", {"json": contract.schema()})
    assert body["toolConfig"]["toolChoice"] == {"tool": {"name": "judgment"}}


def test_structured_none_sends_no_tool(ask: Callable[..., Ask], contract: Contract) -> None:
    assert "toolConfig" not in encode(ask(contract=contract), replace(PLAIN, structured="none"))


def test_a_reply_that_is_no_object_cannot_be_a_tool_call(ask: Callable[..., Ask]) -> None:
    class Listed:
        name = "listed"

        def schema(self) -> dict[str, Any]:
            return {"type": "array"}

    assert "toolConfig" not in encode(ask(contract=Listed()), PLAIN)


def test_log_probabilities_cannot_be_had(ask: Callable[..., Ask]) -> None:
    with pytest.raises(TransportFault, match="Bedrock's Converse API gives no log-probabilities") as caught:
        encode(ask(top_logprobs=5), PLAIN)

    assert not caught.value.retryable


def test_the_input_of_the_tool_call_is_the_reply() -> None:
    call = {"toolUse": {"toolUseId": "t", "name": "judgment", "input": {"score": 0.5, "reasoning": "größer"}}}

    said = decode(saying({"text": "I shall use the tool."}, call, stopReason="tool_use"))

    assert json.loads(said.text) == {"score": 0.5, "reasoning": "größer"}
    assert said.finish == "stop"


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("guardrail_intervened", "filtered"),
        ("content_filtered", "filtered"),
        ("malformed_tool_use", "stop"),
        (None, "stop"),
    ],
)
def test_the_reason_to_stop_is_told(reason: str | None, finish: Any) -> None:
    assert decode(saying({"text": "4"}, stopReason=reason)) == Said(text="4", finish=finish)


def test_texts_are_joined_without_the_thoughts() -> None:
    thoughts = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}

    assert decode(saying(thoughts, {"text": "4"}, {"text": "!"})).text == "4!"


@pytest.mark.parametrize("output", [None, {}, {"message": None}, {"message": {"content": [None, {"text": 4}]}}, "4"])
def test_nothing_said_is_an_empty_reply(output: object) -> None:
    assert decode({"output": output}) == Said(text="")


@pytest.mark.parametrize(
    ("counts", "usage"),
    [
        ({"inputTokens": 7, "outputTokens": 3, "totalTokens": 10}, Usage(input_tokens=7, output_tokens=3)),
        (
            {"inputTokens": 10, "outputTokens": 4, "cacheReadInputTokens": 80, "cacheWriteInputTokens": 5},
            Usage(input_tokens=95, output_tokens=4, cached_tokens=80, cache_write_tokens=5),
        ),
        (
            {"inputTokens": 10, "outputTokens": 4, "cacheReadInputTokens": 80, "totalTokens": 94},
            Usage(input_tokens=90, output_tokens=4, cached_tokens=80),
        ),
        (
            {"inputTokens": 90, "outputTokens": 4, "cacheReadInputTokens": 80, "totalTokens": 94},
            Usage(input_tokens=90, output_tokens=4, cached_tokens=80),
        ),
    ],
    ids=["without a cache", "cached beside", "cached beside, by the total", "cached within, by the total"],
)
def test_tokens_from_the_cache_are_counted_once(counts: dict[str, int], usage: Usage) -> None:
    assert decode(saying(usage=counts)).usage == usage


@pytest.mark.parametrize(
    ("body", "error", "retryable"),
    [
        ({"message": "Too many requests", "__type": "ThrottlingException"}, "error_body: Too many requests", True),
        ({"message": "no", "__type": "com.amazon#ValidationException"}, "error_body: no", False),
        ({"message": "no", "__type": "AccessDeniedException"}, "error_body: no", False),
        ({"id": "x"}, "invalid_body: the response has no 'output'; is base_url right?", True),
    ],
)
def test_a_body_that_tells_of_an_error_is_a_fault(body: object, error: str, retryable: bool) -> None:
    with pytest.raises(TransportFault) as caught:
        decode(body)

    assert str(caught.value) == error
    assert caught.value.retryable is retryable


@pytest.mark.parametrize(
    ("body", "headers", "found"),
    [
        (
            {"message": "slow down"},
            {"x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/coral/"},
            Complaint("ThrottlingException", "slow down"),
        ),
        ({"Message": "no access"}, {}, Complaint(None, "no access")),
        ({"error": {"message": "of a gateway", "code": "c"}}, {}, Complaint("c", "of a gateway")),
        ({"Output": {}}, {"x-amzn-errortype": "UnknownOperationException"}, None),
        ([], {}, None),
    ],
)
def test_a_complaint_is_found_with_its_code(body: object, headers: dict[str, str], found: Complaint | None) -> None:
    assert complaint(body, headers) == found
