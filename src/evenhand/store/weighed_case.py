"""From the columns of a case's evaluations to its outcome, with nothing read but what is weighed."""

from __future__ import annotations

from typing import Final, TypeAlias

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.verdict import Thresholds, Verdict

# Sample, evaluator, status, score, verdict, weight, and whether it is required.
JudgedRow: TypeAlias = tuple[int, str, str, float | None, str | None, float, int]

_ANY_CASE: Final = Case()


def weighed_case(thresholds: Thresholds, is_pending: bool, rows: tuple[JudgedRow, ...]) -> CaseResult:
    """Put a result together from the evaluations that count, by sample and evaluator."""
    judgments = tuple(
        Judgment(
            evaluation=_evaluation(evaluator, Status(status), score, verdict),
            weight=weight,
            required=bool(required),
            sample=sample,
        )
        for sample, evaluator, status, score, verdict, weight, required in rows
    )
    return CaseResult(position=0, case=_ANY_CASE, judgments=judgments, awaited=int(is_pending), thresholds=thresholds)


def _evaluation(evaluator: str, status: Status, score: float | None, verdict: str | None) -> Evaluation:
    match status:
        case Status.SCORED:
            return Evaluation.with_score(
                evaluator=evaluator, type="", score=score or 0.0, verdict=Verdict(verdict or Verdict.FAIL)
            )
        case Status.ERROR:
            return Evaluation.with_error(evaluator=evaluator, type="", error="error")
        case _:
            return Evaluation.without_score(evaluator=evaluator, type="", reasoning="not evaluated")
