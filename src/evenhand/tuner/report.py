"""A tuning for people and programs: what was measured, what is proposed, and whether it is adopted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.domain.paired_difference import PairedDifference
from evenhand.domain.run import RunStatus
from evenhand.domain.summary import Interval, Rate
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.json import SCHEMA_VERSION, run_row, summary_row
from evenhand.reports.line_diff import differences
from evenhand.reports.phrases import counted, interval_text, next_step, score_text
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, plain_lines, strict_json
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.suites.suite_edit import definition_text
from evenhand.tuner.result import Measured, Tuning, tuning_of

_NAME: Final = 60
_HEADINGS: Final = ("prompt", "cases", "agreement", "sensitivity", "specificity", "kappa")
_WAYS: Final = {
    "examples": "examples",
    "instructions": "new instructions",
    "both": "new instructions and examples",
    "current": "the current prompt",
}


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:  # noqa: ARG001
    """Return what a tuning found, for a terminal."""
    found = report.once(_tuning)
    text = as_text(parts(found), width=width)
    if report.run.status is not RunStatus.FINISHED:
        return f"{text}\n{next_step(report.run, report.db_option)}\n"
    proposed = ["", "Proposed", *diff_lines(found)] if found.new else []
    return "\n".join([text.rstrip("\n"), *proposed, "", decision(found), ""])


def in_short(report: Report) -> str:
    """Return what was decided, in one line."""
    return decision(report.once(_tuning))


def rows(report: Report) -> dict[str, Any]:
    """Return what a tuning found as plain JSON values."""
    return {"tuning": report.once(_tuning).as_dict()}


def write(report: Report, path: str | Path) -> None:
    """Write what was found to a file; pages, tables and JUnit files are those of every run, with all judgments."""
    write_report(report, path, instead=WRITERS)


def _write_json(report: Report, out: TextIO) -> None:
    about = {
        "schema_version": SCHEMA_VERSION,
        "run": run_row(report.run),
        "summary": summary_row(report.summary),
        "gates": [gate.as_dict() for gate in report.gates],
    }
    out.write(strict_json(about | rows(report)) + "\n")


def _write_markdown(report: Report, out: TextIO) -> None:
    found = report.once(_tuning)
    out.write(as_markdown(parts(found)))
    if found.finished:
        # Indented, a line is code, whatever it says.
        out.writelines(["\n## Proposed\n\n", *(f"    {line}\n" for line in diff_lines(found))] if found.new else [])
        out.write(f"\n{escaped(decision(found), None)}\n")


WRITERS: Final[dict[str, Writer]] = {"json": _write_json, "md": _write_markdown}


def _tuning(report: Report) -> Tuning:
    return tuning_of(report.run, report.results())


def parts(found: Tuning) -> Iterator[Block]:
    """Yield the parts in the order in which they are read."""
    title = f"Tuning of evaluator {plain(found.name, _NAME)} of run {found.tuned}"
    split = (
        f"{counted(found.cases, 'labelled case')}: {found.open} to make and choose a prompt, {found.held_out} held out"
    )
    yield Sentences(title=title, lines=(split, *found.notes))
    if not found.finished:
        yield Sentences(lines=(decision(found),))
        return
    table = [_row("current", found.current), _row("cross-validated", found.honest)]
    if found.apparent is not None:
        table.append(_row("on its own cases", found.apparent))
    yield Grid(title="On the cases that are not held out", headings=_HEADINGS, rows=tuple(table))
    yield Sentences(lines=tuple(_fold_lines(found)))
    if found.held_out_current is not None and found.held_out_proposed is not None:
        held_out = (_row("current", found.held_out_current), _row("proposed", found.held_out_proposed))
        yield Grid(title="On the held-out cases", headings=_HEADINGS, rows=held_out)


def decision(found: Tuning) -> str:
    """Say whether the proposal is adopted, and why."""
    return f"{'Adopted' if found.adopted else 'Not adopted'}: {found.why}."


def _fold_lines(found: Tuning) -> Iterator[str]:
    yield f"change by nested cross-validation: {change_text(found.honest_change)}"
    if found.overfit is not None:
        yield (
            f"overfitting: on the cases it was made from, the proposed prompt agrees with people on "
            f"{score_text(found.apparent.share if found.apparent else None)}; on cases that were not looked at, such a "
            f"prompt agrees on {score_text(found.honest.share)} ({found.overfit:+z.2f})"
        )
    shares = ", ".join(f"{_WAYS[way]} {score_text(share)}" for way, share in found.ways.items())
    yield f"agreement over folds: the current prompt {score_text(found.current.share)}, {shares}"
    chosen = [_WAYS[way] for way in found.by_fold]
    counts = ", ".join(f"{name} {chosen.count(name)} times" for name in dict.fromkeys(chosen))
    yield f"chosen without looking at a fold: {counts}".replace(" 1 times", " once")


def change_text(found: PairedDifference) -> str:
    """Write a change of agreement with its interval, or why there is none."""
    if found.difference is None or found.interval is None:
        return found.lacking or "unknown"
    around = f"[{found.interval.low:+z.2f}, {found.interval.high:+z.2f}]"
    return f"{found.difference:+z.2f} {around} ({found.wins} cases gained, {found.losses} lost, of {found.n})"


def _row(name: str, found: Measured) -> tuple[str, ...]:
    rates = (found.agreement, found.sensitivity, found.specificity)
    errors = f" ({counted(found.errors, 'error')})" if found.errors else ""
    return (name, f"{found.counts.n}{errors}", *map(_rate, rates), _kappa(found.kappa))


def _rate(found: Rate | Refused) -> str:
    return "–" if isinstance(found, Refused) else f"{score_text(found.value)} {interval_text(found.interval)}".strip()


def _kappa(found: Kappa | Refused) -> str:
    if isinstance(found, Refused):
        return "–"
    interval = found.interval if isinstance(found.interval, Interval) else None
    return f"{found.value:.2f} {interval_text(interval)}".strip()


def diff_lines(found: Tuning) -> Iterator[str]:
    """Yield what changes in the evaluator's definition, as lines of the suite; what people wrote does nothing here."""
    before, after = definition_text(found.before), definition_text(found.evaluator or {})
    for line in differences(plain_lines(before), plain_lines(after)):
        yield f"{line.sign or ' '} {line.text}"
