"""What a program or a function returns: the answer alone, or an object with the answer and what it tells of it."""

from __future__ import annotations

import difflib
import itertools
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.context import ContextDocument, retrieved_context
from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Attempt, Usage, token_usage
from evenhand.domain.message import Message, messages_from, plain_data
from evenhand.domain.run import MadeAnswer
from evenhand.domain.scale import is_finite_number

# The answer goes by any of these names, and one of them only.
ANSWERS: Final = ("answer", "candidate_answer", "output")
_COUNTED: Final = ("output_messages", "context", "latency", "cost", "usage", "metadata")
# What a program may hand back of the case that it was given, and what the others look like.
_OF_CASES: Final = frozenset(name.name for name in fields(Case)) - {*ANSWERS, *_COUNTED}
_TOKENS: Final = tuple(name.name for name in fields(Usage))
# How like a known name another must be to be a slip of it: "contexts" and "latncy" are, "answer_id" is not.
_SLIP: Final = 0.81
_LONGEST_KEY: Final = 80
_MOST_CHECKED: Final = 100
MISSPELT: Final = "misspelt_key"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOutput:
    """An answer, and what the target tells of it: what it was based on and what it took, where known.

    ``more`` has the keys that nobody knows.
    """

    text: str
    messages: tuple[Message, ...] = ()
    latency: float | None = None
    cost: float | None = None
    usage: Usage | None = None
    context: str | tuple[ContextDocument, ...] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    more: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, seconds: float, attempt: Attempt) -> MadeAnswer:
        """Return the answer that was made in one attempt; ``seconds`` count unless the target tells others."""
        return MadeAnswer(
            text=self.text,
            messages=self.messages,
            attempts=(attempt,),
            latency=seconds if self.latency is None else self.latency,
            cost=self.cost,
            usage=self.usage,
            context=self.context,
            metadata=self.metadata,
            more=self.more,
        )


def read_output(value: object) -> TargetOutput:
    """Read text, or an object such as ``{"answer": "Paris", "cost": 0.01}``; raises ``ContractError``.

    >>> output = read_output({"answer": {"city": "Paris"}, "latency": 0.5, "context": ["Paris is the capital."]})
    >>> output.text, output.latency, [document.text for document in output.context]
    ('{"city": "Paris"}', 0.5, ['Paris is the capital.'])

    An answer that is no text is taken as JSON, and blocks of text as their text. A key that is nearly one of the known
    ones is an error of the kind ``misspelt_key``; others are kept.
    """
    if isinstance(value, str):
        return TargetOutput(text=storable(value))
    if not isinstance(value, Mapping):
        raise ContractError(f"an answer is text, or an object with 'answer'; this is {type(value).__name__}")
    more = _unknown(value)
    keys = [name for name in ANSWERS if value.get(name) is not None]
    if len(keys) != 1:
        problem = f"it has {' and '.join(keys)}" if keys else "it has none of them"
        raise ContractError(f"the object must have one of {', '.join(ANSWERS)}; {problem}")
    return TargetOutput(
        text=storable(_text(value[keys[0]])),
        messages=_messages(value.get("output_messages")),
        latency=_amount(value, "latency"),
        cost=_amount(value, "cost"),
        usage=_usage(value.get("usage")),
        context=_context(value.get("context")),
        metadata=_plain_mapping("metadata", value.get("metadata")),
        more=_plain_mapping("the object", more),
    )


def _unknown(value: Mapping[object, object]) -> dict[str, object]:
    """Return the keys of an object that mean nothing; one that is a slip of a known one is refused."""
    known = (*ANSWERS, *_COUNTED)
    more = {str(key): member for key, member in value.items() if key not in known}
    for key in itertools.islice(more.keys() - _OF_CASES, _MOST_CHECKED):
        for word in (key[:_LONGEST_KEY], key[:_LONGEST_KEY].partition("_")[0]):  # "conext_2" is one, too
            near = [] if word in known else difflib.get_close_matches(word, known, n=1, cutoff=_SLIP)
            if near:
                raise ContractError(f"the object has the key {key!r:.80}; did you mean {near[0]!r}?", kind=MISSPELT)
    return more


def _plain_mapping(where: str, value: object) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ContractError(f"{where} must be a mapping, not {type(value).__name__}")
    try:
        kept: dict[str, Any] = json.loads(storable(json.dumps(dict(value), ensure_ascii=False, allow_nan=False)))
    except (TypeError, ValueError, RecursionError) as error:
        raise ContractError(f"{where} cannot be written as JSON: {error}") from None
    return kept


def _context(context: object) -> str | tuple[ContextDocument, ...] | None:
    if context is None:
        return None
    try:
        return retrieved_context(context)
    except ConfigError as error:
        raise ContractError(str(error)) from None


def _usage(usage: object) -> Usage | None:
    if usage is None:
        return None
    known = usage if isinstance(usage, Mapping) and set(usage) <= set(_TOKENS) else {}
    counted = token_usage(*(known.get(name, 0) for name in _TOKENS)) if known else None
    if counted is None:
        raise ContractError(f"usage is {usage!r:.80}; it must have counts of tokens: {', '.join(_TOKENS)}")
    return counted


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
