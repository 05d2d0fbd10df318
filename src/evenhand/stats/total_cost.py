"""What many things cost together when only some of them were paid for."""

from __future__ import annotations

import math

from evenhand.domain.summary import Interval
from evenhand.stats.distributions import t_quantile
from evenhand.stats.sample import Sample
from evenhand.stats.wilson import LEVEL


def total_cost(paid: Sample, others: int, level: float = LEVEL) -> tuple[float, Interval | None] | None:
    """Return what ``paid`` things and so many ``others`` like them cost together; None if nothing was paid for.

    What was paid is known; for the rest, the interval is that of a prediction, by Student's t. It is left out where
    fewer than two were paid for, or all cost the same.

    >>> paid = Sample()
    >>> for dollars in (1.0, 2.0, 3.0):
    ...     paid.add(dollars)
    >>> total, interval = total_cost(paid, 2)
    >>> round(total, 2), round(interval.low, 2), round(interval.high, 2)
    (10.0, 6.0, 17.86)
    """
    mean, spread = paid.mean, paid.spread
    if mean is None:
        return None
    known, total = mean * paid.n, mean * (paid.n + others)
    if not spread or not others:
        return total, None
    half = t_quantile(level, paid.n - 1) * spread * math.sqrt(others**2 / paid.n + others)
    # The others do not cost less than nothing.
    return total, Interval(low=max(total - half, known), high=total + half, method="prediction", level=level)
