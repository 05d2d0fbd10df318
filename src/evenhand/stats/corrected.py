"""What people would say of all cases, from a judge of all and labels for some: the result, and labels alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.domain.summary import Corrected, Interval, Rate
from evenhand.stats.intervals import Scores
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL, wilson


def labels_only(labels: Sequence[float], level: float = LEVEL) -> Rate | Refused:
    """Return the mean of labels from 0 to 1 that were drawn at random, with its interval.

    >>> labels_only([1, 1, 1, 0]).value
    0.75
    """
    n = len(labels)
    outside = [label for label in labels if not 0 <= label <= 1]
    if outside:
        raise ValueError(f"labels lie from 0 to 1; got {outside[0]!r}")
    if n == 0:
        return Refused("there are no labels")
    mean = math.fsum(labels) / n
    if all(label in (0, 1) for label in labels):
        low, high = wilson(mean, n, level)
        return Rate(value=mean, interval=Interval(low=low, high=high, method="wilson", level=level))
    scores = Scores()
    for label in labels:
        scores.add(label)
    interval = scores.interval(level)
    return Refused("1 label; an interval takes at least 2") if interval is None else Rate(value=mean, interval=interval)


def without_judge(found: Rate, labels: int, note: str) -> Corrected:
    """Return a result that rests on labels alone, with the reason why the judge was not used."""
    if found.interval is None:
        raise ValueError("labels alone have an interval")
    return Corrected(
        value=found.value, interval=found.interval, method="labels_only", labels=labels, worth=float(labels), note=note
    )


def worth_in_labels(labels: int, alone: Interval | None, with_judge: Interval) -> float | None:
    """Return how many labels alone would give as narrow an interval as with the judge: widths shrink by the root."""
    if alone is None or with_judge.high <= with_judge.low:
        return None
    return labels * ((alone.high - alone.low) / (with_judge.high - with_judge.low)) ** 2
