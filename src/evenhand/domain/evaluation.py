"""The result of one evaluation, and the record of how it came about."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Final, Literal, TypeGuard

from evenhand.domain.errors import EvenhandError
from evenhand.domain.notebook import ShownInNotebooks
from evenhand.domain.verdict import Verdict

# So many characters are kept of a reply, and longer ones are not read as verdicts. No honest reply comes near it.
MAX_RAW: Final = 1 << 20


class Status(StrEnum):
    """Whether there is a score, nothing to score, or a judge that failed."""

    SCORED = "scored"
    NOT_EVALUATED = "not_evaluated"
    ERROR = "error"


# By a name of its own: to look into an enum takes seven times as long, and nearly every evaluation is scored.
_SCORED: Final = Status.SCORED

# More tokens than any request has, and few enough that floats are exact up to there.
MOST_TOKENS: Final = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens that requests took, as the provider counted them.

    ``input_tokens`` are all tokens of the prompt. Of these, ``cached_tokens`` were read from the provider's prompt
    cache, which costs less, and ``cache_write_tokens`` were written to it, for which some providers charge more.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One request to a judge and what became of it (SPEC-E6).

    ``kind`` is ``reply`` when the judge said something (``raw``, word for word) and ``transport`` when the request
    brought no reply. ``error`` is None, or the class of the failure and a sentence: ``"truncated: …"``. ``cached``
    says that the reply is one from before, which took no request and cost nothing (SPEC-S5). ``dropped`` is how many
    characters are missing at the end of ``raw``, which says so itself: of a reply beyond all measure, the beginning is
    kept. ``model`` is the model that the reply says it is of, which may be more exact than the one that was asked.
    ``cost`` is what a run paid for it, in dollars, where that is known, and ``saved`` how much less that is thanks to
    the provider's prompt cache; below 0 where more was paid to fill the cache than was saved. ``batch`` says that it
    was asked in a batch, at the price for those.
    """

    kind: Literal["reply", "transport"]
    raw: str | None = None
    error: str | None = None
    latency: float = 0.0
    usage: Usage | None = None
    cached: bool = False
    dropped: int = 0
    model: str | None = None
    cost: float | None = None
    saved: float | None = None
    batch: bool = False

    @property
    def reply_error(self) -> str | None:
        """Why a reply could not be used; None where it could, and where there was none."""
        return self.error if self.kind == "reply" else None

    def shortened(self) -> Attempt:
        """Return the attempt with no more of its words than are kept, and a mark where they break off."""
        raw = self.raw
        if raw is None or len(raw) <= MAX_RAW or self.dropped:
            return self
        dropped = len(raw) - MAX_RAW
        return replace(self, raw=f"{raw[:MAX_RAW]}… [{dropped:,} more characters were not kept]", dropped=dropped)

    def as_dict(self) -> dict[str, Any]:
        """Return the attempt as plain JSON values; ``cached`` and ``batch`` only if true, others if there are any."""
        if self.raw is not None and len(self.raw) > MAX_RAW and not self.dropped:
            return self.shortened().as_dict()
        row: dict[str, Any] = {
            "kind": self.kind,
            "raw": self.raw,
            "error": self.error,
            "latency": self.latency,
            "usage": usage_dict(self.usage),
        }
        if self.cached:
            row["cached"] = True
        if self.dropped:
            row["dropped"] = self.dropped
        if self.model is not None:
            row["model"] = self.model
        if self.cost is not None:
            row["cost"] = self.cost
        if self.saved is not None:
            row["saved"] = self.saved
        if self.batch:
            row["batch"] = True
        return row


class JudgeError(EvenhandError):
    """The judge was asked as often as allowed, and no reply could be used; ``attempts`` has all of them."""

    def __init__(self, message: str, *, attempts: tuple[Attempt, ...] = ()) -> None:
        super().__init__(message)
        self.attempts = attempts


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """What the judge found for one rubric item.

    ``score`` is the integer 0–10 of an item with score bands, ``probability`` the P(yes) of a check that was read
    from log-probabilities, ``evidence`` the verified quote from the candidate answer.
    """

    id: str
    satisfied: bool
    reasoning: str = ""
    score: int | None = None
    probability: float | None = None
    evidence: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the check as plain JSON values, without what does not apply."""
        row: dict[str, Any] = {"id": self.id, "satisfied": self.satisfied, "reasoning": self.reasoning}
        for name in ("score", "probability", "evidence"):
            if (value := getattr(self, name)) is not None:
                row[name] = value
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(ShownInNotebooks):
    """What one evaluator found about one case (SPEC-E1).

    Made by ``with_score``, ``without_score`` or ``with_error``, so that a broken judge never looks like a plain zero
    and a skipped case never has a score. ``label`` is the one that the judge gave, where it was to give one.
    """

    evaluator: str
    type: str
    status: Status
    score: float | None
    score_raw: object = None
    verdict: Verdict | None
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()
    reasoning: str = ""
    checks: tuple[Check, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    attempts: tuple[Attempt, ...] = ()
    retry_count: int = 0
    evaluator_provider_request: Mapping[str, str] | None = None
    usage: Usage | None = None
    flags: tuple[str, ...] = ()
    label: str | None = None

    def __post_init__(self) -> None:
        # Plain words are taken too: they come from files and from other people's evaluators.
        if not isinstance(self.status, Status):
            object.__setattr__(self, "status", Status(self.status))
        if self.verdict is not None and not isinstance(self.verdict, Verdict):
            object.__setattr__(self, "verdict", Verdict(self.verdict))
        if self.status is _SCORED:
            if not _is_unit(self.score):
                raise ValueError(f"a scored evaluation has a finite score from 0 to 1, not {self.score!r}")
            if self.verdict is None or self.error is not None:
                raise ValueError("a scored evaluation has a verdict and no error")
            if self.score == 0:  # in floats it may have a sign, which means nothing
                object.__setattr__(self, "score", 0.0)
        elif self.status is Status.NOT_EVALUATED:
            if self.score is not None or self.verdict is not None or not self.reasoning:
                raise ValueError("an evaluation that did not happen has a reason, no score and no verdict")
        elif self.score != 0 or self.verdict is not Verdict.FAIL or self.hits or self.misses or not self.error:
            raise ValueError("a failed evaluation has score 0, verdict fail, no hits or misses, and an error")

    @classmethod
    def with_score(cls, *, evaluator: str, type: str, score: float, verdict: Verdict, **rest: Any) -> Evaluation:  # noqa: A002
        """Make an evaluation with a score."""
        return cls(evaluator=evaluator, type=type, status=Status.SCORED, score=score, verdict=verdict, **rest)

    @classmethod
    def without_score(cls, *, evaluator: str, type: str, reasoning: str, **rest: Any) -> Evaluation:  # noqa: A002
        """Make an evaluation that did not happen; ``reasoning`` says what was missing (SPEC-E2)."""
        return cls(
            evaluator=evaluator, type=type, status=Status.NOT_EVALUATED,
            score=None, verdict=None, reasoning=reasoning, **rest,
        )  # fmt: skip

    @classmethod
    def with_error(cls, *, evaluator: str, type: str, error: str, **rest: Any) -> Evaluation:  # noqa: A002
        """Make the evaluation of a judge that failed: zero and ``fail`` by contract, and kept out of means."""
        return cls(
            evaluator=evaluator, type=type, status=Status.ERROR,
            score=0.0, verdict=Verdict.FAIL, error=error, **rest,
        )  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        """Return the evaluation as plain JSON values, with the names of SPEC-E1; a label only where there is one."""
        row = {
            "evaluator": self.evaluator,
            "type": self.type,
            "status": str(self.status),
            "score": self.score,
            "score_raw": self.score_raw,
            "verdict": None if self.verdict is None else str(self.verdict),
            "hits": list(self.hits),
            "misses": list(self.misses),
            "reasoning": self.reasoning,
            "checks": [check.as_dict() for check in self.checks] if self.checks else [],
            "details": dict(self.details),
            "error": self.error,
            "attempts": [attempt.as_dict() for attempt in self.attempts],
            "retry_count": self.retry_count,
            "evaluator_provider_request": (
                None if self.evaluator_provider_request is None else dict(self.evaluator_provider_request)
            ),
            "usage": usage_dict(self.usage),
            "flags": list(self.flags),
        }
        return row if self.label is None else row | {"label": self.label}


def token_usage(
    input_tokens: object, output_tokens: object, cached_tokens: object = 0, cache_write_tokens: object = None
) -> Usage | None:
    """Return token counts that come from outside; None, which is unknown, where one of them is no count.

    One that was left out is 0, as long as the input or the output was counted.

    >>> token_usage(12, 3)
    Usage(input_tokens=12, output_tokens=3, cached_tokens=0, cache_write_tokens=0)
    >>> [token_usage(12, wrong) for wrong in (-3, 1e3, True, "3", 10**400)]
    [None, None, None, None, None]
    """
    if cache_write_tokens:
        usage = token_usage(input_tokens, output_tokens, cached_tokens)
        if usage is None or not is_token_count(cache_write_tokens):
            return None
        return replace(usage, cache_write_tokens=cache_write_tokens)
    if (
        type(input_tokens) is type(output_tokens) is type(cached_tokens) is int
        and 0 <= input_tokens < MOST_TOKENS
        and 0 <= output_tokens < MOST_TOKENS
        and 0 <= cached_tokens < MOST_TOKENS
    ):
        return Usage(input_tokens=input_tokens, output_tokens=output_tokens, cached_tokens=cached_tokens)
    counts = [count for count in (input_tokens, output_tokens) if count is not None]
    if not counts or None not in (input_tokens, output_tokens, cached_tokens):
        return None
    return token_usage(*(0 if count is None else count for count in (input_tokens, output_tokens, cached_tokens)))


def token_sum(*counts: object) -> object:
    """Return the sum of token counts that come from outside; where one is no count, that one, for ``token_usage``."""
    present = [count for count in counts if count is not None]
    sound = [count for count in present if is_token_count(count)]
    if len(sound) < len(present):
        return next(count for count in present if not is_token_count(count))
    return sum(sound) if sound else None


def is_token_count(value: object) -> TypeGuard[int]:
    """Return whether a value can be a count of tokens: a whole number within bounds."""
    return type(value) is int and 0 <= value < MOST_TOKENS


def usage_dict(usage: Usage | None) -> dict[str, int] | None:
    """Return token counts as plain JSON values; those written to a prompt cache only if there are any."""
    if usage is None:
        return None
    row = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
    }
    return row | {"cache_write_tokens": usage.cache_write_tokens} if usage.cache_write_tokens else row


def total_usage(attempts: Iterable[Attempt]) -> Usage | None:
    """Add up what all requests took; None when no provider counted."""
    total: Usage | None = None
    for attempt in attempts:
        if attempt.usage is not None:
            total = attempt.usage if total is None else total + attempt.usage
    return total


def _is_unit(score: float | None) -> bool:
    return isinstance(score, float) and math.isfinite(score) and 0.0 <= score <= 1.0
