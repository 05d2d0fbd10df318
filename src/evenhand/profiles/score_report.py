"""The scores of profiles as text for a terminal, and in files; the ending of a file's name says the format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.domain.run import RunStatus
from evenhand.profiles.scores import ProfileScore, ScoringNumbers, from_0_to_10, scores_and_numbers
from evenhand.reports.csv import cell
from evenhand.reports.effort import effort_sentence
from evenhand.reports.json import SCHEMA_VERSION, run_row, summary_row
from evenhand.reports.phrases import counted, judges_phrase, mean_sentence, next_step, score_text
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, strict_json

MOST_SHOWN: Final = 50
COLUMNS: Final = (
    "id", "status", "score", "spread", "scores", "failures", "retry_count", "justification", "error", "cluster",
    "attributes",
)  # fmt: skip
_WHY: Final = 300


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Return the scores for a terminal, the highest first; what models and users wrote is made plain."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - rich is slow to load
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=colour, no_color=not colour, color_system="standard" if colour else None,
        highlight=False, markup=False, emoji=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    scores, numbers = report.once(_scores)
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("score", "spread", "failed"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("profile", overflow="fold", max_width=30)
    table.add_column("why", overflow="fold")
    for profile in scores[:MOST_SHOWN]:
        texts = (Text(plain(profile.id, 60)), Text(plain(_why(profile), _WHY)))
        table.add_row(_score(profile), score_text(profile.spread), f"{profile.failures:,}", *texts)
    console.print(Text(_title(report, max(width - 40, 20)), style="bold"))
    console.print(Text(""))
    console.print(table)
    for line in ("", *_sentences(report, numbers, shown=min(len(scores), MOST_SHOWN))):
        console.print(Text(plain(line, None)))
    if not (html_written and report.run.status is RunStatus.FINISHED):
        out.write(next_step(report.run))  # a command to copy, which must not be broken into lines
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _scores(report: Report) -> tuple[list[ProfileScore], ScoringNumbers]:
    return scores_and_numbers(report.summary, report.results())


def rows(report: Report) -> dict[str, Any]:
    """Return the scores and the numbers as plain JSON values."""
    scores, numbers = report.once(_scores)
    return {"scoring": numbers.as_dict(), "profiles": [profile.as_dict() for profile in scores]}


def write(report: Report, path: str | Path) -> None:
    """Write the scores to a file, whole or not at all; pages and JUnit files are those of every run."""
    write_report(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for profile in report.once(_scores)[0]:
        row = profile.as_dict()
        writer.writerow([cell(row[column]) for column in COLUMNS])


def _write_jsonl(report: Report, out: TextIO) -> None:
    out.writelines(strict_json(profile.as_dict()) + "\n" for profile in report.once(_scores)[0])


def _write_json(report: Report, out: TextIO) -> None:
    about = {
        "schema_version": SCHEMA_VERSION,
        "run": run_row(report.run),
        "summary": summary_row(report.summary),
        "gates": [gate.as_dict() for gate in report.gates],
    }
    out.write(strict_json(about | rows(report)) + "\n")


def _write_markdown(report: Report, out: TextIO) -> None:
    scores, numbers = report.once(_scores)
    lines = [f"# {escaped(_title(report, None), None)}", ""]
    lines += [f"- {escaped(line, None)}" for line in _sentences(report, numbers)]
    lines += ["", "| score | spread | failed | profile | why |", "|---:|---:|---:|---|---|"]
    lines += [
        f"| {escaped(_score(profile))} | {score_text(profile.spread)} | {profile.failures} | {escaped(profile.id)} "
        f"| {escaped(_why(profile), _WHY)} |"
        for profile in scores
    ]
    out.write("\n".join(lines) + "\n")


WRITERS: Final[dict[str, Writer]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "json": _write_json,
    "md": _write_markdown,
}


def _title(report: Report, limit: int | None) -> str:
    count = counted(report.summary.cases.n, "profile")
    return f"{plain(report.run.name, limit)}: {count}, {report.run.status.value}"


def _score(profile: ProfileScore) -> str:
    return profile.status.replace("_", " ") if profile.score is None else score_text(profile.score)


def _why(profile: ProfileScore) -> str:
    return profile.justification or profile.error or ""


def _sentences(report: Report, numbers: ScoringNumbers, *, shown: int | None = None) -> Iterator[str]:
    """Yield what all profiles together came to, and what trouble there was."""
    summary, run = report.summary, report.run
    if shown is not None and shown < summary.cases.n:
        yield f"and {summary.cases.n - shown:,} more; all of them: evenhand report {run.id} -o scores.csv"
    if run.reason:
        yield run.reason
    yield f"scores from 0 to 10: {mean_sentence(from_0_to_10(summary.cases))}"
    if numbers.invalid_replies:
        invalid = counted(numbers.invalid_replies, "reply", "replies")
        yield f"{invalid} could not be used; {counted(numbers.total_retries, 'retry', 'retries')}"
    for identity, failed in list(numbers.failures_by_profile.items())[:MOST_SHOWN]:
        yield f"failed: {identity} ({failed:,} of {summary.repeat:,})"
    if who := judges_phrase(summary):
        yield who
    yield effort_sentence(summary, run)
