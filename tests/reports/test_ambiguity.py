"""How much hangs on which of several verdicts in one reply counts: every report says it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any, TextIO

import pytest

from evenhand.reports.html.page import write_html
from evenhand.reports.json import write_json
from evenhand.reports.markdown import write_markdown
from evenhand.reports.phrases import flag_phrases
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize


def ambiguous(made: Any, score: float, other: float, counted: str = "first") -> Any:
    verdict = made.evaluation(other).verdict.value
    record = {"counted": counted, "score": other, "verdict": verdict}
    return made.judgment(score, flags=("ambiguous",), details={"ambiguous": record})


def results(made: Any) -> list[Any]:
    several = [(1.0, 0.1), (0.9, 1.0), (0.1, 0.7)]
    return [*(made.case(ambiguous(made, *scores)) for scores in several), made.case(0.5), made.case("unparsable: x")]


def test_ambiguous_evaluations_are_counted_and_those_that_the_other_verdict_would_have_changed(made: Any) -> None:
    summary = summarize(results(made))

    assert (summary.ambiguous, summary.overturned) == ({"first": 3}, {"first": 2})
    said = dict(flag_phrases(summary))[3]
    assert said.startswith("evaluations")
    assert "several different verdicts in one reply; the first counted, the last would have changed 2 verdicts" in said


def test_those_by_the_last_are_counted_apart(made: Any) -> None:
    summary = summarize([*results(made), made.case(ambiguous(made, 1.0, 0.1, "last"))])

    assert (summary.ambiguous, summary.overturned) == ({"first": 3, "last": 1}, {"first": 2, "last": 1})
    said = dict(flag_phrases(summary))[4]
    assert "; the first counted in 3, the last would have changed 2 verdicts" in said
    assert "; the last counted in 1, the first would have changed 1 verdict" in said


def test_those_within_a_composite_are_counted_with_it(made: Any) -> None:
    member = ambiguous(made, 1.0, 0.1).evaluation.as_dict()
    whole = made.judgment(1.0, flags=("ambiguous",), details={"members": [member, {"odd": 1}], "meta_judge": member})

    summary = summarize([made.case(whole)])

    assert (summary.ambiguous, summary.overturned) == ({"first": 1}, {"first": 1})


def test_runs_of_before_have_flags_and_nothing_else_on_record(made: Any) -> None:
    summary = summarize([made.case(made.judgment(1.0, flags=("ambiguous",)))])

    assert (summary.ambiguous, summary.overturned) == ({}, {})
    assert list(flag_phrases(summary)) == [(1, "evaluation had several different verdicts in one reply (ambiguous)")]


@pytest.mark.parametrize("write", [write_markdown, write_html])
def test_reports_for_people_say_it(made: Any, write: Callable[[Report, TextIO], None]) -> None:
    out = io.StringIO()

    write(made.report(*results(made)), out)

    assert "the first counted, the last would have changed 2 verdicts" in out.getvalue()


def test_the_json_report_has_the_numbers(made: Any) -> None:
    out = io.StringIO()

    write_json(made.report(*results(made)), out)

    summary = json.loads(out.getvalue())["summary"]
    assert (summary["ambiguous"], summary["overturned"]) == ({"first": 3}, {"first": 2})
