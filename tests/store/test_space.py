"""The space that runs take, given back once they are deleted; and texts that they share, in either database."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.run import RunStatus
from evenhand.store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.group("postgres-runs")]


def test_vacuum_returns_the_space_of_deleted_runs(store: Store, made: Any) -> None:
    kept = made.run(store, cases=2)
    large = store.runs.mark(made.run(store, cases=300), RunStatus.FINISHED)
    before = store.space()
    store.runs.delete(large)
    between = store.space()
    store.vacuum()
    after = store.space()

    assert after.taken < before.taken
    assert between.free is None or between.free > (before.free or 0)
    assert after.free in (None, 0)
    assert [result.case.id for result in store.results(store.runs.find(kept.id))] == ["case-0", "case-1"]


def test_evaluations_that_share_a_text_are_read_whole(store: Store, made: Any) -> None:
    told = {"systemPrompt": "You judge answers. " * 30, "userPrompt": "Which?\0 \u0394"}
    run = made.run(store, cases=3)
    judgment = made.judgment(evaluation={"evaluator_provider_request": told})
    for position in range(3):
        made.judge(store, run, position, judgment)

    assert store.database.rows("SELECT COUNT(*) FROM shared_texts") == [(1,)]
    ((short,), *_) = store.database.rows("SELECT MIN(LENGTH(content)) FROM evaluations")
    assert short < len(told["systemPrompt"])
    for result in store.results(run):
        (read,) = result.judgments
        assert read.evaluation.evaluator_provider_request == told
