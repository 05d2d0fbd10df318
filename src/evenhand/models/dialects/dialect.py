"""What every dialect is made of: how a model shall write, what it said, and what a provider complains about."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, TypeAlias

from evenhand.domain.ask import Ask
from evenhand.domain.evaluation import Usage
from evenhand.domain.reply import Finish, TokenChoice
from evenhand.models.retry import TransportFault, error_body_fault, is_quota

# How a reply's form is demanded: by its schema, as any JSON object, or by the words of the prompt alone.
Structured: TypeAlias = Literal["json_schema", "json_object", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Generation:
    """How a model shall write. None leaves a setting to the provider.

    ``strict`` says that the server wants schemas flagged as strict, and takes few keywords in them. ``names`` has the
    server's own names for settings that it calls otherwise. ``extra_body`` is put into the request as it is.
    ``breakpoints`` says that the server may be told which part of the prompt to keep; it changes no reply.
    """

    model: str
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    structured: Structured = "json_schema"
    strict: bool = True
    names: Mapping[str, str] = field(default_factory=dict, hash=False)
    extra_body: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    breakpoints: bool = True

    @property
    def identity(self) -> dict[str, Any]:
        """What decides on the replies: all settings but where the server's prompt cache is to begin."""
        settings = asdict(self)
        del settings["breakpoints"]
        return settings

    def limit(self, ask: Ask) -> int | None:
        """Return the token limit in force, with the room that the ask wants."""
        most = self.max_tokens if ask.max_tokens is None else ask.max_tokens
        return None if most is None else most * ask.room

    def sampling(self, **names: str) -> dict[str, Any]:
        """Return the settings that are set, by the dialect's names for them."""
        chosen: dict[str, Any] = {}
        for name, value in (("temperature", self.temperature), ("top_p", self.top_p), ("seed", self.seed)):
            if value is not None:
                chosen[names.get(name, name)] = value
        return chosen


class Said(NamedTuple):
    """What a response body says the model said."""

    text: str
    finish: Finish = "stop"
    usage: Usage | None = None
    first_token: tuple[TokenChoice, ...] = ()
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Complaint:
    """What a provider says went wrong: its code for it, its words, and the seconds after which to come back.

    ``param`` is the part of the request that it is about, where the provider names one.
    """

    code: str | None
    message: str
    retry_after: float | None = None
    param: str | None = None


def without_structure(generation: Generation, complaint: str) -> Generation | None:
    """Return up structured output where the complaint is about it; None where it is about something else."""
    if generation.structured == "none" or not _ABOUT_STRUCTURE.search(complaint):
        return None
    return replace(generation, structured="none")


def without_setting(generation: Generation, complaint: Complaint) -> Generation | None:
    """Leave out a setting that the model does not take; None where the complaint is about something else.

    A value that is wrong in itself has another code, and is the user's to mend.
    """
    if complaint.code not in _UNSUPPORTED or complaint.param not in _SETTINGS:
        return None
    if complaint.param == "temperature":
        return replace(generation, temperature=None)
    return replace(generation, top_p=None)


def complaint_of(body: object, _headers: Mapping[str, str]) -> Complaint | None:
    """Find what went wrong in the body, where most providers say it."""
    return complaint_in(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A provider's language. All four are pure functions.

    ``encode`` makes the request body for an ask; ``decode`` reads a response body or raises ``TransportFault``;
    ``otherwise`` says how else to ask a server that refused a request for its form (None: there is no other way);
    ``complaint`` finds what went wrong in the body and the headers of a response that is no success.
    """

    encode: Callable[[Ask, Generation], dict[str, Any]]
    decode: Callable[[Any], Said]
    otherwise: Callable[[Generation, str], Generation | None] = without_structure
    complaint: Callable[[object, Mapping[str, str]], Complaint | None] = complaint_of


def complaint_in(body: object) -> Complaint | None:
    """Find the error object in a response body, in any of the shapes that providers use."""
    if isinstance(body, list) and body:
        body = body[0]
    if not isinstance(body, dict):
        return None
    error = body.get("error")
    if not error and "error" in (body.get("object"), body.get("type")):
        error = body
    if not error:
        return None
    if not isinstance(error, dict):
        return Complaint(None, str(error))
    codes = [str(error[key]) for key in ("code", "type", "status") if isinstance(error.get(key), (str, int))]
    message = text_of(error.get("message")) or str(error)
    if upstream := text_of(mapping(error.get("metadata")).get("raw")):
        message = f"{message}: {upstream}"
    # Any of them may report a used-up account.
    code = next(filter(is_quota, codes), codes[0] if codes else None)
    return Complaint(code, message, _retry_delay(error), text_of(error.get("param")) or None)


def _retry_delay(error: Mapping[str, Any]) -> float | None:
    """Read Gemini's ``{"@type": "…RetryInfo", "retryDelay": "34s"}``, which stands in for ``Retry-After``."""
    for detail in listing(error.get("details")):
        delay = re.fullmatch(r"(\d{1,9}(?:\.\d+)?)s", text_of(mapping(detail).get("retryDelay")))
        if delay:
            return float(delay[1])
    return None


def reply_in(body: object, *keys: str) -> Mapping[str, Any]:
    """Return a response body that has a key of a reply; raise the fault that it reports otherwise."""
    if complaint := complaint_in(body):
        raise error_body_fault(complaint.message, code=complaint.code, retry_after=complaint.retry_after)
    if not isinstance(body, dict) or body.keys().isdisjoint(keys):
        raise TransportFault("invalid_body", f"the response has no {keys[0]!r}; is base_url right?", retryable=True)
    return body


def merged(body: dict[str, Any], extra: Mapping[str, Any]) -> dict[str, Any]:
    """Put extra keys into a request body, into its nested objects too; the extra ones win."""
    for key, value in extra.items():
        inner = body.get(key)
        body[key] = merged({**inner}, value) if isinstance(inner, dict) and isinstance(value, Mapping) else value
    return body


def stated_model(name: object) -> str | None:
    """Return the model that a response says it is of; None for what is no such name."""
    is_name = isinstance(name, str) and 0 < len(name) <= _LONGEST_MODEL and name.isprintable()
    return text_of(name) if is_name else None


def split_system(ask: Ask) -> tuple[str, list[tuple[str, str]]]:
    """Take the system text out of a conversation; a system text alone is asked as a question."""
    system = "\n\n".join(message.content for message in ask.messages if message.role == "system")
    turns = [(message.role, message.content) for message in ask.messages if message.role != "system"]
    return (system, turns) if turns else ("", [("user", system)])


def alternatives(entries: object, *, logprob: str) -> tuple[TokenChoice, ...]:
    """Read a list of tokens with their log-probabilities."""
    return tuple(
        TokenChoice(token=entry["token"], logprob=float(min(entry[logprob], 0)))
        for entry in map(mapping, listing(entries))
        if isinstance(entry.get("token"), str) and _is_logprob(entry.get(logprob))
    )


def _is_logprob(value: object) -> bool:
    """Return whether a value is a log probability; rounding may put one a little above 0."""
    return isinstance(value, (int, float)) and -1e6 < value < 1e-3


# Bodies come from outside: each value is taken for what it is, or for nothing.
def mapping(value: object) -> Mapping[str, Any]:
    """Return an object, or an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    """Return a list, or an empty one for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: object) -> str:
    """Return a text, or an empty one for anything else."""
    return value if isinstance(value, str) else ""


_LONGEST_MODEL = 200
# OpenAI's codes, which others with its API use too, and the settings that models may have fixed.
_UNSUPPORTED = frozenset({"unsupported_value", "unsupported_parameter"})
_SETTINGS = frozenset({"temperature", "top_p"})
_ABOUT_STRUCTURE = re.compile(
    r"response.?format|json.?schema|json.?object|json.?mode|json_validate|structured|schema|grammar|guided"
    r"|tool|function|\bformat\b|response.?mime",
    re.IGNORECASE,
)
