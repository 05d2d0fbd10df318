"""A run in memory whose answers people can label: scores and answers as a test wants them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import Judgment, PlannedCase, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.store.rows import Batch, case_content, dumps, evaluation_row
from evenhand.store.store import IN_MEMORY, Store, open_store

Judged = Callable[..., RunRecord]


@pytest.fixture
def store() -> Iterator[Store]:
    opened = open_store(IN_MEMORY)
    yield opened
    opened.close()


@pytest.fixture
def judged(store: Store) -> Judged:
    """Make a finished run: of each case an answer, or None, and a score, or None for an error."""

    def make(*found: tuple[str | None, float | None], **rest: Any) -> RunRecord:
        fields: dict[str, Any] = {"name": "refunds", "source": None, "definition": {}, "options": {}}
        run = store.runs.create(**(fields | rest))
        cases = [
            Case(id=f"case-{number}", question=f"Question {number}?", candidate_answer=answer)
            for number, (answer, _) in enumerate(found)
        ]
        planned = [PlannedCase(position=place, case=case, hash="h", expected=1) for place, case in enumerate(cases)]
        store.add_cases(
            [
                (run.number, one.position, one.case.id, one.hash, one.expected, dumps(case_content(one)))
                for one in planned
            ]
        )
        evaluations = []
        for position, (_, score) in enumerate(found):
            about: dict[str, Any] = {"evaluator": "quality", "type": "llm_judge"}
            evaluation = (
                Evaluation.with_error(error="timeout: too slow", **about)
                if score is None
                else Evaluation.with_score(score=score, verdict=Thresholds().verdict(score), **about)
            )
            evaluations.append(evaluation_row(run.number, position, 0, Judgment(evaluation=evaluation, key="k")))
        store.commit(Batch(evaluations=evaluations))
        return store.runs.mark(run, RunStatus.FINISHED, cases=len(cases))

    return make
