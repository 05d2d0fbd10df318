"""Batches in the store: known before the provider hears of them, and forgotten when their evaluations are kept."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.errors import ConflictError, StoreError
from evenhand.domain.run import RunStatus
from evenhand.store.batches import INTENDED, OVER, SUBMITTED
from evenhand.store.rows import Batch
from evenhand.store.store import Store
from evenhand.store.transfer import export_lines


def test_a_batch_is_intended_then_named_then_answered_then_over(store: Store, made: Any) -> None:
    run, batches = made.run(store, cases=2), store.provider_batches

    batches.intend(run, "eh-1", "openai/judge", ["a", "b", "c"])
    (intended,) = batches.of(run, pending=True)
    batches.name("eh-1", "batch_1")
    (named,) = batches.of(run)
    batches.answer(run, {"a": {"text": "first"}, "nobody": {"text": "lost"}})
    batches.answer(run, {"a": {"text": "second"}, "b": {"text": "b"}})

    assert (intended.id, intended.state, intended.requests) == (None, INTENDED, 3)
    assert (named.id, named.state) == ("batch_1", SUBMITTED)
    assert batches.answer_to(run, "a") == {"text": "first"}
    assert (batches.answer_to(run, "c"), batches.unanswered("eh-1")) == (None, {2: "c"})

    batches.end("eh-1")

    assert [batch.state for batch in batches.of(run)] == [OVER]
    assert (batches.of(run, pending=True), batches.items(run)) == ([], {"a": "eh-1", "b": "eh-1"})


def test_answers_go_with_the_commit_of_what_was_made_of_them_and_with_their_run(store: Store, made: Any) -> None:
    run, batches = made.run(store, cases=2), store.provider_batches
    batches.intend(run, "eh-1", "openai/judge", ["a", "b"])
    batches.answer(run, {"a": {"text": "a"}})

    store.commit(Batch(asked=[(run.number, "a")]))
    assert batches.items(run) == {"b": "eh-1"}

    batches.drop("eh-1")
    assert (batches.items(run), batches.of(run)) == ({}, [])


def test_a_damaged_answer_is_not_passed_on(store: Store, made: Any) -> None:
    run, batches = made.run(store, cases=1), store.provider_batches
    batches.intend(run, "eh-1", "openai/judge", ["a"])
    batches.answer(run, {"a": {"text": "pass"}})
    store.database.execute("UPDATE batch_requests SET content = ? WHERE item = ?", ['{"text":"fail"}', "a"])

    with pytest.raises(StoreError, match="does not match its checksum"):
        batches.answer_to(run, "a")


def test_a_run_whose_batch_is_worked_on_is_deleted_only_in_spite_of_it(store: Store, made: Any) -> None:
    first, second = made.run(store, cases=1), made.run(store, cases=1)
    for run, key in ((first, "eh-1"), (second, "eh-2")):
        store.provider_batches.intend(run, key, "openai/judge", ["a"])
        store.runs.mark(run, RunStatus.INTERRUPTED)
    store.provider_batches.name("eh-1", "batch_1")

    with pytest.raises(ConflictError, match="has pending batches, whose replies would be paid for and lost"):
        store.runs.delete(first)
    store.provider_batches.cancelled("eh-1", "batch_1")
    store.runs.delete(first)
    store.runs.delete(second, with_batches=True)

    assert list(store.runs.ids()) == []


def test_a_run_with_questions_in_batches_is_not_exported(store: Store, made: Any) -> None:
    run, batches = made.run(store, cases=1), store.provider_batches
    batches.intend(run, "eh-1", "openai/judge", ["a"])
    interrupted = store.runs.mark(run, RunStatus.INTERRUPTED)

    with pytest.raises(ConflictError, match="has questions in batches, whose replies are not part of an export"):
        next(export_lines(store, interrupted))
    batches.answer(run, {"a": {"text": "a"}})  # and no evaluation of it is stored yet
    batches.end("eh-1")
    with pytest.raises(ConflictError, match="Finish the run first"):
        next(export_lines(store, interrupted))
    store.commit(Batch(asked=[(run.number, "a")]))

    assert list(export_lines(store, interrupted))
