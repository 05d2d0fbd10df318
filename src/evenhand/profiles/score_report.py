"""The scores of profiles as text for a terminal, and in files; the ending of a file's name says the format."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_kind import PASS_MARK, PROFILES, has_verdicts, is_audit
from evenhand.evaluators.profile_score import SCALE
from evenhand.profiles.scores import ProfileScore, ScoringNumbers, best_first, from_0_to_10, profile_score, scoring_of
from evenhand.reports.csv import cell
from evenhand.reports.effort import effort_sentence
from evenhand.reports.json import SCHEMA_VERSION, run_row, summary_row, without_verdicts
from evenhand.reports.phrases import (
    NONE,
    counted,
    judges_phrase,
    mean_sentence,
    next_step,
    pass_rate_sentence,
    score_text,
    unusable_replies_sentence,
)
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, strict_json

MOST_SHOWN: Final = 50
COLUMNS: Final = (
    "id", "status", "score", "spread", "scores", "failures", "retry_count", "justification", "error", "cluster",
    "attributes",
)  # fmt: skip
_WHY: Final = 300
_VERDICT: Final = "verdict"


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
    numbers = scoring_of(report)[0]
    shown = list(_profiles(report, MOST_SHOWN))
    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in ("score", "spread", "failed"):
        table.add_column(heading, justify="right", no_wrap=True)
    if _marked(report):
        table.add_column(_VERDICT, no_wrap=True)
    table.add_column("profile", overflow="fold", max_width=30)
    table.add_column("why", overflow="fold")
    for profile in shown:
        verdict = (profile.verdict or NONE,) if _marked(report) else ()
        texts = (Text(plain(profile.id, 60)), Text(plain(_why(profile), _WHY)))
        table.add_row(_score(profile), score_text(profile.spread), f"{profile.failures:,}", *verdict, *texts)
    console.print(Text(_title(report, max(width - 40, 20)), style="bold"))
    console.print(Text(""))
    console.print(table)
    left = report.summary.cases.n - len(shown)
    command = f"evenhand report {report.run.id}{report.db_option or ''}"
    more = [f"and {left:,} more; all of them: {command} -o scores.csv"] if left else []
    for line in ("", *more, *_sentences(report, numbers)):
        console.print(Text(plain(line, None)))
    if numbers.spread.n > 1:
        console.print(Text("\nprofiles by score"))
        for bar in numbers.spread.bars():
            console.print(Text(bar))
        console.print(Text(""))
    if not (html_written and report.run.status is RunStatus.FINISHED):
        out.write(next_step(report.run, report.db_option))  # a command to copy, which must not be broken into lines
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def in_short(report: Report) -> str:
    """Return how many profiles were scored, and how well, in one line."""
    tally, numbers = report.summary.cases, scoring_of(report)[0]
    average = f"mean {score_text(numbers.mean)} and median {score_text(numbers.spread.median)} of 10"
    return f"{counted(tally.n, 'profile')}, {tally.scored:,} scored, {average}"


def _marked(report: Report) -> bool:
    """Return whether profiles pass or fail, which they do only by a mark that somebody set."""
    return has_verdicts(report.run.definition)


def _profiles(report: Report, most: int | None = None) -> Iterator[ProfileScore]:
    """Yield the profiles, the best first; one at a time, so that many take little memory."""
    return (profile_score(result, has_verdict=_marked(report)) for result in best_first(report, most))


def rows(report: Report) -> dict[str, Any]:
    """Return the scores and the numbers as plain JSON values, from 0 to 10 like the summary beside them."""
    return {
        "summary": _summary_row(report),
        "scoring": scoring_of(report)[0].as_dict(),
        "profiles": [profile.as_dict() for profile in _profiles(report)],
    }


def _summary_row(report: Report) -> dict[str, Any]:
    """Return the summary with scores from 0 to 10, and with nothing of verdicts unless there is a mark for them."""
    summary = report.summary
    evaluators_shown = {name: from_0_to_10(tally) for name, tally in summary.evaluators.items()}
    row = summary_row(replace(summary, cases=from_0_to_10(summary.cases), evaluators=evaluators_shown))
    if _marked(report):
        return row
    evaluators = {name: without_verdicts(numbers) for name, numbers in row["evaluators"].items()}
    return without_verdicts(row) | {"steadiness": None, "evaluators": evaluators}


def write(report: Report, path: str | Path) -> None:
    """Write the scores to a file, whole or not at all."""
    write_report(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    columns = [*COLUMNS[:3], _VERDICT, *COLUMNS[3:]] if _marked(report) else COLUMNS
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    for profile in _profiles(report):
        row = profile.as_dict()
        writer.writerow([cell(row.get(column)) for column in columns])


def _write_jsonl(report: Report, out: TextIO) -> None:
    out.writelines(strict_json(profile.as_dict()) + "\n" for profile in _profiles(report))


def _write_json(report: Report, out: TextIO) -> None:
    about = {
        "schema_version": SCHEMA_VERSION,
        "run": run_row(report.run),
        "summary": _summary_row(report),
        "gates": [gate.as_dict() for gate in report.gates],
        "scoring": scoring_of(report)[0].as_dict(),
    }
    # The profiles one by one, and then what closes the object: all of them at once would take much memory.
    out.write(f'{strict_json(about)[:-1]},"profiles":[')
    rows_of_profiles = (strict_json(profile.as_dict()) for profile in _profiles(report))
    out.writelines(f"{',' if number else ''}{row}" for number, row in enumerate(rows_of_profiles))
    out.write("]}\n")


def _write_markdown(report: Report, out: TextIO) -> None:
    numbers = scoring_of(report)[0]
    marked = _marked(report)
    lines = [f"# {escaped(_title(report, None), None)}", ""]
    lines += [f"- {escaped(line, None)}" for line in _sentences(report, numbers)]
    if numbers.spread.n > 1:
        lines += ["", "```text", *numbers.spread.bars(), "```"]
    verdict = (" verdict |", "---|") if marked else ("", "")
    lines += ["", f"| score | spread | failed |{verdict[0]} profile | why |", f"|---:|---:|---:|{verdict[1]}---|---|"]
    out.write("\n".join(lines) + "\n")
    for profile in _profiles(report):
        said = f" {profile.verdict or NONE} |" if marked else ""
        out.write(
            f"| {escaped(_score(profile))} | {score_text(profile.spread)} | {profile.failures} |{said} "
            f"{escaped(profile.id)} | {escaped(_why(profile), _WHY)} |\n"
        )


def _write_html(report: Report, out: TextIO) -> None:
    """Write the page of a scoring: the scores from 0 to 10, the best first, each with its justification."""
    from evenhand.reports.html.page import write_html  # noqa: PLC0415 - most reports need no templates
    from evenhand.reports.html.table import MOST_ROWS  # noqa: PLC0415

    notes = tuple(filter(None, (*scoring_of(report)[0].spread.sentences(), mark_sentence(report.run))))
    write_html(report, out, noun="profile", notes=notes, best_first=best_first(report, MOST_ROWS))


def _write_junit(report: Report, out: TextIO) -> None:
    """Write a test case for each profile, the best first; those of an audit in the order of its design."""
    from evenhand.reports.junit import write_junit  # noqa: PLC0415

    if is_audit(report.run.definition):
        write_junit(report, out)
        return
    numbers = scoring_of(report)[0]
    about = {
        "scale": f"{SCALE.low:g}-{SCALE.high:g}",
        "mean": score_text(numbers.mean),
        "median": score_text(numbers.spread.median),
        "standard_deviation": score_text(numbers.spread.standard_deviation),
    }
    notes = [*numbers.spread.sentences(), *(numbers.spread.bars() if numbers.spread.n > 1 else ())]
    write_junit(replace(report, results=lambda: best_first(report)), out, properties=about, notes=notes)


WRITERS: Final[dict[str, Writer]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "json": _write_json,
    "md": _write_markdown,
    "html": _write_html,
    "xml": _write_junit,
}


def _title(report: Report, limit: int | None) -> str:
    count = counted(report.summary.cases.n, "profile")
    return f"{plain(report.run.name, limit)}: {count}, {report.run.status.value}"


def _score(profile: ProfileScore) -> str:
    return profile.status.replace("_", " ") if profile.score is None else score_text(profile.score)


def _why(profile: ProfileScore) -> str:
    return profile.justification or profile.error or ""


def mark_sentence(run: RunRecord) -> str:
    """Say from which score on a profile passes; empty where no mark was set."""
    if not has_verdicts(run.definition):
        return ""
    return f"a profile passes with {run.definition[PROFILES][PASS_MARK]:g} points or more"


def _sentences(report: Report, numbers: ScoringNumbers) -> Iterator[str]:
    """Yield what all profiles together came to, and what trouble there was."""
    summary, run = report.summary, report.run
    if run.reason:
        yield run.reason
    yield f"scores from 0 to 10: {mean_sentence(from_0_to_10(summary.cases), 'profile')}"
    yield from numbers.spread.sentences()
    if _marked(report):
        yield f"{pass_rate_sentence(summary.cases)}; {mark_sentence(run)}"
    if numbers.invalid_replies:
        yield unusable_replies_sentence(numbers.invalid_replies, numbers.total_retries)
    for identity, failed in list(numbers.failures_by_profile.items())[:MOST_SHOWN]:
        yield f"failed: {identity} ({failed:,} of {summary.repeat:,})"
    if who := judges_phrase(summary):
        yield who
    yield effort_sentence(summary, run)
