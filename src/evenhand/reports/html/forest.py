"""Tables with a column that is drawn: an estimate and its interval on a scale that all rows share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.html.markup import Html, tag

_HEIGHT: Final = 28
_MIDDLE: Final = _HEIGHT // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The scale of a drawn column, from its left end to its right one, and a line to hold estimates against."""

    left: float
    right: float
    line: float | None = None

    def across(self, at: float) -> str:
        """Tell where a value lies; what is beyond an end lies at it."""
        share = (at - self.left) / (self.right - self.left) if self.right != self.left else 0.5
        return f"{100 * min(max(share, 0.0), 1.0):.5g}%"


def mark(said: str, estimate: float | None, interval: tuple[float, float] | None, axis: Axis) -> Html:
    """Draw an estimate with its interval; ``said`` tells the same to those who do not look."""
    drawn = []
    if axis.line is not None:
        drawn.append(_forest_line(axis.across(axis.line), 0, axis.across(axis.line), _HEIGHT, "threshold"))
    if interval is not None:
        start, end = sorted(interval, key=lambda at: (at - axis.left) * (axis.right - axis.left))
        first, last = axis.across(start), axis.across(end)
        drawn += [
            _forest_line(first, _MIDDLE, last, _MIDDLE, "interval"),
            _forest_line(first, _MIDDLE - 4, first, _MIDDLE + 4, "interval"),
            _forest_line(last, _MIDDLE - 4, last, _MIDDLE + 4, "interval"),
        ]
    if estimate is not None:
        drawn.append(tag("circle", cx=axis.across(estimate), cy=_MIDDLE, r="4.5", class_="mean"))
    return tag(
        "svg",
        tag("title", said),
        *drawn,
        role="img",
        width="200",
        height=_HEIGHT,
        overflow="visible",
        fill="currentColor",
        class_="chart",
    )


def forest(headings: Sequence[str], rows: Sequence[tuple[str, Html, Sequence[str]]], scale: str) -> Html:
    """Show rows of a name, a drawing and numbers; ``scale`` is the heading over the drawings."""
    first, *others = headings
    return _table(
        (first, scale, *others),
        [
            (_name(name), tag("td", drawn, class_="drawn"), *(tag("td", one, class_="number") for one in numbers))
            for name, drawn, numbers in rows
        ],
    )


def shown(block: Block) -> Html:
    """Show a block as HTML; what models and users wrote is only ever text."""
    title = tag("h2", block.title) if block.title else None
    match block:
        case Sentences(lines=lines):
            return tag("div", title, *(tag("p", line) for line in lines))
        case Grid(headings=headings, rows=rows, to_the_left=left):
            cells = [
                [_name(cell) if place == 0 else tag("td", cell, class_=None if left[place] else "number")
                 for place, cell in enumerate(row)]
                for row in rows
            ]  # fmt: skip
            return tag("div", title, _table(headings, cells))


def _name(said: str) -> Html:
    return tag("th", said, scope="row")


def _table(headings: Sequence[str], rows: Sequence[Sequence[Html]]) -> Html:
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    return tag("table", tag("thead", head), tag("tbody", *(tag("tr", *row) for row in rows)), class_="forest")


def _forest_line(x1: str, y1: int, x2: str, y2: int, kind: str) -> Html:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind, stroke="currentColor")
