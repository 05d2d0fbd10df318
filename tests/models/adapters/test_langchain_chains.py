"""Real LangChain chains and other Runnables as judges."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, ParrotFakeChatModel
from langchain_core.output_parsers import JsonOutputParser, StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from langchain_core.runnables import Runnable, RunnableLambda

from evenhand.domain.ask import ModelClient
from evenhand.domain.contract import Contract
from evenhand.domain.reply import Reply, Unanswered

Put = Callable[..., Reply | Unanswered]
Adapted = Callable[..., ModelClient]

PARROT = ParrotFakeChatModel()
STRICT = ("system", "Be strict.")


def by_judge(messages: list[dict[str, str]]) -> str:
    return f"{len(messages)} messages, the last from the {messages[-1]['role']}"


@pytest.mark.parametrize(
    ("runnable", "name", "text"),
    [
        (RunnableLambda(by_judge), "langchain/by_judge", "2 messages, the last from the user"),
        (RunnableLambda(lambda _: {"score": 1}), "langchain/RunnableLambda", '{"score": 1}'),
        (FakeListChatModel(responses=["Yes."]) | StrOutputParser(), "langchain/RunnableSequence", "Yes."),
        (FakeListChatModel(responses=['{"a": 1}']) | JsonOutputParser(), "langchain/RunnableSequence", '{"a": 1}'),
        (
            ChatPromptTemplate.from_messages([STRICT, ("placeholder", "{messages}")]) | PARROT,
            "langchain/RunnableSequence",
            "Is 2 + 2 = 4?",
        ),
        (
            ChatPromptTemplate.from_messages([STRICT, MessagesPlaceholder("asked")]) | PARROT,
            "langchain/RunnableSequence",
            "Is 2 + 2 = 4?",
        ),
        (
            ChatPromptTemplate.from_messages([STRICT, ("human", "Now: {it}")]) | PARROT,
            "langchain/RunnableSequence",
            "Now: system: Judge strictly.\n\nuser: Is 2 + 2 = 4?",
        ),
        (
            PromptTemplate.from_template("Now: {it}") | PARROT,
            "langchain/RunnableSequence",
            "Now: system: Judge strictly.\n\nuser: Is 2 + 2 = 4?",
        ),
    ],
)
def test_a_chain_gets_the_messages_and_its_result_is_the_reply(
    runnable: Runnable[Any, Any], name: str, text: str, adapted: Adapted, put: Put, contract: Contract
) -> None:
    judge = adapted(runnable)

    answer = put(judge, contract=contract)

    assert judge.name == name
    assert isinstance(answer, Reply)
    assert answer.text == text


def test_a_chain_whose_prompt_wants_more_than_messages_says_what_is_missing(adapted: Adapted, put: Put) -> None:
    chain = ChatPromptTemplate.from_messages([STRICT, ("human", "{topic}: {it}")]) | PARROT

    answer = put(adapted(chain))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("model_error: KeyError: ")
    assert "missing variables" in answer.error


def test_an_async_runnable_is_awaited(adapted: Adapted, put: Put) -> None:
    async def my_judge(messages: list[dict[str, str]]) -> str:
        await asyncio.sleep(0)
        return "awaited"

    answer = put(adapted(RunnableLambda(my_judge)))

    assert isinstance(answer, Reply)
    assert answer.text == "awaited"
