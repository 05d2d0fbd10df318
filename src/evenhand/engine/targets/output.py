"""What a program or a function returns: the answer alone, or an object with the answer and what it took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.message import Message, messages_from, plain_data
from evenhand.domain.scale import is_finite_number

# The answer goes by any of these names, and one of them only.
ANSWERS: Final = ("answer", "candidate_answer", "output")


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutput:
    """An answer, the whole conversation where there is one, and seconds and dollars that it took, where known."""

    text: str
    messages: tuple[Message, ...] = ()
    latency: float | None = None
    cost: float | None = None


def read_output(value: object) -> TargetOutput:
    """Read text, or an object such as ``{"answer": "Paris", "cost": 0.01}``; raises ``ContractError``.

    >>> read_output({"answer": {"city": "Paris"}, "latency": 0.5})
    TargetOutput(text='{"city": "Paris"}', messages=(), latency=0.5, cost=None)

    An answer that is no text is taken as JSON, and blocks of text as their text. Other keys are ignored.
    """
    if isinstance(value, str):
        return TargetOutput(text=storable(value))
    if not isinstance(value, Mapping):
        raise ContractError(f"an answer is text, or an object with 'answer'; this is {type(value).__name__}")
    keys = [name for name in ANSWERS if value.get(name) is not None]
    if len(keys) != 1:
        problem = f"it has {' and '.join(keys)}" if keys else "it has none of them"
        raise ContractError(f"the object must have one of {', '.join(ANSWERS)}; {problem}")
    return TargetOutput(
        text=storable(_text(value[keys[0]])),
        messages=_messages(value.get("output_messages")),
        latency=_amount(value, "latency"),
        cost=_amount(value, "cost"),
    )


def _text(answer: object) -> str:
    if isinstance(answer, str):
        return answer
    try:
        data = plain_data(answer)
        return data if isinstance(data, str) else json.dumps(data, ensure_ascii=False, allow_nan=False)
    except ConfigError as error:
        raise ContractError(f"the answer: {error}") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"the answer is neither text nor JSON: {error}") from None


def _messages(messages: object) -> tuple[Message, ...]:
    if messages is None:
        return ()
    if not isinstance(messages, (list, tuple)):
        raise ContractError(f"output_messages must be a list of messages, not {type(messages).__name__}")
    try:
        return messages_from(messages)
    except ConfigError as error:
        raise ContractError(f"output_messages: {error}") from None


def _amount(value: Mapping[object, object], name: str) -> float | None:
    amount = value.get(name)
    if amount is None:
        return None
    if not is_finite_number(amount) or amount < 0:
        raise ContractError(f"{name} is {amount!r:.80}; it must be a number, 0 or more")
    return float(amount)
