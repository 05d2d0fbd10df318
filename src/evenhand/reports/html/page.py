"""A run as one HTML file that stands alone: it asks the network for nothing, and works without JavaScript."""

from __future__ import annotations

import base64
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import TextIO

from markupsafe import Markup

from evenhand.domain.gates import GateResult
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Summary, Tally
from evenhand.reports.html.case import as_json, badge, fold, verbatim
from evenhand.reports.html.charts import means_plot, score_histogram, verdict_bar
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.table import MOST_COLUMNS, case_table
from evenhand.reports.phrases import (
    Effort,
    Standing,
    ambiguity_phrases,
    cost_text,
    counted,
    duration_text,
    effort_sentence,
    mean_sentence,
    moment_text,
    pass_rate_sentence,
    standings,
)
from evenhand.reports.report import Report
from evenhand.version import __version__


def masthead(report: Report) -> Markup:
    """Say what was judged, when, by what, and how far it came."""
    run, summary = report.run, report.summary
    took = None if run.finished is None else duration_text(max(run.finished - run.created, 0))
    facts = [
        ("Run", tag("code", run.id)),
        ("Status", run.status.value),
        ("Started", moment_text(run.created)),
        ("Took", took),
        ("Suite", run.source and tag("code", run.source)),
        ("Judges" if summary.judges[1:] else "Judge", ", ".join(summary.judges) or _named(run.definition.get("judge"))),
        ("Target", _named(run.definition.get("target")) or "none, the answers were given"),
        ("Repeats", str(run.repeat) if run.repeat > 1 else None),
        ("Forked from", run.forked_from and tag("code", run.forked_from)),
    ]
    return tag(
        "header",
        tag("p", "Evenhand report", class_="kind"),
        tag("h1", run.name),
        _facts(facts),
        None if run.status is RunStatus.FINISHED else _unfinished(run, summary.cases),
    )


def outcome(report: Report, bins: Sequence[Mapping[Standing, int]]) -> Markup:
    """Show the numbers, each mean with how many it is over and an interval."""
    summary = report.summary
    over = f"Case scores, {summary.cases.scored:,} of {counted(summary.cases.n, 'case')}, by verdict."
    return tag(
        "section",
        tag("h2", "Outcome", class_="hidden"),
        _headline(summary.cases),
        tag("p", pass_rate_sentence(summary.cases), class_="rate"),
        verdict_bar(standings(summary.cases)),
        _legend(summary.cases),
        tag("ul", *(_gate(one) for one in report.gates), class_="gates") if report.gates else None,
        _spent(summary, report.run),
        tag(
            "div",
            _figure("Scores", over, score_histogram(bins, report.run.thresholds)),
            _figure("Means", _methods(summary), means_plot(summary)),
            class_="charts",
        ),
        class_="outcome",
    )


def _headline(cases: Tally) -> Markup:
    """Say the mean the way it must be said: with n, an interval, and what the errors would do to it (SPEC-E2)."""
    found, over, rest = mean_sentence(cases).partition(" over ")
    if not over:
        return tag("p", found, class_="headline")
    word, mean, around = found.split(" ", 2)
    return tag("p", f"{word} ", tag("strong", mean), f" {around}", tag("span", over, rest, class_="quiet"),
               class_="headline")  # fmt: skip


def _legend(cases: Tally) -> Markup:
    """List how many cases came out how."""
    shown = [
        tag("li", badge(standing), f" {count:,}")
        for standing, count in standings(cases).items()
        if count or standing.scored
    ]
    return tag("ul", *shown, class_="legend")


def _unfinished(run: RunRecord, cases: Tally) -> Markup:
    why = f"{run.status.value}: {run.reason}" if run.reason else run.status.value
    pending = f"{cases.pending:,} of {counted(cases.n, 'case')} pending; the numbers are those of the others."
    return tag("p", tag("strong", "This run is not finished"), f" ({why}). {pending}", class_="unfinished")


def _gate(gate: GateResult) -> Markup:
    standing = Standing.PASS if gate.ok else Standing.FAIL
    sign = tag("span", standing.glyph, aria_hidden="true")
    word = tag("span", sign, " gate met" if gate.ok else " gate missed", class_=f"badge {standing}")
    return tag("li", word, tag("span", gate.words))


def _spent(summary: Summary, run: RunRecord) -> Markup:
    given_up = f"{run.abandoned_calls:,} ({cost_text(run.abandoned_cost)})" if run.abandoned_calls else None
    effort = Effort.of(summary, run)
    facts = [
        ("Cost", effort.cost),
        ("Calls to models", f"{effort.models:,}"),
        ("Programs", f"{effort.programs:,}" if effort.programs else None),
        ("Function calls", f"{effort.functions:,}" if effort.functions else None),
        ("Replies from the cache", f"{summary.cached:,}"),
        ("Retries", f"{summary.retries:,}"),
        ("Calls given up", given_up),
        ("Transport faults", f"{summary.transport_faults:,}" if summary.transport_faults else None),
        ("Tokens", f"{summary.input_tokens:,} in, {summary.output_tokens:,} out" if summary.input_tokens else None),
        ("Errors", _counts(summary.errors_by_class)),
        ("Flags", _counts(summary.flags)),
        ("Several verdicts in one reply", "; ".join(ambiguity_phrases(summary))),
    ]
    return _facts(facts, class_="facts spent")


def _facts(facts: Iterable[tuple[str, str | None]], class_: str = "facts") -> Markup:
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    return tag("dl", *rows, class_=class_)


def _figure(title: str, said: str, chart: Markup) -> Markup:
    return tag("figure", tag("figcaption", tag("h2", title), tag("p", said)), chart)


def _methods(summary: Summary) -> str:
    """Say how the intervals were found."""
    tallies = (summary.cases, *summary.evaluators.values(), *summary.models.values())
    intervals = [one.interval for one in tallies if one.interval is not None]
    methods = ", ".join(sorted({one.method for one in intervals}))
    return f"With {intervals[0].level:.0%} intervals ({methods})." if intervals else "Too few scores for intervals."


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _named(defined: object) -> str | None:
    """Name a judge or a target as a suite defines it: a name, or a mapping that says what it is."""
    if isinstance(defined, Mapping) and isinstance(several := defined.get("models"), list):
        return ", ".join(filter(None, map(_named, several)))
    if isinstance(defined, Mapping):
        defined = next((defined[key] for key in ("model", "command", "python") if defined.get(key)), defined)
    if isinstance(defined, list | tuple):
        return " ".join(map(str, defined))
    return None if defined is None else str(defined)


def write_html(report: Report, out: TextIO, *, section: Markup | None = None) -> None:
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
    """Return the numbers alone, for a notebook: no script and no style, so that they look like the page around them."""
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


def _head(title: str, style: str, script: str) -> Markup:
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
        tag("style", Markup(style)),  # noqa: S704 - our own style sheet
    )


def _footer(report: Report) -> Markup:
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
