"""A ranking as text for a terminal, and in files; the ending of a file's name says the format."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.domain.run import RunStatus
from evenhand.profiles.ranking.job import design_of
from evenhand.profiles.ranking.page import section
from evenhand.profiles.ranking.ranks import Ranks
from evenhand.profiles.ranking.saying import MOST_SHOWN, blocks
from evenhand.profiles.ranking.standing import ranks_from
from evenhand.reports import formats
from evenhand.reports.blocks import Block, Sentences, as_markdown, as_text
from evenhand.reports.csv import cell
from evenhand.reports.html import write_html
from evenhand.reports.markdown import escaped
from evenhand.reports.plain import plain
from evenhand.reports.report import Report
from evenhand.reports.rows import SCHEMA_VERSION, run_row
from evenhand.reports.sentences import effort_sentence, judges_phrase, next_step
from evenhand.reports.strict import strict_json

COLUMNS: Final = (
    "rank", "low", "high", "tier", "id", "strength", "groups", "failures", "win_rate", "win_rate_low", "win_rate_high",
    "win_rate_without_length", "attributes",
)  # fmt: skip


def ranks_in(report: Report) -> Ranks:
    """Work out the ranking from its report."""
    return ranks_from(report.results(), seed=design_of(report.run.definition).seed)


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Give the ranking for a terminal, the best first; what models and users wrote is made plain."""
    bold, usual = ("\x1b[1m", "\x1b[0m") if colour else ("", "")
    told = f"{bold}{_title(report, max(width - 40, 20))}{usual}\n\n{as_text(_blocks(report), width=width)}"
    # A command to copy, which must not be broken into lines.
    return told if html_written and report.run.status is RunStatus.FINISHED else f"{told}\n{next_step(report.run)}\n"


def rows(report: Report) -> dict[str, Any]:
    """Give the ranking as plain JSON values."""
    ranks = ranks_in(report)
    design = design_of(report.run.definition).as_dict()
    return {"ranking": {**design, **ranks.numbers()}, "profiles": [one.as_dict() for one in ranks.profiles]}


def write(report: Report, path: str | Path) -> None:
    """Write the ranking to a file, whole or not at all; a JUnit file is about groups, as that of every run is."""
    formats.write(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for one in ranks_in(report).profiles:
        row = one.as_dict()
        row["low"], row["high"] = one.interval or (None, None)
        around = one.win_rate_interval
        row["win_rate_low"], row["win_rate_high"] = (None, None) if around is None else (around.low, around.high)
        writer.writerow([cell(row[column]) for column in COLUMNS])


def _write_jsonl(report: Report, out: TextIO) -> None:
    out.writelines(strict_json(one.as_dict()) + "\n" for one in ranks_in(report).profiles)


def _write_json(report: Report, out: TextIO) -> None:
    about = {"schema_version": SCHEMA_VERSION, "run": run_row(report.run)}
    out.write(strict_json(about | rows(report)) + "\n")


def _write_markdown(report: Report, out: TextIO) -> None:
    out.write(f"# {escaped(_title(report, None), None)}\n{as_markdown(_blocks(report, most=None))}")


def _write_html(report: Report, out: TextIO) -> None:
    design = design_of(report.run.definition)
    write_html(report, out, section=section(ranks_in(report), design))


WRITERS: Final[dict[str, formats.Writer]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "json": _write_json,
    "md": _write_markdown,
    "html": _write_html,
}


def _blocks(report: Report, *, most: int | None = MOST_SHOWN) -> Iterator[Block]:
    yield from blocks(ranks_in(report), design_of(report.run.definition), most=most)
    told = (report.run.reason, judges_phrase(report.summary), effort_sentence(report.summary, report.run))
    yield Sentences(lines=tuple(filter(None, told)))


def _title(report: Report, limit: int | None) -> str:
    design = design_of(report.run.definition)
    how = "in pairs" if design.in_pairs else f"in groups of {design.group_size}"
    return f"{plain(report.run.name, limit)}: a ranking {how}, {design.name}, {report.run.status.value}"
