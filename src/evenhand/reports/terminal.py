"""The report in a terminal: the numbers, the worst cases, and how to go on.

Rich is slow to load: import this module only where a report goes to a terminal.
"""

from __future__ import annotations

import io
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from evenhand.domain.run import RunStatus
from evenhand.domain.summary import Tally
from evenhand.reports.blocks import Grid
from evenhand.reports.comparison import several_parts
from evenhand.reports.corrected import corrected_sentences
from evenhand.reports.effort import effort_sentence
from evenhand.reports.highlights import Highlight, errors_once
from evenhand.reports.phrases import (
    SLICE_HEADINGS,
    Standing,
    counted,
    flag_phrases,
    imported_sentence,
    interval_text,
    judges_phrase,
    mean_sentence,
    next_step,
    pass_rate_sentence,
    samples_sentence,
    score_text,
    scored_heading,
    slice_tables,
    standing_texts,
    standings,
)
from evenhand.reports.report import Report
from evenhand.reports.safe_text import plain
from evenhand.reports.steadiness import steady_grids, steady_sentences

_COLOURS: Final = {
    Standing.PASS: "green",
    Standing.BORDERLINE: "yellow",
    Standing.FAIL: "red",
    Standing.ERROR: "magenta",
    Standing.NOT_EVALUATED: "dim",
    Standing.PENDING: "dim",
}
_REASON: Final = 300
_WIDE: Final = 90
# Where cases were repeated, errors are shown as 8 of 12.
_WIDE_BY_ANSWER: Final = 110
# Only whole cases can be pending.
_COUNTED: Final = [standing for standing in Standing if standing is not Standing.PENDING]


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Return the report as text for a terminal of some width; without ``colour`` it holds no escape sequence at all.

    What models and users wrote goes through ``plain`` and into cells as text, never as markup. With ``html_written``,
    the report of a finished run does not say how to get the page with all cases.
    """
    text = printed(_parts(report, width), width=width, colour=colour)
    if html_written and report.run.status is RunStatus.FINISHED:
        return text
    # A command to copy, which must not be broken into lines.
    return f"{text}{next_step(report.run, report.db_option)}".rstrip() + "\n"


def printed(parts: Iterable[RenderableType], *, width: int, colour: bool) -> str:
    """Return parts as text for a terminal, one below the other; no line ends in blanks."""
    out = io.StringIO()
    # An empty environment: the arguments count, not COLUMNS, NO_COLOR or FORCE_COLOR.
    console = Console(
        file=out, width=width, force_terminal=colour, no_color=not colour, color_system="standard" if colour else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    for part in parts:
        console.print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _parts(report: Report, width: int) -> Iterator[RenderableType]:
    summary, run = report.summary, report.run
    name = plain(run.name, max(width - 40, 20))  # so short that the line is not broken
    yield Text(f"{name}: {counted(summary.cases.n, 'case')}, {run.status.value}", style="bold")
    for words in filter(None, (run.label, run.reason, imported_sentence(run))):
        yield Padding(Text(plain(words, None)), (0, 0, 0, 2))
    yield Text("")
    yield _counts(summary.cases)
    yield Text(mean_sentence(summary.cases))
    yield Text(pass_rate_sentence(summary.cases))
    yield from map(Text, corrected_sentences(summary))
    is_repeated = summary.repeat > 1
    if is_repeated:
        yield Text(samples_sentence(summary))
    if summary.reasons:
        reasons = (f"{count:,} × {plain(reason)}" for reason, count in summary.reasons.items())
        label = "Samples not evaluated:" if is_repeated else "Not evaluated:"
        yield _table_of(zip(itertools.chain([Text(label)], itertools.repeat(Text(""))), reasons, strict=False))
    needed = _WIDE if report.summary.cases.answers is None else _WIDE_BY_ANSWER
    yield from _tables(report, wide=width >= needed)
    yield from _steadiness(report)
    shown = report.highlights()
    if shown.worst:
        yield from _highlight_table("Worst cases", shown.worst)
    if summary.errors_by_class:
        yield Text("\nErrors by class, over all samples" if is_repeated else "\nErrors by class")
        yield _table_of((Text(f"{count:,}"), plain(kind)) for kind, count in summary.errors_by_class.items())
    if summary.flags:
        yield Text("\nFlags")
        yield _table_of((Text(f"{count:,}"), plain(words)) for count, words in flag_phrases(summary))
    if shown.broken:
        yield from _highlight_table("Cases that ended in error", errors_once(shown.broken, run.reason))
    if report.gates:
        yield Text("\nGates")
        yield _table_of(
            (marked(Standing.PASS if gate.ok else Standing.FAIL), plain(gate.words, None)) for gate in report.gates
        )
    yield Text("")
    if who := judges_phrase(summary):
        yield Text(plain(who, None))
    yield Text(effort_sentence(summary, report.run))


def _steadiness(report: Report) -> Iterator[RenderableType]:
    if sentences := steady_sentences(report.summary, report.gates):
        yield Text("\nHow steady")
        yield from map(Text, sentences)
    for grid in steady_grids(report.summary):
        yield Text(f"\n{grid.title}")
        yield _grid(grid)


def marked(standing: Standing, more: str = "") -> Text:
    """Write a standing as sign and word, in its colour."""
    return Text(f"{standing.glyph} {standing.word}{more}", style=_COLOURS[standing])


def _counts(tally: Tally) -> Text:
    seen = [marked(standing, f" {count:,}") for standing, count in standings(tally).items() if count]
    return Text("   ").join(seen) if seen else Text("no cases")


def _tables(report: Report, *, wide: bool) -> Iterator[RenderableType]:
    summary, compared = report.summary, report.target_comparison()
    answered_by = "model" if compared is None else compared.noun
    for whose, tallies in (("evaluator", summary.evaluators), (answered_by, summary.models)):
        if tallies:
            yield Text("")
            yield _tallies(whose, tallies, wide=wide, scored=scored_heading(summary))
    for block in () if compared is None else several_parts(compared):
        yield Text(f"\n{block.title}" if isinstance(block, Grid) else "\n".join(block.lines))
        if isinstance(block, Grid):
            yield _grid(block)
    for key, rows, why_not in slice_tables(summary):
        yield Text(f"\nBy {plain(key, 60)}{why_not and f': {why_not}'}")
        if rows:
            yield _slices(key, rows)


def _grid(grid: Grid) -> Table:
    table = _table()
    for heading, is_text in zip(grid.headings, grid.to_the_left, strict=True):
        if is_text:
            table.add_column(heading, overflow="fold")
        else:
            table.add_column(heading, justify="right", no_wrap=True)
    for row in grid.rows:
        table.add_row(*map(Text, row))
    return table


def _slices(key: str, rows: Sequence[Sequence[str]]) -> Table:
    table = _table()
    table.add_column(plain(key, 60), overflow="fold")
    for heading in SLICE_HEADINGS:
        table.add_column(heading, justify="right", no_wrap=True)
    for value, *cells in rows:
        table.add_row(Text(plain(value, 60)), *cells)
    return table


def _tallies(whose: str, tallies: dict[str, Tally], *, wide: bool, scored: str) -> Table:
    table = _table()
    table.add_column(whose, overflow="fold")
    verdicts = (f"{standing.glyph} {standing.word}" if wide else standing.glyph for standing in _COUNTED)
    for heading in ("mean", "95 %", scored, *verdicts):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, tally in tallies.items():
        counts = standing_texts(tally)
        table.add_row(
            Text(plain(name, 60)),
            score_text(tally.mean),
            interval_text(tally.interval),
            f"{tally.scored:,}",
            *(counts[standing] for standing in _COUNTED),
        )
    return table


def _table_of(rows: Iterable[tuple[Text, str]]) -> Table:
    """Put texts beside what they are about: where a long one is broken, the rest does not begin a line."""
    table = _table(headed=False)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold")
    for about, words in rows:
        table.add_row(about, Text(words))
    return table


def _highlight_table(title: str, highlights: Sequence[Highlight]) -> Iterator[RenderableType]:
    yield Text(f"\n{title}")
    table = _table(headed=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(overflow="fold", max_width=30)
    table.add_column(overflow="fold")
    for highlight in highlights:
        score = "" if highlight.score is None else score_text(highlight.score)
        reason = Text(f"{plain(highlight.evaluator, 60)}: {plain(highlight.reason, _REASON)}")
        table.add_row(marked(highlight.standing), score, Text(plain(highlight.case_id, 60)), reason)
    yield table


def _table(*, headed: bool = True) -> Table:
    box = SIMPLE_HEAD if headed else None
    return Table(box=box, show_header=headed, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
