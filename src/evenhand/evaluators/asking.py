"""Asking a judge until its reply can be used: the one place where invalid replies are asked for again (SPEC-P5, E6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from evenhand.domain.ask import Ask, Message, Steps
from evenhand.domain.contract import Accepted, Contract
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Attempt, total_usage
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.domain.seams import ModelClient
from evenhand.evaluators.reading import read_reply

DEFAULT_ATTEMPTS: Final = 3
TOP_LOGPROBS: Final = 20

_UNUSABLE = {
    "length": ("truncated", "the reply was cut off at its token limit"),
    "refusal": ("refusal", "the judge refused to answer"),
    "filtered": ("filtered", "the provider's content filter cut the reply off"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inquiry:
    """What to ask of whom, how often, and all text from outside that the messages contain."""

    messages: tuple[Message, ...]
    judge: ModelClient
    contract: Contract
    max_attempts: int = DEFAULT_ATTEMPTS
    sample: int = 0
    strict: bool = False
    material: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Everything that was asked and said: ``messages`` are those of the last request."""

    messages: tuple[Message, ...]
    attempts: tuple[Attempt, ...]
    retry_count: int

    @classmethod
    def of(cls, messages: tuple[Message, ...], attempts: Iterable[Attempt]) -> Record:
        """Record one question: every reply beyond its first is a retry."""
        listed = tuple(attempts)
        replies = sum(attempt.kind == "reply" for attempt in listed)
        return cls(messages=messages, attempts=listed, retry_count=max(replies - 1, 0))

    @classmethod
    def merged(cls, records: Iterable[Record]) -> Record:
        """Record several questions about one case together; the request is the last one's."""
        several = tuple(records)
        return cls(
            messages=several[-1].messages,
            attempts=tuple(attempt for record in several for attempt in record.attempts),
            retry_count=sum(record.retry_count for record in several),
        )

    @property
    def request(self) -> dict[str, str]:
        """The prompts exactly as sent in the last request."""
        return {"userPrompt": _joined(self.messages, "user"), "systemPrompt": _joined(self.messages, "system")}

    def fields(self) -> dict[str, Any]:
        """Give what an ``Evaluation`` says about how it came about."""
        return {
            "attempts": self.attempts,
            "retry_count": self.retry_count,
            "evaluator_provider_request": self.request,
            "usage": total_usage(self.attempts),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A reply that keeps the contract, and how it was got."""

    accepted: Accepted
    flags: tuple[str, ...]
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class GaveUp:
    """No usable reply within the allowed attempts."""

    error: str
    record: Record


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstToken:
    """The alternatives for the first token of a reply, and how they were got."""

    choices: tuple[TokenChoice, ...]
    record: Record


def inquire(inquiry: Inquiry) -> Steps[Answered | GaveUp]:
    """Ask, read, and ask again while the reply is invalid and attempts are left.

    A reply that came is the judge's, and asked for again here. A request that brought none was already retried by
    the model client, which owns that, so it ends the inquiry.
    """
    material = (*(message.content for message in inquiry.messages), *inquiry.material)
    messages = sent = inquiry.messages
    attempts: list[Attempt] = []
    error = ""
    room = 1
    for _ in range(inquiry.max_attempts):
        sent = messages
        ask = Ask(messages=sent, judge=inquiry.judge, contract=inquiry.contract, sample=inquiry.sample, room=room)
        (answer,) = yield (ask,)
        if isinstance(answer, Unanswered):
            return GaveUp(error=answer.error, record=Record.of(sent, (*attempts, *answer.attempts)))
        reply = _reply(answer)
        try:
            _require_finished(reply)
            reading = read_reply(reply.text, inquiry.contract, material=material, strict=inquiry.strict)
        except ContractError as violation:
            error = f"{violation.kind}: {violation}"
            attempts += _marked(reply, error)
            messages = _with_complaint(inquiry.messages, violation)
            room = room * 2 if violation.kind == "truncated" else room
        else:
            record = Record.of(sent, (*attempts, *reply.attempts))
            return Answered(accepted=reading.accepted, flags=reading.flags, record=record)
    return GaveUp(error=error, record=Record.of(sent, attempts))


def ask_first_token(messages: tuple[Message, ...], *, judge: ModelClient) -> Steps[FirstToken | GaveUp]:
    """Ask for one token and the probabilities of its alternatives; there is nothing to ask again for."""
    (answer,) = yield (Ask(messages=messages, judge=judge, top_logprobs=TOP_LOGPROBS, max_tokens=1),)
    if isinstance(answer, Unanswered):
        return GaveUp(error=answer.error, record=Record.of(messages, answer.attempts))
    reply = _reply(answer)
    if not reply.first_token:
        error = f"no_logprobs: {judge.name} gave no log-probabilities; use score_from 'text' or 'samples'"
        return GaveUp(error=error, record=Record.of(messages, _marked(reply, error)))
    return FirstToken(choices=reply.first_token, record=Record.of(messages, reply.attempts))


def check_attempts(max_attempts: object, max_retries: object, *, where: str) -> int:
    """Settle how many replies a judge may give: ``max_retries`` is one less than ``max_attempts``."""
    if max_retries is None:
        if not _is_count(max_attempts, 1):
            raise ConfigError(f"{where}: max_attempts is {max_attempts!r}; it must be an integer, 1 or more")
        return int(str(max_attempts))
    if not _is_count(max_retries, 0):
        raise ConfigError(f"{where}: max_retries is {max_retries!r}; it must be an integer, 0 or more")
    attempts = int(str(max_retries)) + 1
    if max_attempts not in {DEFAULT_ATTEMPTS, attempts}:
        raise ConfigError(f"{where}: max_attempts {max_attempts} and max_retries {max_retries} disagree; give one")
    return attempts


def last_user_message(messages: tuple[Message, ...]) -> int:
    """Give the place of the last user message, to which examples and complaints are appended."""
    for number in range(len(messages) - 1, -1, -1):
        if messages[number].role == "user":
            return number
    raise ConfigError("the prompt has no user message; a judge needs one")


def appended(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Append a text to the last user message."""
    last = last_user_message(messages)
    return (*messages[:last], Message("user", messages[last].content + text), *messages[last + 1 :])


def _with_complaint(messages: tuple[Message, ...], violation: ContractError) -> tuple[Message, ...]:
    """Tell the judge, after everything else, why its last reply could not be used."""
    complaint = f"Your previous reply could not be used: {violation!s:.300}. Reply again, in the required format."
    return appended(messages, f"\n\n{complaint}")


def _require_finished(reply: Reply) -> None:
    """Refuse a reply that did not come to its own end: never a score (SPEC-R4)."""
    if reply.finish in _UNUSABLE:
        kind, why = _UNUSABLE[reply.finish]
        raise ContractError(why, kind=kind)


def _marked(reply: Reply, error: str) -> tuple[Attempt, ...]:
    """Give a reply's attempts, the last one marked with what was wrong with what it said."""
    *before, own = reply.attempts
    return (*before, replace(own, error=error))


def _reply(answer: object) -> Reply:
    if not isinstance(answer, Reply):
        raise TypeError(f"an Ask is answered by a Reply or Unanswered, not {type(answer).__name__}")
    return answer


def _joined(messages: tuple[Message, ...], role: str) -> str:
    return "\n\n".join(message.content for message in messages if message.role == role)


def _is_count(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
