"""What an evaluator gets for what it wanted to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from evenhand.domain.evaluation import Attempt, Usage

# Why a judge stopped: it was done; its token limit was reached; it refused; the provider's filter cut it off.
Finish: TypeAlias = Literal["stop", "length", "refusal", "filtered"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenChoice:
    """One alternative the model considered for a token, with its natural-log probability."""

    token: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What a judge said. ``attempts`` lists every request that it took, the last one being this reply's own.

    ``first_token`` has the alternatives for the first token of the reply, when they were asked for and given.
    """

    text: str
    finish: Finish = "stop"
    attempts: tuple[Attempt, ...]
    first_token: tuple[TokenChoice, ...] = ()

    @classmethod
    def said(
        cls,
        text: str,
        *,
        finish: Finish = "stop",
        usage: Usage | None = None,
        latency: float = 0.0,
        before: tuple[Attempt, ...] = (),
        first_token: tuple[TokenChoice, ...] = (),
    ) -> Reply:
        """Make a reply together with the record of its request; ``before`` are the requests that failed."""
        attempt = Attempt(kind="reply", raw=text, latency=latency, usage=usage)
        return cls(text=text, finish=finish, attempts=(*before, attempt), first_token=first_token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """No reply could be had: every request failed on the way. ``error`` has the class and a sentence."""

    error: str
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exited:
    """How a program ended: ``code`` is None when it did not end by itself, and ``problem`` says why."""

    code: int | None
    stdout: str
    stderr: str
    seconds: float
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What a user's function returned."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """What a user's function raised."""

    exception: Exception
