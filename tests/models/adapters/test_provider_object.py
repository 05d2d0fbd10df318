"""Objects with ``invoke`` or ``ainvoke`` as judges."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import BaseModel

from evenhand.domain.ask import ModelClient
from evenhand.domain.contract import Contract
from evenhand.domain.reply import Reply, Unanswered

Put = Callable[..., Reply | Unanswered]
PutMany = Callable[..., list[Reply | Unanswered]]
Adapted = Callable[..., ModelClient]
Messages = list[dict[str, str]]


class Provider:
    def __init__(self, result: object) -> None:
        self.result = result
        self.seen: list[Messages] = []

    def invoke(self, messages: Messages) -> Any:
        self.seen.append(messages)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


class AsyncProvider(Provider):
    async def ainvoke(self, messages: Messages) -> Any:
        return f"async {super().invoke(messages)}"


class Verdict(BaseModel):
    score: float


class RateLimitError(Exception):
    status_code = 429


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("text", "text"),
        ({"text": "of text"}, "of text"),
        ({"content": "of content"}, "of content"),
        ({"output": "of output"}, "of output"),
        ({"output": {"score": 1}}, '{"score": 1}'),
        ({"score": 1}, '{"score": 1}'),
        ([1, 2], "[1, 2]"),
        ({"content": [{"type": "text", "text": "in "}, "parts", {"type": "thinking", "thinking": "hm"}]}, "in parts"),
        (SimpleNamespace(content="an object's content"), "an object's content"),
        (SimpleNamespace(text="an object's text"), "an object's text"),
        (SimpleNamespace(content=[{"type": "output_text", "text": "an object's part"}]), "an object's part"),
        (Verdict(score=0.5), '{"score": 0.5}'),
    ],
)
def test_the_reply_is_the_text_in_whatever_invoke_returns(
    result: object, text: str, adapted: Adapted, put: Put
) -> None:
    provider = Provider(result)

    answer = put(adapted(provider))

    assert isinstance(answer, Reply)
    assert answer.text == text
    assert answer.attempts[-1].raw == text
    assert provider.seen == [
        [{"role": "system", "content": "Judge strictly."}, {"role": "user", "content": "Is 2 + 2 = 4?"}]
    ]


def test_the_async_method_is_preferred(adapted: Adapted, put: Put) -> None:
    model = adapted(AsyncProvider("reply"))

    answer = put(model)

    assert model.name == "provider/AsyncProvider"
    assert isinstance(answer, Reply)
    assert answer.text == "async reply"


def test_an_object_with_only_an_async_method_will_do(adapted: Adapted, put: Put) -> None:
    async def ainvoke(messages: Messages) -> str:
        return "async only"

    answer = put(adapted(SimpleNamespace(ainvoke=ainvoke)))

    assert isinstance(answer, Reply)
    assert answer.text == "async only"


def test_a_result_without_text_is_a_failed_request_that_says_what_would_do(adapted: Adapted, put: Put) -> None:
    answer = put(adapted(Provider(0.5)))

    assert isinstance(answer, Unanswered)
    assert answer.error == (
        "model_error: TypeError: a reply is text, a mapping or list (taken as JSON), or an object with .content or "
        ".text; got float: 0.5"
    )


def test_what_invoke_raises_is_one_failed_request(adapted: Adapted, put: Put, contract: Contract) -> None:
    provider = Provider(ValueError("tools: none\nhere"))

    answer = put(adapted(provider), contract=contract)

    assert isinstance(answer, Unanswered)
    assert answer.error == "model_error: ValueError: tools: none here"
    assert len(provider.seen) == len(answer.attempts) == 1


def test_a_status_worth_another_try_is_tried_again(adapted: Adapted, put: Put) -> None:
    provider = Provider(RateLimitError("slow down"))

    answer = put(adapted(provider, attempts=4))

    assert isinstance(answer, Unanswered)
    assert answer.error == "rate_limited: HTTP 429: slow down; gave up after 4 requests"
    assert len(provider.seen) == 4


def test_a_hundred_asks_at_once_are_all_answered(adapted: Adapted, put_many: PutMany) -> None:
    answers = put_many(adapted(Provider("fine")))

    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["fine"] * 100
