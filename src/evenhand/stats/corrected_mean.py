"""The mean that people would give to all cases, from the judge's scores of all and labels for some of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from evenhand.domain.summary import Corrected, Interval
from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.stats.corrected import labels_only, without_judge, worth_in_labels
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL, scaled_wilson

# With fewer labels, the error of the slope itself would make the interval too narrow.
FEWEST: Final = 50


class Fit(NamedTuple):
    """What labels gain by one unit of the judge's score, the corrected mean, and its standard error."""

    slope: float
    estimate: float
    error: float
    correlation: float


def corrected_mean(
    labels: Sequence[float],
    judge: Sequence[float],
    judge_all: Sequence[float],
    *,
    level: float = LEVEL,
    fewest: int = FEWEST,
) -> Corrected | Refused:
    """Return the mean by people; ``judge`` has the scores of the labelled cases, which were drawn at random.

    ``judge_all`` has the scores of all cases, the labelled ones among them. The mean of the labels is moved along the
    least-squares line, by how far the judge's mean of all cases is from that of the labelled ones.

    >>> found = corrected_mean([1, 0, 1, 1] * 15, [0.9, 0.2, 0.8, 0.7] * 15, [0.9, 0.2, 0.8, 0.7] * 60)
    >>> round(found.value, 4), found.method
    (0.75, 'regression')
    """
    alone = labels_only(labels, level)
    n = len(labels)
    if isinstance(alone, Refused):
        return alone
    if n < fewest:
        return without_judge(
            alone, n, f"labels only: {n} of them, at least {fewest} are needed to use the judge's scores"
        )
    fit = fitted(labels, judge, judge_all)
    if isinstance(fit, Refused):
        return without_judge(alone, n, f"labels only: {fit.reason}")
    least = 1 / math.sqrt(n - 2)
    if fit.correlation < least:
        note = (
            f"labels only: their correlation with the judge's scores is {fit.correlation:z.2f}, and must be at least "
            f"{least:.2f}"
        )
        return without_judge(alone, n, note)
    if not 0 < fit.estimate < 1:
        note = f"labels only: moved along the judge's scores, their mean would be {fit.estimate:.3g}, which is none"
        return without_judge(alone, n, note)
    low, high = scaled_wilson(fit.estimate, fit.error, n - 1, level)
    interval = Interval(low=low, high=high, method="scaled_wilson", level=level)
    worth = worth_in_labels(n, alone.interval, interval)
    return Corrected(value=fit.estimate, interval=interval, method="regression", labels=n, worth=worth)


def fitted(labels: Sequence[float], judge: Sequence[float], judge_all: Sequence[float]) -> Fit | Refused:
    """Return the corrected mean with its error, whether or not there are labels enough to rely on it."""
    n, cases = len(labels), len(judge_all)
    if len(judge) != n or cases < n:
        raise ValueError(
            f"each label has a judge's score, and all cases include the labelled ones; got {n} labels, {len(judge)} "
            f"scores and {cases} cases"
        )
    if n < 3:
        return Refused(f"{n} labels; a line takes at least 3")
    mean, of_judge, of_all = math.fsum(labels) / n, math.fsum(judge) / n, math.fsum(judge_all) / cases
    spread = math.fsum((score - of_judge) ** 2 for score in judge)
    if spread <= n * FLOAT_NOISE**2:
        return Refused("the judge gave all labelled cases the same score")
    of_labels = math.fsum((label - mean) ** 2 for label in labels)
    if of_labels <= n * FLOAT_NOISE**2:
        return Refused("all labels are equal")
    together = math.fsum((label - mean) * (score - of_judge) for label, score in zip(labels, judge, strict=True))
    slope = together / spread
    # What the line leaves over, label by label: the difference of two sums of squares would lose digits.
    left = math.fsum(
        (label - mean - slope * (score - of_judge)) ** 2 for label, score in zip(labels, judge, strict=True)
    )
    of_all_cases = math.fsum((score - of_all) ** 2 for score in judge_all) / (cases - 1)
    return Fit(
        slope=slope,
        estimate=mean + slope * (of_all - of_judge),
        error=math.sqrt(left / (n - 2) / n + slope**2 * of_all_cases / cases),
        correlation=together / math.sqrt(spread * of_labels),
    )
