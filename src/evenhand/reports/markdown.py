"""The report as Markdown, for a pull request or a wiki."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TextIO

from evenhand.domain.summary import Summary, Tally
from evenhand.reports.blocks import as_markdown
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
    pass_rate_sentence,
    samples_sentence,
    score_text,
    scored_heading,
    slice_tables,
    standing_texts,
    standings,
)
from evenhand.reports.report import Report
from evenhand.reports.safe_text import escaped
from evenhand.reports.steadiness import steady_grids, steady_sentences

_REASON: Final = 300


def markdown(report: Report) -> str:
    """Return the report as Markdown; what models and users wrote is escaped, and shows as it is."""
    return "\n".join(_lines(report)) + "\n"


def write_markdown(report: Report, out: TextIO) -> None:
    """Write the report as Markdown."""
    out.write(markdown(report))


def _lines(report: Report) -> Iterator[str]:
    summary, run = report.summary, report.run
    yield f"# {escaped(run.name)}"
    yield ""
    yield f"{counted(summary.cases.n, 'case')}, {run.status.value}{f': {escaped(run.reason)}' if run.reason else ''}"
    yield from (f"\n{escaped(words, None)}" for words in filter(None, [run.label, imported_sentence(run)]))
    yield ""
    seen = [
        f"{standing.glyph} {standing.word} {count:,}" for standing, count in standings(summary.cases).items() if count
    ]
    if seen:
        yield f"- {' · '.join(seen)}"
    yield f"- {mean_sentence(summary.cases)}"
    yield f"- {pass_rate_sentence(summary.cases)}"
    yield from (f"- {sentence}" for sentence in corrected_sentences(summary, written=escaped))
    is_repeated = summary.repeat > 1
    if is_repeated:
        yield f"- {samples_sentence(summary)}"
    label = "Samples not evaluated" if is_repeated else "Not evaluated"
    yield from (f"- {label}: {count:,} × {escaped(reason)}" for reason, count in summary.reasons.items())
    yield from (f"- {count:,} {escaped(words)}" for count, words in flag_phrases(summary))
    if who := judges_phrase(summary):
        yield f"- {escaped(who, None)}"
    yield f"- {effort_sentence(summary, report.run)}"
    if report.gates:
        yield from _table(
            "Gates", ("verdict", "gate"), ((_mark(gate.ok), escaped(gate.words)) for gate in report.gates)
        )
    if summary.evaluators:
        yield from _tallies("Evaluators", "evaluator", summary.evaluators, scored_heading(summary))
    yield from _targets(report)
    yield from _slices(summary)
    yield from _steadiness(report)
    shown = report.highlights()
    if shown.worst:
        yield from _table("Worst cases", ("verdict", "score", "case", "why"), _rows(shown.worst))
    if summary.errors_by_class:
        counts = ((escaped(kind, 60), f"{count:,}") for kind, count in summary.errors_by_class.items())
        title = "Errors by class, over all samples" if is_repeated else "Errors by class"
        yield from _table(title, ("class", "how many"), counts)
    if shown.broken:
        broken = errors_once(shown.broken, report.run.reason)
        yield from _table("Cases that ended in error", ("verdict", "score", "case", "why"), _rows(broken))


def _targets(report: Report) -> Iterator[str]:
    """Yield the tables of those who answered, if they are several."""
    summary, compared = report.summary, report.target_comparison()
    if summary.models:
        whose = "model" if compared is None else compared.noun
        yield from _tallies(f"{whose.capitalize()}s", whose, summary.models, scored_heading(summary))
    if compared is not None:
        yield as_markdown(several_parts(compared)).rstrip()


def _slices(summary: Summary) -> Iterator[str]:
    for key, rows, why_not in slice_tables(summary):
        name = escaped(key, 60)
        if rows:
            yield from _table(f"By {name}", (name, *SLICE_HEADINGS), ((escaped(row[0], 60), *row[1:]) for row in rows))
        else:
            yield f"\n## By {name}\n\n- {why_not}"


def _steadiness(report: Report) -> Iterator[str]:
    if sentences := steady_sentences(report.summary, report.gates, written=escaped):
        yield "\n## How steady\n"
        yield from (f"- {sentence}" for sentence in sentences)
    for grid in steady_grids(report.summary):
        yield from _table(grid.title, grid.headings, ((escaped(row[0], 60), *row[1:]) for row in grid.rows))


def _tallies(title: str, whose: str, tallies: Mapping[str, Tally], scored: str) -> Iterator[str]:
    kinds = list(Standing)[:5]
    headings = (whose, "mean", "95 %", scored, *(f"{kind.glyph} {kind.word}" for kind in kinds))
    rows = (
        (
            escaped(name, 60),
            score_text(tally.mean),
            interval_text(tally.interval),
            f"{tally.scored:,}",
            *(standing_texts(tally)[kind] for kind in kinds),
        )
        for name, tally in tallies.items()
    )
    yield from _table(title, headings, rows)


def _rows(highlights: Sequence[Highlight]) -> Iterator[tuple[str, ...]]:
    for highlight in highlights:
        why = f"{escaped(highlight.evaluator, 60)}: {escaped(highlight.reason, _REASON)}"
        yield (
            f"{highlight.standing.glyph} {highlight.standing.word}",
            score_text(highlight.score),
            escaped(highlight.case_id, 60),
            why,
        )


def _mark(ok: bool) -> str:
    standing = Standing.PASS if ok else Standing.FAIL
    return f"{standing.glyph} {standing.word}"


def _table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"\n## {title}\n"
    yield f"| {' | '.join(headings)} |"
    yield f"|{'---|' * len(headings)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"
