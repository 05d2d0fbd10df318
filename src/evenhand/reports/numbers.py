"""How numbers are written for people."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from evenhand.domain.summary import Interval

NONE = "–"


def score_text(score: float | None, digits: int = 2) -> str:
    """Write a score; what is not there is a dash, never a zero."""
    return NONE if score is None else f"{score:.{digits}f}"


def interval_text(interval: Interval | None) -> str:
    """Write an interval.

    >>> interval_text(Interval(low=0.62, high=0.8, method="t"))
    '[0.62, 0.80]'
    """
    return NONE if interval is None else f"[{interval.low:.2f}, {interval.high:.2f}]"


def counted(number: int, noun: str, several: str | None = None) -> str:
    """Write a number of things; ``several`` is the plural where that is not the noun with an s.

    >>> counted(1, "case"), counted(1200, "case"), counted(2, "reply", "replies")
    ('1 case', '1,200 cases', '2 replies')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def cost_text(cost: float | None) -> str:
    """Write dollars, with as many digits as small amounts need.

    >>> cost_text(12.5), cost_text(0.00214), cost_text(None)
    ('$12.50', '$0.0021', 'unknown')
    """
    if cost is None:
        return "unknown"
    digits = 2 if cost == 0 or cost >= 1 else min(max(2, 1 - math.floor(math.log10(cost))), 8)
    return f"${cost:,.{digits}f}"


def duration_text(seconds: float) -> str:
    """Write how long something took.

    >>> duration_text(0.42), duration_text(134), duration_text(7300)
    ('0.42 s', '2 min 14 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def moment_text(seconds: float) -> str:
    """Write a moment, given in seconds since 1970.

    >>> moment_text(0)
    '1970-01-01 00:00 UTC'
    """
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
