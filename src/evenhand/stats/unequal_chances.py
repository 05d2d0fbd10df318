"""The mean that people would give to all cases, where some were more likely to be drawn for a label than others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from evenhand.domain.summary import Corrected, Interval
from evenhand.stats.distributions import z_quantile
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL

FEWEST: Final = 50


class Drawn(NamedTuple):
    """A case with the judge's score and its chance of being drawn; a label, if it was drawn."""

    score: float
    chance: float
    label: float | None = None


def by_chances(
    cases: Sequence[Drawn], *, weight: float = 1.0, level: float = LEVEL, fewest: int = FEWEST
) -> Corrected | Refused:
    """Return the mean by people: the judge's, corrected by what each label says about as many cases as it stands for.

    Each case was drawn, or not, on its own and by its chance; a label of a case that was not drawn must be left out
    before, as it stands for no other. ``weight`` is how much of the judge's score is used, 1 unless it was chosen
    before the labels were seen.

    >>> cases = [Drawn(0.8, 0.5, 1.0 if place % 4 else 0.0) if place % 2 else Drawn(0.8, 0.5) for place in range(200)]
    >>> found = by_chances(cases)
    >>> round(found.value, 4), found.labels
    (1.0, 100)
    """
    labels = sum(case.label is not None for case in cases)
    for case in cases:
        if not 0 < case.chance <= 1 or not 0 <= case.score <= 1 or not 0 <= (case.label or 0) <= 1:
            raise ValueError(f"scores and labels lie from 0 to 1, and chances above 0 to 1; got {case!r}")
        if case.chance == 1 and case.label is None:
            raise ValueError(f"a case that was sure to be drawn has a label; got {case!r}")
    if labels < max(2, fewest):
        return Refused(f"{labels} labels were drawn; with unequal chances at least {max(2, fewest)} are needed")
    n = len(cases)
    terms = [
        weight * case.score + (0.0 if case.label is None else (case.label - weight * case.score) / case.chance)
        for case in cases
    ]
    value = math.fsum(terms) / n
    if not 0 <= value <= 1:
        return Refused(
            f"the estimate is {value:.3g}, which no rate can be: the chances are too unequal for {labels} labels"
        )
    half = z_quantile(level) * math.sqrt(math.fsum((term - value) ** 2 for term in terms) / (n - 1) / n)
    low, high = value - half, value + half
    note = None
    if low < 0 or high > 1:
        note = "the interval reaches beyond the scale: more labels, or chances that are less unequal, would narrow it"
    interval = Interval(low=low, high=high, method="inverse_chance", level=level)
    return Corrected(value=value, interval=interval, method="unequal_chances", labels=labels, note=note)
