"""Drift as its page and its HTML file show it."""

from __future__ import annotations

from markupsafe import Markup

from evenhand.reports.drift import outcome_sentence, result_parts, side_lines
from evenhand.reports.html.card_parts import as_sentence, block_sections, sentences
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.page import whole_document
from evenhand.trust.drift import DriftReport


def drift_html(report: DriftReport) -> str:
    """Return one HTML file, which needs nothing else."""
    header = tag(
        "header",
        tag("p", "Evenhand drift of a judge", class_="kind"),
        tag("h1", report.name, dir="auto"),
        None if report.evaluator is None else tag("p", "Evaluator ", tag("strong", report.evaluator), dir="auto"),
    )
    body = join(header, tag("div", drift_sections(report), class_="judge-card outcome"))
    return whole_document(f"Drift: {report.name}", body)


def drift_sections(report: DriftReport) -> Markup:
    """Return everything below the title."""
    headline = tag("p", as_sentence(outcome_sentence(report)), class_="headline")
    return join(headline, sentences(side_lines(report)), block_sections(result_parts(report)))
