"""Values to plain JSON and back again, as the store and exports keep them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from evenhand.domain.case import Case, has_assistant
from evenhand.domain.context import context_to, retrieved_context
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
    fields = {name: value for name, value in zip(_PLAIN, _plain(case), strict=True) if value is not None}
    for name, messages in zip(_MESSAGES, _messages(case), strict=True):
        if messages:
            fields[name] = [message.as_dict() for message in messages_from(messages)]
    if case.items:
        fields["rubrics"] = [_rubric_to(item) for item in case.items]
    if case.metadata:
        fields["metadata"] = dict(case.metadata)
    if case.context is not None:
        fields["context"] = context_to(case.context)
    return fields


def case_from(fields: Mapping[str, Any]) -> Case:
    """Make a case from what ``case_to`` returned."""
    messages = {name: _stored_messages(fields[name]) for name in _MESSAGES if name in fields}
    expected = messages.get("expected_messages", ())
    if expected and "reference_answer" not in fields and not has_assistant(expected):
        # Of an earlier version, which took such messages and compared nothing with them; now they are refused.
        messages["expected_messages"] = ()
    return Case(**{**fields, **messages}) if messages else Case(**fields)


def _stored_messages(rows: Any) -> tuple[Message, ...]:
    """Take messages as they were stored: what is refused today may have been stored by an earlier version."""
    if not all(isinstance(row, Mapping) and _is_plain(row) for row in rows):
        return messages_from(rows)
    return tuple(
        Message(
            row["role"], row["content"], tuple((key, row[key]) for key in row if key not in {"role", "type", "content"})
        )
        for row in rows
    )


def _is_plain(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("role"), str) and isinstance(row.get("content"), str)


def _rubric_to(item: Rubric) -> dict[str, Any]:
    fields: dict[str, Any] = {"id": item.id, "description": item.description, "weight": item.weight}
    if item.banded:
        fields["score_ranges"] = [asdict(band) for band in item.score_ranges]
        if item.required_min_score is not None:
            fields["required_min_score"] = item.required_min_score
    fields["required"] = item.required
    return fields


def evaluation_from(row: Mapping[str, Any]) -> Evaluation:
    """Make an evaluation from what ``Evaluation.as_dict`` returned."""
    return Evaluation(
        evaluator=row["evaluator"],
        type=row["type"],
        status=Status(row["status"]),
        score=row["score"],
        score_raw=row.get("score_raw"),
        verdict=None if row["verdict"] is None else Verdict(row["verdict"]),
        hits=tuple(row.get("hits", ())),
        misses=tuple(row.get("misses", ())),
        reasoning=row.get("reasoning", ""),
        checks=tuple(Check(**check) for check in row.get("checks", ())),
        details=row.get("details", {}),
        error=row.get("error"),
        attempts=tuple(attempt_from(attempt) for attempt in row.get("attempts", ())),
        retry_count=row.get("retry_count", 0),
        evaluator_provider_request=row.get("evaluator_provider_request"),
        usage=usage_from(row.get("usage")),
        flags=tuple(row.get("flags", ())),
        label=row.get("label"),
    )


def attempt_from(row: Mapping[str, Any]) -> Attempt:
    """Make an attempt from what ``Attempt.as_dict`` returned."""
    return Attempt(
        kind=row["kind"],
        raw=row.get("raw"),
        error=row.get("error"),
        latency=row.get("latency", 0.0),
        usage=usage_from(row.get("usage")),
        cached=row.get("cached", False),
        dropped=row.get("dropped", 0),
        model=row.get("model"),
        cost=_cost_from(row.get("cost")),
        batch=row.get("batch", False),
        saved=saved_from(row.get("saved")),
    )


def saved_from(value: object) -> float | None:
    """Return what a provider's cache saved, in dollars; None for what is no amount."""
    return value if type(value) is float and math.isfinite(value) else None


def _cost_from(value: object) -> float | None:
    """Return dollars; None, which is unknown, for what is no amount."""
    return value if type(value) is float and 0 <= value < math.inf else None


def usage_from(value: object) -> Usage | None:
    """Make token counts from what ``usage_dict`` returned; None, which is unknown, for anything else."""
    if not isinstance(value, Mapping):
        return None
    names = ("input_tokens", "output_tokens", "cached_tokens", "cache_write_tokens")
    return token_usage(*map(value.get, names))


def answer_to(answer: MadeAnswer) -> dict[str, Any]:
    """Return a target's answer as plain JSON values, without what most targets do not tell."""
    told: dict[str, Any] = {} if answer.context is None else {"context": context_to(answer.context)}
    told |= {"metadata": dict(answer.metadata)} if answer.metadata else {}
    told |= {"more": dict(answer.more)} if answer.more else {}
    return told | {
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


def answer_from(row: Mapping[str, Any]) -> MadeAnswer:
    """Make a target's answer from what ``answer_to`` returned."""
    return MadeAnswer(
        text=row["text"],
        error=row.get("error"),
        attempts=tuple(attempt_from(attempt) for attempt in row.get("attempts", ())),
        latency=row.get("latency"),
        usage=usage_from(row.get("usage")),
        cost=row.get("cost"),
        messages=_stored_messages(row.get("messages", ())),
        sample=row.get("sample", 0),
        round=row.get("round", 0),
        context=None if row.get("context") is None else retrieved_context(row["context"]),
        metadata=row.get("metadata") or {},
        more=row.get("more") or {},
    )
