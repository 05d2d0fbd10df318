"""Runs of the same data have the same hash, whoever answers, in whichever order; other data have another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, evaluate
from evenhand.domain.run import RunRecord
from evenhand.engine.case_digest import case_digest, kept_case_digest
from evenhand.store.store import open_store


def first(_: Case) -> str:
    return "Rome"


def second(_: Case) -> str:
    return "Paris"


@pytest.fixture
def judged(tmp_path: Path) -> Any:
    def run(*names: str, question: str = "Which?", answer: str | None = None, **rest: Any) -> RunRecord:
        cases = [Case(id=name, question=question, candidate_answer=answer) for name in names]
        return evaluate(cases, Contains(value="Paris"), store=str(tmp_path / "runs.db"), **rest).record

    return run


def test_answers_targets_and_the_order_have_no_part_in_it(judged: Any, tmp_path: Path) -> None:
    same = [
        judged("a", "b", answer="Rome"),
        judged("b", "a", answer="Paris"),
        judged("a", "b", target=first),
        judged("a", "b", target=[first, second]),
    ]
    others = [
        judged("a", "b", answer="Rome", question="When?"),
        judged("a", answer="Rome"),
        judged("a", "c", answer=""),
    ]

    store = open_store(str(tmp_path / "runs.db"))
    unread = kept_case_digest(store, same[0])
    digests = [case_digest(store, run) for run in same]
    kept = kept_case_digest(store, same[0])
    different = {case_digest(store, run) for run in others}
    store.close()

    assert unread is None
    assert len(set(digests)) == 1
    assert kept == digests[0]
    assert len(different) == 3
    assert digests[0] not in different
