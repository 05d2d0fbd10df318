"""The part of an HTML report that an audit has of its own: effects and impact ratios, drawn with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.domain.summary import Interval
from evenhand.profiles.audit.effects import Effect
from evenhand.profiles.audit.numbers import AuditNumbers
from evenhand.profiles.audit.saying import (
    EFFECT_HEADINGS,
    IMPACT_RATIO,
    KINDS,
    effect_rows,
    parts,
    signed,
    signed_interval,
)
from evenhand.profiles.audit.selection import FOUR_FIFTHS, Impact
from evenhand.reports.blocks import Block, Grid
from evenhand.reports.forest import Axis, forest, mark, shown
from evenhand.reports.html_case import badge
from evenhand.reports.markup import Html, tag
from evenhand.reports.numbers import interval_text, score_text
from evenhand.reports.report import Report
from evenhand.reports.standing import Standing

# Of a group that is hardly selected the interval has no end worth drawing.
_WIDEST_RATIO: Final = 2.0


def section(report: Report, numbers: AuditNumbers) -> Html:
    """Show the numbers of an audit; what models and users wrote is only ever text."""
    blocks = [_shown(block, numbers) for block in parts(numbers, most=None)]
    gates = [
        tag("li", badge(Standing.PASS if one.ok else Standing.FAIL), tag("span", one.words)) for one in report.gates
    ]
    return tag("section", tag("ul", *gates, class_="gates") if gates else None, *blocks, class_="outcome audit")


def _shown(block: Block, numbers: AuditNumbers) -> Html:
    if block.title in KINDS:
        return _effects(block.title, list(effect_rows(numbers, KINDS[block.title])))
    if isinstance(block, Grid) and IMPACT_RATIO in block.headings:
        return _impacts(block, numbers.impacts)
    return shown(block)


def _effects(title: str, effects: Sequence[tuple[Effect, tuple[str, ...]]]) -> Html:
    """Draw effects on a common scale, with the line at which nothing differs."""
    reach = max([0.01, *(abs(end) for one, _ in effects for end in _ends(one))])
    axis = Axis(left=-reach, right=reach, line=0.0)
    rows = []
    for one, (name, *numbers) in effects:
        said = f"{one.name}: {signed(one.estimate)} {signed_interval(one.interval)}"
        rows.append((name, mark(said, one.estimate, _span(one.interval), axis), numbers))
    table = forest(EFFECT_HEADINGS, rows, f"{signed(-reach)} to {signed(reach)}")
    return tag("div", tag("h2", title), table)


def _impacts(grid: Grid, impacts: Sequence[Impact]) -> Html:
    """Draw impact ratios, with the four-fifths line."""
    reach = min(max([1.0, *(one.interval.high for one in impacts if one.interval is not None)]), _WIDEST_RATIO)
    axis = Axis(left=0.0, right=reach, line=FOUR_FIFTHS)
    rows = []
    for one, (name, *cells) in zip(impacts, grid.rows, strict=True):
        said = f"{name}: {score_text(one.ratio)} {interval_text(one.interval)}, the line at {FOUR_FIFTHS:.2f}"
        rows.append((name, mark(said, one.ratio, _span(one.interval), axis), cells))
    return tag("div", tag("h2", grid.title), forest(grid.headings, rows, f"0 to {reach:.2f}"))


def _ends(effect: Effect) -> Iterator[float]:
    if effect.estimate is not None:
        yield effect.estimate
    yield from _span(effect.interval) or ()


def _span(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)
