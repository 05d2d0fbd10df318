"""Ollama's dialect, on paper."""

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
from evenhand.models.dialects.ollama import decode, encode
from evenhand.models.retry import TransportFault

PLAIN = Generation(model="qwen2.5:7b")


def test_the_whole_reply_is_asked_for_at_once(ask: Callable[..., Ask]) -> None:
    assert encode(ask(), PLAIN) == {
        "model": "qwen2.5:7b",
        "messages": [{"role": "system", "content": "Be strict."}, {"role": "user", "content": "2 + 2?"}],
        "stream": False,
    }


def test_settings_are_options(ask: Callable[..., Ask]) -> None:
    body = encode(ask(room=2), replace(PLAIN, temperature=0, top_p=0.5, seed=7, max_tokens=100))

    assert body["options"] == {"temperature": 0, "top_p": 0.5, "seed": 7, "num_predict": 200}


def test_a_contract_is_the_format(ask: Callable[..., Ask], contract: Contract) -> None:
    assert encode(ask(contract=contract), PLAIN)["format"] == contract.schema()
    assert encode(ask(contract=contract), replace(PLAIN, structured="json_object"))["format"] == "json"
    assert "format" not in encode(ask(contract=contract), replace(PLAIN, structured="none"))


def test_log_probabilities_are_asked_for(ask: Callable[..., Ask]) -> None:
    body = encode(ask(top_logprobs=5), PLAIN)

    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)


@pytest.mark.parametrize(("reason", "finish"), [("stop", "stop"), ("length", "length"), (None, "stop")])
def test_the_reason_to_stop_is_told(reason: str | None, finish: Any) -> None:
    assert decode({"message": {"content": "4"}, "done_reason": reason}) == Said(text="4", finish=finish)


@pytest.mark.parametrize("message", [None, {}, {"content": None}, {"content": "", "thinking": "hm"}])
def test_nothing_said_is_an_empty_reply(message: object) -> None:
    assert decode({"message": message}) == Said(text="")


def test_tokens_are_counted() -> None:
    said = decode({"message": {"content": "4"}, "prompt_eval_count": 10, "eval_count": 4})

    assert said.usage == Usage(input_tokens=10, output_tokens=4)


def test_the_alternatives_for_the_first_token_are_given() -> None:
    top = [{"token": "4", "logprob": -0.1}, {"token": "5", "logprob": -2.5}]

    said = decode({"message": {"content": "4"}, "logprobs": [{"token": "4", "logprob": -0.1, "top_logprobs": top}]})

    assert said.first_token == (TokenChoice(token="4", logprob=-0.1), TokenChoice(token="5", logprob=-2.5))


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"error": "model is loading"}, "error_body: model is loading"),
        ({"models": []}, "invalid_body: the response has no 'message'; is base_url right?"),
    ],
)
def test_a_body_that_tells_of_an_error_is_a_fault(body: object, error: str) -> None:
    with pytest.raises(TransportFault) as caught:
        decode(body)

    assert str(caught.value) == error
    assert caught.value.retryable
