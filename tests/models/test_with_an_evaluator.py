"""An evaluator and a model together: what the server saw is what the evaluation records, request by request."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Status
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models import exchange  # noqa: F401 - loading the HTTP library takes longer than a deadline here

Serve = Callable[..., Any]

CASE = Case(question="Capital of France?", candidate_answer="Paris", expected_outcome="Names Paris")
VERDICT = '{"reasoning": "Right.", "score": 0.9, "hits": ["names the city"], "misses": []}'

FAULTS: dict[str, dict[str, Any]] = {
    "rate_limited": {"status": 429, "json": {"error": {"message": "slow down"}}},
    "server_error": {"status": 500, "json": {"error": {"message": "boom"}}},
    "overloaded": {"status": 529, "json": {"error": {"message": "busy"}}},
    "connection": {"raw": b"", "then": "reset"},
    "incomplete_body": {"body": b'{"cho', "declared_length": 900, "then": "close"},
    "error_body": {"json": {"error": {"message": "out of memory"}}},
    "invalid_body": {"body": b"<html>"},
}
UNUSABLE = ["", "no JSON at all", '{"score": "high"}', '{"score": 0.9']


def test_requests_never_exceed_the_product_of_both_limits(serve: Serve, language: Any) -> None:
    def four_faults_then_nonsense(_: Any) -> dict[str, Any]:
        return FAULTS["server_error"] if len(server.requests) % 5 else dict(language.reply("nonsense"))

    server = serve(four_faults_then_nonsense)

    evaluation = PromptEvaluator(judge=language.model(server), max_attempts=3).evaluate(CASE)

    assert evaluation.status is Status.ERROR
    assert len(server.requests) == 15
    assert [one.kind for one in evaluation.attempts] == [*["transport"] * 4, "reply"] * 3
    assert evaluation.retry_count == 2


def test_a_server_that_never_answers_is_asked_as_often_as_one_reply_allows(serve: Serve, language: Any) -> None:
    server = serve(FAULTS["overloaded"])

    evaluation = PromptEvaluator(judge=language.model(server), max_attempts=3).evaluate(CASE)

    assert evaluation.status is Status.ERROR
    assert evaluation.error == "overloaded: HTTP 529: busy; gave up after 5 requests"
    assert len(evaluation.attempts) == len(server.requests) == 5


@pytest.mark.slow
def test_a_server_that_hangs_takes_no_more_than_the_time_of_the_case(serve: Serve, openai: Any) -> None:
    server = serve(openai.reply(VERDICT, wait=30))
    model = openai.model(server)
    began = time.monotonic()

    evaluation = PromptEvaluator(judge=model).evaluate(CASE, timeout=0.5)

    assert model.keeps_deadlines
    assert time.monotonic() - began < 29  # far less, but the machine may be busy; else it would be 30
    assert str(evaluation.error).startswith("timeout: no whole response within 0.")
    assert len(evaluation.attempts) == 1


@pytest.mark.parametrize("seed", range(15))
def test_every_request_is_recorded_as_what_it_was(serve: Serve, language: Any, seed: int) -> None:
    dice = random.Random(seed)
    log: list[str] = []

    def whatever(_: Any) -> dict[str, Any]:
        name = dice.choice([*FAULTS, "unusable", "unusable", "verdict"])
        log.append(name)
        if name == "verdict":
            return dict(language.reply(VERDICT))
        return dict(language.reply(dice.choice(UNUSABLE))) if name == "unusable" else FAULTS[name]

    server = serve(whatever)

    evaluation = PromptEvaluator(judge=language.model(server), max_attempts=3).evaluate(CASE)

    recorded = [_as_logged(one.kind, one.error) for one in evaluation.attempts]
    assert recorded == log
    assert len(server.requests) == len(log) <= 15
    assert (evaluation.status is Status.SCORED) is (log[-1] == "verdict")
    assert evaluation.score == (0.9 if log[-1] == "verdict" else 0.0)


def _as_logged(kind: str, error: str | None) -> str:
    if kind == "transport":
        return str(error).split(":")[0]
    return "verdict" if error is None else "unusable"


def test_the_record_of_an_evaluation_has_no_key(serve: Serve, language: Any, key: str) -> None:
    server = serve(
        {"status": 429, "json": {"error": {"message": f"too fast, {key}"}}},
        language.reply("?"),
        language.reply(VERDICT),
    )
    evaluator = PromptEvaluator(judge=language.model(server))

    evaluation = evaluator.evaluate(CASE)

    assert evaluation.status is Status.SCORED
    assert "too fast, ***" in str(evaluation.attempts[0].error)
    said = json.dumps(evaluation.as_dict()) + repr(evaluation) + repr(evaluator)
    assert key not in said
    assert evaluation.evaluator_provider_request is not None


def test_a_reply_that_was_cut_off_is_asked_for_with_more_room(serve: Serve, openai: Any) -> None:
    cut = openai.envelope('{"reasoning": "Ri')
    cut["choices"][0]["finish_reason"] = "length"
    server = serve({"json": cut}, {"json": cut}, openai.reply(VERDICT))

    evaluation = PromptEvaluator(judge=openai.model(server, max_tokens=100)).evaluate(CASE)

    assert evaluation.status is Status.SCORED
    assert [request.json["max_tokens"] for request in server.requests] == [100, 200, 400]
