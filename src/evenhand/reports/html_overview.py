"""The upper part of the HTML report: what the run was, and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evenhand.domain.gates import GateResult
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.summary import Summary, Tally
from evenhand.reports.charts import means_plot, score_histogram, verdict_bar
from evenhand.reports.effort import Effort
from evenhand.reports.html_case import badge
from evenhand.reports.markup import Html, tag
from evenhand.reports.numbers import cost_text, counted, duration_text, moment_text
from evenhand.reports.report import Report
from evenhand.reports.sentences import ambiguity_phrases, mean_sentence, pass_rate_sentence
from evenhand.reports.standing import Standing, standings


def masthead(report: Report) -> Html:
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


def outcome(report: Report, bins: Sequence[Mapping[Standing, int]]) -> Html:
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


def _headline(cases: Tally) -> Html:
    """Say the mean the way it must be said: with n, an interval, and what the errors would do to it (SPEC-E2)."""
    found, over, rest = mean_sentence(cases).partition(" over ")
    if not over:
        return tag("p", found, class_="headline")
    word, mean, around = found.split(" ", 2)
    return tag("p", f"{word} ", tag("strong", mean), f" {around}", tag("span", over, rest, class_="quiet"),
               class_="headline")  # fmt: skip


def _legend(cases: Tally) -> Html:
    """List how many cases came out how."""
    shown = [
        tag("li", badge(standing), f" {count:,}")
        for standing, count in standings(cases).items()
        if count or standing.scored
    ]
    return tag("ul", *shown, class_="legend")


def _unfinished(run: RunRecord, cases: Tally) -> Html:
    why = f"{run.status.value}: {run.reason}" if run.reason else run.status.value
    pending = f"{cases.pending:,} of {counted(cases.n, 'case')} pending; the numbers are those of the others."
    return tag("p", tag("strong", "This run is not finished"), f" ({why}). {pending}", class_="unfinished")


def _gate(gate: GateResult) -> Html:
    standing = Standing.PASS if gate.ok else Standing.FAIL
    sign = tag("span", standing.glyph, aria_hidden="true")
    word = tag("span", sign, " gate met" if gate.ok else " gate missed", class_=f"badge {standing}")
    return tag("li", word, tag("span", gate.words))


def _spent(summary: Summary, run: RunRecord) -> Html:
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


def _facts(facts: Iterable[tuple[str, str | None]], class_: str = "facts") -> Html:
    rows = [tag("div", tag("dt", name), tag("dd", value)) for name, value in facts if value]
    return tag("dl", *rows, class_=class_)


def _figure(title: str, said: str, chart: Html) -> Html:
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
