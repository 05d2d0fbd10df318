"""Krippendorff's alpha for labels in an order, such as grades: for those without one, and for scores, see agreement."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence

from evenhand.stats.refusal import Refused


def ordinal_alpha(cases: Sequence[Sequence[Hashable | None]], levels: Sequence[Hashable]) -> float | Refused:
    """Return how far raters agree on levels in an order; each case has a level by every rater, None where missing.

    Two levels are as far apart as there are ratings between them. Cases with fewer than two ratings are left out.

    >>> round(ordinal_alpha([["a", "a"], ["b", "b"], ["b", "c"], ["c", None]], "abc"), 4)
    0.7778
    """
    place = {level: number for number, level in enumerate(levels)}
    rated = [[place[level] for level in case if level is not None] for case in cases]
    rated = [case for case in rated if len(case) > 1]
    counts = Counter(level for case in rated for level in case)
    if len(counts) < 2:
        return Refused(
            "the raters gave one level only: chance alone would explain it" if counts else "no case is rated twice"
        )
    n = counts.total()
    # Half of a level's own ratings are below its middle.
    middles, below = {}, 0
    for level in range(len(place)):
        middles[level] = below + counts[level] / 2
        below += counts[level]
    within = math.fsum(
        (middles[one] - middles[other]) ** 2 / (len(case) - 1) for case in rated for one in case for other in case
    )
    among = math.fsum(
        counts[one] * counts[other] * (middles[one] - middles[other]) ** 2 for one in counts for other in counts
    )
    return 1 - (n - 1) * within / among
