"""Evaluations, cases, summaries and comparisons in a notebook, in the words of the reports.

There is no script and no style, so that they look like the page around them.
"""

from __future__ import annotations

import functools

from markupsafe import Markup

from evenhand.domain.comparison import Comparison
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.summary import Summary
from evenhand.reports.blocks import Block, Grid
from evenhand.reports.comparison import parts
from evenhand.reports.html.case import CaseView
from evenhand.reports.html.charts import means_plot
from evenhand.reports.html.judgment import JudgmentView
from evenhand.reports.html.markup import tag
from evenhand.reports.html.page import grid_table, summary_parts
from evenhand.reports.html.renderer import render


@functools.singledispatch
def html_of(value: object) -> Markup:
    """Return a value as HTML; what models and users wrote is only ever text."""
    raise TypeError(f"a notebook shows no {type(value).__name__}")


@html_of.register
def _(evaluation: Evaluation) -> Markup:
    view = JudgmentView(judgment=Judgment(evaluation=evaluation), has_siblings=False)
    return render("evaluation_in_notebook.html", view=view)


@html_of.register
def _(result: CaseResult) -> Markup:
    return render("case_in_notebook.html", view=CaseView(result=result))


@html_of.register
def _(summary: Summary) -> Markup:
    return tag("div", *summary_parts(summary), means_plot(summary))


@html_of.register
def _(comparison: Comparison) -> Markup:
    return tag("div", *map(_block, parts(comparison)))


def _block(block: Block) -> Markup:
    if isinstance(block, Grid):
        return grid_table(block)
    title = tag("h4", block.title) if block.title else None
    return tag("div", title, *(tag("p", line) for line in block.lines))
