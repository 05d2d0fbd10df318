"""The judge card of an examination as an HTML file, and as the part of a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from markupsafe import Markup

from evenhand.doctor.card import (
    KIND_TITLES,
    accuracy_table,
    attack_lines,
    headline,
    interval_of,
    mark,
    reading_lines,
    row,
    sentence,
)
from evenhand.doctor.examination import Examination, ProbeResult
from evenhand.domain.run import RunRecord
from evenhand.reports.html.card_parts import block_sections, scroll, section, sentences
from evenhand.reports.html.charts import Axis, interval_mark
from evenhand.reports.html.forest import forest
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.page import whole_document
from evenhand.reports.phrases import interval_text

_SHARES: Final = Axis(left=0, right=1, grid=(0, 0.25, 0.5, 0.75, 1))
_SCALE: Final = "0 to 1"


def card_html(run: RunRecord, found: Examination, more: Iterable[str] = ()) -> str:
    """Return the card as one HTML file, which needs nothing else."""
    header = tag(
        "header", tag("p", f"Evenhand judge card of run {run.id}", class_="kind"), tag("h1", run.name, dir="auto")
    )
    body = join(header, tag("div", card_parts(found, more), class_="judge-card outcome"))
    return whole_document(f"Judge card: {run.name}", body)


def card_parts(found: Examination, more: Iterable[str] = ()) -> Markup:
    """Return everything below the title."""
    sections = [
        section(title, _probes(title, [each for each in found.probes if each.probe.kind is kind]))
        for kind, title in KIND_TITLES.items()
        if any(each.probe.kind is kind for each in found.probes)
    ]
    return join(
        tag("p", *_headline(found), class_="headline"),
        sentences(attack_lines(found)),
        *sections,
        block_sections([accuracy_table(found)]) if found.accuracy else None,
        section("How to read this", sentences((*reading_lines(found), *more))),
    )


def _headline(found: Examination) -> Iterable[str]:
    yield headline(found)
    rate = found.attack_success
    if rate is not None:
        yield " Attack success "
        yield tag("strong", f"{rate.value:.0%}")
        if rate.interval is not None:
            yield tag("span", f" {rate.interval.low:.0%} to {rate.interval.high:.0%}", class_="quiet")


def _probes(title: str, probes: list[ProbeResult]) -> Markup:
    headings = ("Probe", "Outcome", "Harm", "Opposite", "Rate", "95 %", "Limit", "p")
    rows = []
    for found in probes:
        name, *cells = row(found)
        described = f"{name}: {mark(found.outcome)}, {found.harmed} of {found.among} {interval_text(found.interval)}"
        axis = Axis(left=0, right=1, line=found.limit, grid=(0, 0.25, 0.5, 0.75, 1))
        rows.append((name, interval_mark(name, found.rate, interval_of(found), axis, description=described), cells))
    return join(scroll(forest(headings, rows, _SCALE), title), tag("ul", *map(_told, probes), class_="card-lines"))


def _told(found: ProbeResult) -> Markup:
    name, _, what = sentence(found).partition(": ")
    return tag("li", tag("code", name), f": {what}.")
