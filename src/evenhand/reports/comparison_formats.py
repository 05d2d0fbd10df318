"""A comparison as text for a terminal, as Markdown, and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from evenhand.domain.comparison import Comparison
from evenhand.domain.errors import ConfigError
from evenhand.reports.comparison import Grid, Sentences, parts
from evenhand.reports.markdown import escaped
from evenhand.reports.plain import plain
from evenhand.reports.rows import SCHEMA_VERSION
from evenhand.reports.strict import strict_json
from evenhand.reports.whole import written_whole


def comparison_text(comparison: Comparison, *, width: int = 100) -> str:
    """Give a comparison as text that shows what it says and does nothing else, whatever ids and names have in them."""
    return "\n\n".join(map("\n".join, _texts(comparison, width))) + "\n"


def comparison_markdown(comparison: Comparison) -> str:
    """Give a comparison as Markdown, in which ids and names are escaped."""
    return "\n".join(["# Run B against run A", *_markdown(comparison)]) + "\n"


def comparison_json(comparison: Comparison) -> str:
    """Give a comparison as one line of strict JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **comparison.as_dict()})


_WRITERS: Final[dict[str, Callable[[Comparison], str]]] = {
    ".md": comparison_markdown,
    ".json": lambda comparison: comparison_json(comparison) + "\n",
}


def comparison_writer(path: str) -> Callable[[Comparison], str]:
    """Give the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    ending = Path(path).suffix.lower()
    if ending not in _WRITERS:
        known = " or ".join(_WRITERS)
        raise ConfigError(f"{path}: no comparison is written to {ending or 'no ending'}; give a name in {known}")
    return _WRITERS[ending]


def write_comparison(comparison: Comparison, path: str) -> None:
    """Write a comparison to a file, whole or not at all."""
    text = comparison_writer(path)(comparison)
    with written_whole(path) as file:
        file.write(text.encode())


def _texts(comparison: Comparison, width: int) -> Iterator[list[str]]:
    for part in parts(comparison):
        title = [part.title] if part.title else []
        match part:
            case Sentences(lines=lines):
                yield [*title, *(_wrapped(line, width) for line in lines)]
            case Grid(headings=headings, rows=rows):
                yield [*title, *_aligned([headings, *rows])]


def _wrapped(line: str, width: int) -> str:
    # Run ids have hyphens in them, and are there to be copied.
    return textwrap.fill(
        plain(line, None), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _aligned(rows: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [first.ljust(widths[0]), *(cell.rjust(wide) for cell, wide in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()


def _markdown(comparison: Comparison) -> Iterator[str]:
    for part in parts(comparison):
        if part.title:
            yield f"\n## {escaped(part.title, None)}"
        yield ""
        match part:
            case Sentences(lines=lines):
                yield from (f"- {escaped(line, None)}" for line in lines)
            case Grid(headings=headings, rows=rows):
                yield f"| {' | '.join(escaped(cell, None) for cell in headings)} |"
                yield f"|{'---|' * len(headings)}"
                yield from (f"| {' | '.join(escaped(cell, None) for cell in row)} |" for row in rows)
