"""Real LangChain models and Runnables as judges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import (
    BaseChatModel,
    FakeListChatModel,
    FakeMessagesListChatModel,
    GenericFakeChatModel,
    ParrotFakeChatModel,
)
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.tool import invalid_tool_call, tool_call
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.utils.function_calling import convert_to_openai_tool
from openai import ContentFilterFinishReasonError, LengthFinishReasonError
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, SecretStr

from evenhand.domain.ask import ModelClient
from evenhand.domain.case import Case
from evenhand.domain.contract import Accepted, Contract
from evenhand.domain.evaluation import Usage
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.verdict import Verdict
from evenhand.evaluators.prompt import PromptEvaluator

Put = Callable[..., Reply | Unanswered]
PutMany = Callable[..., list[Reply | Unanswered]]
Adapted = Callable[..., ModelClient]

VERDICT = {"reasoning": "It is.", "score": 1.0}


class BadRequestError(Exception):
    """As the providers' libraries have it."""

    status_code = 400


class ToolModel(BaseChatModel):
    """A chat model that can be given tools, and calls the first one with ``VERDICT`` unless told otherwise."""

    model_name: str = "tooly-1"
    max_tokens: int | None = None
    api_key: SecretStr = SecretStr("sk-secret-123")
    outcomes: list[Any] = []  # noqa: RUF012 - pydantic copies defaults
    requests: list[dict[str, Any]] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "tooly"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Runnable[Any, AIMessage]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools])

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        self.requests.append({"messages": messages, "max_tokens": self.max_tokens, **kwargs})
        outcome = self.outcomes.pop(0) if self.outcomes else None
        if isinstance(outcome, Exception):
            raise outcome
        if outcome is None and kwargs.get("tools"):
            name = kwargs["tools"][0]["function"]["name"]
            outcome = AIMessage(content="", tool_calls=[tool_call(name=name, args=VERDICT, id="1")])
        message = outcome or AIMessage(content=json.dumps(VERDICT))
        return ChatResult(generations=[ChatGeneration(message=message)])


class SlowModel(ToolModel):
    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        await asyncio.sleep(60)
        return self._generate(messages)


@pytest.mark.parametrize(
    ("model", "name", "text"),
    [
        (FakeListChatModel(responses=["Yes."]), "langchain/FakeListChatModel", "Yes."),
        (GenericFakeChatModel(messages=iter(["Yes."])), "langchain/GenericFakeChatModel", "Yes."),
        (
            FakeMessagesListChatModel(responses=[AIMessage(content="Yes.")]),
            "langchain/FakeMessagesListChatModel",
            "Yes.",
        ),
        (ParrotFakeChatModel(), "langchain/ParrotFakeChatModel", "Is 2 + 2 = 4?"),
        (ToolModel(), "langchain/ToolModel:tooly-1", json.dumps(VERDICT)),
    ],
)
def test_a_chat_models_message_is_the_reply(
    model: BaseChatModel, name: str, text: str, adapted: Adapted, put: Put
) -> None:
    judge = adapted(model)

    answer = put(judge)

    assert judge.name == name
    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == (text, "stop")
    assert [(attempt.kind, attempt.raw) for attempt in answer.attempts] == [("reply", text)]


def test_the_messages_keep_their_roles(adapted: Adapted, put: Put) -> None:
    model = ToolModel(requests=[])

    put(adapted(model))

    assert [(message.type, message.content) for message in model.requests[0]["messages"]] == [
        ("system", "Judge strictly."),
        ("human", "Is 2 + 2 = 4?"),
    ]


def test_a_contract_is_asked_for_as_structured_output(adapted: Adapted, put: Put, contract: Contract) -> None:
    model = ToolModel(requests=[])

    answer = put(adapted(model), contract=contract)

    assert isinstance(answer, Reply)
    assert answer.text == answer.attempts[-1].raw == json.dumps(VERDICT)
    (tool,) = model.requests[0]["tools"]
    assert tool["function"]["name"] == "judgment"
    assert list(tool["function"]["parameters"]["properties"]) == ["reasoning", "score"]


class ListContract:
    """A contract whose schema is no object, which tools cannot take."""

    name = "list"
    closed = False

    def instructions(self) -> str:
        return "Give a list."

    def schema(self) -> dict[str, Any]:
        return {"type": "array"}

    def accept(self, value: object) -> Accepted:
        return Accepted({"list": value})


def test_a_schema_that_is_no_object_is_asked_for_in_words(adapted: Adapted, put: Put) -> None:
    model = ToolModel(requests=[])

    put(adapted(model), contract=ListContract())

    assert ["tools" in request for request in model.requests] == [False]


class OwnFormModel(ToolModel):
    """Has structured output of its own making, whose result a test sets."""

    result: Any = None

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        return RunnableLambda(lambda messages: self.result)


class OwnVerdict(BaseModel):
    score: float


@pytest.mark.parametrize(
    ("result", "text", "finish"),
    [
        ({"raw": AIMessage(content=""), "parsed": {"score": 1}, "parsing_error": None}, '{"score": 1}', "stop"),
        ({"raw": AIMessage(content="no JSON"), "parsed": None, "parsing_error": ValueError("x")}, "no JSON", "stop"),
        (
            {"raw": AIMessage(content="", response_metadata={"finish_reason": "length"}), "parsed": None},
            "",
            "length",
        ),
        ({"score": 1}, '{"score": 1}', "stop"),
        (OwnVerdict(score=0.5), '{"score": 0.5}', "stop"),
    ],
)
def test_structured_output_is_read_from_the_message_or_from_what_was_made_of_it(
    result: Any, text: str, finish: str, adapted: Adapted, put: Put, contract: Contract
) -> None:
    answer = put(adapted(OwnFormModel(result=result)), contract=contract)

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == (text, finish)


@pytest.mark.parametrize(
    "model",
    [FakeListChatModel(responses=["{}"]), ToolModel().bind(stop=["."]), RunnableLambda(lambda messages: "{}")],
)
def test_a_model_without_structured_output_is_asked_in_words_without_a_failed_request(
    model: Any, adapted: Adapted, put: Put, contract: Contract
) -> None:
    judge = adapted(model)

    answers = [put(judge, contract=contract), put(judge, contract=contract)]

    assert [len(answer.attempts) for answer in answers] == [1, 1]
    assert all(isinstance(answer, Reply) for answer in answers)


@pytest.mark.parametrize(
    ("refusal", "message"),
    [
        (BadRequestError("this model does not support tools"), "HTTP 400: this model does not support tools"),
        (NotImplementedError("not here"), "NotImplementedError: not here"),
        (TypeError("unexpected keyword"), "TypeError: unexpected keyword"),
    ],
)
def test_a_model_that_turns_the_format_down_is_asked_in_words_from_then_on(
    refusal: Exception, message: str, adapted: Adapted, put: Put, contract: Contract
) -> None:
    model = ToolModel(requests=[], outcomes=[refusal])
    judge = adapted(model)

    first, second = put(judge, contract=contract), put(judge, contract=contract)

    assert isinstance(first, Reply)
    assert [attempt.error for attempt in first.attempts] == [f"format_refused: {message}", None]
    assert isinstance(second, Reply)
    assert ["tools" in request for request in model.requests] == [True, False, False]


def test_a_bad_request_for_another_reason_is_not_repeated(adapted: Adapted, put: Put, contract: Contract) -> None:
    model = ToolModel(requests=[], outcomes=[BadRequestError("the context is too long")])

    answer = put(adapted(model), contract=contract)

    assert isinstance(answer, Unanswered)
    assert answer.error == "bad_request: HTTP 400: the context is too long"
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("message", "text"),
    [
        (AIMessage(content=[{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Yes."}]), "Yes."),
        (AIMessage(content=["Y", {"type": "text", "text": "es."}]), "Yes."),
        (AIMessage(content="", tool_calls=[tool_call(name="judgment", args={"score": 1}, id="1")]), '{"score": 1}'),
        (
            AIMessage(content="", invalid_tool_calls=[invalid_tool_call(name="judgment", args='{"sco', id="1")]),
            '{"sco',
        ),
        (AIMessage(content=""), ""),
    ],
)
def test_the_text_is_found_in_parts_and_tool_calls(
    message: AIMessage, text: str, adapted: Adapted, put: Put, contract: Contract
) -> None:
    answer = put(adapted(ToolModel(outcomes=[message])), contract=contract)

    assert isinstance(answer, Reply)
    assert answer.text == answer.attempts[-1].raw == text


@pytest.mark.parametrize(
    ("metadata", "finish"),
    [
        ({"finish_reason": "stop"}, "stop"),
        ({"finish_reason": "length"}, "length"),
        ({"stop_reason": "max_tokens"}, "length"),
        ({"finish_reason": "MAX_TOKENS"}, "length"),
        ({"done_reason": "length"}, "length"),
        ({"stop_reason": "refusal"}, "refusal"),
        ({"finish_reason": "content_filter"}, "filtered"),
        ({"finish_reason": "SAFETY"}, "filtered"),
        ({"finish_reason": None, "stop_reason": "end_turn"}, "stop"),
    ],
)
def test_why_the_model_stopped_is_told(metadata: dict[str, Any], finish: str, adapted: Adapted, put: Put) -> None:
    message = AIMessage(content="cut", response_metadata=metadata)

    answer = put(adapted(ToolModel(outcomes=[message])))

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("cut", finish)


@pytest.mark.parametrize(
    "message",
    [
        AIMessage(content="", additional_kwargs={"refusal": "I will not."}),
        AIMessage(content=[{"type": "refusal", "refusal": "I will not."}]),
    ],
)
def test_a_refusal_beside_the_content_is_told(message: AIMessage, adapted: Adapted, put: Put) -> None:
    answer = put(adapted(ToolModel(outcomes=[message])))

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("I will not.", "refusal")


@pytest.mark.parametrize(
    ("raised", "text", "finish"),
    [
        (
            LengthFinishReasonError(
                completion=ChatCompletion.model_validate(
                    {
                        "id": "1",
                        "object": "chat.completion",
                        "created": 1,
                        "model": "m",
                        "choices": [
                            {
                                "index": 0,
                                "finish_reason": "length",
                                "message": {"role": "assistant", "content": '{"sco'},
                            }
                        ],
                    }
                )
            ),
            '{"sco',
            "length",
        ),
        (ContentFilterFinishReasonError(), "", "filtered"),
    ],
)
def test_a_cut_off_reply_that_openais_library_raises_is_a_reply(
    raised: Exception, text: str, finish: str, adapted: Adapted, put: Put, contract: Contract
) -> None:
    answer = put(adapted(ToolModel(outcomes=[raised])), contract=contract)

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == (text, finish)


def test_the_tokens_are_counted(adapted: Adapted, put: Put) -> None:
    message = AIMessage(
        content="Yes.",
        usage_metadata={
            "input_tokens": 11,
            "output_tokens": 7,
            "total_tokens": 18,
            "input_token_details": {"cache_read": 5},
        },
    )

    answer = put(adapted(ToolModel(outcomes=[message])))

    assert answer.attempts[-1].usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=5)


def test_a_reply_that_needs_more_room_gets_a_higher_token_limit(adapted: Adapted, put: Put, contract: Contract) -> None:
    model = ToolModel(requests=[], max_tokens=100)
    judge = adapted(model)

    put(judge, contract=contract)
    put(judge, contract=contract, room=4)
    put(judge, max_tokens=30, room=2)

    assert [request["max_tokens"] for request in model.requests] == [100, 400, 60]


def test_a_model_without_a_token_limit_keeps_none(adapted: Adapted, put: Put, contract: Contract) -> None:
    model = ToolModel(requests=[])

    put(adapted(model), contract=contract, room=4)

    assert model.requests[0]["max_tokens"] is None


def test_what_a_model_raises_is_a_failed_request_without_its_key(adapted: Adapted, put: Put) -> None:
    model = ToolModel(outcomes=[ValueError("the key sk-secret-123\nis wrong")])

    answer = put(adapted(model))

    assert isinstance(answer, Unanswered)
    assert answer.error == "model_error: ValueError: the key *** is wrong"
    assert [attempt.kind for attempt in answer.attempts] == ["transport"]


def test_a_long_message_is_cut_and_no_half_of_a_key_is_left(adapted: Adapted, put: Put) -> None:
    model = ToolModel(outcomes=[ValueError("x" * 490 + "sk-secret-123" + "y" * 100)])

    answer = put(adapted(model))

    assert isinstance(answer, Unanswered)
    assert answer.error == f"model_error: ValueError: {'x' * 490}***{'y' * 6}…"


def test_a_transport_fault_is_tried_again(adapted: Adapted, put: Put) -> None:
    model = ToolModel(requests=[], outcomes=[ConnectionError("gone"), TimeoutError("slow")])

    answer = put(adapted(model))

    assert isinstance(answer, Reply)
    assert [attempt.error for attempt in answer.attempts] == ["connection: gone", "timeout: slow", None]


def test_the_cause_of_a_wrapped_error_decides_whether_to_try_again(adapted: Adapted, put: Put) -> None:
    wrapped = ValueError("the model failed")
    wrapped.__cause__ = ConnectionError("gone")

    answer = put(adapted(ToolModel(outcomes=[wrapped])))

    assert isinstance(answer, Reply)
    assert answer.attempts[0].error == "connection: the model failed"


def test_an_exhausted_fake_model_is_a_failed_request(adapted: Adapted, put: Put) -> None:
    answer = put(adapted(GenericFakeChatModel(messages=iter([]))))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("model_error: RuntimeError")


def test_a_slow_model_is_not_waited_for_beyond_the_deadline(adapted: Adapted, put: Put) -> None:
    answer = put(adapted(SlowModel()), seconds=0.5)

    assert isinstance(answer, Unanswered)
    assert answer.error == "timeout: no reply before the deadline"


def test_a_hundred_asks_at_once_are_all_answered(adapted: Adapted, put_many: PutMany, contract: Contract) -> None:
    model = ToolModel(requests=[])

    answers = put_many(adapted(model), contract=contract)

    assert [answer.text for answer in answers if isinstance(answer, Reply)] == [json.dumps(VERDICT)] * 100
    assert len(model.requests) == 100


@pytest.mark.parametrize("model", [ToolModel(), FakeListChatModel(responses=[json.dumps(VERDICT)])])
def test_an_evaluator_takes_a_chat_model_as_judge(model: BaseChatModel) -> None:
    evaluator = PromptEvaluator(judge=model)

    evaluation = evaluator.evaluate(Case(question="2 + 2?", candidate_answer="4", expected_outcome="Says 4"))

    assert evaluation.error is None
    assert evaluation.verdict is Verdict.PASS


@pytest.mark.parametrize("key", ["model_name", "model"])
def test_the_model_that_a_message_says_it_is_of_is_kept(key: str, adapted: Adapted, put: Put) -> None:
    message = AIMessage(content="Yes.", response_metadata={key: "tooly-1-2026"})

    answer = put(adapted(ToolModel(outcomes=[message])))

    assert isinstance(answer, Reply)
    assert answer.attempts[-1].model == "tooly-1-2026"
