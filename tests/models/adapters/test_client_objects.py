"""Objects with ``chat.completions.create`` as judges: the object that was given is the one that is called."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock

import pytest
from openai import AsyncOpenAI, OpenAI

from evenhand import Case, GroupRankingEvaluator, PairwiseEvaluator, PromptEvaluator, create_llm_as_judge, resolve
from evenhand.domain.ask import ModelClient
from evenhand.domain.contract import Contract
from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Usage
from evenhand.domain.reply import Reply, TokenChoice, Unanswered

Put = Callable[..., Reply | Unanswered]
Adapted = Callable[..., ModelClient]

KEY = "sk-test-0123456789"
CASE = Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")


def client_around(create: Any, **attributes: Any) -> Any:
    return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)), **attributes)


def body(text: str) -> dict[str, Any]:
    return {"model": "gpt-test", "choices": [{"finish_reason": "stop", "message": {"content": text}}]}


class StatusError(Exception):
    """As libraries write theirs: the status is an attribute."""

    def __init__(self, status_code: int, message: str = "no", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.retry_after = retry_after


class Traced:
    """A wrapper that passes everything on and notes what is created, as tracing libraries do."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.noted: list[dict[str, Any]] = []
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=self._create))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def _create(self, **request: Any) -> Any:
        self.noted.append(request)
        return self._inner.chat.completions.create(**request)


@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_a_method_that_was_patched_on_the_client_is_the_one_that_is_called(
    kind: Any, adapted: Adapted, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = kind(api_key=KEY, base_url="http://127.0.0.1:9/v1")
    create = AsyncMock(return_value=body("Yes.")) if kind is AsyncOpenAI else Mock(return_value=body("Yes."))
    monkeypatch.setattr(client.chat.completions, "create", create)

    answer = put(adapted(client, model="gpt-4o"))

    assert isinstance(answer, Reply)
    assert answer.text == "Yes."
    assert create.call_args.kwargs["model"] == "gpt-4o"


@pytest.mark.slow
@pytest.mark.parametrize("kind", [OpenAI, AsyncOpenAI])
def test_a_wrapper_sees_every_request(
    kind: Any, provider: Any, adapted: Adapted, put: Put, runner: asyncio.Runner
) -> None:
    provider.responses = ["Yes."]
    client = kind(api_key=KEY, base_url=provider.url)
    traced = Traced(client)

    answer = put(adapted(traced, model="gpt-4o"))

    assert isinstance(answer, Reply)
    assert [request["model"] for request in traced.noted] == ["gpt-4o"]
    assert len(provider.requests) == 1
    if (closing := client.close()) is not None:
        runner.run(closing)


@pytest.mark.parametrize("kind", [Mock, MagicMock, AsyncMock])
def test_a_mock_is_asked_as_a_client(kind: Any, adapted: Adapted, put: Put) -> None:
    client = kind()
    client.chat.completions.create.return_value = Mock(choices=[Mock(message=Mock(content="Yes."))])

    answer = put(adapted(client, model="gpt-4o"))

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish, answer.attempts[-1].usage) == ("Yes.", "stop", None)


def namespace(value: Any) -> Any:
    """Make objects of mappings, all the way down."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: namespace(inner) for name, inner in value.items()})
    return [namespace(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("form", [dict, namespace])
def test_a_response_may_be_a_mapping_or_any_object(form: Callable[[Any], Any], adapted: Adapted, put: Put) -> None:
    top = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": -2.5}]
    response = {
        "choices": [
            {
                "finish_reason": "length",
                "message": {"content": [{"type": "text", "text": "Yes"}], "refusal": None},
                "logprobs": {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]},
            }
        ],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 5}},
    }

    answer = put(adapted(client_around(lambda **_: form(response)), model="m"), top_logprobs=2)

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("Yes", "length")
    assert answer.attempts[-1].usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=5)
    assert answer.first_token == (TokenChoice(token="Yes", logprob=-0.1), TokenChoice(token="No", logprob=-2.5))


def test_a_refusal_in_an_object_is_a_refusal(adapted: Adapted, put: Put) -> None:
    response = namespace({"choices": [{"finish_reason": "stop", "message": {"content": None, "refusal": "No."}}]})

    answer = put(adapted(client_around(lambda **_: response), model="m"))

    assert isinstance(answer, Reply)
    assert (answer.text, answer.finish) == ("No.", "refusal")


def test_a_sync_client_is_called_off_the_event_loop(adapted: Adapted, put: Put) -> None:
    threads: list[threading.Thread] = []

    def create(**_: Any) -> dict[str, Any]:
        threads.append(threading.current_thread())
        return body("Yes.")

    put(adapted(client_around(create), model="m"))

    assert threads[0] is not threading.current_thread()


@pytest.mark.parametrize(
    ("status", "error_class", "calls"),
    [(429, "rate_limited", 3), (503, "overloaded", 3), (401, "unauthorized", 1), (400, "bad_request", 1)],
)
def test_failures_are_told_apart_by_the_status_and_tried_again_by_us(
    status: int, error_class: str, calls: int, adapted: Adapted, put: Put
) -> None:
    create = Mock(side_effect=StatusError(status))

    answer = put(adapted(client_around(create), model="m", attempts=3))

    assert isinstance(answer, Unanswered)
    assert answer.error.startswith(f"{error_class}: HTTP {status}: no")
    assert create.call_count == len(answer.attempts) == calls


def test_a_timeout_is_one_and_is_tried_again(adapted: Adapted, put: Put) -> None:
    create = AsyncMock(side_effect=[TimeoutError("slow"), body("Yes.")])

    answer = put(adapted(client_around(create), model="m"))

    assert isinstance(answer, Reply)
    assert [attempt.error for attempt in answer.attempts] == ["timeout: slow", None]


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (StatusError(429), "rate_limited: HTTP 429: no"),
        (TimeoutError("slow"), "timeout: slow"),
        (ConnectionError("gone"), "connection: gone"),
    ],
)
def test_a_client_that_retries_by_itself_is_the_only_one_that_does(
    error: Exception, message: str, adapted: Adapted, put: Put
) -> None:
    create = Mock(side_effect=error)

    answer = put(adapted(client_around(create, max_retries=2), model="m", attempts=5))

    assert isinstance(answer, Unanswered)
    assert answer.error == f"{message}; the client retries by itself (max_retries=2)"
    assert create.call_count == len(answer.attempts) == 1


def test_the_wait_that_the_server_asks_for_is_kept_of_a_client_that_retries_by_itself(
    adapted: Adapted, put: Put
) -> None:
    create = Mock(side_effect=StatusError(429, retry_after=7.0))

    answer = put(adapted(client_around(create, max_retries=2), model="m"))

    assert isinstance(answer, Unanswered)
    assert answer.retry_after == 7.0


def test_what_the_client_takes_for_a_success_is_tried_again_by_us(adapted: Adapted, put: Put) -> None:
    create = Mock(side_effect=[{"detail": "hello"}, body("Yes.")])

    answer = put(adapted(client_around(create, max_retries=2), model="m"))

    assert isinstance(answer, Reply)
    assert create.call_count == 2


def test_a_client_that_takes_no_response_format_and_no_timeout_is_asked_without(
    adapted: Adapted, put: Put, contract: Contract
) -> None:
    requests: list[tuple[str, int]] = []

    def create(model: str, messages: list[Any]) -> dict[str, Any]:
        requests.append((model, len(messages)))
        return body('{"reasoning": "", "score": 1}')

    answer = put(adapted(client_around(create), model="m"), contract=contract, seconds=60)

    assert isinstance(answer, Reply)
    assert len(answer.attempts) == 1
    assert requests == [("m", 2)]


def test_a_client_that_turns_out_to_take_no_response_format_is_asked_without_from_then_on(
    adapted: Adapted, put: Put, contract: Contract
) -> None:
    def inner(*, model: str, messages: list[Any]) -> dict[str, Any]:
        return body(f'{{"reasoning": "{model} {len(messages)}", "score": 1}}')

    create = Mock(side_effect=inner)
    judge = adapted(client_around(create), model="m")

    first, second = put(judge, contract=contract), put(judge, contract=contract)

    assert isinstance(first, Reply)
    assert isinstance(second, Reply)
    assert ["response_format" in call.kwargs for call in create.call_args_list] == [True, False, False]


def test_a_setting_that_a_client_does_not_take_is_not_left_out_in_silence(adapted: Adapted, put: Put) -> None:
    def create(model: str, messages: list[Any]) -> dict[str, Any]:
        return body(f"{model} {len(messages)}")

    answer = put(adapted(client_around(create), model="m"), max_tokens=9)

    assert isinstance(answer, Unanswered)
    assert "max_tokens" in answer.error


@pytest.mark.parametrize(
    ("client", "name"),
    [
        (client_around(Mock()), "client/gpt-4o"),
        (Mock(), "client/gpt-4o"),
        (Traced(client_around(Mock())), "tests/gpt-4o"),
        (client_around(Mock(), base_url="https://api.openai.com/v1"), "openai/gpt-4o"),
    ],
)
def test_a_judge_is_named_by_its_library_and_model(client: Any, name: str) -> None:
    assert resolve(client, model="gpt-4o").name == name


@pytest.mark.parametrize("model", [None, ""])
def test_a_client_of_any_kind_without_a_model_is_refused(model: str | None) -> None:
    with pytest.raises(ConfigError, match=r"the judge is a SimpleNamespace client.*model='gpt-4o-mini'"):
        resolve(client_around(Mock()), model=model)


JUDGMENT = '{"score": 1, "hits": [], "misses": [], "reasoning": "Right."}'


def test_a_prompt_evaluator_takes_a_client_and_the_name_of_its_model() -> None:
    create = Mock(return_value=body(JUDGMENT))
    evaluator = PromptEvaluator(judge=client_around(create), model="gpt-4o-mini")

    evaluation = evaluator.evaluate(CASE)

    assert evaluation.score == 1.0
    assert create.call_args.kwargs["model"] == "gpt-4o-mini"


@pytest.mark.parametrize(
    "make",
    [
        PromptEvaluator,
        PairwiseEvaluator,
        lambda **options: GroupRankingEvaluator(criteria="Experience", **options),
        lambda **options: create_llm_as_judge(prompt="Rate: {outputs}", **options),
    ],
)
def test_a_client_without_a_model_is_refused_with_what_to_write(make: Callable[..., Any]) -> None:
    make(judge=client_around(Mock()), model="gpt-4o-mini")

    with pytest.raises(ConfigError, match=r"which asks any model; name one: model='gpt-4o-mini'"):
        make(judge=client_around(Mock()))


def test_a_model_alone_names_the_judge_of_a_prompt_evaluator() -> None:
    assert PromptEvaluator(model="ollama/qwen2.5:7b").client.name == "ollama/qwen2.5:7b"


def test_a_model_beside_a_judge_that_knows_its_own_is_refused() -> None:
    with pytest.raises(ConfigError, match="give one of them"):
        PromptEvaluator(judge="ollama/qwen2.5:7b", model="gpt-4o")
