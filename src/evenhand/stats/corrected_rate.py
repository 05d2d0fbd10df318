"""The pass rate that people would give to all cases, from the judge's verdicts on all and labels for some of them."""

from __future__ import annotations

import math
from typing import Final

from evenhand.domain.summary import Corrected, Interval
from evenhand.stats.corrected import without_judge, worth_in_labels
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.refusal import Refused
from evenhand.stats.shares import share
from evenhand.stats.wilson import LEVEL, wilson

# Below so many labels among the judge's passes, or among its fails, labels alone are safer.
FEWEST_OF_A_VERDICT: Final = 5


def corrected_rate(judge_passes: int, judged: int, labels: JudgedLabels, level: float = LEVEL) -> Corrected | Refused:
    """Return the pass rate by people; the labelled cases were drawn at random from the judged ones.

    People's pass rates where the judge passed and where it failed are weighted by how often it did so among all cases.
    The ends of the interval come from those of the three shares (MOVER), so that they hold for few labels too; they
    stay where rates are.

    >>> found = corrected_rate(640, 1000, JudgedLabels(tp=52, fp=8, fn=6, tn=34))
    >>> round(found.value, 4), round(found.interval.low, 4), round(found.interval.high, 4), round(found.worth)
    (0.6087, 0.5306, 0.6772, 168)
    """
    passed, failed = labels.judge_passes, labels.n - labels.judge_passes
    if not 0 <= judge_passes <= judged or passed > judge_passes or failed > judged - judge_passes:
        raise ValueError(
            f"labelled cases are among the judged ones; got {passed} and {failed} labels where the judge passed and "
            f"failed, of {judge_passes} passed among {judged}"
        )
    alone = share(labels.human_passes, labels.n, "labels", level)
    if isinstance(alone, Refused):
        return alone
    if min(passed, failed) < FEWEST_OF_A_VERDICT:
        few, verdict = (passed, "passed") if passed < failed else (failed, "failed")
        note = (
            f"labels only: {few} of them are on cases that the judge {verdict}, and at least {FEWEST_OF_A_VERDICT} are "
            "needed"
        )
        return without_judge(alone, labels.n, note)
    weight, of_passed, of_failed = judge_passes / judged, labels.tp / passed, labels.fn / failed
    apart = of_passed - of_failed
    value = weight * of_passed + (1 - weight) * of_failed
    shares = [(apart, weight, judged), (weight, of_passed, passed), (1 - weight, of_failed, failed)]
    below = above = 0.0
    for slope, found, n in shares:
        low, high = wilson(found, n, level)
        down, up = slope * (found - low), slope * (high - found)
        # Where the rate falls as a share rises, its lower end is that of the share's upper one.
        below, above = (below + down**2, above + up**2) if slope > 0 else (below + up**2, above + down**2)
    low, high = max(0.0, value - math.sqrt(below)), min(1.0, value + math.sqrt(above))
    interval = Interval(low=low, high=high, method="mover_wilson", level=level)
    worth = worth_in_labels(labels.n, alone.interval, interval)
    return Corrected(value=value, interval=interval, method="post_stratified", labels=labels.n, worth=worth)
