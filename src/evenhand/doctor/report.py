"""An examination on a terminal and in files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.doctor.card import headline, parts
from evenhand.doctor.examination import Examination, examination_of
from evenhand.reports.blocks import Block, Sentences, as_markdown, as_report
from evenhand.reports.effort import effort_sentence
from evenhand.reports.json import SCHEMA_VERSION, run_row
from evenhand.reports.phrases import judges_phrase
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, strict_json


def found_in(report: Report) -> Examination:
    """Return what an examination found, which is worked out once, however many files are written."""
    return report.once(_work_out)


def _work_out(report: Report) -> Examination:
    return examination_of(report.run.definition, report.results())


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Return the judge card for a terminal; what models and users wrote is made plain."""
    shown = title(report, max(width - 40, 20))
    return as_report(report, shown, _all_parts(report), width=width, colour=colour, html_written=html_written)


def in_short(report: Report) -> str:
    """Return what came of the examination, in one line."""
    return headline(found_in(report))


def rows(report: Report) -> dict[str, Any]:
    """Return what was found as plain JSON values."""
    return {"doctor": found_in(report).as_dict()}


def markdown(report: Report) -> str:
    """Return the judge card as Markdown, in which what users wrote is escaped."""
    return f"# {escaped(title(report, None), None)}\n{as_markdown(_all_parts(report))}"


def write(report: Report, path: str | Path) -> None:
    """Write the judge card to a file, whole or not at all; other formats than pages are those of every run."""
    write_report(report, path, instead=WRITERS)


def title(report: Report, limit: int | None) -> str:
    """Say whose card it is."""
    return f"Judge card: {plain(report.run.name, limit)}, {report.run.status.value}"


def _write_json(report: Report, out: TextIO) -> None:
    out.write(strict_json({"schema_version": SCHEMA_VERSION, "run": run_row(report.run), **rows(report)}) + "\n")


def _write_html(report: Report, out: TextIO) -> None:
    from evenhand.doctor.card_html import card_html  # noqa: PLC0415 - page templates are slow to load

    out.write(card_html(report.run, found_in(report), tuple(_effort(report))))


WRITERS: Final[dict[str, Writer]] = {
    "json": _write_json,
    "md": lambda report, out: out.write(markdown(report)),
    "html": _write_html,
}


def _all_parts(report: Report) -> Iterator[Block]:
    yield from parts(found_in(report))
    yield Sentences(lines=tuple(_effort(report)))


def _effort(report: Report) -> Iterator[str]:
    sentences = (report.run.reason, judges_phrase(report.summary), effort_sentence(report.summary, report.run))
    yield from filter(None, sentences)
