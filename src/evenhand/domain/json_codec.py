"""Values to plain JSON and back again, as the store and exports keep them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Check, Evaluation, Status, Usage, token_usage, usage_dict
from evenhand.domain.message import Message, messages_from
from evenhand.domain.rubric import Rubric
from evenhand.domain.run import MadeAnswer
from evenhand.domain.verdict import Verdict

_PLAIN = (
    "id", "question", "candidate_answer", "reference_answer", "expected_outcome", "cluster", "evaluation_schema",
    "latency", "cost",
)  # fmt: skip
_MESSAGES = ("input_messages", "output_messages", "expected_messages")
_plain, _messages = attrgetter(*_PLAIN), attrgetter(*_MESSAGES)


def case_to(case: Case) -> dict[str, Any]:
    """Return a case as plain JSON values, without what it does not have."""
    known = {name: value for name, value in zip(_PLAIN, _plain(case), strict=True) if value is not None}
    for name, messages in zip(_MESSAGES, _messages(case), strict=True):
        if messages:
            known[name] = [message.as_dict() for message in messages_from(messages)]
    if case.items:
        known["rubrics"] = [_rubric_to(item) for item in case.items]
    if case.metadata:
        known["metadata"] = dict(case.metadata)
    return known


def case_from(given: Mapping[str, Any]) -> Case:
    """Make a case from what ``case_to`` gave."""
    return Case(**given)


def _rubric_to(item: Rubric) -> dict[str, Any]:
    known: dict[str, Any] = {"id": item.id, "description": item.description, "weight": item.weight}
    if item.banded:
        known["score_ranges"] = [asdict(band) for band in item.score_ranges]
        if item.required_min_score is not None:
            known["required_min_score"] = item.required_min_score
    known["required"] = item.required
    return known


def evaluation_from(given: Mapping[str, Any]) -> Evaluation:
    """Make an evaluation from what ``Evaluation.as_dict`` gave."""
    return Evaluation(
        evaluator=given["evaluator"],
        type=given["type"],
        status=Status(given["status"]),
        score=given["score"],
        score_raw=given.get("score_raw"),
        verdict=None if given["verdict"] is None else Verdict(given["verdict"]),
        hits=tuple(given.get("hits", ())),
        misses=tuple(given.get("misses", ())),
        reasoning=given.get("reasoning", ""),
        checks=tuple(Check(**check) for check in given.get("checks", ())),
        details=given.get("details", {}),
        error=given.get("error"),
        attempts=tuple(attempt_from(attempt) for attempt in given.get("attempts", ())),
        retry_count=given.get("retry_count", 0),
        evaluator_provider_request=given.get("evaluator_provider_request"),
        usage=usage_from(given.get("usage")),
        flags=tuple(given.get("flags", ())),
    )


def attempt_from(given: Mapping[str, Any]) -> Attempt:
    """Make an attempt from what ``Attempt.as_dict`` gave."""
    return Attempt(
        kind=given["kind"],
        raw=given.get("raw"),
        error=given.get("error"),
        latency=given.get("latency", 0.0),
        usage=usage_from(given.get("usage")),
        cached=given.get("cached", False),
        dropped=given.get("dropped", 0),
    )


def usage_from(given: object) -> Usage | None:
    """Make token counts from what ``usage_dict`` gave; None, which is unknown, where somebody else wrote there."""
    if not isinstance(given, Mapping):
        return None
    return token_usage(given.get("input_tokens"), given.get("output_tokens"), given.get("cached_tokens"))


def answer_to(answer: MadeAnswer) -> dict[str, Any]:
    """Return a target's answer as plain JSON values."""
    return {
        "text": answer.text,
        "error": answer.error,
        "attempts": [attempt.as_dict() for attempt in answer.attempts],
        "latency": answer.latency,
        "usage": usage_dict(answer.usage),
        "cost": answer.cost,
        "messages": [message.as_dict() for message in answer.messages],
        "sample": answer.sample,
        "round": answer.round,
    }


def answer_from(given: Mapping[str, Any]) -> MadeAnswer:
    """Make a target's answer from what ``answer_to`` gave."""
    messages: tuple[Message, ...] = messages_from(given.get("messages", ()))
    return MadeAnswer(
        text=given["text"],
        error=given.get("error"),
        attempts=tuple(attempt_from(attempt) for attempt in given.get("attempts", ())),
        latency=given.get("latency"),
        usage=usage_from(given.get("usage")),
        cost=given.get("cost"),
        messages=messages,
        sample=given.get("sample", 0),
        round=given.get("round", 0),
    )
