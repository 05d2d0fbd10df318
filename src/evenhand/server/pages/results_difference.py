"""What a comparison draws: differences with their intervals around zero, and wins, ties and losses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Final

from markupsafe import Markup

from evenhand.domain.comparison import PairedDifference
from evenhand.reports.comparison import around_text, difference_text
from evenhand.reports.markup import Html, tag
from evenhand.server.pages.results_markup import drawn

_ROW: Final = 28
_BAR: Final = 16
_WORDS: Final = (("win", "wins", "pass"), ("tie", "ties", "not_evaluated"), ("loss", "losses", "fail"))


def reach(found: Iterable[PairedDifference]) -> float:
    """Give how far the axis goes to both sides of zero, so that all intervals fit: a tenth or more, to a tenth."""
    far = [0.1]
    for one in found:
        if one.interval is not None:
            far += [abs(one.interval.low), abs(one.interval.high)]
        elif one.difference is not None:
            far.append(abs(one.difference))
    return min(math.ceil(max(far) * 10 - 1e-9) / 10, 1.0)


def interval_mark(name: str, found: PairedDifference, most: float) -> Markup:
    """Draw a difference with its interval on an axis from ``-most`` to ``most``."""
    middle = _ROW / 2

    def across(value: float) -> str:
        return f"{50 + 50 * max(min(value / most, 1.0), -1.0):.5g}%"

    def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Html:
        return tag("line", x1=across(x1), y1=f"{y1:g}", x2=across(x2), y2=f"{y2:g}", class_=kind)

    marks = [line(at, 0, at, _ROW, "grid") for at in (-most, most)] + [line(0, 0, 0, _ROW, "zero")]
    if found.interval is not None:
        low, high = found.interval.low, found.interval.high
        marks.append(line(low, middle, high, middle, "interval"))
        marks += [line(at, middle - 4, at, middle + 4, "interval") for at in (low, high)]
    if found.difference is not None:
        marks.append(tag("circle", cx=across(found.difference), cy=f"{middle:g}", r="4.5", class_="mean"))
    said = f"{difference_text(found.difference)} {around_text(found.interval)}, from {-most:g} to {most:g}"
    title = (tag("title", name), tag("desc", said))
    return drawn(tag("svg", *title, *marks, role="img", width="100%", height=_ROW, class_="chart", overflow="visible"))


def outcome_bar(found: PairedDifference) -> Markup:
    """Draw one bar for the cases in which B scored more, the same, and less."""
    counts = (found.wins, found.ties, found.losses)
    ends = [0.0, *itertools.accumulate(count / max(found.n, 1) for count in counts)]
    parts = [
        tag("rect", tag("title", f"{count:,} {one if count == 1 else many} for B"), x=f"{100 * start:.5g}%",
            width=f"{100 * (end - start):.5g}%", y="0.5", height=_BAR - 1, class_=f"mark-{kind}")
        for count, (one, many, kind), start, end in zip(counts, _WORDS, ends[:-1], ends[1:], strict=True) if count
    ]  # fmt: skip
    said = f"{found.wins:,} wins, {found.ties:,} ties and {found.losses:,} losses for B"
    title = (tag("title", "Wins, ties and losses"), tag("desc", said))
    return drawn(
        tag(
            "svg", *title, *parts, role="img", width="100%", height=_BAR, class_="chart verdict-bar", overflow="visible"
        )
    )
