"""Tables of estimates, each row with a drawing, and other blocks of a report, as HTML."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from markupsafe import Markup

from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.html.markup import tag


def forest(
    headings: Sequence[str],
    rows: Sequence[tuple[str, Markup, Sequence[str]]],
    scale: str,
    *,
    below: Sequence[Markup | None] = (),
) -> Markup:
    """Show rows of a name, a drawing and numbers; ``scale`` is the heading over the drawings.

    ``below`` has what stands below each of the first rows, across all columns.
    """
    first, *others = headings
    return _table(
        (first, scale, *others),
        [
            (
                _name(name),
                tag("td", drawn, class_="drawn"),
                *(_cell(heading, number) for heading, number in zip(others, numbers, strict=True)),
            )
            for name, drawn, numbers in rows
        ],
        below,
    )


def shown(block: Block) -> Markup:
    """Show a block as HTML; what models and users wrote is only ever text."""
    title = tag("h2", block.title) if block.title else None
    match block:
        case Sentences(lines=lines):
            return tag("div", title, *(tag("p", line) for line in lines))
        case Grid(headings=headings, rows=rows, to_the_left=left):
            cells = [
                [
                    _name(cell) if place == 0 else _cell(headings[place], cell, None if left[place] else "number")
                    for place, cell in enumerate(row)
                ]
                for row in rows
            ]
            return tag("div", title, _table(headings, cells))


def _name(name: str) -> Markup:
    return tag("th", name, scope="row")


def _cell(heading: str, text: str, class_: str | None = "number") -> Markup:
    """Return a cell that knows its heading, which stands before it where there is no room for columns."""
    return tag("td", text, class_=class_, data_name=heading if text else None)


def _table(headings: Sequence[str], rows: Sequence[Sequence[Markup]], below: Sequence[Markup | None] = ()) -> Markup:
    head = tag("tr", *(tag("th", name, scope="col") for name in headings))
    body: list[Markup] = []
    for row, more in itertools.zip_longest(rows, below):
        body.append(tag("tr", *row))
        if more is not None:
            body.append(tag("tr", tag("td", more, colspan=len(headings)), class_="below"))
    return tag("table", tag("thead", head), tag("tbody", *body), class_="forest")
