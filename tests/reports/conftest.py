"""Results and reports, made in a line.

    def test_…(made):
        report = made.report(made.case(0.8), made.case("unparsable: no JSON"), made.case(None))

A number is a score, a text the error of a judge that failed, None an evaluation that had nothing to judge; several of
them are several evaluators, named ``quality``, ``second``, ``third``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Evaluation
from evenhand.domain.gates import Gates, slices_of
from evenhand.domain.run import CaseResult, Judgment, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.engine.case_scores import Terms
from evenhand.reports.paired_cases import JudgedCase, findings_of
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize

NAMES = ("quality", "second", "third")


class Made:
    """Makes what the tests of reports are about."""

    def evaluation(self, found: float | str | None, *, name: str = "quality", **rest: Any) -> Evaluation:
        if isinstance(found, str):
            return Evaluation.with_error(evaluator=name, type="llm_judge", error=found, **rest)
        if found is None:
            rest = {"reasoning": "There is nothing to judge."} | rest
            return Evaluation.without_score(evaluator=name, type="llm_judge", **rest)
        verdict = Thresholds().verdict(found)
        return Evaluation.with_score(evaluator=name, type="llm_judge", score=found, verdict=verdict, **rest)

    def judgment(self, found: float | str | None, **rest: Any) -> Judgment:
        known: dict[str, Any] = {"cost": 0.0}
        known |= {key: rest.pop(key) for key in ("weight", "required", "sample", "cost", "seconds") if key in rest}
        return Judgment(evaluation=self.evaluation(found, **rest), **known)

    def case(self, *found: float | str | Judgment | None, position: int = 0, **rest: Any) -> CaseResult:
        own = {key: rest.pop(key) for key in ("awaited", "answers", "replaced", "thresholds") if key in rest}
        judgments = tuple(
            one if isinstance(one, Judgment) else self.judgment(one, name=name)
            for one, name in zip(found, (*NAMES, *("more",) * len(found)), strict=False)
        )
        return CaseResult(position=position, case=Case(**rest), judgments=judgments, **own)

    def judged(self, result: CaseResult) -> JudgedCase:
        """Return what a comparison keeps of a result; all are judged on the same terms."""
        return JudgedCase(
            id=result.id,
            position=result.position,
            cluster=result.case.cluster,
            judged_by=Terms('{"case": {}}', of_a_prompt=False),
            found=findings_of(result),
        )

    def report(self, *results: CaseResult, gates: dict[str, Any] | None = None, **run: Any) -> Report:
        placed = [replace(result, position=place) for place, result in enumerate(results)]
        definition = run.get("definition", {}) | ({} if gates is None else {"gates": gates})
        summary = summarize(placed, slices_of(definition))
        usual: dict[str, Any] = {
            "number": 1, "id": "20260102-030405-abcd", "name": "refunds", "status": RunStatus.FINISHED,
            "cases": len(placed), "created": 1767323045.0, "finished": 1767323047.5, "version": "0.1",
        }  # fmt: skip
        return Report(
            run=RunRecord(**(usual | run)),
            summary=summary,
            gates=Gates.of(gates).check(summary),
            results=lambda: iter(placed),
        )

    def reply(self, raw: str = "{}", **rest: Any) -> Attempt:
        return Attempt(kind="reply", raw=raw, **rest)


@pytest.fixture(scope="session")
def made() -> Made:
    return Made()
