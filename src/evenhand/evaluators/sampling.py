"""What several replies to one question amount to."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar, cast

from evenhand.domain.ask import ModelClient
from evenhand.domain.evaluation import Evaluation
from evenhand.evaluators.asking import Answered, FirstToken, GaveUp
from evenhand.evaluators.reading import AMBIGUOUS, EMBEDDED
from evenhand.evaluators.reasoning_block import REASONING_REMOVED

SAMPLES_LOST: Final = "samples_lost"

Turned = TypeVar("Turned", bound=Answered | FirstToken | GaveUp)


def spread(scores: Sequence[float], *, lost: int) -> dict[str, Any]:
    """Tell how far samples lie apart: each score, their standard deviation, and how many samples were lost."""
    deviation = statistics.stdev(scores) if len(scores) > 1 else None
    return {"samples": list(scores), "spread": deviation, "samples_lost": lost}


def found_by(judge: ModelClient, answered: Sequence[Answered] = ()) -> dict[str, Any]:
    """Tell which judge it was and, where there was more around the verdicts, where in its replies they stood."""
    details: dict[str, Any] = {"judge": judge.name}
    for one in answered:
        if EMBEDDED in one.flags or REASONING_REMOVED in one.flags:
            details["spans"] = [list(each.span) for each in answered]
            break
    return details


def all_flags(answered: Sequence[Answered], *, lost: int = 0) -> tuple[str, ...]:
    """Return every flag of several replies once, and one for samples that could not be had."""
    flags = [flag for one in answered for flag in one.flags]
    return tuple(dict.fromkeys([*flags, SAMPLES_LOST] if lost else flags))


def turned(asked: Turned) -> Turned:
    """Return an answer as if, of its several verdicts, the other one had counted."""
    if not isinstance(asked, Answered) or asked.other is None:
        return asked
    return cast("Turned", asked._replace(accepted=asked.other, other=None))


def with_other(evaluation: Evaluation, other: Evaluation, *, counted: str, **more: Any) -> Evaluation:
    """Put on record what the other verdict in an ambiguous reply would have decided, and which one counted."""
    verdict = None if other.verdict is None else other.verdict.value
    would_be = {"counted": counted, "score": other.score, "verdict": verdict, **more}
    return replace(evaluation, details={**evaluation.details, AMBIGUOUS: would_be})


def last_error(asked: Sequence[Answered | GaveUp]) -> str:
    """Return the error of the last question that was given up."""
    return [one.error for one in asked if isinstance(one, GaveUp)][-1]
