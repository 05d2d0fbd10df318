"""Charts, drawn as SVG: bars of verdicts, a histogram of scores, and estimates with their intervals.

They stretch with the page while their letters keep their size: what lies across is given in percent, what lies
upright in pixels. Colours come from the classes that a style sheet knows; where there is none, as in a notebook, the
attributes hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from markupsafe import Markup

from evenhand.domain.summary import Summary, Tally
from evenhand.domain.verdict import Thresholds
from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.svg import caption, drawing, line, percent
from evenhand.reports.overview import BINS
from evenhand.reports.phrases import Standing, counted, interval_text, score_text

_MARKS: Final = {
    Standing.PASS: "#2e86c1",
    Standing.BORDERLINE: "#f2c037",
    Standing.FAIL: "#b83a0a",
    Standing.ERROR: "#3d1358",
    Standing.NOT_EVALUATED: "#a3abb5",
    Standing.PENDING: "none",
}
_OUTLINE: Final = "#5b6470"
_OUTLINED: Final = {Standing.BORDERLINE, Standing.NOT_EVALUATED, Standing.PENDING}

_BAR_HEIGHT: Final = 16
_LEAST_SHARE: Final = 0.006

_PLOT_TOP: Final = 34
_PLOT_HEIGHT: Final = 132
_PLOT_BOTTOM: Final = _PLOT_TOP + _PLOT_HEIGHT
_BIN_GAP: Final = 0.004

_ROW_HEIGHT: Final = 28
# In a table without a style sheet, whose columns a width in percent would leave without any.
_PLOT_WIDTH: Final = "200"
# What rounding may put beyond an end.
_CLOSE: Final = 1e-9


def verdict_bar(counts: Mapping[Standing, int]) -> Markup:
    """Draw one bar with a part for each standing; even a single case among thousands can be seen."""
    present = [(standing, count) for standing, count in counts.items() if count]
    total = sum(count for _, count in present)
    description = ", ".join(f"{count:,} {standing.word}" for standing, count in present) or "no cases"
    shares = [max(count / total, _LEAST_SHARE) for _, count in present]
    ends = [end / sum(shares) for end in itertools.accumulate(shares)]
    parts = [
        _mark(standing, start, end - start, 0.5, _BAR_HEIGHT - 1, title=f"{count:,} {standing.word}")
        for (standing, count), start, end in zip(present, [0.0, *ends], ends, strict=False)
    ]
    return drawing("Verdicts", description, _hatching(), *parts, height=_BAR_HEIGHT, class_="chart verdict-bar")


def score_histogram(
    bins: Sequence[Mapping[Standing, int]], thresholds: Thresholds | None, *, scale: int = 1, noun: str = "case"
) -> Markup:
    """Draw how many cases have which score, coloured by verdict, with the marks for pass and borderline.

    Scores are shown from 0 to ``scale``. Without ``thresholds`` there are no verdicts, and all have the same colour.
    ``noun`` is what a case of the run is.
    """
    sizes = [sum(counts.values()) for counts in bins]
    if not any(sizes):
        return tag("p", f"No {noun} has a score.", class_="empty")
    parts = [_parts(counts, noun, has_verdicts=thresholds is not None) for counts in bins]
    step = _step(max(sizes))
    top = -(-max(sizes) // step) * step
    svg = drawing(
        f"Histogram of {noun} scores",
        f"{counted(sum(sizes), noun)} with a score, in {BINS} bins from 0 to {scale}.",
        *_grid(range(0, top + 1, step), top),
        *(_bin(number, parts[number], top, scale) for number in range(len(bins)) if sizes[number]),
        *_thresholds(thresholds, scale),
        *(_tick(tenth / 10, scale) for tenth in range(0, 11, 2)),
        height=_PLOT_BOTTOM + 20,
        class_="chart histogram",
    )
    return join(tag("div", svg, class_="plot"), _numbers(parts, _headings(thresholds, noun), scale))


class _Part(NamedTuple):
    """Some cases of a column: how they are drawn, how many, in words, and the heading of their number in a table."""

    standing: Standing | None
    size: int
    words: str
    heading: str


def _parts(counts: Mapping[Standing, int], noun: str, *, has_verdicts: bool) -> list[_Part]:
    if has_verdicts:
        return [_Part(one, count, f"{count:,} {one.word}", one) for one, count in counts.items() if count]
    whole = sum(counts.values())
    return [_Part(None, whole, counted(whole, noun), f"{noun}s")] if whole else []


def _headings(thresholds: Thresholds | None, noun: str) -> tuple[str, ...]:
    if thresholds is None:
        return (f"{noun}s",)
    if thresholds.borderline_at == thresholds.pass_at:
        return (Standing.PASS, Standing.FAIL)
    return (Standing.PASS, Standing.BORDERLINE, Standing.FAIL)


def _thresholds(thresholds: Thresholds | None, scale: int) -> Iterator[Markup]:
    if thresholds is None:
        return
    yield _threshold("pass", thresholds.pass_at, scale, y=11)
    if thresholds.borderline_at != thresholds.pass_at:
        yield _threshold("borderline", thresholds.borderline_at, scale, y=25)


def means_plot(summary: Summary, *, scale: int = 1, noun: str = "case") -> Markup:
    """Show the means of all cases, of each evaluator and of each model, with their intervals, from 0 to ``scale``.

    It is a table whose last column is drawn.
    """
    rows = [(f"{noun}s", summary.cases), *summary.evaluators.items(), *summary.models.items()]
    axis = drawing(
        "Scale",
        f"From 0 to {scale}.",
        *(caption(_tick_text(at, scale), at, 13, anchor) for at, anchor in ((0, "start"), (0.5, "middle"), (1, "end"))),
        height=16,
        width=_PLOT_WIDTH,
        class_="chart",
    )
    head = [tag("th", name, scope="col") for name in ("Scores of", "Mean", "Interval", "Scored")]
    return tag(
        "table",
        tag("thead", tag("tr", *head, tag("th", axis, scope="col", class_="drawn"))),
        tag("tbody", *(_forest_row(name, tally, scale) for name, tally in rows)),
        class_="forest",
    )


def _forest_row(name: str, tally: Tally, scale: int) -> Markup:
    return tag(
        "tr",
        tag("th", name, scope="row"),
        tag("td", _mean_text(tally, scale), class_="number"),
        tag("td", _interval_text(tally, scale), class_="number"),
        tag("td", f"{tally.scored:,} of {tally.n:,}", class_="number"),
        tag("td", _mean_mark(name, tally, scale), class_="drawn"),
    )


def _mean_text(tally: Tally, scale: int) -> str:
    return score_text(None if tally.mean is None else tally.mean * scale)


def _interval_text(tally: Tally, scale: int) -> str:
    around = tally.interval
    return interval_text(around and replace(around, low=around.low * scale, high=around.high * scale))


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The scale of estimates, from its left end to its right one, with a line to hold them against, and a grid.

    ``kind`` is the class of that line.
    """

    left: float
    right: float
    line: float | None = None
    kind: str = "threshold"
    grid: tuple[float, ...] = ()

    def share(self, value: float) -> float:
        """Return where a value lies, from 0 at the left end to 1 at the right one; what is beyond an end lies at it."""
        share = (value - self.left) / (self.right - self.left) if self.right != self.left else 0.5
        return min(max(share, 0.0), 1.0)

    def is_beyond(self, value: float) -> bool:
        """Whether a value lies beyond an end, so that a mark there would show another."""
        return not min(self.left, self.right) - _CLOSE <= value <= max(self.left, self.right) + _CLOSE


_SCORES: Final = Axis(left=0, right=1, grid=(0, 0.25, 0.5, 0.75, 1))


def interval_mark(
    title: str,
    estimate: float | None,
    interval: tuple[float, float] | None,
    axis: Axis,
    *,
    description: str | None = None,
    width: str = _PLOT_WIDTH,
) -> Markup:
    """Draw an estimate with its interval; the title and the ``description`` are for screen readers.

    What lies beyond an end of the axis is marked there by an arrow, with its value.
    """
    middle = _ROW_HEIGHT / 2
    marks = [line(axis.share(at), 0, axis.share(at), _ROW_HEIGHT, "grid") for at in axis.grid]
    if axis.line is not None:
        at = axis.share(axis.line)
        marks.append(line(at, 0, at, _ROW_HEIGHT, axis.kind))
    if interval is not None:
        low, high = sorted(map(axis.share, interval))
        marks.append(line(low, middle, high, middle, "interval"))
        marks += [
            line(axis.share(end), middle - 4, axis.share(end), middle + 4, "interval")
            for end in interval
            if not axis.is_beyond(end)
        ]
    if estimate is not None and not axis.is_beyond(estimate):
        marks.append(tag("circle", cx=percent(axis.share(estimate)), cy=f"{middle:g}", r="4.5", class_="mean"))
    marks += _arrows([*(interval or ()), *([] if estimate is None else [estimate])], axis)
    return drawing(title, description, *marks, height=_ROW_HEIGHT, width=width, class_="chart")


def _arrows(values: Iterable[float], axis: Axis) -> Iterable[Markup]:
    """Mark each end of an axis that values lie beyond: an arrow, and how far the furthest of them is off."""
    beyond: dict[float, float] = {}
    for value in values:
        if axis.is_beyond(value):
            end = axis.share(value)
            beyond[end] = max(beyond.get(end, value), value, key=lambda one: abs(one - axis.left))
    for end, value in beyond.items():
        at_right = end > 0.5
        arrow, anchor = ("▶", "end") if at_right else ("◀", "start")
        words = f"to {score_text(value)}" if at_right else f"from {score_text(value)}"
        yield tag("text", arrow, tag("title", f"goes on {words}"), x=percent(end), y=f"{_ROW_HEIGHT / 2 + 4:g}",
                  text_anchor=anchor, class_="beyond")  # fmt: skip
        yield caption(words, end, _ROW_HEIGHT / 2 - 5, anchor)


def outcome_bar(
    counts: Sequence[tuple[Standing, int, str]], description: str, *, title: str = "Wins, ties and losses"
) -> Markup:
    """Draw one bar with a part for each outcome: in which colour, how many, and in words."""
    total = max(sum(count for _, count, _ in counts), 1)
    ends = list(itertools.accumulate(count / total for _, count, _ in counts))
    parts = [
        _mark(colour, start, end - start, 0.5, _BAR_HEIGHT - 1, title=words)
        for (colour, count, words), start, end in zip(counts, [0.0, *ends], ends, strict=False)
        if count
    ]
    return drawing(title, description, *parts, height=_BAR_HEIGHT, class_="chart verdict-bar")


def _mean_mark(name: str, tally: Tally, scale: int) -> Markup:
    if tally.mean is None:
        return interval_mark(name, None, None, _SCORES, description=f"{name}: no mean")
    description = f"{name}: mean {_mean_text(tally, scale)} over {tally.scored:,} of {tally.n:,}"
    if tally.interval is None:
        return interval_mark(name, tally.mean, None, _SCORES, description=description)
    description += f", {tally.interval.level:.0%} interval {_interval_text(tally, scale)}"
    around = (tally.interval.low, tally.interval.high)
    return interval_mark(name, tally.mean, around, _SCORES, description=description)


def _bin(number: int, parts: Sequence[_Part], top: int, scale: int) -> Markup:
    low, high = number / BINS, (number + 1) / BINS
    title = f"{low * scale:.2f} to {high * scale:.2f}: " + ", ".join(part.words for part in parts)
    bars: list[Markup] = []
    floor = float(_PLOT_BOTTOM)
    for part in parts:
        height = part.size / top * _PLOT_HEIGHT
        floor -= height
        bars.append(_mark(part.standing, low + _BIN_GAP, 1 / BINS - 2 * _BIN_GAP, floor, height))
    # The whole column shows its numbers when pointed at, not just what may be a sliver of colour.
    column = tag("rect", x=percent(low), width=percent(1 / BINS), y=_PLOT_TOP, height=_PLOT_HEIGHT, class_="column",
                 fill="none", pointer_events="all")  # fmt: skip
    return tag("g", tag("title", title), column, *bars)


def _numbers(bins: Sequence[Sequence[_Part]], headings: Sequence[str], scale: int) -> Markup:
    """Return the histogram's numbers as a table, for screen readers and for copying."""
    counts = [{part.heading: part.size for part in parts} for parts in bins]
    rows = [
        tag("tr", tag("th", f"{number / BINS * scale:.2f} to {(number + 1) / BINS * scale:.2f}", scope="row"),
            *(tag("td", f"{found.get(heading, 0):,}", class_="number") for heading in headings))
        for number, found in enumerate(counts) if found
    ]  # fmt: skip
    head = tag("tr", *(tag("th", name, scope="col") for name in ("score", *headings)))
    return tag("details", tag("summary", "Numbers"), tag("table", tag("thead", head), tag("tbody", *rows)),
               class_="numbers")  # fmt: skip


def _grid(values: Iterable[int], top: int) -> Iterable[Markup]:
    for value in values:
        y = _PLOT_BOTTOM - value / top * _PLOT_HEIGHT
        yield line(0, y, 1, y, "grid" if value else "base")
        yield tag("text", f"{value:,}", x="-8", y=f"{y + 4:g}", text_anchor="end", class_="label")


def _threshold(name: str, at: float, scale: int, *, y: int) -> Markup:
    # Each label has a line of its own, so that marks which lie close do not write over each other.
    anchor, aside = ("start", 5) if at < 0.3 else ("end", -5)
    label = tag("text", f"{name} {at * scale:g}", x=percent(at), dx=aside, y=y, text_anchor=anchor, class_="label")
    return join(line(at, y - 9, at, _PLOT_BOTTOM, "threshold"), label)


def _tick(at: float, scale: int) -> Markup:
    return caption(_tick_text(at, scale), at, _PLOT_BOTTOM + 16, "middle")


def _tick_text(at: float, scale: int) -> str:
    return score_text(at, 1) if scale == 1 else f"{at * scale:g}"


def _mark(
    standing: Standing | None, start: float, width: float, y: float, height: float, *, title: str | None = None
) -> Markup:
    return tag(
        "rect",
        None if title is None else tag("title", title),
        x=percent(start),
        width=percent(width),
        y=f"{y:.4g}",
        height=f"{height:.4g}",
        class_=f"mark-{standing or 'scored'}",
        fill=_MARKS[standing or Standing.PASS],
        stroke=_OUTLINE if standing in _OUTLINED else None,
    )


def _hatching() -> Markup:
    """Return the pattern for marks that must not be taken for a colour; a style sheet may use it."""
    stripe = tag("line", x1=0, y1=0, x2=0, y2=6, class_="hatching")
    pattern = tag("pattern", stripe, id="evenhand-hatching", width=6, height=6, patternUnits="userSpaceOnUse",
                  patternTransform="rotate(45)")  # fmt: skip
    return tag("defs", pattern)


def _step(most: int) -> int:
    """Return the step between gridlines: 1, 2 or 5 times a power of ten, so that there are four of them at most."""
    power = 1
    while 20 * power < most:
        power *= 10
    return next(step for step in (power, 2 * power, 5 * power) if 4 * step >= most)
