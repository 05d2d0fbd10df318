"""The cases of a run as lists show them, in plain JSON values: a row for each case, with what each target answered.

Of a group that was ranked, who was shown takes the place of what was asked, and the order that of the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenhand.domain.run import CaseResult, Judgment, RunRecord
from evenhand.domain.run_kind import is_ranking
from evenhand.engine.targets.several import MODEL, PROMPT, TEST_CASE, targets_of
from evenhand.evaluators.group_ranking import MEMBERS
from evenhand.profiles.ranking.group_view import judged_order, member_ids
from evenhand.reports.json import outcome_row
from evenhand.server.runs.views import cut
from evenhand.store.results import cases_at
from evenhand.store.store import Store

# The metadata that several targets give their cases; the row says it otherwise.
_ASSIGNED: Final = frozenset({MODEL, PROMPT, TEST_CASE})


def case_rows(store: Store, run: RunRecord, rows: Mapping[int, Sequence[int]], most_shown: int) -> list[dict[str, Any]]:
    """Return rows by the positions of their cases; texts are cut after so many characters."""
    positions = [position for together in rows.values() for position in together]
    found = {position: stored.result for position, stored in cases_at(store, run, positions).items()}
    results = {row: [found[position] for position in together if position in found] for row, together in rows.items()}
    # A run may be deleted meanwhile.
    return [_row(run, row, together, most_shown) for row, together in results.items() if together]


def _row(run: RunRecord, row: int, results: Sequence[CaseResult], most: int) -> dict[str, Any]:
    case, as_group = results[0].case, is_ranking(run.definition)
    several = bool(targets_of(run))
    question = ", ".join(member_ids(case)) if as_group else case.last_question
    left_out = (_ASSIGNED if several else frozenset()) | ({MEMBERS} if as_group else set())
    metadata = {name: value for name, value in case.metadata.items() if name not in left_out}
    test_case = case.metadata.get(TEST_CASE) if several else None
    return {
        "position": row,
        "case_id": test_case if isinstance(test_case, str) else results[0].id,
        "question": cut(question, most) or "",
        "reference": cut(case.reference_text, most),
        "metadata": metadata,
        "answers": [_answer(result, most, as_group=as_group) for result in results],
    }


def _answer(result: CaseResult, most: int, *, as_group: bool) -> dict[str, Any]:
    """Return what one target answered, and what came of it; of several samples, the answer is that of the first."""
    answer = result.answers[0].text if result.answers else result.case.candidate_answer
    if as_group:
        answer = judged_order(result.case, result.judgments[-1].evaluation.details) if result.judgments else ""
    model = result.case.metadata.get(MODEL)
    return {
        "position": result.position,
        "case_id": result.id,
        "model": model if isinstance(model, str) else None,
        **outcome_row(result),
        "answer": cut(answer, most),
        "error": next((answer.error for answer in result.answers if answer.error is not None), None),
        "samples": len(result.by_sample),
        "cost": result.cost,
        "evaluations": [_evaluation(judgment, most) for judgment in result.judgments],
    }


def _evaluation(judgment: Judgment, most: int) -> dict[str, Any]:
    evaluation = judgment.evaluation
    return {
        "evaluator": evaluation.evaluator,
        "sample": judgment.sample,
        "status": evaluation.status.value,
        "verdict": None if evaluation.verdict is None else evaluation.verdict.value,
        "score": evaluation.score,
        "label": evaluation.label,
        "reasoning": cut(evaluation.reasoning, most) or "",
        "error": cut(evaluation.error, most),
    }
