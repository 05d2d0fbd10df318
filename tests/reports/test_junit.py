"""JUnit XML as CI servers read it."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.exit_code import ExitCode, exit_code
from evenhand.domain.gates import Gates
from evenhand.domain.run import CaseResult, Judgment, RunRecord, RunStatus
from evenhand.domain.verdict import Verdict
from evenhand.reports.junit import write_junit
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize

# The shape that Jenkins, GitLab and GitHub's actions have in common: element -> attributes, children.
SHAPE: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors", "skipped"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "timestamp", "time"}, {"properties", "testcase"}),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": ({"classname", "name", "time"}, {"failure", "error", "skipped", "system-out"}),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}


def xml_of(report: Report) -> ET.Element:
    out = io.StringIO()
    write_junit(report, out)
    return ET.fromstring(out.getvalue().encode())


def test_a_run_is_a_suite_and_each_case_a_test(made: Any) -> None:
    report = gated(
        made.report(
            made.case(0.9, id="good"), made.case(0.7, id="fair"), made.case(0.1, id="bad"),
            made.case("empty: nothing was said", id="broken"), made.case(None, id="skipped"), made.case(awaited=1, id="later"),
        ),
        {"min_mean": 0.9},
    )  # fmt: skip

    root = xml_of(report)

    (suite,) = root
    counts = {"tests": "7", "failures": "2", "errors": "1", "skipped": "2"}
    assert root.attrib == {"name": "evenhand"} | counts
    assert suite.attrib == {"name": "refunds", "timestamp": "2026-01-02T03:04:05.000Z", "time": "2.500"} | counts
    assert [(case.get("name"), case[0].tag if len(case) else None, case[0].get("message") if len(case) else None) for case in suite] == [
        ("good", "system-out", None),
        ("fair", "system-out", None),
        ("bad", "failure", "score 0.10"),
        ("broken", "error", "empty: nothing was said"),
        ("skipped", "skipped", "There is nothing to judge."),
        ("later", "skipped", "not judged yet"),
        ("min_mean", "failure", "min_mean: wanted at least 0.9, found 0.5667"),
    ]  # fmt: skip


def gated(report: Report, gates: dict[str, Any]) -> Report:
    return replace(report, gates=Gates.of(gates).check(report.summary))


def reds(report: Report) -> list[tuple[str, str]]:
    """Return what makes a CI server call a build failed."""
    (suite,) = root = xml_of(report)
    found = [(one.tag, str(case.get("name"))) for case in suite for one in case if one.tag in {"failure", "error"}]
    tags = [tag for tag, _ in found]
    assert [root.get("failures"), root.get("errors")] == [str(tags.count("failure")), str(tags.count("error"))]
    assert root.get("tests") == str(sum(case.tag == "testcase" for case in suite))
    assert root.get("skipped") == str(sum(one.tag == "skipped" for case in suite for one in case))
    return found


GOOD, BAD, BROKEN = 0.9, 0.1, "empty: nothing was said"


@pytest.mark.parametrize(
    ("scores", "gates", "red"),
    [
        ([GOOD], {}, []),
        ([GOOD, BAD], {}, []),
        ([GOOD, BAD], {"min_mean": 0.4}, []),
        ([GOOD, BAD], {"min_mean": 0.6}, [("failure", "case-1"), ("failure", "min_mean")]),
        ([0.7, 0.7], {"min_pass_rate": 0.5}, [("failure", "min_pass_rate")]),
        ([GOOD, BROKEN], {}, [("error", "case-1")]),
        ([GOOD, BROKEN], {"max_unscored": 1}, []),
        ([GOOD, BROKEN, BROKEN], {"max_unscored": 1}, [("error", "case-1"), ("error", "case-2"), ("failure", "max_unscored")]),
        ([GOOD, BAD, BROKEN], {"max_unscored": 1, "max_failed": 0}, [("failure", "case-1"), ("failure", "max_failed")]),
    ],
)  # fmt: skip
def test_it_agrees_with_the_exit_code(
    made: Any, scores: list[Any], gates: dict[str, Any], red: list[tuple[str, str]]
) -> None:
    report = gated(made.report(*[made.case(score, id=f"case-{n}") for n, score in enumerate(scores)]), gates)

    assert reds(report) == red
    assert (exit_code(report.summary, Gates.of(gates)) is ExitCode.OK) is (red == [])


def test_a_case_that_failed_for_nobody_says_so(made: Any) -> None:
    (suite,) = xml_of(made.report(made.case(0.1, id="bad")))

    assert suite[0][0].attrib == {"message": "score 0.10; failed, but no gate is missed"}


@pytest.mark.parametrize("status", [RunStatus.STOPPED, RunStatus.INTERRUPTED])
def test_a_run_that_did_not_finish_is_an_error(made: Any, status: RunStatus) -> None:
    report = made.report(made.case(1.0, id="good"))

    stopped = replace(report, run=replace(report.run, status=status, reason="budget: used up"))

    assert reds(stopped) == [("error", "finished")]


def test_the_judges_are_a_property_of_the_suite(made: Any) -> None:
    details = [{"judge": name} for name in ('xai/"two"', "openai/one")]

    (suite,) = xml_of(made.report(*[made.case(made.judgment(1.0, details=one)) for one in details]))
    (without,) = xml_of(made.report(made.case(1.0)))

    assert [(one.tag, one.attrib) for one in suite[0]] == [
        ("property", {"name": "judge", "value": 'openai/one, xai/"two"'})
    ]
    assert [one.tag for one in suite] == ["properties", "testcase", "testcase"]
    assert [one.tag for one in without] == ["testcase"]


def test_the_body_tells_what_each_evaluator_found(made: Any) -> None:
    case = made.case(
        made.judgment(0.2, reasoning="Names Lyon.", misses=("the capital",), seconds=1.25),
        made.judgment("refusal: no", name="second", weight=0.0, seconds=0.5),
    )

    (testcase,) = xml_of(made.report(case))[0]

    assert testcase.get("time") == "1.750"
    assert testcase[0].text == "quality: fail 0.20\n  Names Lyon.\n  missed: the capital\nsecond: error\n  refusal: no"


def test_the_words_of_a_model_do_not_pass_for_a_line_of_ours(made: Any) -> None:
    case = made.case(made.judgment(0.2, reasoning="bad\nsecond: pass 1.00\x1b[2J"))

    (testcase,) = xml_of(made.report(case))[0]

    assert testcase[0].text == "quality: fail 0.20\n  bad second: pass 1.00"


def test_a_case_id_comes_back_as_it_was(made: Any) -> None:
    (testcase,) = xml_of(made.report(made.case(1.0, id="a\n\t\r<&\"']]>b")))[0]

    assert testcase.get("name") == "a\n\t\r<&\"']]>b"


@pytest.mark.parametrize("odd", ["\x00", "\x1b", "\ud800", "\ufffe", "\uffff"])
def test_what_xml_cannot_hold_is_replaced(made: Any, odd: str) -> None:
    (testcase,) = xml_of(made.report(made.case(1.0, id=f"a{odd}b")))[0]

    assert testcase.get("name") == "a\ufffdb"


@settings(max_examples=50)
@given(st.text(st.characters()))
def test_any_text_makes_a_document_of_the_common_shape(text: str) -> None:
    found = [
        Evaluation.with_score(
            evaluator=text, type="x", score=0.0, verdict=Verdict.FAIL, misses=(text,), reasoning=text
        ),
        Evaluation.with_score(evaluator=text, type="x", score=1.0, verdict=Verdict.PASS, reasoning=text),
        Evaluation.with_error(evaluator=text, type="x", error=text or "x"),
        Evaluation.without_score(evaluator=text, type="x", reasoning=text or "x"),
    ]
    results = [
        CaseResult(position=place, case=Case(id=text), judgments=(Judgment(evaluation=one),))
        for place, one in enumerate(found)
    ]
    run = RunRecord(number=1, id="r", name=text, status=RunStatus.FINISHED, finished=1.0)

    root = xml_of(Report(run=run, summary=summarize(results), results=lambda: results))

    for element in root.iter():
        attributes, children = SHAPE[element.tag]
        assert element.attrib.keys() == attributes
        assert {child.tag for child in element} <= children
    assert [[child.tag for child in case] for case in root[0]] == [["skipped"], ["system-out"], ["error"], ["skipped"]]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", root[0].attrib["timestamp"])
