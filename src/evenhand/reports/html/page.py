"""A run as one self-contained HTML file: it loads nothing from the network, and works without JavaScript."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from typing import TextIO

from markupsafe import Markup

from evenhand.domain.gates import GateResult
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.run_kind import has_verdicts, highest_score, without_unset_marks
from evenhand.domain.summary import Summary
from evenhand.reports.blocks import Grid
from evenhand.reports.effort import effort_sentence
from evenhand.reports.html.case import CaseView
from evenhand.reports.html.charts import means_plot, verdict_bar
from evenhand.reports.html.markup import tag
from evenhand.reports.html.renderer import render
from evenhand.reports.html.run import RunView, run_facts
from evenhand.reports.html.table import TableKind, case_table, cases_shown
from evenhand.reports.html.verbatim import verbatim_json
from evenhand.reports.phrases import mean_sentence, pass_rate_sentence, standings
from evenhand.reports.report import Report
from evenhand.reports.steadiness import steady_grids, steady_sentences
from evenhand.version import __version__


def write_html(
    report: Report,
    out: TextIO,
    *,
    section: Markup | None = None,
    noun: str = "case",
    case_view: Callable[[CaseResult], CaseView] | None = None,
    notes: Sequence[str] = (),
    best_first: Iterable[CaseResult] | None = None,
) -> None:
    """Write the report; the results are read once and never held, so that memory stays flat.

    Where the table has room for some cases only, those that come in are found first, and the others are not read.

    ``section`` replaces the usual numbers, where a run has others to show. ``noun`` is what a case of the run is, and
    ``case_view`` says how it is shown. ``notes`` are sentences to be read behind the mean. ``best_first`` are cases to
    be shown in that order, each with the reasons for its score beside it.
    """
    definition = report.run.definition
    kind = TableKind(
        noun=noun,
        has_verdicts=has_verdicts(definition),
        is_best_first=best_first is not None,
        is_repeated=report.run.repeat > 1,
    )

    def view_of(result: CaseResult) -> CaseView:
        return CaseView(result=result, scale=highest_score(definition), has_verdicts=kind.has_verdicts)

    evaluators = list(report.summary.evaluators)
    columns = f":root {{ --columns: {kind.widths(evaluators)}; }}\n"
    style = _asset("parts.css") + _asset("report.css") + columns
    script = _asset("report.js")
    out.write('<!doctype html>\n<html lang="en">\n')
    out.write(_head(report.run.name, style, script))
    out.write("<body>\n<main>\n")
    out.write(_numbers(report, noun, section, notes))
    views = map(case_view or view_of, cases_shown(report, kind) if best_first is None else best_first)
    out.writelines(case_table(views, standings(report.summary.cases), evaluators, kind))
    out.write("</main>\n")
    out.write(_footer(report))
    out.write(f"<script>{script}</script>\n</body>\n</html>\n")


def _numbers(report: Report, noun: str, section: Markup | None, notes: Sequence[str]) -> Markup:
    run, summary = report.run, report.summary
    scale = highest_score(run.definition) or 1
    # Where the numbers are others, nobody reads the results for a histogram.
    bins = report.bins() if section is None else ()
    view = RunView(
        run=run,
        summary=summary,
        cases=summary.cases.scaled(scale),
        scale=scale,
        notes=notes,
        bins=bins,
        gates=report.gates,
        noun=noun,
        targets=report.target_comparison(),
    )
    about = [("Run", run.id), ("Status", run.status.value), *run_facts(run, summary.judges, noun=noun)]
    return render("run_in_report.html", view=view, about=about, section=section)


def fragment_html(report: Report, *, in_short: str | None = None) -> str:
    """Return the numbers alone, for a notebook: no script and no style, so that they look like the page around them.

    ``in_short`` is what came of a run whose numbers are others, such as a ranking.
    """
    run, summary = report.run, report.summary
    gates = [tag("li", "✓ met: " if gate.ok else "✗ missed: ", gate.words) for gate in report.gates]
    return tag(
        "div",
        tag("p", tag("strong", run.name), f" · run {run.id} · {run.status.value}"),
        *(summary_parts(summary, report.gates, run) if in_short is None else [tag("p", in_short)]),
        tag("ul", *gates) if gates else None,
        means_plot(summary, scale=highest_score(run.definition) or 1) if in_short is None else None,
        tag("p", effort_sentence(summary, report.run)),
    )


def summary_parts(
    summary: Summary, gates: Sequence[GateResult] = (), run: RunRecord | None = None
) -> tuple[Markup, ...]:
    """Return the numbers of the cases: mean, pass rate, how many have which verdict, and how steady these are."""
    if run is not None and not has_verdicts(run.definition):
        return (tag("p", mean_sentence(summary.cases.scaled(highest_score(run.definition) or 1))),)
    counts = standings(summary.cases)
    seen = [f"{standing.glyph} {standing.word} {count:,}" for standing, count in counts.items() if count]
    return (
        tag("p", mean_sentence(summary.cases), tag("br"), pass_rate_sentence(summary.cases)),
        verdict_bar(counts),
        tag("p", " · ".join(seen)),
        *_steadiness(summary, gates),
    )


def _steadiness(summary: Summary, gates: Sequence[GateResult]) -> Iterator[Markup]:
    if sentences := steady_sentences(summary, gates):
        yield tag("h4", "How steady")
        yield tag("ul", *(tag("li", sentence) for sentence in sentences))
    yield from map(grid_table, steady_grids(summary))


def grid_table(grid: Grid) -> Markup:
    """Return a table for a notebook."""
    rows = [
        tag("tr", tag("th", first, scope="row", dir="auto"), *(tag("td", cell) for cell in cells))
        for first, *cells in grid.rows
    ]
    headings = (tag("th", heading, scope="col") for heading in grid.headings)
    table = tag("table", tag("thead", tag("tr", *headings)), tag("tbody", *rows))
    return tag("div", tag("h4", grid.title) if grid.title else None, table)


def whole_document(title: str, body: Markup) -> str:
    """Return a file that has its style in it, and no script."""
    style = _asset("parts.css") + _asset("report.css")
    footer = tag("footer", tag("p", f"Made by Evenhand {__version__}. This file loads nothing from the network."))
    page = tag("body", tag("main", body), footer)
    return f'<!doctype html>\n<html lang="en">\n{_head(title, style)}{page}\n</html>\n'


def _head(title: str, style: str, script: str | None = None) -> Markup:
    # Style and script are allowed by their hashes, not by where they are: injected text can run and fetch nothing.
    runs = "" if script is None else f"script-src '{_hash(script)}'; "
    policy = f"default-src 'none'; style-src '{_hash(style)}'; {runs}base-uri 'none'; form-action 'none'"
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Evenhand"),
        tag("style", Markup(style)),  # noqa: S704 - our own style sheet
    )


def _footer(report: Report) -> Markup:
    run = report.run
    defined = {"definition": without_unset_marks(run.definition), "options": dict(run.options)}
    return tag(
        "footer",
        tag("details", tag("summary", "Definition of the run"), verbatim_json(defined), class_="fold"),
        tag("p", f"Made by Evenhand {__version__} from run {run.id}",
            f", judged with version {run.version}" if run.version and run.version != __version__ else None,
            ". This file loads nothing from the network."),
    )  # fmt: skip


@functools.cache
def _asset(name: str) -> str:
    return resources.files("evenhand.reports").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
