"""OpenAI's dialect, on paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.contract import Contract
from evenhand.domain.evaluation import Usage
from evenhand.domain.reply import TokenChoice
from evenhand.models.dialects.dialect import Generation, Said
from evenhand.models.dialects.openai import decode, encode, otherwise
from evenhand.models.retry import TransportFault

PLAIN = Generation(model="gpt-5-mini")
OPENAI_PROPER = replace(PLAIN, names={"max_tokens": "max_completion_tokens"})
MESSAGES = [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "2 + 2?"}]


def test_an_ask_becomes_model_and_messages_and_nothing_that_nobody_set(ask: Callable[..., Ask]) -> None:
    assert encode(ask(), PLAIN) == {"model": "gpt-5-mini", "messages": MESSAGES}


def test_settings_are_sent_as_set(ask: Callable[..., Ask]) -> None:
    body = encode(ask(), replace(PLAIN, temperature=0, top_p=0.5, seed=7, max_tokens=100))

    assert body == {
        "model": "gpt-5-mini",
        "messages": MESSAGES,
        "temperature": 0,
        "top_p": 0.5,
        "seed": 7,
        "max_tokens": 100,
    }


def test_a_server_may_have_its_own_names_for_settings(ask: Callable[..., Ask]) -> None:
    names = {"max_tokens": "max_completion_tokens", "seed": "random_seed"}

    body = encode(ask(), replace(PLAIN, seed=7, max_tokens=100, names=names))

    assert (body["random_seed"], body["max_completion_tokens"]) == (7, 100)
    assert not {"seed", "max_tokens"} & body.keys()


@pytest.mark.parametrize(
    ("of_ask", "of_settings", "room", "sent"),
    [(None, 100, 1, 100), (50, 100, 1, 50), (50, None, 4, 200), (None, None, 2, None)],
)
def test_room_multiplies_the_limit_in_force(
    ask: Callable[..., Ask], of_ask: int | None, of_settings: int | None, room: int, sent: int | None
) -> None:
    body = encode(ask(max_tokens=of_ask, room=room), replace(PLAIN, max_tokens=of_settings))

    assert body.get("max_tokens") == sent


def test_a_contract_of_ours_is_sent_strict(ask: Callable[..., Ask], contract: Contract) -> None:
    body = encode(ask(contract=contract), PLAIN)

    assert body["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "judgment",
            "strict": True,
            "schema": {
                "type": "object",
                "properties": {
                    "reasoning": {"type": "string"},
                    "score": {"type": "number"},
                    "hits": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["reasoning", "score", "hits"],
                "additionalProperties": False,
            },
        },
    }


def test_a_schema_of_the_user_is_sent_whole_and_not_strict(ask: Callable[..., Ask]) -> None:
    schema = {"type": "object", "properties": {"grade": {"type": "integer", "maximum": 6}}}

    body = encode(ask(contract=Given(schema)), PLAIN)

    assert body["response_format"]["json_schema"] == {"name": "given", "schema": schema}


def test_a_server_that_does_not_know_strict_is_not_asked_for_it(ask: Callable[..., Ask], contract: Contract) -> None:
    body = encode(ask(contract=contract), replace(PLAIN, strict=False))

    assert body["response_format"]["json_schema"] == {"name": "judgment", "schema": contract.schema()}


def test_json_object_is_all_that_some_servers_know(ask: Callable[..., Ask], contract: Contract) -> None:
    body = encode(ask(contract=contract), replace(PLAIN, structured="json_object"))

    assert body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("structured", ["json_schema", "json_object"])
def test_a_reply_that_is_no_object_is_demanded_in_words_only(ask: Callable[..., Ask], structured: Any) -> None:
    body = encode(ask(contract=Given({"type": "array"})), replace(PLAIN, structured=structured))

    assert "response_format" not in body


def test_structured_none_sends_no_format(ask: Callable[..., Ask], contract: Contract) -> None:
    assert "response_format" not in encode(ask(contract=contract), replace(PLAIN, structured="none"))


def test_log_probabilities_are_asked_for(ask: Callable[..., Ask]) -> None:
    body = encode(ask(top_logprobs=5), PLAIN)

    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)


def test_extra_keys_go_into_the_body_also_below_its_top(ask: Callable[..., Ask], contract: Contract) -> None:
    extra = {"reasoning_effort": "low", "response_format": {"json_schema": {"strict": False}}}

    body = encode(ask(contract=contract), replace(PLAIN, extra_body=extra))

    assert body["reasoning_effort"] == "low"
    assert body["response_format"]["json_schema"]["strict"] is False
    assert body["response_format"]["json_schema"]["name"] == "judgment"


def body_with(**choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", "content": "4"}, "finish_reason": "stop", **choice}]}


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("model_length", "length"),
        ("content_filter", "filtered"),
        ("tool_calls", "stop"),
        (None, "stop"),
    ],
)
def test_the_reason_to_stop_is_told(reason: str | None, finish: str) -> None:
    assert decode(body_with(finish_reason=reason)) == Said(text="4", finish=finish)  # type: ignore[arg-type]


def test_a_refusal_is_a_refusal() -> None:
    said = decode(body_with(message={"content": None, "refusal": "I will not."}))

    assert said == Said(text="I will not.", finish="refusal")


@pytest.mark.parametrize(
    "body",
    [
        {"choices": []},
        {"choices": None},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"content": None}}]},
        {"choices": [{"message": {"content": 5}}]},
    ],
)
def test_nothing_said_is_an_empty_reply(body: dict[str, Any]) -> None:
    assert decode(body) == Said(text="")


def test_content_in_parts_is_joined_without_the_thoughts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "4"}]

    assert decode(body_with(message={"content": parts})).text == "4"


def test_tokens_are_counted() -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 8}}

    said = decode({**body_with(), "usage": usage})

    assert said.usage == Usage(input_tokens=10, output_tokens=4, cached_tokens=8)


@pytest.mark.parametrize(
    ("more", "usage"),
    [
        ({"prompt_cache_hit_tokens": 8}, Usage(input_tokens=10, output_tokens=4, cached_tokens=8)),
        (
            {"prompt_cache_hit_tokens": 8, "prompt_tokens_details": {}},
            Usage(input_tokens=10, output_tokens=4, cached_tokens=8),
        ),
        (
            {"prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": 6}},
            Usage(input_tokens=10, output_tokens=4, cached_tokens=3, cache_write_tokens=6),
        ),
        ({"prompt_tokens_details": {"cached_tokens": 3, "cache_write_tokens": "all"}}, None),
    ],
    ids=["DeepSeek", "DeepSeek with empty details", "OpenRouter", "no count"],
)
def test_what_other_servers_say_of_their_prompt_caches_is_read_too(more: dict[str, Any], usage: Usage | None) -> None:
    said = decode({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 4, **more}})

    assert said.usage == usage


@pytest.mark.parametrize("usage", [None, {}, [], "many"])
def test_tokens_that_nobody_counted_are_none(usage: object) -> None:
    assert decode({**body_with(), "usage": usage}).usage is None


def test_the_alternatives_for_the_first_token_are_given() -> None:
    top = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.5}, {"token": "6", "logprob": None}]

    said = decode(body_with(logprobs={"content": [{"token": "4", "logprob": -0.1, "top_logprobs": top}]}))

    assert said.first_token == (TokenChoice(token="4", logprob=-0.1), TokenChoice(token="5", logprob=-2.5))


@pytest.mark.parametrize("logprobs", [None, {}, {"content": None}, {"content": []}, {"content": [{}]}, [1]])
def test_log_probabilities_that_were_not_given_are_none(logprobs: object) -> None:
    assert decode(body_with(logprobs=logprobs)).first_token == ()


@pytest.mark.parametrize(
    ("body", "error", "retryable"),
    [
        ({"error": {"message": "boom", "type": "server_error"}}, "error_body: boom", True),
        ({"error": {"message": "no", "code": "invalid_api_key"}}, "error_body: no", False),
        (
            {"error": {"message": "pay", "type": "insufficient_quota", "code": "billing"}, "choices": []},
            "quota: pay",
            False,
        ),
        ({"error": {"message": "upstream", "code": 502}}, "server_error: HTTP 502: upstream", True),
        (
            {"error": {"message": "failed", "metadata": {"raw": "out of memory"}}},
            "error_body: failed: out of memory",
            True,
        ),
        ({"error": "boom"}, "error_body: boom", True),
        ({"object": "error", "message": "boom", "code": 400}, "bad_request: HTTP 400: boom", False),
        ([{"error": {"message": "boom"}}], "error_body: boom", True),
        ({}, "invalid_body: the response has no 'choices'; is base_url right?", True),
        ([], "invalid_body: the response has no 'choices'; is base_url right?", True),
        ("hello", "invalid_body: the response has no 'choices'; is base_url right?", True),
        (
            body_with(finish_reason="error", error={"message": "cut", "code": 429}),
            "rate_limited: HTTP 429: cut",
            True,
        ),
        (
            body_with(finish_reason="insufficient_system_resource"),
            "error_body: the server stopped with 'insufficient_system_resource'",
            True,
        ),
    ],
)
def test_a_body_that_tells_of_an_error_is_a_fault(body: object, error: str, retryable: bool) -> None:
    with pytest.raises(TransportFault) as caught:
        decode(body)

    assert str(caught.value) == error
    assert caught.value.retryable is retryable


@pytest.mark.parametrize(
    "complaint",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "Unrecognized request argument supplied: max_tokens",
    ],
)
def test_the_token_limit_has_another_name_to_try(complaint: str) -> None:
    other = otherwise(PLAIN, complaint)

    assert other == OPENAI_PROPER


def test_and_back() -> None:
    other = otherwise(OPENAI_PROPER, "Unrecognized request argument supplied: max_completion_tokens")

    assert other == replace(PLAIN, names={"max_tokens": "max_tokens"})


def test_a_limit_that_is_too_large_is_not_a_matter_of_its_name() -> None:
    assert otherwise(PLAIN, "max_tokens is too large: 20000. This model supports at most 16384.") is None


class Given:
    """A contract around a schema, as users give them."""

    name = "given"

    def __init__(self, schema: dict[str, Any], *, closed: bool = False) -> None:
        self.given = schema
        self.closed = closed

    def schema(self) -> dict[str, Any]:
        return self.given
