"""Tables with a column that is drawn: an estimate and its interval, on an axis that all rows share."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.html.markup import tag


def forest(headings: Sequence[str], rows: Sequence[tuple[str, Markup, Sequence[str]]], scale: str) -> Markup:
    """Show rows of a name, a drawing and numbers; ``scale`` is the heading over the drawings."""
    first, *others = headings
    return _table(
        (first, scale, *others),
        [
            (_name(name), tag("td", drawn, class_="drawn"), *(tag("td", one, class_="number") for one in numbers))
            for name, drawn, numbers in rows
        ],
    )


def shown(block: Block) -> Markup:
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


def _name(said: str) -> Markup:
    return tag("th", said, scope="row")


def _table(headings: Sequence[str], rows: Sequence[Sequence[Markup]]) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    return tag("table", tag("thead", head), tag("tbody", *(tag("tr", *row) for row in rows)), class_="forest")
