"""Plain functions as judges."""

from __future__ import annotations

import asyncio
import functools
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.contract import Contract
from evenhand.domain.errors import ScriptExhaustedError
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered

Put = Callable[..., Reply | Unanswered]
PutMany = Callable[..., list[Reply | Unanswered]]
Adapted = Callable[..., ModelClient]
Messages = list[dict[str, str]]

USER = Message("user", "Well?")


def judge(messages: Messages, mood: str = "plain") -> str:
    return f"{mood}: {messages[-1]['content']}"


async def judge_async(messages: Messages, mood: str = "async") -> str:
    await asyncio.sleep(0)
    return f"{mood}: {messages[-1]['content']}"


def judge_later(messages: Messages) -> Any:
    return judge_async(messages, "later")


class Judge:
    def __call__(self, messages: Messages) -> str:
        return judge(messages, "object")


class AsyncJudge:
    async def __call__(self, messages: Messages) -> str:
        return await judge_async(messages, "async object")


@pytest.mark.parametrize(
    ("given", "name", "text"),
    [
        (judge, "function/judge", "plain: Is 2 + 2 = 4?"),
        (judge_async, "function/judge_async", "async: Is 2 + 2 = 4?"),
        (judge_later, "function/judge_later", "later: Is 2 + 2 = 4?"),
        (functools.partial(judge, mood="partial"), "function/judge", "partial: Is 2 + 2 = 4?"),
        (functools.partial(judge_async, mood="twice"), "function/judge_async", "twice: Is 2 + 2 = 4?"),
        (Judge(), "function/Judge", "object: Is 2 + 2 = 4?"),
        (AsyncJudge(), "function/AsyncJudge", "async object: Is 2 + 2 = 4?"),
        (Judge().__call__, "function/__call__", "object: Is 2 + 2 = 4?"),
        (lambda messages: messages[0]["role"], "function/<lambda>", "system"),
    ],
)
def test_a_function_of_any_form_gets_the_messages_and_its_text_is_the_reply(
    given: object, name: str, text: str, adapted: Adapted, put: Put
) -> None:
    model = adapted(given)

    answer = put(model)

    assert model.name == name
    assert isinstance(answer, Reply)
    assert answer.text == text
    assert [(attempt.kind, attempt.raw) for attempt in answer.attempts] == [("reply", text)]


def test_the_messages_are_plain_mappings(adapted: Adapted, put: Put) -> None:
    seen: list[Messages] = []

    def my_judge(messages: Messages) -> str:
        seen.append(messages)
        return "fine"

    put(adapted(my_judge))

    assert seen == [[{"role": "system", "content": "Judge strictly."}, {"role": "user", "content": "Is 2 + 2 = 4?"}]]


@pytest.mark.parametrize(
    ("value", "text"),
    [({"score": 1, "reasoning": "größer"}, '{"score": 1, "reasoning": "größer"}'), ([1, 2], "[1, 2]")],
)
def test_a_mapping_or_list_is_taken_for_its_json(value: object, text: str, adapted: Adapted, put: Put) -> None:
    answer = put(adapted(lambda messages: value))

    assert isinstance(answer, Reply)
    assert answer.text == text


@pytest.mark.parametrize("value", [None, 0.5, b"bytes", object])
def test_anything_else_is_a_failed_request_that_says_what_to_return(value: object, adapted: Adapted, put: Put) -> None:
    def my_judge(messages: Messages) -> object:
        return value

    answer = put(adapted(my_judge))

    assert isinstance(answer, Unanswered)
    assert answer.error == (
        "function_error: TypeError: my_judge must return text, or a dict or list to be taken as JSON; "
        f"it returned {type(value).__name__}"
    )


def test_what_a_function_raises_is_one_failed_request_with_its_class(
    adapted: Adapted, put: Put, contract: Contract
) -> None:
    calls: list[Messages] = []

    def my_judge(messages: Messages) -> str:
        calls.append(messages)
        raise ValueError("no such tool")

    answer = put(adapted(my_judge), contract=contract)

    assert isinstance(answer, Unanswered)
    assert re.fullmatch(
        r"function_error: ValueError: no such tool \(at my_judge in \S*test_function\.py:\d+\)", answer.error
    )
    assert [(attempt.kind, attempt.error) for attempt in answer.attempts] == [("transport", answer.error)]
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("raised", "kind"),
    [(ConnectionResetError("gone"), "connection"), (TimeoutError("slow"), "timeout")],
)
def test_a_connection_that_fails_is_tried_again(raised: Exception, kind: str, adapted: Adapted, put: Put) -> None:
    outcomes: list[str | Exception] = [raised, raised, "at last"]

    def my_judge(messages: Messages) -> str:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    answer = put(adapted(my_judge))

    assert isinstance(answer, Reply)
    assert answer.text == "at last"
    assert [attempt.error for attempt in answer.attempts] == [f"{kind}: {raised}", f"{kind}: {raised}", None]


def test_a_connection_that_keeps_failing_is_tried_as_often_as_the_policy_says(adapted: Adapted, put: Put) -> None:
    async def my_judge(messages: Messages) -> str:
        raise ConnectionError("nobody there")

    answer = put(adapted(my_judge, attempts=3))

    assert isinstance(answer, Unanswered)
    assert answer.error == "connection: nobody there; gave up after 3 requests"
    assert len(answer.attempts) == 3


def test_an_iterator_at_its_end_is_a_failed_request_and_no_endless_wait(adapted: Adapted, put: Put) -> None:
    replies = iter(["only one"])
    model = adapted(lambda messages: next(replies))

    first, second = put(model), put(model)

    assert isinstance(first, Reply)
    assert isinstance(second, Unanswered)
    assert second.error.startswith("function_error: RuntimeError: coroutine raised StopIteration (at <lambda> in ")


def test_a_script_at_its_end_goes_on_to_the_caller(adapted: Adapted, put: Put) -> None:
    def my_judge(messages: Messages) -> str:
        raise ScriptExhaustedError("asked too often")

    with pytest.raises(ScriptExhaustedError, match="asked too often"):
        put(adapted(my_judge))


class Interrupt(BaseException):
    """Stands for a key press, which pytest takes for itself."""


def test_an_interrupt_is_not_taken_for_a_failed_request(adapted: Adapted, put: Put) -> None:
    async def my_judge(messages: Messages) -> str:
        raise Interrupt

    with pytest.raises(Interrupt):
        put(adapted(my_judge))


def test_cancelling_an_ask_cancels_the_function(adapted: Adapted) -> None:
    cancelled: list[bool] = []
    began = asyncio.Event()

    async def my_judge(messages: Messages) -> str:
        began.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        return "too late"

    async def cancel() -> None:
        model = adapted(my_judge)
        task = asyncio.ensure_future(model.ask(Ask(messages=(USER,), judge=model)))
        await began.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())

    assert cancelled == [True]


def test_an_async_function_is_stopped_at_the_deadline(adapted: Adapted, put: Put) -> None:
    async def my_judge(messages: Messages) -> str:
        await asyncio.sleep(60)
        return "too late"

    answer = put(adapted(my_judge), seconds=0.5)

    assert isinstance(answer, Unanswered)
    assert answer.error == "timeout: no reply before the deadline"
    assert [attempt.kind for attempt in answer.attempts] == ["transport"]


def test_a_sync_function_is_not_waited_for_beyond_the_deadline(adapted: Adapted) -> None:
    released = threading.Event()

    def my_judge(messages: Messages) -> str:
        released.wait(60)
        return "too late"

    async def ask() -> Reply | Unanswered:
        model = adapted(my_judge)
        try:
            return await model.ask(Ask(messages=(USER,), judge=model), deadline=time.monotonic() + 0.5)
        finally:
            released.set()

    answer = asyncio.run(ask())

    assert isinstance(answer, Unanswered)
    assert answer.error == "timeout: no reply before the deadline"


def test_nothing_is_asked_after_the_deadline(adapted: Adapted, put: Put) -> None:
    calls: list[Messages] = []

    def my_judge(messages: Messages) -> str:
        calls.append(messages)
        return "too late"

    answer = put(adapted(my_judge), seconds=-1.0)

    assert isinstance(answer, Unanswered)
    assert answer.attempts == ()
    assert calls == []


@pytest.mark.parametrize("given", [judge, judge_async])
def test_a_hundred_asks_at_once_are_all_answered(given: object, adapted: Adapted, put_many: PutMany) -> None:
    answers = put_many(adapted(given))

    assert len([answer for answer in answers if isinstance(answer, Reply)]) == 100


def test_sync_functions_run_side_by_side(adapted: Adapted) -> None:
    both = threading.Barrier(2, timeout=60)

    def my_judge(messages: Messages) -> str:
        both.wait()
        return "together"

    async def two() -> tuple[Reply | Unanswered, ...]:
        model = adapted(my_judge)
        question = Ask(messages=(USER,), judge=model)
        return await asyncio.gather(model.ask(question), model.ask(question))

    answers = asyncio.run(two())

    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["together", "together"]
