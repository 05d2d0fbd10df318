"""Several judges compared, as their page and their HTML file show them."""

from __future__ import annotations

from markupsafe import Markup

from evenhand.reports.html.card_parts import block_sections, sentences
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.page import whole_document
from evenhand.reports.judges import TITLE, headline_lines, result_parts
from evenhand.trust.judge_panel import JudgesComparison


def judges_html(found: JudgesComparison) -> str:
    """Return one HTML file, which needs nothing else."""
    header = tag("header", tag("p", "Evenhand", class_="kind"), tag("h1", TITLE))
    return whole_document(TITLE, join(header, tag("div", judges_sections(found), class_="judge-card outcome")))


def judges_sections(found: JudgesComparison) -> Markup:
    """Return everything below the title."""
    return join(sentences(headline_lines(found)), block_sections(result_parts(found)))
