"""The pass rate that people would give, where the labels were not drawn from the judged cases."""

from __future__ import annotations

import math

from evenhand.domain.summary import Corrected, Interval
from evenhand.stats.distributions import z_quantile
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL


def by_error_rates(judge_passes: int, judged: int, labels: JudgedLabels, level: float = LEVEL) -> Corrected | Refused:
    """Return the pass rate by people, from how often the judge errs on labels of other cases (Rogan and Gladen).

    The labels may be older, or balanced between pass and fail: what must be the same is how often the judge passes what
    people pass, and fails what they fail. The interval is that of Lang and Reiczigel, which allows for the uncertainty
    of both; it ends where rates do.

    >>> found = by_error_rates(62, 100, JudgedLabels(tp=18, fp=4, fn=2, tn=16))
    >>> round(found.value, 4), round(found.interval.low, 4), round(found.interval.high, 4)
    (0.6, 0.3832, 0.8395)
    """
    if not 0 <= judge_passes <= judged or judged < 1:
        raise ValueError(f"the judge passed 0 to all of 1 case or more; got {judge_passes!r} of {judged!r}")
    sensitivity, specificity = labels.sensitivity(level), labels.specificity(level)
    for found in (sensitivity, specificity):
        if isinstance(found, Refused):
            return found
    known = lower_youden(labels, level)
    if known <= 0:
        return Refused(
            f"on {labels.n} labels the judge is not surely better than chance: the lower end of its sensitivity plus "
            f"specificity minus 1 is {known:z.2f}, and must be above 0"
        )
    passes, fails = labels.human_passes, labels.n - labels.human_passes
    value = rogan_gladen(judge_passes / judged, labels.tp / passes, labels.tn / fails)
    z = z_quantile(level)
    # One more of each, and z squared more cases, half of them passed: these keep the interval right for few.
    observed, cases = (judge_passes + z * z / 2) / (judged + z * z), judged + z * z
    hit, hits = (labels.tp + 1) / (passes + 2), passes + 2
    spared, all_spared = (labels.tn + 1) / (fails + 2), fails + 2
    by, centre = hit + spared - 1, rogan_gladen(observed, hit, spared)
    of_hit, of_spared = hit * (1 - hit) / hits, spared * (1 - spared) / all_spared
    shift = 2 * z * z * (centre * of_hit - (1 - centre) * of_spared)
    variance = observed * (1 - observed) / cases + (1 - centre) ** 2 * of_spared + centre**2 * of_hit
    half = z * math.sqrt(variance) / by
    low, high = max(0.0, centre + shift - half), min(1.0, centre + shift + half)
    return _result(value, low, high, labels.n, level)


def rogan_gladen(observed: float, sensitivity: float, specificity: float) -> float:
    """Return the true rate behind an observed one, for a judge whose error rates are known.

    >>> round(rogan_gladen(0.62, 0.9, 0.8), 12)
    0.6
    """
    if sensitivity + specificity <= 1:
        raise ValueError(f"a judge no better than chance says nothing; got {sensitivity!r} and {specificity!r}")
    return (observed + specificity - 1) / (sensitivity + specificity - 1)


def lower_youden(labels: JudgedLabels, level: float = LEVEL) -> float:
    """Return the lower end of sensitivity + specificity - 1, from those of both; -1 where one has no labels."""
    below, total = 0.0, -1.0
    for found in (labels.sensitivity(level), labels.specificity(level)):
        if isinstance(found, Refused) or found.interval is None:
            return -1.0
        total += found.value
        below += (found.value - found.interval.low) ** 2
    return total - math.sqrt(below)


def _result(value: float, low: float, high: float, labels: int, level: float) -> Corrected | Refused:
    if high <= 0 or low >= 1:
        return Refused(
            "the judge passes so few, or so many, that its error rates on the labels cannot hold for these cases"
        )
    note = None
    if not 0 <= value <= 1:
        note = f"the estimate was {value:.3g}, beyond the end of the scale: the judge's error rates may have changed"
    interval = Interval(low=low, high=high, method="lang_reiczigel", level=level)
    return Corrected(
        value=min(1.0, max(0.0, value)), interval=interval, method="rogan_gladen", labels=labels, note=note
    )
