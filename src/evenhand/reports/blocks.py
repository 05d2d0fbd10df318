"""What reports are built of, sentences and tables, and how these are written as text and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from evenhand.domain.run import RunStatus
from evenhand.reports.phrases import next_step
from evenhand.reports.report import Report
from evenhand.reports.safe_text import escaped, plain

_WIDEST_CELL: Final = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table with a title; its columns are numbers or short words but for the first and those named in ``words``."""

    title: str = ""
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: tuple[str, ...] = ()

    @property
    def to_the_left(self) -> tuple[bool, ...]:
        """Which columns are written from the left."""
        return tuple(place == 0 or heading in self.words for place, heading in enumerate(self.headings))


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentences:
    """Some sentences that belong together, under a title or without one."""

    lines: tuple[str, ...]
    title: str = ""


Block: TypeAlias = Sentences | Grid


def as_text(blocks: Iterable[Block], *, width: int = 100) -> str:
    """Write blocks as text that shows what they say and does nothing else, whatever ids and names have in them."""
    return "\n\n".join("\n".join(_text_lines(block, width)) for block in blocks) + "\n"


def as_report(
    report: Report,
    title: str,
    blocks: Iterable[Block],
    *,
    width: int,
    colour: bool,
    html_written: bool,
    retry: str = "",
) -> str:
    """Write the report of a run for a terminal: a title, blocks, and what to do next unless that was done.

    ``retry`` is how to retry what failed. Commands are there to be copied, and are not broken into lines.
    """
    bold, usual = ("\x1b[1m", "\x1b[0m") if colour else ("", "")
    texts = [f"{bold}{title}{usual}\n", as_text(blocks, width=width)]
    done = html_written and report.run.status is RunStatus.FINISHED
    steps = ("" if done else next_step(report.run, report.db_option), retry)
    if any(steps):
        texts.append("".join(f"{step}\n" for step in steps if step))
    return "\n".join(texts)


def as_markdown(blocks: Iterable[Block]) -> str:
    """Write blocks as Markdown, in which ids and names are escaped."""
    return "\n".join(line for block in blocks for line in _markdown_lines(block)) + "\n"


def _text_lines(block: Block, width: int) -> Iterator[str]:
    if block.title:
        yield plain(block.title, None)
    match block:
        case Sentences(lines=lines):
            yield from (_wrapped(line, width) for line in lines)
        case Grid(headings=headings, rows=rows, to_the_left=left):
            yield from _aligned([headings, *([plain(cell, _WIDEST_CELL) for cell in row] for row in rows)], left)


def _wrapped(line: str, width: int) -> str:
    # Run ids have hyphens in them, and are there to be copied.
    return textwrap.fill(
        plain(line, None), width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _aligned(rows: Sequence[Sequence[str]], left: Sequence[bool]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(wide) if from_left else cell.rjust(wide)
            for cell, wide, from_left in zip(row, widths, left, strict=True)
        ]
        yield "  ".join(cells).rstrip()


def _markdown_lines(block: Block) -> Iterator[str]:
    if block.title:
        yield f"\n## {escaped(block.title, None)}"
    yield ""
    match block:
        case Sentences(lines=lines):
            yield from (f"- {escaped(line, None)}" for line in lines)
        case Grid(headings=headings, rows=rows, to_the_left=left):
            yield f"| {' | '.join(escaped(cell, None) for cell in headings)} |"
            yield f"|{''.join('---|' if from_left else '---:|' for from_left in left)}"
            yield from (f"| {' | '.join(escaped(cell, None) for cell in row)} |" for row in rows)
