"""JUnit XML, which CI servers show: one test suite for the run, one test case for each of its cases.

A case passes or fails as a whole, whatever its single evaluators say, and the counts agree with the summary. What each
evaluator found is in the body. JUnit has no borderline: such a case passes.
"""

from __future__ import annotations

import html
import re
from typing import Final, TextIO

from evenhand.domain.evaluation import Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.reports.json import moment
from evenhand.reports.phrases import Standing, score_text
from evenhand.reports.report import Report
from evenhand.reports.safe_text import plain

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ELEMENTS: Final = {
    Standing.FAIL: "failure",
    Standing.ERROR: "error",
    Standing.NOT_EVALUATED: "skipped",
    Standing.PENDING: "skipped",
}


def write_junit(report: Report, out: TextIO) -> None:
    """Write a run: a fail is a ``failure``, a broken judge an ``error``, what was not evaluated is ``skipped``."""
    tally = report.summary.cases
    counts = (
        f'tests="{tally.n}" failures="{tally.failed}" errors="{tally.errors}" '
        f'skipped="{tally.not_evaluated + tally.pending}"'
    )
    name = _attribute(report.run.name)
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evenhand" {counts}>\n')
    took = "" if report.run.finished is None else f' time="{report.run.finished - report.run.created:.3f}"'
    out.write(f'<testsuite name="{name}" {counts} timestamp="{moment(report.run.created)}"{took}>\n')
    if report.summary.judges:
        judges = _attribute(", ".join(report.summary.judges))
        out.write(f'<properties><property name="judge" value="{judges}"/></properties>\n')
    out.writelines(_testcase(result, name) for result in report.results())
    out.write("</testsuite>\n</testsuites>\n")


def _testcase(result: CaseResult, suite: str) -> str:
    standing = Standing.of_case(result)
    seconds = sum(judgment.seconds for judgment in result.judgments)
    opening = f'<testcase classname="{suite}" name="{_attribute(result.id)}" time="{seconds:.3f}">'
    details = "\n".join(_line(judgment) for judgment in result.judgments)
    body = f"<system-out>{_text(details)}</system-out>" if details else ""
    if (element := _ELEMENTS.get(standing)) is not None:
        message = _attribute(_message(result, standing))
        kind = "" if element == "skipped" else f' type="{standing.value}"'
        body = f'<{element} message="{message}"{kind}>{_text(details)}</{element}>'
    return f"{opening}{body}</testcase>\n"


def _message(result: CaseResult, standing: Standing) -> str:
    if standing is Standing.FAIL:
        score = result.outcome.score
        return "a required evaluator fails; no score" if score is None else f"score {score_text(score)}"
    if standing is Standing.PENDING:
        return "not judged yet"
    status = Status.ERROR if standing is Standing.ERROR else Status.NOT_EVALUATED
    evaluations = [judgment.evaluation for judgment in result.judgments if judgment.evaluation.status is status]
    return plain("; ".join(evaluation.error or evaluation.reasoning for evaluation in evaluations)) or standing.word


def _line(judgment: Judgment) -> str:
    evaluation = judgment.evaluation
    outcome = f"{Standing.of(evaluation).word} {score_text(evaluation.score)}" if evaluation.error is None else "error"
    notes = [evaluation.error or evaluation.reasoning, *(f"missed: {miss}" for miss in evaluation.misses)]
    # People read this in CI logs: the words of a model must not pass for lines of ours.
    return "\n  ".join([f"{plain(evaluation.evaluator)}: {outcome}", *(plain(note, None) for note in notes if note)])


def _text(text: str) -> str:
    """Escape a text for XML; what XML cannot hold at all is replaced."""
    return html.escape(_NOT_XML.sub("\ufffd", text)).replace("\r", "&#13;")


def _attribute(text: str) -> str:
    # A reader turns the line ends and tabs of an attribute into spaces unless they are spelled out.
    return _text(text).replace("\n", "&#10;").replace("\t", "&#9;")
