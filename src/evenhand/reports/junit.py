"""JUnit XML, which CI servers show: one test suite for the run, one test case for each of its cases and gates.

It agrees with the exit code: there is a ``failure`` or an ``error`` exactly where the command ends with another code
than 0. A case passes or fails as a whole, whatever its single evaluators say; one that failed where no gate is missed
is ``skipped``, and says why. What each evaluator found is in the body. JUnit has no borderline: such a case passes.
Where a run has no verdicts, as with profiles that were scored without a pass mark, only errors are reported.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, TextIO

from evenhand.domain.early_decision import stopped_decided
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.gates import MAX_UNSCORED, GateResult
from evenhand.domain.run import CaseResult, Judgment, RunStatus
from evenhand.domain.run_kind import has_verdicts, highest_score
from evenhand.reports.json import moment
from evenhand.reports.phrases import NONE, Standing, score_text
from evenhand.reports.report import Report
from evenhand.reports.safe_text import plain

_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ESCAPED: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;", "\r": "&#13;"})
# Why a case that failed, or could not be judged, is none of CI's business.
_ACCEPTED: Final = {
    Standing.FAIL: "; failed, but no gate is missed",
    Standing.ERROR: "; an error that max_unscored allows",
}


def write_junit(
    report: Report, out: TextIO, *, properties: Mapping[str, str] | None = None, notes: Iterable[str] = ()
) -> None:
    """Write a run: what CI must not accept is a ``failure`` or an ``error``, what it need not look at ``skipped``.

    ``properties`` are numbers that a kind of run has beside others, and ``notes`` lines to be read below its cases.
    """
    demands = _Demands(report)
    counts = " ".join(f'{name}="{count}"' for name, count in demands.counts.items())
    name = _attribute(report.run.name)
    out.write(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="evenhand" {counts}>\n')
    took = "" if report.run.finished is None else f' time="{report.run.finished - report.run.created:.3f}"'
    out.write(f'<testsuite name="{name}" {counts} timestamp="{moment(report.run.created)}"{took}>\n')
    judges = {"judge": ", ".join(report.summary.judges)} if report.summary.judges else {}
    if said := judges | dict(properties or {}):
        listed = "".join(
            f'<property name="{_attribute(key)}" value="{_attribute(value)}"/>' for key, value in said.items()
        )
        out.write(f"<properties>{listed}</properties>\n")
    out.writelines(_testcase(result, name, demands) for result in report.results())
    out.writelines(_gate(gate, name) for gate in report.gates)
    if demands.is_unfinished:
        why = _attribute(plain(f"{report.run.status.value}: {report.run.reason}", None))
        error = f'<error message="{why}" type="{report.run.status.value}"/>'
        out.write(f'<testcase classname="{name} run" name="finished" time="0.000">{error}</testcase>\n')
    if lines := "\n".join(notes):
        out.write(f"<system-out>{_text(lines)}</system-out>\n")
    out.write("</testsuite>\n</testsuites>\n")


class _Demands:
    """What of a run the exit code is about: without a gate that is missed, failed cases are accepted."""

    def __init__(self, report: Report) -> None:
        tally, gates = report.summary.cases, report.gates
        self.scale = highest_score(report.run.definition)
        self.has_verdicts = has_verdicts(report.run.definition)
        missed = [gate for gate in gates if not gate.ok]
        limits_unscored = any(gate.name == MAX_UNSCORED for gate in gates)
        has_stopped = report.run.status in (RunStatus.STOPPED, RunStatus.INTERRUPTED)
        self.is_unfinished = has_stopped and not stopped_decided(report.run)
        failed = "failure" if any(gate.kind == "score" for gate in missed) else "skipped"
        self._elements = {
            **({Standing.FAIL: failed} if self.has_verdicts else {}),
            Standing.ERROR: "error"
            if not limits_unscored or any(gate.kind == "unscored" for gate in missed)
            else "skipped",
            Standing.NOT_EVALUATED: "skipped",
            Standing.PENDING: "skipped",
        }
        of_cases = {
            **({Standing.FAIL: tally.failed} if self.has_verdicts else {}),
            Standing.ERROR: tally.errors,
            Standing.NOT_EVALUATED: tally.not_evaluated,
            Standing.PENDING: tally.pending,
        }
        if self._elements[Standing.ERROR] == "error" and tally.answers is not None:
            of_cases[Standing.ERROR] += tally.answers.cases
            if self.has_verdicts:
                of_cases[Standing.FAIL] -= tally.answers.failed
        by_element = Counter(failure=len(missed), error=int(self.is_unfinished))
        for standing, count in of_cases.items():
            by_element[self._elements[standing]] += count
        self.counts = {
            "tests": tally.n + len(gates) + self.is_unfinished,
            "failures": by_element["failure"],
            "errors": by_element["error"],
            "skipped": by_element["skipped"],
        }

    def score_text(self, score: float | None) -> str:
        """Write a score on the scale of the run."""
        if score is None or self.scale == 1:
            return score_text(score)
        return NONE if self.scale is None else f"{score_text(score * self.scale)} of {self.scale}"

    def outcome(self, evaluation: Evaluation) -> str:
        """Say what came of an evaluation that has no error."""
        standing = Standing.of(evaluation)
        if self.scale is None and standing.scored:
            return "ranked"
        if standing.scored and not self.has_verdicts:
            return self.score_text(evaluation.score)
        return f"{standing.word} {self.score_text(evaluation.score)}"

    def concern(self, result: CaseResult) -> Standing:
        """Return the standing of a case; it is an error, too, where one of several answers has an error that counts."""
        standing = Standing.of_case(result)
        if standing.scored and self._elements[Standing.ERROR] == "error" and result.has_errors:
            return Standing.ERROR
        return standing

    def element(self, standing: Standing) -> str | None:
        """Return the element of a case with such a standing; None for one that passes."""
        return self._elements.get(standing)


def _gate(gate: GateResult, suite: str) -> str:
    words = _attribute(plain(gate.words, None))
    body = f"<system-out>{words}</system-out>" if gate.ok else f'<failure message="{words}" type="gate"/>'
    return f'<testcase classname="{suite} gates" name="{_attribute(gate.name)}" time="0.000">{body}</testcase>\n'


def _testcase(result: CaseResult, suite: str, demands: _Demands) -> str:
    standing = demands.concern(result)
    seconds = sum(judgment.seconds for judgment in result.judgments)
    opening = f'<testcase classname="{suite}" name="{_attribute(result.id)}" time="{seconds:.3f}">'
    details = "\n".join(_line(judgment, demands) for judgment in result.judgments)
    body = f"<system-out>{_text(details)}</system-out>" if details else ""
    if (element := demands.element(standing)) is not None:
        accepted = element == "skipped" and standing in _ACCEPTED
        message = _attribute(_message(result, standing, demands) + (_ACCEPTED[standing] if accepted else ""))
        kind = "" if element == "skipped" else f' type="{standing.value}"'
        body = f'<{element} message="{message}"{kind}>{_text(details)}</{element}>'
    return f"{opening}{body}</testcase>\n"


def _message(result: CaseResult, standing: Standing, demands: _Demands) -> str:
    if standing is Standing.FAIL:
        score = result.outcome.score
        return "a required evaluator fails; no score" if score is None else f"score {demands.score_text(score)}"
    if standing is Standing.PENDING:
        return "not judged yet"
    status = Status.ERROR if standing is Standing.ERROR else Status.NOT_EVALUATED
    evaluations = [judgment.evaluation for judgment in result.judgments if judgment.evaluation.status is status]
    return plain("; ".join(evaluation.error or evaluation.reasoning for evaluation in evaluations)) or standing.word


def _line(judgment: Judgment, demands: _Demands) -> str:
    evaluation = judgment.evaluation
    outcome = demands.outcome(evaluation) if evaluation.error is None else "error"
    notes = [evaluation.error or evaluation.reasoning, *(f"missed: {miss}" for miss in evaluation.misses)]
    # People read this in CI logs: the words of a model must not pass for lines of ours.
    return "\n  ".join([f"{plain(evaluation.evaluator)}: {outcome}", *(plain(note, None) for note in notes if note)])


def _text(text: str) -> str:
    """Escape a text for XML; what XML cannot hold at all is replaced."""
    return _NOT_XML.sub("\ufffd", text).translate(_ESCAPED)


def _attribute(text: str) -> str:
    # A reader turns the line ends and tabs of an attribute into spaces unless they are spelled out.
    return _text(text).replace("\n", "&#10;").replace("\t", "&#9;")
