"""What people say of cases by the judge's score, drawn: on the diagonal, a score is the share that people pass."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from evenhand.reports.html.markup import tag
from evenhand.reports.html.svg import caption, drawing, line, percent
from evenhand.reports.phrases import counted, interval_text, score_text
from evenhand.trust.card import CurvePoint

_TOP: Final = 20
_HEIGHT: Final = 180
_BOTTOM: Final = _TOP + _HEIGHT
_GRID: Final = (0, 0.25, 0.5, 0.75, 1)


def reliability_chart(points: Sequence[CurvePoint], pass_mark: float) -> Markup:
    """Draw the points with their intervals, the diagonal, and the pass mark."""
    anchor, aside = ("start", 5) if pass_mark < 0.3 else ("end", -5)
    label = tag("text", f"pass mark {pass_mark:g}", x=percent(pass_mark), dx=aside, y=11, text_anchor=anchor,
                class_="label")  # fmt: skip
    svg = drawing(
        "What people say by the judge's score",
        f"{len(points)} groups of labelled cases by score. The table below has the numbers.",
        *_grid(),
        line(0, _BOTTOM, 1, _TOP, "step"),
        line(pass_mark, 2, pass_mark, _BOTTOM, "threshold"),
        label,
        *_steps(points),
        *map(_point, points),
        height=_BOTTOM + 20,
        class_="chart reliability",
    )
    return tag("div", svg, class_="plot")


def reliability_rows(points: Sequence[CurvePoint]) -> tuple[tuple[str, ...], ...]:
    """Return the numbers of the chart as rows: scores, cases, the judge's mean, and what people said."""
    return tuple(
        (
            f"{point.low:g} to {point.high:g}",
            f"{point.cases:,}",
            score_text(point.judge),
            score_text(point.people.value),
            interval_text(point.people.interval),
        )
        for point in points
    )


def _y(value: float) -> float:
    return _TOP + (1 - min(max(value, 0.0), 1.0)) * _HEIGHT


def _grid() -> Iterator[Markup]:
    for value in _GRID:
        y = _y(value)
        yield line(0, y, 1, y, "grid" if value else "base")
        yield tag("text", f"{value:g}", x="-8", y=f"{y + 4:g}", text_anchor="end", class_="label")
        yield caption(f"{value:g}", value, _BOTTOM + 16, "middle")


def _steps(points: Sequence[CurvePoint]) -> Iterator[Markup]:
    for before, after in itertools.pairwise(points):
        yield line(before.judge, _y(before.people.value), after.judge, _y(after.people.value), "interval")


def _point(point: CurvePoint) -> Markup:
    said = f"{score_text(point.people.value)} {interval_text(point.people.interval)}"
    title = f"score {score_text(point.judge)}, {counted(point.cases, 'case')}: people {said}"
    around = point.people.interval
    return tag(
        "g",
        tag("title", title),
        None if around is None else line(point.judge, _y(around.high), point.judge, _y(around.low), "interval"),
        tag("circle", cx=percent(point.judge), cy=f"{_y(point.people.value):g}", r="5", class_="mean"),
    )
