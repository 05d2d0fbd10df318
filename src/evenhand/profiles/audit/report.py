"""An audit on a terminal and in files, and the charts of an HTML page."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TextIO

from markupsafe import Markup

from evenhand.domain.gates import GateResult
from evenhand.domain.summary import Interval
from evenhand.profiles import score_report
from evenhand.profiles.audit.effects import Effect
from evenhand.profiles.audit.refusals import Refusal
from evenhand.profiles.audit.result import AuditNumbers, numbers_of
from evenhand.profiles.audit.selection import FOUR_FIFTHS, Impact
from evenhand.profiles.audit.sentences import (
    IMPACT_RATIO,
    KINDS,
    MOST_ROWS,
    NO_CERTIFICATE,
    effect_rows,
    parts,
    signed,
    signed_interval,
)
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_report
from evenhand.reports.csv import cell
from evenhand.reports.effort import effort_sentence
from evenhand.reports.html.charts import Axis, interval_mark
from evenhand.reports.html.forest import forest, shown
from evenhand.reports.html.markup import tag
from evenhand.reports.html.page import write_html
from evenhand.reports.json import SCHEMA_VERSION, run_row, summary_row
from evenhand.reports.phrases import counted, interval_text, judges_phrase, score_text
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, strict_json

# Of a group that is hardly selected the interval has no end worth drawing.
_WIDEST_RATIO: Final = 2.0


def section(report: Report, numbers: AuditNumbers, word: Callable[[str], str] = str) -> Markup:
    """Show the numbers of an audit; what models and users wrote is only ever text. ``word`` explains a heading."""
    blocks = [_shown(block, numbers, word) for block in parts(numbers, most=None)]
    gates = tag("ul", *map(_gate, report.gates), class_="gates") if report.gates else None
    # The criteria stand above on a page and in a report already.
    return tag("section", gates, *blocks[1:], class_="outcome audit")


def _gate(gate: GateResult) -> Markup:
    sign, words = ("✓", "gate met") if gate.ok else ("✗", "gate missed")
    mark = tag(
        "span", tag("span", sign, aria_hidden="true"), f" {words}", class_=f"badge {'pass' if gate.ok else 'fail'}"
    )
    return tag("li", mark, tag("span", gate.words, dir="auto"))


def _shown(block: Block, numbers: AuditNumbers, word: Callable[[str], str]) -> Markup:
    if not isinstance(block, Grid):
        return shown(block)
    headings = [word(heading) for heading in block.headings]
    title = block.title
    if title in KINDS:
        effects = list(effect_rows(numbers, KINDS[title]))
        title = word(title)
        if reach := _reach(effect for effect, _ in effects):
            return _effects(title, headings, effects, reach)
    elif IMPACT_RATIO in block.headings and any(impact.ratio is not None for impact in numbers.impacts):
        return _impacts(block, headings, numbers.impacts)
    return shown(replace(block, title=title, headings=tuple(headings)))


def _reach(effects: Iterable[Effect]) -> float:
    """Return how far a scale of effects reaches; 0 where there is nothing to draw, at two digits."""
    reach = max((abs(end) for effect in effects for end in _ends(effect)), default=0.0)
    return reach if round(reach, 2) else 0.0


def _effects(
    title: str, headings: Sequence[str], effects: Sequence[tuple[Effect, tuple[str, ...]]], reach: float
) -> Markup:
    """Draw effects on a common scale, with the line at which nothing differs."""
    axis = Axis(left=-reach, right=reach, line=0.0)
    rows = []
    for effect, (name, *numbers) in effects:
        label = f"{effect.name}: {signed(effect.estimate)} {signed_interval(effect.interval)}"
        rows.append((name, interval_mark(label, effect.estimate, _span(effect.interval), axis), numbers))
    table = forest(headings, rows, f"{signed(-reach)} to {signed(reach)}")
    return tag("div", tag("h2", title), table)


def _impacts(grid: Grid, headings: Sequence[str], impacts: Sequence[Impact]) -> Markup:
    """Draw impact ratios, with the four-fifths line."""
    reach = min(max([1.0, *(impact.interval.high for impact in impacts if impact.interval is not None)]), _WIDEST_RATIO)
    axis = Axis(left=0.0, right=reach, line=FOUR_FIFTHS)
    rows = []
    for impact, (name, *cells) in zip(impacts, grid.rows, strict=True):
        label = f"{name}: {score_text(impact.ratio)} {interval_text(impact.interval)}, the line at {FOUR_FIFTHS:.2f}"
        rows.append((name, interval_mark(label, impact.ratio, _span(impact.interval), axis), cells))
    return tag("div", tag("h2", grid.title), forest(headings, rows, f"0 to {reach:.2f}"))


def _ends(effect: Effect) -> Iterator[float]:
    if effect.estimate is not None:
        yield effect.estimate
    yield from _span(effect.interval) or ()


def _span(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)


COLUMNS: Final = (
    "name", "kind", "factors", "levels", "against", "is_group", "profiles", "estimate", "error", "low", "high", "df",
    "p", "p_holm", "detectable", "found", "lacking", "decided_by", "generalises", "replicate_error", "replicate_p",
    "clustered_error", "clustered_p",
)  # fmt: skip


def audit_of(report: Report) -> AuditNumbers:
    """Return the numbers of an audit's report, which are worked out once, however many files are written."""
    return report.once(_work_out)


def _work_out(report: Report) -> AuditNumbers:
    return numbers_of(report.run.definition, report.results())


def with_gates(report: Report) -> Report:
    """Return a report that has the gates of its audit beside those of every run."""
    own = audit_of(report).gates
    return replace(report, gates=(*(gate for gate in report.gates if gate not in own), *own))


def in_short(report: Report) -> str:
    """Return what was found about groups, in one line."""
    numbers = audit_of(report)
    found = [
        f"{plain(finding.factor)} {plain(finding.level)} refused {finding.refused:,} of {finding.calls:,}"
        if isinstance(finding, Refusal)
        else f"{plain(finding.name)} {signed(finding.estimate)}"
        for finding in numbers.findings
    ]
    outcome = f"beyond chance: {'; '.join(found)}" if found else "no group effect beyond chance"
    return f"{counted(numbers.profiles, 'profile')}, {outcome}"


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Return the audit for a terminal; what models and users wrote is made plain."""
    report = with_gates(report)
    shown = _title(report, max(width - 40, 20))
    return as_report(report, shown, _all_parts(report), width=width, colour=colour, html_written=html_written)


def rows(report: Report) -> dict[str, Any]:
    """Return the audit, the scores and the numbers as plain JSON values."""
    numbers = audit_of(report).as_dict()
    return {"audit": {**numbers, "notice": NO_CERTIFICATE}, **score_report.rows(report)}


def markdown(report: Report) -> str:
    """Return the audit as Markdown, in which what users wrote is escaped."""
    return f"# {escaped(_title(report, None), None)}\n{as_markdown(_all_parts(report, most=None))}"


def write(report: Report, path: str | Path) -> None:
    """Write the audit to a file, whole or not at all; lines of JSON and JUnit files are those of every scoring."""
    write_report(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for effect in audit_of(report).effects:
        row = effect.as_dict()
        around = row["interval"] or {}
        row |= {"low": around.get("low"), "high": around.get("high")}
        row |= {name: " × ".join(row[name]) for name in ("factors", "levels", "against")}
        for name in ("replicate", "clustered"):
            row |= {f"{name}_{part}": (row[name] or {}).get(part) for part in ("error", "p")}
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
    write_html(report, out, section=section(report, audit_of(report)), noun="profile")


def _of_all_gates(writer: Writer) -> Writer:
    return lambda report, out: writer(with_gates(report), out)


_OWN: Final[dict[str, Writer]] = {
    "csv": _write_csv,
    "json": _write_json,
    "md": lambda report, out: out.write(markdown(report)),
    "html": _write_html,
}
WRITERS: Final = {name: _of_all_gates(writer) for name, writer in (score_report.WRITERS | _OWN).items()}


def _title(report: Report, limit: int | None) -> str:
    count = counted(report.summary.cases.n, "profile")
    return f"{plain(report.run.name, limit)}: an audit of {count}, {report.run.status.value}"


def _all_parts(report: Report, *, most: int | None = MOST_ROWS) -> Iterator[Block]:
    yield from parts(audit_of(report), most=most)
    if report.gates:
        yield Sentences(
            title="Gates", lines=tuple(f"{'met' if gate.ok else 'MISSED'}: {gate.words}" for gate in report.gates)
        )
    sentences = (report.run.reason, judges_phrase(report.summary), effort_sentence(report.summary, report.run))
    yield Sentences(lines=tuple(filter(None, sentences)))
