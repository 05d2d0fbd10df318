"""A ranking on a terminal and in files."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.profiles.ranking.fit import ranks_from
from evenhand.profiles.ranking.job import design_of
from evenhand.profiles.ranking.result import Ranks
from evenhand.profiles.ranking.sentences import LONGEST_ID, MOST_SHOWN, WITHOUT_ORDER, blocks, headline, notes
from evenhand.reports.blocks import Block, Sentences, as_markdown, as_report
from evenhand.reports.csv import cell
from evenhand.reports.effort import effort_sentence
from evenhand.reports.json import SCHEMA_VERSION, run_row
from evenhand.reports.junit import write_junit
from evenhand.reports.phrases import counted, judges_phrase, retry_step
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, strict_json

# Of more groups, a fit takes longer than a line is worth.
MOST_FITTED_FOR_A_LINE: Final = 500
COLUMNS: Final = (
    "rank", "low", "high", "tier", "id", "strength", "groups", "failures", "win_rate", "win_rate_low", "win_rate_high",
    "win_rate_without_length", "note", "attributes",
)  # fmt: skip


def ranks_of(report: Report) -> Ranks:
    """Return the ranking of a report, which is fitted once, however many files are written."""
    return report.once(_fit)


def _fit(report: Report) -> Ranks:
    return ranks_from(report.results(), design_of(report.run.definition))


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Return the ranking for a terminal, the best first; what models and users wrote is made plain."""
    shown = _title(report, max(width - 40, 20))
    retry = retry_step(report.run, report.db_option) if ranks_of(report).failed else ""
    return as_report(report, shown, _blocks(report), width=width, colour=colour, html_written=html_written, retry=retry)


def in_short(report: Report) -> str:
    """Return who leads, and whether there is an order at all, in one line; of many groups, only how many there are.

    A line that is printed by the way, as in a debugger, must not wait for a fit that takes seconds.
    """
    if (groups := report.summary.cases.n) > MOST_FITTED_FOR_A_LINE:
        return f"a ranking of {counted(groups, 'group')}"
    ranks = ranks_of(report)
    led = ""
    if ranks.has_order:
        led = f", led by {', '.join(plain(identity, LONGEST_ID) for identity in ranks.order[:3])}"
    tiers = f" in {counted(ranks.tiers, 'tier')}" if ranks.tiers else ""
    return f"{counted(len(ranks.order), 'profile')}{tiers}{led}; {headline(ranks)}"


def rows(report: Report) -> dict[str, Any]:
    """Return the ranking as plain JSON values."""
    ranks = ranks_of(report)
    design = design_of(report.run.definition).as_dict()
    return {"ranking": {**design, **ranks.numbers()}, "profiles": [profile.as_dict() for profile in ranks.profiles]}


def write(report: Report, path: str | Path) -> None:
    """Write the ranking to a file, whole or not at all; the cases of a JUnit file are groups, as in every run."""
    write_report(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    ranks = ranks_of(report)
    about = notes(ranks)
    for profile in ranks.listed:
        row = {**profile.as_dict(), "note": about.get(profile.id, "")}
        row["low"], row["high"] = profile.interval or (None, None)
        around = profile.win_rate_interval
        row["win_rate_low"], row["win_rate_high"] = (None, None) if around is None else (around.low, around.high)
        writer.writerow([cell(row[column]) for column in COLUMNS])


def _write_jsonl(report: Report, out: TextIO) -> None:
    out.writelines(strict_json(profile.as_dict()) + "\n" for profile in ranks_of(report).listed)


def _write_json(report: Report, out: TextIO) -> None:
    about = {"schema_version": SCHEMA_VERSION, "run": run_row(report.run)}
    out.write(strict_json(about | rows(report)) + "\n")


def _write_markdown(report: Report, out: TextIO) -> None:
    out.write(f"# {escaped(_title(report, None), None)}\n{as_markdown(_blocks(report, most=None))}")


def _write_junit(report: Report, out: TextIO) -> None:
    """Write the groups as those of every run are, and below them what every other format says of the whole."""
    said = (block for block in _blocks(report) if isinstance(block, Sentences) and block.title != WITHOUT_ORDER)
    lines = (line for block in said for line in block.lines)
    has_order = str(ranks_of(report).has_order).lower()
    write_junit(report, out, properties={"has_order": has_order}, notes=[plain(line, None) for line in lines])


def _write_html(report: Report, out: TextIO) -> None:
    from evenhand.profiles.ranking.group_view import group_view  # noqa: PLC0415 - most reports need no templates
    from evenhand.profiles.ranking.leaderboard import section  # noqa: PLC0415
    from evenhand.reports.html.page import write_html  # noqa: PLC0415

    shown = section(report, ranks_of(report))
    write_html(report, out, section=shown, noun="group", case_view=group_view)


WRITERS: Final[dict[str, Writer]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "json": _write_json,
    "md": _write_markdown,
    "xml": _write_junit,
    "html": _write_html,
}


def _blocks(report: Report, *, most: int | None = MOST_SHOWN) -> Iterator[Block]:
    yield from blocks(ranks_of(report), design_of(report.run.definition), most=most)
    sentences = (report.run.reason, judges_phrase(report.summary), effort_sentence(report.summary, report.run))
    yield Sentences(lines=tuple(filter(None, sentences)))


def _title(report: Report, limit: int | None) -> str:
    design = design_of(report.run.definition)
    how = "in pairs" if design.in_pairs else f"in groups of {design.group_size}"
    return f"{plain(report.run.name, limit)}: a ranking {how}, {design.name}, {report.run.status.value}"
