"""What an evaluator gets for what it wanted to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from evenhand.domain.evaluation import MOST_TOKENS, Attempt, Usage
from evenhand.domain.failure import Failure

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
        model: str | None = None,
    ) -> Reply:
        """Make a reply together with the record of its request; ``before`` are the requests that failed.

        ``model`` is the one that the reply says it is of.
        """
        attempt = Attempt(kind="reply", raw=text, latency=latency, usage=usage, model=model)
        return cls(text=text, finish=finish, attempts=(*before, attempt), first_token=first_token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """No reply could be had: every request failed on the way. ``error`` has the class and a sentence.

    ``retry_after`` is how long the server asked to wait, in seconds, where it did.
    """

    error: str
    attempts: tuple[Attempt, ...]
    retry_after: float | None = None


def sound_answer(answer: object) -> Reply | Unanswered | None:
    """Return what a client answered, so that it can be accounted for; None for what is no answer.

    A client may be a user's code. Token counts that cannot be true become unknown; the reply is kept.
    """
    if isinstance(answer, Reply):
        if not isinstance(answer.text, str):
            return None
        if not answer.attempts:
            return replace(answer, attempts=(Attempt(kind="reply", raw=answer.text),))
    elif not isinstance(answer, Unanswered) or not isinstance(answer.error, str):
        return None
    for attempt in answer.attempts:
        if not (attempt.usage is None or _is_sound(attempt.usage)):
            attempts = (
                attempt if _is_sound(attempt.usage) else replace(attempt, usage=None) for attempt in answer.attempts
            )
            return replace(answer, attempts=tuple(attempts))
    return answer


def _is_sound(usage: object) -> bool:
    """Return whether token counts are counts; without a call for each, since every reply comes by."""
    return (
        isinstance(usage, Usage)
        and type(usage.input_tokens) is type(usage.output_tokens) is type(usage.cached_tokens) is int
        and type(usage.cache_write_tokens) is int
        and 0 <= usage.input_tokens < MOST_TOKENS
        and 0 <= usage.output_tokens < MOST_TOKENS
        and 0 <= usage.cached_tokens < MOST_TOKENS
        and 0 <= usage.cache_write_tokens < MOST_TOKENS
    )


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


def places_text(frames: tuple[str, ...]) -> str:
    """Write where something was raised, to end a message with.

    >>> places_text(("answer in app.py:12", "main in app.py:30"))
    ' (at answer in app.py:12, called from main in app.py:30)'
    """
    return f" (at {', called from '.join(frames)})" if frames else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """What a user's function raised; ``message`` is what it says, without the keys that the function holds.

    ``frames`` are the last places in the traceback, the innermost first, such as ``answer in app.py:12``.
    """

    exception: Exception
    message: str
    frames: tuple[str, ...] = ()

    def failure(self, shown: Callable[[str], str]) -> Failure:
        """Return what happened as a value; ``shown`` makes a message short enough for one."""
        if isinstance(self.exception, TimeoutError) and not self.exception.args:  # the driver's own
            return Failure("timeout", "the function did not answer within the time limit of the case")
        message = f"{type(self.exception).__name__}: {shown(self.message)}{places_text(self.frames)}"
        return Failure("function_error", message)
