"""Real pydantic-ai models as judges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import RequestUsage

from evenhand.domain.ask import ModelClient
from evenhand.domain.case import Case
from evenhand.domain.contract import Contract
from evenhand.domain.evaluation import Usage
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.verdict import Verdict
from evenhand.evaluators.prompt import PromptEvaluator

Put = Callable[..., Reply | Unanswered]
PutMany = Callable[..., list[Reply | Unanswered]]
Adapted = Callable[..., ModelClient]

VERDICT = {"reasoning": "It is.", "score": 1.0}
KEY = "sk-test-0123456789"

TOOLS_ONLY = ModelProfile(supports_tools=True, supports_json_schema_output=False)
WORDS_ONLY = ModelProfile(supports_tools=False, supports_json_schema_output=False)


def saying(*outcomes: ModelResponse | Exception, **options: Any) -> tuple[FunctionModel, list[Any]]:
    """Make a model that says or raises these in turn, the last again and again, and the list of what it is asked."""
    left = list(outcomes)
    asked: list[Any] = []

    async def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append((messages, info))
        outcome = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    return FunctionModel(judge, **options), asked


def text(content: str, **rest: Any) -> ModelResponse:
    return ModelResponse(parts=[TextPart(content)], **rest)


def test_a_models_text_is_the_reply_and_its_tokens_are_counted(adapted: Adapted, put: Put) -> None:
    judge = adapted(TestModel(custom_output_text="Yes."))

    answer = put(judge)

    assert judge.name == "pydantic-ai/test"
    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("Yes.", "stop")
    assert [(attempt.kind, attempt.raw) for attempt in answer.attempts] == [("reply", "Yes.")]
    assert answer.attempts[0].usage is not None
    assert answer.attempts[0].usage.output_tokens > 0
    assert answer.attempts[0].model == "test"


def test_the_tokens_are_those_that_the_provider_counted(adapted: Adapted, put: Put) -> None:
    model, _ = saying(text("Yes.", usage=RequestUsage(input_tokens=11, output_tokens=7, cache_read_tokens=5)))

    answer = put(adapted(model))

    assert answer.attempts[-1].usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=5)


def test_the_messages_keep_their_roles(adapted: Adapted, put: Put) -> None:
    model, asked = saying(text("Yes."))
    conversation = [("system", "Judge."), ("user", "2 + 2 = 4?"), ("assistant", "Hm."), ("user", "Well?")]

    put(adapted(model), messages=tuple(Message(role, content) for role, content in conversation))

    turns = [[(type(part), part.content) for part in turn.parts] for turn in asked[0][0]]
    assert turns == [
        [(SystemPromptPart, "Judge."), (UserPromptPart, "2 + 2 = 4?")],
        [(TextPart, "Hm.")],
        [(UserPromptPart, "Well?")],
    ]


def test_native_structured_output_is_asked_for_where_the_model_has_it(
    adapted: Adapted, put: Put, contract: Contract
) -> None:
    model, asked = saying(text(json.dumps(VERDICT)))

    answer = put(adapted(model), contract=contract)

    assert isinstance(answer, Reply)
    assert answer.text == json.dumps(VERDICT)
    parameters = asked[0][1].model_request_parameters
    assert parameters.output_mode == "native"
    assert parameters.output_object.name == "judgment"
    assert parameters.output_object.json_schema == contract.schema()


@pytest.mark.parametrize("arguments", [VERDICT, json.dumps(VERDICT)])
def test_a_tool_call_is_asked_for_where_the_model_has_only_tools(
    arguments: Any, adapted: Adapted, put: Put, contract: Contract
) -> None:
    response = ModelResponse(parts=[TextPart("Let me see."), ToolCallPart("judgment", arguments)])
    model, asked = saying(response, profile=TOOLS_ONLY)

    answer = put(adapted(model), contract=contract)

    assert isinstance(answer, Reply)
    assert answer.text == answer.attempts[-1].raw == json.dumps(VERDICT)
    (tool,) = asked[0][1].output_tools
    assert tool.name == "judgment"
    assert tool.parameters_json_schema == contract.schema()
    assert not asked[0][1].allow_text_output


def test_a_model_with_neither_is_asked_in_words(adapted: Adapted, put: Put, contract: Contract) -> None:
    model, asked = saying(text("{}"), profile=WORDS_ONLY)

    answer = put(adapted(model), contract=contract)

    assert isinstance(answer, Reply)
    assert asked[0][1].model_request_parameters.output_mode == "text"
    assert len(answer.attempts) == 1


class EarlierProfile(SimpleNamespace):
    """A profile with attributes, as pydantic-ai 1 has it, which version 2 can still read."""

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


class EarlierModel(FunctionModel):
    @property
    def profile(self) -> Any:
        return EarlierProfile(supports_tools=False, supports_json_schema_output=True)


def test_a_profile_with_attributes_is_read_too(adapted: Adapted, put: Put, contract: Contract) -> None:
    modes: list[str] = []

    async def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        modes.append(info.model_request_parameters.output_mode)
        return text("{}")

    put(adapted(EarlierModel(judge)), contract=contract)

    assert modes == ["native"]


def test_a_test_model_with_arguments_of_its_own_gives_them(adapted: Adapted, put: Put, contract: Contract) -> None:
    answer = put(adapted(TestModel(custom_output_args=VERDICT)), contract=contract)

    assert isinstance(answer, Reply)
    assert json.loads(answer.text) == VERDICT


def test_a_model_that_turns_the_format_down_is_asked_in_words_from_then_on(
    adapted: Adapted, put: Put, contract: Contract
) -> None:
    judge = adapted(TestModel(custom_output_text=json.dumps(VERDICT)))

    first, second = put(judge, contract=contract), put(judge, contract=contract)

    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert first.text == second.text == json.dumps(VERDICT)
    assert [attempt.kind for attempt in first.attempts] == ["transport", "reply"]
    assert first.attempts[0].error is not None
    assert first.attempts[0].error.startswith("format_refused: ")
    assert [attempt.kind for attempt in second.attempts] == ["reply"]


@pytest.mark.parametrize(
    ("response", "said", "finish"),
    [
        (text("cut", finish_reason="length"), "cut", "length"),
        (text("cut", finish_reason="content_filter"), "cut", "filtered"),
        (text("Yes.", finish_reason="stop"), "Yes.", "stop"),
        (ModelResponse(parts=[], provider_details={"refusal": "I will not."}), "I will not.", "refusal"),
        (ModelResponse(parts=[ThinkingPart("hm"), TextPart("Y"), TextPart("es.")]), "Yes.", "stop"),
        (ModelResponse(parts=[]), "", "stop"),
    ],
)
def test_what_was_said_and_why_the_model_stopped_is_told(
    response: ModelResponse, said: str, finish: str, adapted: Adapted, put: Put
) -> None:
    model, _ = saying(response)

    answer = put(adapted(model))

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == (said, finish)


def test_a_reply_that_needs_more_room_gets_a_higher_token_limit(adapted: Adapted, put: Put) -> None:
    model, asked = saying(text("Yes."), settings={"max_tokens": 100})
    judge = adapted(model)

    put(judge)
    put(judge, room=4)
    put(judge, max_tokens=30, room=2)

    assert [info.model_settings["max_tokens"] for _, info in asked] == [100, 400, 60]


@pytest.mark.parametrize(
    ("raised", "error", "requests"),
    [
        (ValueError("no luck"), "model_error: ValueError: no luck", 1),
        (
            ModelHTTPError(status_code=429, model_name="m", body={"message": "slow down"}),
            "rate_limited: HTTP 429: slow down; gave up after 3 requests",
            3,
        ),
        (
            ModelHTTPError(status_code=401, model_name="m", body={"message": "who are you?"}),
            "unauthorized: HTTP 401: who are you?",
            1,
        ),
        (ConnectionError("gone"), "connection: gone; gave up after 3 requests", 3),
    ],
)
def test_a_failed_request_has_its_class_and_is_tried_again_only_where_that_may_help(
    raised: Exception, error: str, requests: int, adapted: Adapted, put: Put
) -> None:
    model, asked = saying(raised)

    answer = put(adapted(model, attempts=3))

    assert isinstance(answer, Unanswered)
    assert answer.error == error
    assert len(asked) == len(answer.attempts) == requests


class NoRetriesModel(FunctionModel):
    unsupported_settings = frozenset({"max_retries"})


@pytest.mark.parametrize(("kind", "sent"), [(FunctionModel, 0), (NoRetriesModel, None)])
def test_a_models_own_retries_are_switched_off_where_it_has_some(
    kind: type[FunctionModel], sent: int | None, adapted: Adapted, put: Put
) -> None:
    asked: list[AgentInfo] = []

    async def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(info)
        return text("Yes.")

    put(adapted(kind(judge)))

    assert [(info.model_settings or {}).get("max_retries") for info in asked] == [sent]


def test_a_slow_model_is_not_waited_for_beyond_the_deadline(adapted: Adapted, put: Put) -> None:
    async def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        await asyncio.sleep(60)
        return text("too late")

    answer = put(adapted(FunctionModel(judge)), seconds=0.5)

    assert isinstance(answer, Unanswered)
    assert answer.error == "timeout: no reply before the deadline"


def test_a_sync_function_model_will_do(adapted: Adapted, put: Put) -> None:
    def judge(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return text("sync")

    answer = put(adapted(FunctionModel(judge)))

    assert isinstance(answer, Reply)
    assert answer.text == "sync"


def test_a_hundred_asks_at_once_are_all_answered(adapted: Adapted, put_many: PutMany, contract: Contract) -> None:
    model, asked = saying(text("Yes."))

    answers = put_many(adapted(model), contract=contract)

    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["Yes."] * 100
    assert len(asked) == 100


@pytest.mark.parametrize("model", [TestModel(custom_output_args=VERDICT), saying(text(json.dumps(VERDICT)))[0]])
def test_an_evaluator_takes_a_model_as_judge(model: Any) -> None:
    evaluator = PromptEvaluator(judge=model)
    case = Case(question="2 + 2?", candidate_answer="4", expected_outcome="Says 4")

    evaluation = evaluator.evaluate(case)

    assert evaluation.error is None
    assert evaluation.verdict is Verdict.PASS


@pytest.fixture
def served(provider: Any, runner: asyncio.Runner, adapted: Adapted) -> Iterator[ModelClient]:
    """A model that really goes to a server, through OpenAI's library."""
    client = AsyncOpenAI(api_key=KEY, base_url=provider.url)
    yield adapted(OpenAIChatModel("gpt-4o", provider=OpenAIProvider(openai_client=client)), attempts=3)
    runner.run(client.close())


def test_a_served_models_reply_and_tokens_come_from_the_server(
    provider: Any, served: ModelClient, put: Put, contract: Contract
) -> None:
    provider.responses = [json.dumps(VERDICT)]

    answer = put(served, contract=contract)

    assert served.name == "pydantic-ai/gpt-4o"
    assert isinstance(answer, Reply)
    assert answer.text == json.dumps(VERDICT)
    assert answer.attempts[-1].usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=5)
    assert provider.requests[0]["response_format"]["json_schema"]["name"] == "judgment"


def test_requests_to_a_server_are_tried_again_by_us_alone(provider: Any, served: ModelClient, put: Put) -> None:
    provider.responses = [(500, {"error": {"message": f"broken for {KEY}"}}, {})]

    answer = put(served)

    assert isinstance(answer, Unanswered)
    assert answer.error == "server_error: HTTP 500: broken for ***; gave up after 3 requests"
    assert len(provider.requests) == 3


def test_a_server_that_is_not_there_is_a_connection_fault(provider: Any, served: ModelClient, put: Put) -> None:
    provider.close()

    answer = put(served)

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("connection: ")
    assert len(answer.attempts) == 3


def test_a_servers_refusal_is_told(provider: Any, served: ModelClient, put: Put) -> None:
    provider.responses = [(200, provider.completion(None, refusal="I will not."), {})]

    answer = put(served)

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("I will not.", "refusal")
