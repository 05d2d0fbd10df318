"""The clients of the real OpenAI library as judges, against a server on the loopback interface."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI, Timeout

from evenhand.domain.ask import Ask, ModelClient
from evenhand.domain.contract import Contract
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Usage
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.models.adapters.adapt import adapt

# Many, and together they take a while.
pytestmark = pytest.mark.slow

Put = Callable[..., Reply | Unanswered]
PutMany = Callable[..., list[Reply | Unanswered]]
Adapted = Callable[..., ModelClient]

KEY = "sk-test-0123456789"
KINDS = [OpenAI, AsyncOpenAI]


@pytest.fixture
def client(provider: Any, runner: asyncio.Runner) -> Iterator[Callable[[Any], Any]]:
    """Make a client of a kind, which leaves retries to us unless told otherwise, and is closed after the test."""
    made: list[Any] = []

    def make(kind: Any, max_retries: int = 0) -> Any:
        where = {"azure_endpoint": provider.url, "api_version": "2024-10-21"} if "Azure" in kind.__name__ else {}
        made.append(kind(api_key=KEY, max_retries=max_retries, **(where or {"base_url": provider.url})))
        return made[-1]

    yield make

    for one in made:
        closing = one.close()
        if closing is not None:
            runner.run(closing)


def error(status: int, message: str, *, code: str | None = None, **headers: str) -> tuple[int, object, dict[str, str]]:
    return status, {"error": {"message": message, "code": code, "type": "invalid_request_error"}}, headers


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (OpenAI, "openai/gpt-4o"),
        (AsyncOpenAI, "openai/gpt-4o"),
        (AzureOpenAI, "azure/gpt-4o"),
        (AsyncAzureOpenAI, "azure/gpt-4o"),
    ],
)
def test_a_client_asks_the_named_model_and_its_reply_has_its_usage(
    kind: Any, name: str, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = ["Yes."]
    judge = adapted(client(kind), model="gpt-4o")

    answer = put(judge)

    assert judge.name == name
    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("Yes.", "stop")
    assert answer.attempts[-1].raw == "Yes."
    assert answer.attempts[-1].model == "gpt-test"
    assert answer.attempts[-1].usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=5)
    assert answer.attempts[-1].latency > 0
    assert provider.requests == [
        {
            "model": "gpt-4o",
            "messages": [
                {"role": "system", "content": "Judge strictly."},
                {"role": "user", "content": "Is 2 + 2 = 4?"},
            ],
        }
    ]


class OwnClient(OpenAI):
    """As a user may derive one."""


def test_a_client_that_a_user_derived_is_known_by_its_library(
    provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = ["Yes."]
    judge = adapted(client(OwnClient), model="gpt-4o")

    answer = put(judge)

    assert judge.name == "openai/gpt-4o"
    assert isinstance(answer, Reply)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", [None, ""])
def test_a_client_without_a_model_is_refused_before_anything_is_sent(
    kind: Any, model: str | None, provider: Any, client: Any
) -> None:
    given = client(kind)

    with pytest.raises(ConfigError, match=rf"the judge is an {kind.__name__} client.*model='gpt-4o-mini'"):
        adapt(given, model=model)

    assert provider.requests == []


@pytest.mark.parametrize(
    ("base_url", "model", "name"),
    [
        ("https://api.openai.com/v1", "openai:gpt-4o", "openai/gpt-4o"),
        ("https://api.openai.com/v1", "openai/gpt-4o", "openai/gpt-4o"),
        # Elsewhere, a slash may be part of the model's own name.
        ("https://openrouter.ai/api/v1", "openai/gpt-4o", "openai/openai/gpt-4o"),
    ],
)
def test_the_provider_before_the_models_name_is_left_out_where_it_is_openai(
    base_url: str, model: str, name: str
) -> None:
    with OpenAI(api_key=KEY, base_url=base_url) as client:
        judge = adapt(client, model=model)

    assert judge is not None
    assert judge.name == name


@pytest.mark.parametrize("kind", KINDS)
def test_a_contract_is_sent_as_a_strict_schema(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put, contract: Contract
) -> None:
    provider.responses = ['{"reasoning": "", "score": 1}']

    put(adapted(client(kind), model="gpt-4o"), contract=contract, max_tokens=50, room=2)

    (request,) = provider.requests
    assert request["max_tokens"] == 100
    assert request["response_format"]["type"] == "json_schema"
    assert request["response_format"]["json_schema"]["name"] == "judgment"
    assert request["response_format"]["json_schema"]["strict"] is True
    assert request["response_format"]["json_schema"]["schema"]["required"] == ["reasoning", "score"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_refuses_the_format_is_asked_without_it_from_then_on(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put, contract: Contract
) -> None:
    provider.responses = [error(400, "response_format is not supported"), '{"score": 1}']
    judge = adapted(client(kind), model="old")

    first, second = put(judge, contract=contract), put(judge, contract=contract)

    assert isinstance(first, Reply)
    assert [attempt.error for attempt in first.attempts] == [
        "format_refused: HTTP 400: response_format is not supported",
        None,
    ]
    assert isinstance(second, Reply)
    assert ["response_format" in request for request in provider.requests] == [True, False, False]


def test_a_model_that_calls_its_token_limit_otherwise_is_asked_by_that_name(
    provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = [error(400, "Unsupported parameter: 'max_tokens' is not supported with this model."), "Yes."]

    answer = put(adapted(client(OpenAI), model="reasoner"), max_tokens=9)

    assert isinstance(answer, Reply)
    assert [request.get("max_completion_tokens") for request in provider.requests] == [None, 9]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("status", "code", "error_class", "requests"),
    [
        (429, None, "rate_limited", 3),
        (500, None, "server_error", 3),
        (503, None, "overloaded", 3),
        (429, "insufficient_quota", "quota", 1),
        (400, None, "bad_request", 1),
        (401, None, "unauthorized", 1),
        (404, None, "not_found", 1),
    ],
)
def test_a_client_without_retries_is_asked_again_by_us_and_only_where_that_may_help(
    kind: Any, status: int, code: str, error_class: str, requests: int,
    provider: Any, client: Any, adapted: Adapted, put: Put,
) -> None:  # fmt: skip
    provider.responses = [error(status, "no", code=code)]

    answer = put(adapted(client(kind), model="gpt-4o", attempts=3))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(f"{error_class}: HTTP {status}: no")
    assert len(provider.requests) == len(answer.attempts) == requests


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_with_retries_of_its_own_makes_them_and_nobody_else(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = [error(429, "later", **{"Retry-After": "0.01"})]

    answer = put(adapted(client(kind, max_retries=2), model="gpt-4o", attempts=5))

    assert isinstance(answer, Unanswered)
    assert answer.error == "rate_limited: HTTP 429: later; the client retries by itself (max_retries=2)"
    assert (len(provider.requests), len(answer.attempts)) == (3, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_with_retries_of_its_own_is_asked_in_another_form_where_the_server_refuses_the_first(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put, contract: Contract
) -> None:
    provider.responses = [error(400, "response_format is not supported"), '{"score": 1}']

    answer = put(adapted(client(kind, max_retries=2), model="old"), contract=contract)

    assert isinstance(answer, Reply)
    assert ["response_format" in request for request in provider.requests] == [True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_recovers_is_asked_until_it_does(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = [error(429, "later", **{"Retry-After": "0.01"}), error(500, "oops"), "Yes."]

    answer = put(adapted(client(kind), model="gpt-4o"))

    assert isinstance(answer, Reply)
    assert [attempt.kind for attempt in answer.attempts] == ["transport", "transport", "reply"]
    assert len(provider.requests) == 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_is_not_there_is_a_connection_fault(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    judge = adapted(client(kind), model="gpt-4o", attempts=2)
    provider.close()

    answer = put(judge)

    assert isinstance(answer, Unanswered)
    assert answer.error == "connection: Connection error.; gave up after 2 requests"


@pytest.mark.parametrize("kind", KINDS)
def test_the_clients_key_is_in_no_error(kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put) -> None:
    provider.responses = [error(401, f"Incorrect API key provided: {KEY}.")]

    answer = put(adapted(client(kind), model="gpt-4o"))

    assert isinstance(answer, Unanswered)
    assert answer.error == "unauthorized: HTTP 401: Incorrect API key provided: ***."
    assert KEY not in repr(answer)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("finish_reason", "message", "text", "finish"),
    [
        ("length", {}, "cut", "length"),
        ("content_filter", {}, "cut", "filtered"),
        ("stop", {"refusal": "I will not."}, "I will not.", "refusal"),
    ],
)
def test_why_the_model_stopped_is_told(
    kind: Any, finish_reason: str, message: dict[str, Any], text: str, finish: str,
    provider: Any, client: Any, adapted: Adapted, put: Put,
) -> None:  # fmt: skip
    provider.responses = [(200, provider.completion("cut", finish_reason=finish_reason, **message), {})]

    answer = put(adapted(client(kind), model="gpt-4o"))

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == (text, finish)


def test_log_probabilities_are_asked_for_and_read(provider: Any, client: Any, adapted: Adapted, put: Put) -> None:
    body = provider.completion("Yes")
    top = [{"token": "Yes", "logprob": -0.1, "bytes": None}, {"token": "No", "logprob": -2.5, "bytes": None}]
    body["choices"][0]["logprobs"] = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]}
    provider.responses = [(200, body, {})]

    answer = put(adapted(client(OpenAI), model="gpt-4o"), top_logprobs=2, max_tokens=1)

    assert isinstance(answer, Reply)
    assert answer.first_token == (TokenChoice(token="Yes", logprob=-0.1), TokenChoice(token="No", logprob=-2.5))
    assert provider.requests[0]["top_logprobs"] == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("body", "error_class"),
    [
        ({"error": {"message": "upstream broke", "code": 502}}, "server_error"),
        ({"detail": "hello"}, "invalid_body"),
        ("<html>Welcome</html>", "invalid_body"),
    ],
)
def test_a_success_without_a_reply_in_it_is_a_failed_request(
    kind: Any, body: object, error_class: str, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = [(200, body, {})]

    answer = put(adapted(client(kind), model="gpt-4o", attempts=2))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(f"{error_class}: ")


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_server_is_not_waited_for_beyond_the_deadline(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = ["too late"]
    provider.seconds = 60.0

    answer = put(adapted(client(kind), model="gpt-4o"), seconds=1.0)

    provider.wait_for(1)
    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("timeout: ")
    assert len(provider.requests) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [0.5, Timeout(60.0, read=0.5)])
def test_a_clients_own_shorter_time_limit_holds(
    limit: Any, kind: Any, provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = ["too late"]
    provider.seconds = 60.0

    answer = put(adapted(client(kind).with_options(timeout=limit), model="gpt-4o", attempts=2), seconds=60)

    provider.wait_for(2)
    assert isinstance(answer, Unanswered)
    assert answer.error == "timeout: Request timed out.; gave up after 2 requests"
    assert len(provider.requests) == 2


def test_a_client_without_a_time_limit_gets_that_of_the_deadline(
    provider: Any, client: Any, adapted: Adapted, put: Put
) -> None:
    provider.responses = ["too late"]
    provider.seconds = 60.0

    answer = put(adapted(client(OpenAI).with_options(timeout=None), model="gpt-4o"), seconds=1.0)

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith("timeout: ")


# The library leaves the connections of a loop that has ended to the garbage collector.
@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_client_serves_one_event_loop_after_the_other(kind: Any, provider: Any, adapted: Adapted) -> None:
    provider.responses = ["Yes."]
    judge = adapted(kind(api_key=KEY, base_url=provider.url), model="gpt-4o")
    question = Ask(messages=(Message("user", "Well?"),), judge=judge)

    answers = [asyncio.run(judge.ask(question)) for _ in range(3)]

    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["Yes."] * 3
    del judge, question
    gc.collect()


@pytest.mark.parametrize("kind", KINDS)
def test_a_hundred_asks_at_once_are_a_hundred_requests(
    kind: Any, provider: Any, client: Any, adapted: Adapted, put_many: PutMany
) -> None:
    provider.responses = ["Yes."]

    answers = put_many(adapted(client(kind), model="gpt-4o"))

    assert [answer.text for answer in answers if isinstance(answer, Reply)] == ["Yes."] * 100
    assert len(provider.requests) == 100
