"""Shares of cases with intervals: one share, and the difference of two shares among the same cases."""

from __future__ import annotations

import math

from evenhand.domain.summary import Interval, Rate
from evenhand.stats.distributions import z_quantile
from evenhand.stats.refusal import Refused
from evenhand.stats.wilson import LEVEL, wilson


def share(count: int, among: int, of: str, level: float = LEVEL) -> Rate | Refused:
    """Return a share with Wilson's interval; ``of`` says what there must be some of.

    >>> round(share(27, 30, "cases").interval.low, 4)
    0.7438
    >>> share(0, 0, "labels by people that say pass").reason
    'there are no labels by people that say pass'
    """
    if not 0 <= count <= among:
        raise ValueError(f"a share is of 0 to all of {of}; got {count!r} of {among!r}")
    if among == 0:
        return Refused(f"there are no {of}")
    low, high = wilson(count / among, among, level)
    return Rate(value=count / among, interval=Interval(low=low, high=high, method="wilson", level=level))


def bonett_price(more: int, fewer: int, n: int, level: float = LEVEL) -> Interval:
    """Return the interval of Bonett and Price for (more - fewer) / n, the difference of two shares of the same cases.

    ``more`` cases are in the first share only, ``fewer`` in the second only. The interval takes one more of each into
    account: right for few cases, and where there are none. It ends where differences of shares do, at -1 and 1.

    >>> found = bonett_price(3, 15, 100)
    >>> round(found.low, 4), round(found.high, 4)
    (-0.2005, -0.0348)
    """
    if min(more, fewer) < 0 or more + fewer > n or n < 1:
        raise ValueError(f"of n cases, 1 or more, some differ either way; got {more!r} and {fewer!r} of {n!r}")
    centre = (more - fewer) / (n + 2)
    half = z_quantile(level) * math.sqrt(((more + fewer + 2) / (n + 2) - centre**2) / (n + 2))
    return Interval(low=max(-1.0, centre - half), high=min(1.0, centre + half), method="bonett_price", level=level)
