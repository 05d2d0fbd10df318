"""Runs over time, drawn: an estimate with its interval for each, and where something was changed in between."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.svg import caption, drawing, line, percent
from evenhand.reports.phrases import NONE

_LANE: Final = 16
_HEIGHT: Final = 180
_GRID: Final = (0, 0.25, 0.5, 0.75, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrendMark:
    """A run in the chart: an estimate from 0 to 1 with its interval, and the kinds of what changed before it.

    ``title`` says all of it in words, and ``href`` leads to the run.
    """

    title: str
    href: str
    estimate: float | None
    interval: tuple[float, float] | None = None
    changed: frozenset[str] = frozenset()


def trend_chart(
    title: str, marks: Sequence[TrendMark], lanes: Mapping[str, str], *, ends: tuple[str, str], scale: int = 1
) -> Markup:
    """Draw runs, the oldest first; ``lanes`` has the letter of each kind of change, ``ends`` the dates at both ends.

    Estimates are labelled from 0 to ``scale``.
    """
    used = [kind for kind in lanes if any(kind in mark.changed for mark in marks)]
    top = _LANE * len(used) + 10
    bottom = top + _HEIGHT
    parts = [
        *_grid(top, scale),
        *_changes(marks, used, lanes, bottom),
        *_steps(marks, top),
        *(_point(mark, _place(number, len(marks)), 1 / len(marks), top) for number, mark in enumerate(marks)),
        caption(ends[0], 0, bottom + 18, "start"),
        caption(ends[1], 1, bottom + 18, "end") if len(marks) > 1 else Markup(),
    ]
    described = f"{len(marks)} runs, the oldest first. The table below has the numbers."
    svg = drawing(title, described, *parts, height=bottom + 24, class_="chart trend", role="group")
    return tag("div", svg, class_="plot")


def _place(number: int, count: int) -> float:
    return (number + 0.5) / count


def _y(value: float, top: int) -> float:
    return top + (1 - min(max(value, 0.0), 1.0)) * _HEIGHT


def _grid(top: int, scale: int) -> Iterator[Markup]:
    for value in _GRID:
        y = _y(value, top)
        yield line(0, y, 1, y, "grid" if value else "base")
        yield tag("text", f"{value * scale:g}", x="-8", y=f"{y + 4:g}", text_anchor="end", class_="label")


def _changes(
    marks: Sequence[TrendMark], used: Sequence[str], lanes: Mapping[str, str], bottom: int
) -> Iterator[Markup]:
    """Yield a line before each run that something was changed for, with the letters of what it was."""
    for number, mark in enumerate(marks):
        present = [lane for lane, kind in enumerate(used) if kind in mark.changed]
        if present:
            at = number / len(marks)
            yield line(at, _LANE * (present[0] + 1), at, bottom, "threshold")
            yield from (caption(lanes[used[lane]], at, _LANE * (lane + 1) - 4, "middle") for lane in present)


def _steps(marks: Sequence[TrendMark], top: int) -> Iterator[Markup]:
    """Connect the estimates of runs that come one after the other."""
    for (number, before), (_, after) in itertools.pairwise(enumerate(marks)):
        if before.estimate is not None and after.estimate is not None:
            ends = _place(number, len(marks)), _place(number + 1, len(marks))
            yield line(ends[0], _y(before.estimate, top), ends[1], _y(after.estimate, top), "step")


def _point(mark: TrendMark, at: float, width: float, top: int) -> Markup:
    drawn: list[Markup] = []
    if mark.interval is not None:
        drawn.append(line(at, _y(mark.interval[1], top), at, _y(mark.interval[0], top), "interval"))
    if mark.estimate is None:
        drawn.append(caption(NONE, at, top + _HEIGHT - 6, "middle"))
    else:
        drawn.append(tag("circle", cx=percent(at), cy=f"{_y(mark.estimate, top):g}", r="5", class_="mean"))
    # The whole column leads to the run: a point is small to hit.
    column = tag("rect", x=percent(at - width / 2), width=percent(width), y=top, height=_HEIGHT, class_="column",
                 fill="none", pointer_events="all")  # fmt: skip
    return tag("a", tag("title", mark.title), join(column, *drawn), href=mark.href)
