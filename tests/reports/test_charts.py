"""Charts: where their marks stand, and what they say to those who cannot see them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from xml.etree import ElementTree as ET

import pytest

from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.domain.verdict import Thresholds
from evenhand.reports.html.charts import Axis, interval_mark, means_plot, score_histogram, verdict_bar
from evenhand.reports.overview import BINS, bin_of
from evenhand.reports.phrases import Standing


def drawn(markup: str) -> ET.Element:
    """Read a chart as XML, which its markup happens to be."""
    return ET.fromstring(f"<chart>{markup}</chart>")


def share(element: ET.Element, name: str) -> float:
    return float(element.attrib[name].removesuffix("%")) / 100


def bins(**counts: Mapping[Standing, int]) -> list[Mapping[Standing, int]]:
    """Make bins from the scores that they begin with, such as ``at_80``."""
    filled = {bin_of(int(name.removeprefix("at_")) / 100): one for name, one in counts.items()}
    return [filled.get(number, {}) for number in range(BINS)]


# Bins


@pytest.mark.parametrize(
    ("score", "number"), [(0.0, 0), (0.049, 0), (0.05, 1), (0.6, 12), (0.1 + 0.7, 16), (0.99, 19), (1.0, 19)]
)
def test_a_score_falls_into_the_bin_that_begins_at_or_below_it(score: float, number: int) -> None:
    assert bin_of(score) == number


# The bar of verdicts


def test_the_parts_of_the_bar_fill_it_in_proportion() -> None:
    chart = drawn(verdict_bar({Standing.PASS: 6, Standing.BORDERLINE: 0, Standing.FAIL: 3, Standing.ERROR: 1}))
    parts = list(chart.iter("rect"))

    assert [part.attrib["class"] for part in parts] == ["mark-pass", "mark-fail", "mark-error"]
    assert [share(part, "width") for part in parts] == pytest.approx([0.6, 0.3, 0.1])
    assert [share(part, "x") for part in parts] == pytest.approx([0.0, 0.6, 0.9])


def test_a_single_error_among_thousands_can_be_seen() -> None:
    chart = drawn(verdict_bar({Standing.PASS: 99_999, Standing.ERROR: 1}))
    parts = list(chart.iter("rect"))

    assert share(parts[1], "width") > 0.005
    assert sum(share(part, "width") for part in parts) == pytest.approx(1, abs=1e-4)


def test_the_bar_says_its_numbers() -> None:
    chart = drawn(verdict_bar({Standing.PASS: 1200, Standing.NOT_EVALUATED: 3}))

    assert chart.findtext("svg/title") == "Verdicts"
    assert chart.findtext("svg/desc") == "1,200 pass, 3 not evaluated"
    assert [part.findtext("title") for part in chart.iter("rect")] == ["1,200 pass", "3 not evaluated"]


def test_a_bar_of_nothing_is_empty_and_says_so() -> None:
    chart = drawn(verdict_bar(dict.fromkeys(Standing, 0)))

    assert list(chart.iter("rect")) == []
    assert chart.findtext("svg/desc") == "no cases"


# The histogram


def test_bars_are_as_high_as_their_counts() -> None:
    chart = drawn(score_histogram(bins(at_20={Standing.FAIL: 1}, at_80={Standing.PASS: 4}), Thresholds()))
    heights = {bar.attrib["class"]: float(bar.attrib["height"]) for bar in chart.iter("rect")}

    assert heights["mark-pass"] == pytest.approx(4 * heights["mark-fail"])


def test_verdicts_that_share_a_bin_stand_on_each_other() -> None:
    chart = drawn(score_histogram(bins(at_90={Standing.PASS: 2, Standing.FAIL: 1}), Thresholds()))
    lower, upper = (bar for bar in chart.iter("rect") if bar.attrib["class"].startswith("mark-"))

    assert float(upper.attrib["y"]) + float(upper.attrib["height"]) == pytest.approx(float(lower.attrib["y"]))
    assert chart.findtext(".//g/title") == "0.90 to 0.95: 2 pass, 1 fail"


def test_the_marks_stand_where_the_thresholds_are() -> None:
    chart = drawn(score_histogram(bins(at_90={Standing.PASS: 1}), Thresholds(pass_at=0.75, borderline_at=0.5)))
    lines = [share(line, "x1") for line in chart.iter("line") if line.attrib["class"] == "threshold"]
    labels = [label.text for label in chart.iter("text")]

    assert lines == [0.75, 0.5]
    assert {"pass 0.75", "borderline 0.5"} <= set(labels)


@pytest.mark.parametrize("most", [1, 3, 7, 20, 21, 100, 4_999, 20_001])
def test_a_few_gridlines_reach_above_the_highest_bar(most: int) -> None:
    chart = drawn(score_histogram(bins(at_90={Standing.PASS: most}), Thresholds()))
    labels = [int((label.text or "").replace(",", "")) for label in chart.iter("text") if label.attrib["x"] == "-8"]

    assert labels[0] == 0
    assert labels[-1] >= most
    assert len(labels) <= 5
    assert len({higher - lower for lower, higher in pairwise(labels)}) == 1


def test_the_histogram_is_a_table_too() -> None:
    chart = drawn(score_histogram(bins(at_20={Standing.FAIL: 3}, at_90={Standing.PASS: 2}), Thresholds()))
    rows = [[cell.text for cell in row] for row in chart.iterfind(".//tbody/tr")]

    assert rows == [["0.20 to 0.25", "0", "0", "3"], ["0.90 to 0.95", "2", "0", "0"]]
    assert chart.findtext(".//svg/desc") == "5 cases with a score, in 20 bins from 0 to 1."


def test_without_scores_there_is_a_sentence_instead() -> None:
    assert score_histogram(bins(), Thresholds()) == '<p class="empty">No case has a score.</p>'


# Means with their intervals


def test_a_mean_stands_within_its_interval() -> None:
    tally = Tally(n=100, scored=97, mean=0.71, interval=Interval(low=0.62, high=0.8, method="t"))

    chart = drawn(means_plot(Summary(cases=tally)))

    (dot,) = chart.iter("circle")
    whisker = next(line for line in chart.iter("line") if line.attrib["class"] == "interval")
    assert share(dot, "cx") == 0.71
    assert (share(whisker, "x1"), share(whisker, "x2")) == (0.62, 0.8)
    assert chart.findtext(".//tbody//desc") == "cases: mean 0.71 over 97 of 100, 95% interval [0.62, 0.80]"


def test_an_interval_beyond_the_scale_is_drawn_to_its_end() -> None:
    tally = Tally(n=3, scored=3, mean=0.9, interval=Interval(low=0.7, high=1.1, method="t"))

    chart = drawn(means_plot(Summary(cases=tally)))

    ends = [share(line, "x2") for line in chart.iter("line")]
    assert max(ends) == 1


def test_what_lies_beyond_an_axis_is_marked_there_with_its_value() -> None:
    axis = Axis(left=0, right=2)

    within = drawn(interval_mark("a", 1.0, (0.5, 2.0), axis))
    beyond = drawn(interval_mark("b", 2.5, (-0.25, 4.3), axis))

    assert list(within.iter("text")) == []
    assert [(one.text, share(one, "x")) for one in beyond.iter("text")] == [
        ("◀", 0),
        ("from -0.25", 0),
        ("▶", 1),
        ("to 4.30", 1),
    ]
    # A dot at the end would say that the estimate is there, and a bar that the interval ends there.
    assert list(beyond.iter("circle")) == []
    assert [share(line, "x1") for line in beyond.iter("line") if line.get("class") == "interval"] == [0]


def test_what_has_no_mean_has_no_dot() -> None:
    chart = drawn(means_plot(Summary(cases=Tally(n=2, errors=2), evaluators={"quality": Tally(n=2, errors=2)})))

    assert list(chart.iter("circle")) == []
    assert [row[1].text for row in chart.iterfind(".//tbody/tr")] == ["–", "–"]


def test_names_are_shown_as_text() -> None:
    name = '<script>alert("x")</script> & more'

    markup = means_plot(Summary(cases=Tally(), evaluators={name: Tally()}))

    assert "<script" not in markup
    assert [row[0].text for row in drawn(markup).iterfind(".//tbody/tr")] == ["cases", name]


@pytest.mark.parametrize(
    "markup",
    [
        verdict_bar(dict.fromkeys(Standing, 1)),
        score_histogram(bins(at_50={Standing.FAIL: 1}), Thresholds()),
        means_plot(Summary(cases=Tally(n=1, scored=1, mean=0.5))),
    ],
)
def test_a_chart_has_a_title_and_carries_no_style_of_its_own(markup: str) -> None:
    charts = list(drawn(markup).iter("svg"))

    assert all(chart.attrib["role"] == "img" and chart.findtext("title") and chart.findtext("desc") for chart in charts)
    assert not re.search(r"\bstyle=|\bon\w+=", markup)
