"""Asking a judge until its reply can be used: the one place where invalid replies are asked for again (SPEC-P5, E6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, NamedTuple

from evenhand.domain.ask import Ask, ModelClient, Steps
from evenhand.domain.contract import Accepted, Contract
from evenhand.domain.errors import ConfigError, ContractError
from evenhand.domain.evaluation import Attempt, total_usage
from evenhand.domain.message import Message
from evenhand.domain.reply import Reply, TokenChoice, Unanswered
from evenhand.evaluators.reading import Ambiguous, read_reply

_content = attrgetter("content")

DEFAULT_ATTEMPTS: Final = 3
TOP_LOGPROBS: Final = 20

# How a reply can end before its time: the class, what is on record, and what the judge is told.
_UNFINISHED = {
    "length": ("truncated", "the reply was cut off at its token limit", "it was cut off; be brief"),
    "refusal": ("refusal", "the judge refused to answer", "it gave no judgment"),
    "filtered": ("filtered", "the provider's content filter cut the reply off", "it was cut off"),
}


# These, and readings, are tuples: some are made for every reply, and a frozen dataclass takes four times as long.
class Record(NamedTuple):
    """Everything that was asked and said: ``messages`` are those of the last request."""

    messages: tuple[Message, ...]
    attempts: tuple[Attempt, ...]
    retry_count: int

    @classmethod
    def of(cls, messages: tuple[Message, ...], attempts: Iterable[Attempt]) -> Record:
        """Record one question: every reply beyond its first is a retry."""
        listed = tuple(attempts)
        replies = 0
        for attempt in listed:
            replies += attempt.kind == "reply"
        return cls(messages, listed, max(replies - 1, 0))

    @classmethod
    def merged(cls, records: Iterable[Record]) -> Record:
        """Record several questions about one case together; the request is the last one's."""
        several = tuple(records)
        if len(several) == 1:
            return several[0]
        return cls(
            messages=several[-1].messages,
            attempts=tuple(attempt for record in several for attempt in record.attempts),
            retry_count=sum(record.retry_count for record in several),
        )

    @property
    def request(self) -> dict[str, str]:
        """The prompts exactly as sent in the last request."""
        prompts: dict[str, list[str]] = {"user": [], "system": []}
        for message in self.messages:
            if message.role in prompts:
                prompts[message.role].append(message.content)
        return {"userPrompt": "\n\n".join(prompts["user"]), "systemPrompt": "\n\n".join(prompts["system"])}

    def fields(self) -> dict[str, Any]:
        """Return what an ``Evaluation`` says about how it came about."""
        return {
            "attempts": self.attempts,
            "retry_count": self.retry_count,
            "evaluator_provider_request": self.request,
            "usage": total_usage(self.attempts),
        }


class Answered(NamedTuple):
    """A reply that keeps the contract, and how it was got; ``other`` is a verdict in it that decides otherwise."""

    accepted: Accepted
    flags: tuple[str, ...]
    span: tuple[int, int]
    other: Accepted | None
    record: Record


class GaveUp(NamedTuple):
    """No usable reply within the allowed attempts."""

    error: str
    record: Record


class FirstToken(NamedTuple):
    """The alternatives for the first token of a reply, and how they were got."""

    choices: tuple[TokenChoice, ...]
    record: Record


def inquire(
    messages: tuple[Message, ...],
    *,
    judge: ModelClient,
    contract: Contract,
    max_attempts: int = DEFAULT_ATTEMPTS,
    sample: int = 0,
    ambiguous: Ambiguous = "ask_again",
) -> Steps[Answered | GaveUp]:
    """Ask, read, and ask again while the reply is invalid and attempts are left.

    A reply that came is the judge's, and asked for again here. A request that brought none was already retried by
    the model client, which owns that, so it ends the inquiry. ``ambiguous`` says which of several different verdicts
    in one reply counts; the usual way is to ask again.
    """
    sent = following = messages
    attempts: list[Attempt] = []
    error = ""
    room = 1
    for _ in range(max_attempts):
        sent = following
        (answer,) = yield (Ask(messages=sent, judge=judge, contract=contract, sample=sample, room=room),)
        if isinstance(answer, Unanswered):
            return GaveUp(error=answer.error, record=Record.of(sent, (*attempts, *answer.attempts)))
        reply = _reply(answer)
        try:
            if reply.finish != "stop":
                _require_finished(reply)
            reading = read_reply(reply.text, contract, material=map(_content, messages), ambiguous=ambiguous)
        except ContractError as violation:
            error = violation.failure
            attempts += _attempts_with_error(reply, error)
            following = _with_complaint(messages, violation)
            room = room * 2 if violation.kind == "truncated" else room
        else:
            return Answered(*reading, Record.of(sent, (*attempts, *reply.attempts)))
    return GaveUp(error=error, record=Record.of(sent, attempts))


def ask_first_token(messages: tuple[Message, ...], *, judge: ModelClient) -> Steps[FirstToken | GaveUp]:
    """Ask for one token and the probabilities of its alternatives; there is nothing to ask again for."""
    (answer,) = yield (Ask(messages=messages, judge=judge, top_logprobs=TOP_LOGPROBS, max_tokens=1),)
    if isinstance(answer, Unanswered):
        return GaveUp(error=answer.error, record=Record.of(messages, answer.attempts))
    reply = _reply(answer)
    try:
        if reply.finish != "length":  # one token is all that was asked for
            _require_finished(reply)
        if not reply.first_token:
            why = f"{judge.name} gave no log-probabilities; use score_from 'text' or 'samples'"
            raise ContractError(why, kind="no_logprobs")
    except ContractError as violation:
        error = violation.failure
        return GaveUp(error=error, record=Record.of(messages, _attempts_with_error(reply, error)))
    return FirstToken(choices=reply.first_token, record=Record.of(messages, reply.attempts))


def check_attempts(max_attempts: object, max_retries: object, *, where: str) -> int:
    """Settle how many replies a judge may give: ``max_retries`` is one less than ``max_attempts``."""
    for name, value, least in (("max_attempts", max_attempts, 1), ("max_retries", max_retries, 0)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise ConfigError(f"{where}: {name} is {value!r}; it must be an integer, {least} or more", key=name)
    if max_attempts is not None and max_retries is not None:
        both = f"max_attempts {max_attempts} and max_retries {max_retries} are both given"
        raise ConfigError(
            f"{where}: {both}; give one of them (max_retries is one less than max_attempts)", key="max_attempts"
        )
    attempts = max_retries + 1 if isinstance(max_retries, int) else max_attempts
    return attempts if isinstance(attempts, int) else DEFAULT_ATTEMPTS


def last_user_message(messages: tuple[Message, ...]) -> int:
    """Return the place of the last user message, to which examples and complaints are appended."""
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
    why = f"A previous reply to this could not be used: {violation.told:.300}. Reply again, in the required format."
    return appended(messages, f"\n\n{why}")


def _require_finished(reply: Reply) -> None:
    """Refuse a reply that did not come to its own end: never a score (SPEC-R4)."""
    if reply.finish in _UNFINISHED:
        kind, why, complaint = _UNFINISHED[reply.finish]
        raise ContractError(why, kind=kind, told=complaint)


def _attempts_with_error(reply: Reply, error: str) -> tuple[Attempt, ...]:
    """Return a reply's attempts, the last one marked with what was wrong with what it said."""
    *before, own = reply.attempts or (Attempt(kind="reply", raw=reply.text),)
    return (*before, replace(own, error=error))


def _reply(answer: object) -> Reply:
    if not isinstance(answer, Reply):
        raise TypeError(f"an Ask is answered by a Reply or Unanswered, not {type(answer).__name__}")
    return answer
