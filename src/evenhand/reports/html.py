"""A run as one HTML file that stands alone: it asks the network for nothing, and works without JavaScript."""

from __future__ import annotations

import base64
import functools
import hashlib
from importlib import resources
from typing import TextIO

from evenhand.reports.charts import means_plot, verdict_bar
from evenhand.reports.html_case import as_json, fold, verbatim
from evenhand.reports.html_overview import masthead, outcome
from evenhand.reports.html_table import MOST_COLUMNS, case_table
from evenhand.reports.markup import Html, join, tag
from evenhand.reports.report import Report
from evenhand.reports.sentences import effort_sentence, mean_sentence, pass_rate_sentence
from evenhand.reports.standing import standings
from evenhand.version import __version__


def write_html(report: Report, out: TextIO, *, section: Html | None = None) -> None:
    """Write the report; the results are read once and never held, so that memory stays flat.

    ``section`` stands in place of the usual numbers, where a run has others to show.
    """
    evaluators = list(report.summary.evaluators)
    style = _asset("report.css") + f":root {{ --evaluators: {min(len(evaluators), MOST_COLUMNS)}; }}\n"
    script = _asset("report.js")
    out.write('<!doctype html>\n<html lang="en">\n')
    out.write(_head(report.run.name, style, script))
    out.write("<body>\n<main>\n")
    out.write(join(masthead(report), section or outcome(report, report.bins())))
    out.writelines(case_table(report.results(), standings(report.summary.cases), evaluators))
    out.write("</main>\n")
    out.write(_footer(report))
    out.write(f"<script>{script}</script>\n</body>\n</html>\n")


def fragment_html(report: Report) -> str:
    """Give the numbers alone, for a notebook: no script and no style, so that they look like the page around them."""
    run, summary = report.run, report.summary
    seen = [f"{one.glyph} {one.word} {count:,}" for one, count in standings(summary.cases).items() if count]
    gates = [tag("li", "✓ met: " if gate.ok else "✗ missed: ", gate.words) for gate in report.gates]
    return tag(
        "div",
        tag("p", tag("strong", run.name), f" · run {run.id} · {run.status.value}"),
        tag("p", mean_sentence(summary.cases), tag("br"), pass_rate_sentence(summary.cases)),
        verdict_bar(standings(summary.cases)),
        tag("p", " · ".join(seen)),
        tag("ul", *gates) if gates else None,
        means_plot(summary),
        tag("p", effort_sentence(summary, report.run)),
    )


def _head(title: str, style: str, script: str) -> Html:
    # What the page may do is told by content, not by place: no text that slips in could run or fetch anything.
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=policy),
        tag("meta", name="referrer", content="no-referrer"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", f"{title} · Evenhand"),
        tag("style", Html(style)),
    )


def _footer(report: Report) -> Html:
    run = report.run
    defined = {"definition": dict(run.definition), "options": dict(run.options)}
    return tag(
        "footer",
        fold("How the run was defined", verbatim(as_json(defined))),
        tag("p", f"Made by Evenhand {__version__} from run {run.id}",
            f", judged with version {run.version}" if run.version and run.version != __version__ else None,
            ". This file asks the network for nothing."),
    )  # fmt: skip


@functools.cache
def _asset(name: str) -> str:
    return resources.files("evenhand.reports").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
