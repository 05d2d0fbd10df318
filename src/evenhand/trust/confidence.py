"""How sure an evaluator is of its verdict: what it says itself, or how far its score lies from the pass mark."""

from __future__ import annotations

import math
from typing import Any, Final

from evenhand.domain.evaluation import Evaluation
from evenhand.domain.scale import is_finite_number
from evenhand.domain.verdict import Verdict, reaches

# The key under which an evaluator may say how sure it is, from 0 to 1.
CONFIDENCE: Final = "confidence"
# The key under which an evaluator that reads items from probabilities says from which one on they are met.
YES_FROM: Final = "yes_from"


def confidence_of(evaluation: Evaluation, *, pass_mark: float) -> float | None:
    """Return how sure an evaluator is of its verdict, from 0 to 1; None where nobody can say.

    What it says itself counts. Of one that says nothing, it is the distance of the score from the pass mark: 0 at the
    mark and 1 at the end of the scale. Where the verdict does not follow from the score, that says nothing.
    """
    if evaluation.score is None:
        return None
    given = said_confidence(evaluation)
    if given is not None:
        return float(given) if is_finite_number(given) and 0 <= given <= 1 else None
    return distance(evaluation.score, passes=evaluation.verdict is Verdict.PASS, pass_mark=pass_mark)


def said_confidence(evaluation: Evaluation) -> Any:
    """Return how sure an evaluator says that it is, whether that can be right or not; None where it says nothing.

    Where items were read from probabilities, it is the distance of P(yes) from where yes begins, of the item that is
    least sure: a score of met items says nothing of that.
    """
    details = evaluation.details
    if CONFIDENCE in details:
        return math.nan if details[CONFIDENCE] is None else details[CONFIDENCE]
    mark = details.get(YES_FROM)
    if not is_finite_number(mark) or not evaluation.checks:
        return None
    items = [
        None
        if check.probability is None
        else distance(check.probability, passes=check.satisfied, pass_mark=float(mark))
        for check in evaluation.checks
    ]
    sure = [item for item in items if item is not None]
    return min(sure) if len(sure) == len(items) else None


def distance(score: float, *, passes: bool, pass_mark: float) -> float | None:
    """Return how far a score lies from the pass mark, as a share of the scale on its side."""
    if reaches(score, pass_mark) != passes:
        return None
    whole = 1 - pass_mark if passes else pass_mark
    far = score - pass_mark if passes else pass_mark - score
    # Where the mark is at the end of the scale, nothing can be further than it. Marks are written in decimals.
    return 1.0 if whole <= 0 else round(min(max(far / whole, 0.0), 1.0), 12)
