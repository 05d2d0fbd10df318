"""What cards of judges are built of in HTML: sections with sentences and tables."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from evenhand.reports.blocks import Block, Grid
from evenhand.reports.html.markup import join, tag


def block_sections(blocks: Iterable[Block]) -> Markup:
    """Return blocks as sections, each under its title."""
    return join(*map(_block_section, blocks))


def _block_section(block: Block) -> Markup:
    if isinstance(block, Grid):
        headings = [sentence_case(name) for name in block.headings]
        return section(block.title, scroll(figures(headings, block.rows, block.to_the_left), block.title or "Numbers"))
    return section(block.title, sentences(block.lines))


def section(title: str, *parts: Markup | None) -> Markup:
    """Return a section with its title."""
    return tag("section", tag("h2", title) if title else None, *parts, class_="section")


def sentences(lines: Iterable[str]) -> Markup:
    """Return a list of sentences."""
    return tag("ul", *(tag("li", as_sentence(line), dir="auto") for line in lines), class_="card-lines")


def as_sentence(line: str) -> str:
    """Return a line with a capital letter and a full stop.

    >>> as_sentence("no bias shown")
    'No bias shown.'
    """
    # What is to be copied does not end in a full stop.
    end = "" if line.endswith((".", "!", "?", "}")) or ": evenhand " in line else "."
    return f"{sentence_case(line)}{end}"


def sentence_case(text: str) -> str:
    """Return a text with a capital letter, and the others as they are."""
    return f"{text[:1].upper()}{text[1:]}"


def figures(headings: Iterable[str], rows: Iterable[tuple[str, ...]], to_the_left: tuple[bool, ...]) -> Markup:
    """Return a table of numbers and short words."""
    kinds = [None if left else "number" for left in to_the_left]
    head = tag("tr", *(tag("th", name, scope="col", class_=kind) for name, kind in zip(headings, kinds, strict=True)))
    body = (
        tag("tr", tag("th", first, scope="row", dir="auto"),
            *(tag("td", cell, class_=kind) for cell, kind in zip(cells, kinds[1:], strict=True)))
        for first, *cells in rows
    )  # fmt: skip
    return tag("table", tag("thead", head), tag("tbody", *body), class_="figures")


def scroll(table: Markup, name: str) -> Markup:
    """Return a wide table in a box of its own, by a name for those who cannot see it."""
    return tag("div", table, class_="scroll", tabindex="0", role="region", aria_label=name)
