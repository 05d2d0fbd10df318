"""How sure an evaluator is of its verdict: what it says itself, or how far its score lies from the pass mark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import reaches

# The key under which an evaluator may say how sure it is, from 0 to 1.
CONFIDENCE: Final = "confidence"


def confidence_of(details: Mapping[str, Any], *, score: float, passes: bool, pass_mark: float) -> float | None:
    """Return how sure an evaluator is of its verdict, from 0 to 1; None where nobody can say.

    What it says itself counts. Of one that says nothing, it is the distance of the score from the pass mark: 0 at the
    mark and 1 at the end of the scale. Where the verdict does not follow from the score, that says nothing.

    >>> confidence_of({}, score=0.9, passes=True, pass_mark=0.8)
    0.5
    >>> confidence_of({"confidence": 0.7}, score=1.0, passes=True, pass_mark=0.8)
    0.7
    """
    if CONFIDENCE in details:
        given = details[CONFIDENCE]
        return float(given) if is_finite_number(given) and 0 <= given <= 1 else None
    return distance(score, passes=passes, pass_mark=pass_mark)


def distance(score: float, *, passes: bool, pass_mark: float) -> float | None:
    """Return how far a score lies from the pass mark, as a share of the scale on its side."""
    if reaches(score, pass_mark) != passes:
        return None
    whole = 1 - pass_mark if passes else pass_mark
    far = score - pass_mark if passes else pass_mark - score
    # Where the mark is at the end of the scale, nothing can be further than it. Marks are written in decimals.
    return 1.0 if whole <= 0 else round(min(max(far / whole, 0.0), 1.0), 12)
