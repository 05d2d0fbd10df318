"""Numbers by what the cases' metadata says, in all reports."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

from evenhand.domain.run import CaseResult
from evenhand.reports.csv import write_csv
from evenhand.reports.html.page import write_html
from evenhand.reports.json import summary_row, write_json
from evenhand.reports.markdown import markdown
from evenhand.reports.overview import Overview, survey
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.reports.terminal import terminal


def results(made: Any, *found: tuple[Any, float | str | None], key: str = "lang") -> list[CaseResult]:
    """Make a case for each value and what was found of it; a value of None is no value."""
    return [
        made.case(result, position=place, id=str(place), metadata={} if value is None else {key: value})
        for place, (value, result) in enumerate(found)
    ]


def report_of(made: Any, *, definition: dict[str, Any] | None = None) -> Report:
    """Make a report in which 25 cases are English, 2 German, and one has no language."""
    found = [("en", 1.0)] * 25 + [("de", 0.0), ("de", 1.0), (None, 0.5)]
    report: Report = made.report(*results(made, *found), definition=definition or {"slices": ["lang"]})
    return report


def test_each_value_has_its_own_numbers_and_they_add_up(made: Any) -> None:
    found = results(made, ("en", 1.0), ("de", 0.0), ("en", 0.5), ("de", "unparsable: no JSON"), (None, 0.7), (7, None))

    summary = summarize(found, ["lang"])

    parts = summary.slices["lang"]
    assert {value: (part.cases.n, part.cases.mean, part.cases.errors) for value, part in parts.items()} == {
        "en": (2, 0.75, 0),
        "de": (2, 0.0, 1),
        "(none)": (1, 0.7, 0),
        "7": (1, None, 0),
    }
    assert sum(part.cases.n for part in parts.values()) == summary.cases.n
    assert parts["en"].evaluators["quality"].mean == 0.75


def test_a_pending_case_is_counted_in_its_slice(made: Any) -> None:
    summary = summarize([made.case(1.0, awaited=1, metadata={"lang": "en"})], ["lang"])

    assert summary.slices["lang"]["en"].cases.pending == 1


def test_values_come_in_the_order_of_the_suite_in_whichever_order_the_cases_come(made: Any) -> None:
    found = results(made, ("en", 1.0), ("de", 0.0), ("fr", 0.5), ("de", 1.0))

    assert list(summarize(reversed(found), ["lang"]).slices["lang"]) == ["en", "de", "fr"]
    assert survey(reversed(found), ["lang"]) == survey(found, ["lang"])


def test_a_key_with_more_than_50_values_is_not_shown_and_it_is_said_why(made: Any) -> None:
    fifty = results(made, *((f"v{number}", 1.0) for number in range(50)))
    more = results(made, *((f"v{number}", 1.0) for number in range(51)))

    assert len(summarize(fifty, ["lang"]).slices["lang"]) == 50
    summary = summarize(more, ["lang"])
    assert (summary.slices, summary.unsliced) == ({}, ("lang",))
    assert summary_row(summary)["slices"] == {"lang": None}
    report = made.report(*more, definition={"slices": ["lang"]})
    assert "By lang: not shown: it has more than 50 different values" in terminal(report)
    assert "not shown: it has more than 50 different values" in markdown(report)


def test_cases_that_are_alike_are_not_gathered_across_slices(made: Any) -> None:
    alike = [
        made.case(
            made.judgment(1.0, attempts=(made.reply(),)), position=place, metadata={"lang": "en" if place % 3 else "de"}
        )
        for place in range(30)
    ]

    overview = survey(alike, ["lang"])

    assert {value: part.cases.n for value, part in overview.summary.slices["lang"].items()} == {"de": 10, "en": 20}
    assert overview.summary == summarize(alike, ["lang"])


def test_a_kept_overview_has_its_slices(made: Any) -> None:
    overview = survey(results(made, ("en", 1.0), ("de", 0.0)), ["lang", "site"])

    assert Overview.from_dict(json.loads(json.dumps(overview.as_dict()))) == overview


def test_the_terminal_has_a_table_that_says_which_slices_are_too_small(made: Any) -> None:
    text = terminal(report_of(made))

    rows = [line.split() for line in text[text.index("By lang") :].splitlines()]
    assert ["lang", "cases", "scored", "mean", "95", "%", "pass", "rate", "95", "%", "note"] in rows
    assert ["en", "25", "25", "1.00", "[0.87,", "1.00]", "1.00", "[0.87,", "1.00]"] in rows
    (german,) = [row for row in rows if row[:1] == ["de"]]
    assert german[1:4] == ["2", "2", "0.50"]
    assert german[-4:] == ["too", "few", "to", "say"]
    assert ["(none)", "1", "1", "0.50", "–", "0.00", "–", "too", "few", "to", "say"] in rows


def test_markdown_and_html_have_the_table(made: Any) -> None:
    report, page = report_of(made), io.StringIO()

    write_html(report, page)

    assert "## By lang" in markdown(report)
    assert "| en | 25 | 25 | 1.00 | [0.87, 1.00] | 1.00 | [0.87, 1.00] |  |" in markdown(report)
    assert '<th scope="row" dir="auto">en</th><td class="number">25</td>' in page.getvalue()
    assert "<td>too few to say</td>" in page.getvalue()


def test_json_has_the_numbers_of_each_slice_and_of_its_evaluators(made: Any) -> None:
    out = io.StringIO()

    write_json(report_of(made), out)

    slices = json.loads(out.getvalue())["summary"]["slices"]
    assert slices["lang"]["de"]["mean"] == slices["lang"]["de"]["evaluators"]["quality"]["mean"] == 0.5
    assert "slices" not in summary_row(summarize([]))


def test_csv_has_a_column_for_each_key_that_the_run_slices_by(made: Any) -> None:
    out = io.StringIO()
    gates = {"slices": {"lang": {"min_mean": 0.1}}}

    write_csv(made.report(*results(made, ("=de", 1.0), (True, 1.0), (None, 1.0)), definition={"gates": gates}), out)

    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert [row["metadata.lang"] for row in rows] == ["'=de", "true", ""]


def test_what_is_written_in_metadata_is_only_shown(made: Any) -> None:
    hostile = "<script>alert(1)</script>|\x1b[31m\n# all passed"
    report = made.report(*results(made, (hostile, 1.0), key=hostile), definition={"slices": [hostile]})
    page = io.StringIO()

    write_html(report, page)

    assert "<script>alert" not in page.getvalue()
    assert "\x1b" not in terminal(report)
    assert "\n# all" not in markdown(report)
    assert "<script>" not in markdown(report)
