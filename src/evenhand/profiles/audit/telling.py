"""An audit as text for a terminal, and in files; the ending of a file's name says the format."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.domain.run import RunStatus
from evenhand.profiles import telling as scores_telling
from evenhand.profiles.audit.numbers import AuditNumbers, numbers_of
from evenhand.profiles.audit.page import section
from evenhand.profiles.audit.saying import MOST_ROWS, NO_CERTIFICATE, parts
from evenhand.reports import formats
from evenhand.reports.blocks import Block, Sentences, as_markdown, as_text
from evenhand.reports.csv import cell
from evenhand.reports.html import write_html
from evenhand.reports.markdown import escaped
from evenhand.reports.numbers import counted
from evenhand.reports.plain import plain
from evenhand.reports.report import Report
from evenhand.reports.rows import SCHEMA_VERSION, run_row, summary_row
from evenhand.reports.sentences import effort_sentence, judges_phrase, next_step
from evenhand.reports.strict import strict_json

COLUMNS: Final = (
    "name", "kind", "factors", "levels", "against", "is_group", "profiles", "estimate", "error", "low", "high", "df",
    "p", "p_holm", "detectable", "found", "lacking",
)  # fmt: skip


def of_report(report: Report) -> AuditNumbers:
    """Work out the numbers of an audit from its report."""
    return numbers_of(report.run.definition, report.results())


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Give the audit for a terminal; what models and users wrote is made plain."""
    bold, usual = ("\x1b[1m", "\x1b[0m") if colour else ("", "")
    told = [f"{bold}{_title(report, max(width - 40, 20))}{usual}\n", as_text(_all_parts(report), width=width)]
    if not (html_written and report.run.status is RunStatus.FINISHED):
        told.append(f"{next_step(report.run)}\n")
    return "\n".join(told)


def rows(report: Report) -> dict[str, Any]:
    """Give the audit, the scores and the numbers as plain JSON values."""
    numbers = of_report(report).as_dict()
    return {"audit": {**numbers, "notice": NO_CERTIFICATE}, **scores_telling.rows(report)}


def markdown(report: Report) -> str:
    """Give the audit as Markdown, in which what users wrote is escaped."""
    return f"# {escaped(_title(report, None), None)}\n{as_markdown(_all_parts(report, most=None))}"


def write(report: Report, path: str | Path) -> None:
    """Write the audit to a file, whole or not at all; lines of JSON and JUnit files are those of every scoring."""
    formats.write(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for one in of_report(report).effects:
        row = one.as_dict()
        around = row["interval"] or {}
        row |= {"low": around.get("low"), "high": around.get("high")}
        row |= {name: " × ".join(row[name]) for name in ("factors", "levels", "against")}
        writer.writerow([cell(row[column]) for column in COLUMNS])


def _write_json(report: Report, out: TextIO) -> None:
    about = {
        "schema_version": SCHEMA_VERSION,
        "run": run_row(report.run),
        "summary": summary_row(report.summary),
        "gates": [gate.as_dict() for gate in report.gates],
    }
    out.write(strict_json(about | rows(report)) + "\n")


def _write_html(report: Report, out: TextIO) -> None:
    write_html(report, out, section=section(report, of_report(report)))


WRITERS: Final[dict[str, formats.Writer]] = {
    **scores_telling.WRITERS,
    "csv": _write_csv,
    "json": _write_json,
    "md": lambda report, out: out.write(markdown(report)),
    "html": _write_html,
}


def _title(report: Report, limit: int | None) -> str:
    count = counted(report.summary.cases.n, "profile")
    return f"{plain(report.run.name, limit)}: an audit of {count}, {report.run.status.value}"


def _all_parts(report: Report, *, most: int | None = MOST_ROWS) -> Iterator[Block]:
    yield from parts(of_report(report), most=most)
    if report.gates:
        yield Sentences(
            title="Gates", lines=tuple(f"{'met' if one.ok else 'MISSED'}: {one.words}" for one in report.gates)
        )
    told = (report.run.reason, judges_phrase(report.summary), effort_sentence(report.summary, report.run))
    yield Sentences(lines=tuple(filter(None, told)))
