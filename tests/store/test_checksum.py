"""Each column of each row is covered by its checksum, and a row that was changed is told, wherever it is read."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.errors import StoreError
from evenhand.domain.evaluation import Attempt
from evenhand.domain.run import MadeAnswer, RunRecord, RunStatus
from evenhand.engine.plan import EarlierAnswers
from evenhand.server.runs.results import CASE_READER
from evenhand.server.runs.views import evaluation_rows
from evenhand.store import checksum
from evenhand.store.listing import Listing
from evenhand.store.replies import FoundReply
from evenhand.store.results import case_at
from evenhand.store.rows import Batch, evaluation_row
from evenhand.store.store import Store
from evenhand.store.transfer import export_lines, import_lines
from evenhand.store.verification import verify_database, verify_run

from .databases import in_sqlite

DAMAGED = r"is damaged: .*; restore a backup, or delete the run; evenhand runs verify lists the damaged rows"
MENDED = "restore a backup"


@pytest.fixture
def run(store: Store, made: Any) -> RunRecord:
    """A finished run of three cases, each with an answer and an evaluation, of which one is in the cache."""
    begun = made.run(store, cases=3)
    for position in range(3):
        made.answer(store, begun, position, MadeAnswer(text="Yes", cost=0.5))
        attempt = Attempt(kind="reply", raw='{"score": 1}')
        judgment = made.judgment(1.0, key=f"k{position}", evaluation={"attempts": (attempt,)})
        row = evaluation_row(begun.number, position, 0, judgment)
        kept = FoundReply(f"reply {position}", "m", 0, len(attempt.raw or ""))
        store.commit(Batch(evaluations=[row], replies=[kept.at(row, is_answer=False)]))
    found: RunRecord = store.runs.mark(begun, RunStatus.FINISHED)
    return found


def change(store: Store, table: str, column: str, value: Any, where: str = "position = 1") -> None:
    store.database.execute(f"UPDATE {table} SET {column} = ? WHERE {where}", [value])


# What stands in a column that is not what was written.
CHANGED: dict[str, tuple[tuple[str, Any], ...]] = {
    "cases": (("id", "other"), ("hash", "other"), ("expected", 2), ("content", '{"case": {"id": "case-2"}}')),
    "answers": (("sample", 1), ("round", 1), ("content", '{"text": "No"}')),
    "evaluations": (
        ("place", 1), ("sample", 1), ("round", 1), ("evaluator", "other"), ("key", "other"), ("status", "error"),
        ("score", 0.5), ("score", None), ("verdict", "fail"), ("verdict", None), ("weight", 2.0), ("required", 1),
        ("cost", 0.5), ("cost", None), ("seconds", 2.0), ("content", "{}"), ("checksum", 1), ("checksum", None),
    ),
}  # fmt: skip
EACH = [pytest.param(table, *one, id=f"{table} {one[0]} {one[1]}") for table in CHANGED for one in CHANGED[table]]


@in_sqlite
@pytest.mark.parametrize(("table", "column", "value"), EACH)
def test_a_change_in_any_column_is_told_when_the_run_is_read(
    store: Store, run: RunRecord, table: str, column: str, value: Any
) -> None:
    assert len(list(store.results(run))) == 3

    change(store, table, column, value)

    with pytest.raises(StoreError, match=rf"run {run.id} {DAMAGED}"):
        list(store.results(run))
    assert not verify_run(store, run.id).is_sound


@in_sqlite
@pytest.mark.parametrize("column", ["position", "run"])
@pytest.mark.parametrize("table", list(CHANGED))
def test_a_row_in_another_place_is_told(store: Store, made: Any, run: RunRecord, table: str, column: str) -> None:
    other = made.run(store)

    change(store, table, column, 7 if column == "position" else other.number)

    with pytest.raises(StoreError, match=rf"run {run.id} {DAMAGED}"):
        list(store.results(run))
    assert not verify_run(store, run.id).is_sound


@in_sqlite
@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("name", "other"), ("status", "stopped"), ("status", "nonsense"), ("reason", "x"), ("source", None),
        ("definition", '{"a": 1}'), ("definition", "no JSON"), ("options", "[]"), ("cases", 2), ("repeat", 2),
        ("forked_from", "x"), ("version", "x"), ("created", 1.0), ("finished", 1.0), ("abandoned_calls", 1),
        ("abandoned_cost", None), ("evaluations", 2), ("answers", None), ("covered", 0), ("checksum", None),
    ],
)  # fmt: skip
def test_a_change_in_the_row_of_a_run_is_told(store: Store, run: RunRecord, column: str, value: Any) -> None:
    change(store, "runs", column, value, where=f"number = {run.number}")

    for look in (lambda: store.runs.find(run.id), lambda: store.runs.find("last"), store.runs.newest):
        with pytest.raises(StoreError, match=rf"run {run.id} {DAMAGED}"):
            look()
    assert not verify_run(store, run.id).is_sound
    store.runs.delete(store.runs.find(run.id, verify=False))
    assert store.runs.newest() == []


READERS: dict[str, tuple[str, Callable[[Store, RunRecord], object]]] = {
    "the cases of a run": ("cases", lambda store, run: list(store.planned(run))),
    "resuming": ("evaluations", lambda store, run: store.judged(run, 0, 2)),
    "answers": ("answers", lambda store, run: store.answered(run, 0, 2)),
    "an earlier answer": (
        "answers",
        lambda store, run: EarlierAnswers(store, run)._store.case_and_answer(run, "case-1"),
    ),
    "exporting": ("evaluations", lambda store, run: list(export_lines(store, run))),
    "exporting answers": ("answers", lambda store, run: list(export_lines(store, run))),
    "the page of a case": ("evaluations", lambda store, run: case_at(store, run, 1)),
    "a list": ("evaluations", lambda store, run: evaluation_rows(store, run, [(1, 0, 0)])),
    "the cache": ("evaluations", lambda store, run: store.reply("reply 1")),
}


@pytest.mark.parametrize(("table", "read"), READERS.values(), ids=READERS.keys())
def test_a_damaged_row_is_told_wherever_it_is_read(
    store: Store, run: RunRecord, table: str, read: Callable[[Store, RunRecord], object]
) -> None:
    read(store, run)
    ((content,),) = store.database.rows(f"SELECT content FROM {table} WHERE position = 1")

    change(store, table, "content", content.replace("e", "a"))

    with pytest.raises(StoreError, match=rf"run {run.id} {DAMAGED}"):
        read(store, run)


def listed(store: Store, run: RunRecord) -> None:
    store.database.execute("DELETE FROM listings")  # so that it is made from the rows
    with contextlib.closing(Listing(store, CASE_READER)) as listing:
        listing.prepare(run)


COLUMN_READERS: dict[str, tuple[str, str, Callable[[Store, RunRecord], object]]] = {
    "hashes": ("cases", "hash", lambda store, run: list(store.hashes(run))),
    "positions": ("cases", "hash", lambda store, run: store.positions(run, next(iter(store.planned(run))))),
    "lists": ("evaluations", "evaluator", listed),
    "forks": (
        "evaluations",
        "verdict",
        lambda store, run: store.copy(run, run, positions={1: 1}, places={}, answers=False),
    ),
}


@pytest.mark.parametrize(("table", "column", "read"), COLUMN_READERS.values(), ids=COLUMN_READERS.keys())
def test_who_reads_columns_only_is_told_of_a_damaged_one(
    store: Store, run: RunRecord, table: str, column: str, read: Callable[[Store, RunRecord], object]
) -> None:
    read(store, run)

    change(store, table, column, "other")

    with pytest.raises(StoreError, match=rf"run {run.id} {DAMAGED}"):
        read(store, run)


@pytest.mark.parametrize("table", ["cases", "answers", "evaluations"])
def test_a_row_that_is_gone_is_missed(store: Store, run: RunRecord, table: str) -> None:
    store.database.execute(f"DELETE FROM {table} WHERE position = 2")

    with pytest.raises(StoreError, match=rf"run {run.id} is damaged: of its 3 {table}, there are (only )?2"):
        list(store.results(run))
    assert any(f"of its 3 {table}, there are 2" in what for what in verify_run(store, run.id).told)


def test_a_run_that_went_on_since_it_was_looked_up_is_not_damaged(store: Store, made: Any, run: RunRecord) -> None:
    store.runs.claim(run)
    store.runs.mark(run, RunStatus.RUNNING)
    made.judge(store, run, 0, made.judgment("timeout: x", round=1))

    assert len(list(store.results(run))) == 3


def test_a_copied_row_has_a_checksum_of_its_own(store: Store, made: Any, run: RunRecord) -> None:
    fork = made.run(store, cases=3)

    store.copy(run, fork, positions={0: 1, 2: 0}, places={"k1": [(0, 1)], "k0": [(2, 0)]}, answers=True)

    assert [len(result.judgments) for result in store.results(fork)] == [1, 0, 1]
    assert verify_run(store, fork.id).told == []


def test_what_is_imported_is_covered_and_counted(store: Store, run: RunRecord) -> None:
    lines = list(export_lines(store, run))

    imported = store.runs.find(import_lines(store, lines).id)

    assert (imported.covered, imported.evaluations, imported.answers) == (True, 3, 3)
    assert list(export_lines(store, imported))[1:] == lines[1:]
    assert verify_run(store, imported.id).as_dict() == {
        "id": imported.id, "status": "ok", "rows": 10, "uncovered": 0, "damages": 0, "told": [],
    }  # fmt: skip


def test_rows_of_before_are_read_as_they_are_and_said_to_be_uncovered(store: Store, made: Any, run: RunRecord) -> None:
    before = list(store.results(run))
    for table in ("runs", "cases", "answers", "evaluations"):
        store.database.execute(f"UPDATE {table} SET checksum = NULL")
    store.database.execute("UPDATE runs SET covered = 0, evaluations = NULL, answers = NULL")
    store.database.execute("DELETE FROM replies")
    old = store.runs.find(run.id)
    fork = made.run(store, cases=3)

    verified = verify_run(store, run.id)
    store.copy(old, fork, positions={0: 0}, places={"k0": [(0, 0)]}, answers=True)

    assert list(store.results(old)) == before
    assert (verified.is_sound, verified.rows, verified.uncovered) == (True, 10, 10)
    assert verify_run(store, fork.id).uncovered == 0
    assert verify_run(store, fork.id).is_sound


def test_rows_that_belong_to_nothing_are_found(store: Store, made: Any, run: RunRecord) -> None:
    made.judge(store, run, 9, made.judgment())

    assert any("belongs to no case" in what for what in verify_run(store, run.id).told)
    assert verify_database(store) == []


def test_a_damaged_reply_is_told(store: Store, run: RunRecord) -> None:
    change(store, "replies", "content", '{"at":[0,0,0,0,0]}', where="key = 'reply 1'")
    change(store, "replies", "characters", 11, where="key = 'reply 2'")

    for key in ("reply 1", "reply 2"):
        with pytest.raises(StoreError, match=rf"the cache is damaged: the reply {key} does not match its checksum; "):
            store.reply(key)
    assert store.reply("reply 0") == {"text": '{"score": 1}', "usage": None, "model": None}
    assert verify_run(store, run.id).damages == 2


# The number itself


def test_a_number_that_is_whole_counts_as_the_database_gives_it_back() -> None:
    columns = (0, 0, 0, 0, "e", "k", "scored", 1, "pass", 1, 0, -0.0, 0)

    assert checksum.of_evaluation(1, columns, 7) == checksum.of_evaluation(
        1, (0, 0, 0, 0, "e", "k", "scored", 1.0, "pass", 1.0, 0, 0.0, 0.0), 7
    )


def test_nothing_is_not_zero() -> None:
    columns = (0, 0, 0, 0, "e", "k", "scored", None, "pass", 1.0, 0, None, 0.0)

    seals = {
        checksum.of_evaluation(1, (*columns[:7], score, *columns[8:11], cost, *columns[12:]), 7)
        for score in (None, 0.0)
        for cost in (None, 0.0)
    }

    assert len(seals) == 4


@pytest.mark.parametrize("content", ["", "a", "ä€😀", "x" * 100_000])
def test_a_checksum_is_a_number_of_64_bits_that_has_the_contents_half(content: str) -> None:
    half = checksum.content_half(content)

    seal = checksum.of_case(2**62, (2**62, "id", "hash", 1), half)

    assert -(2**63) <= seal < 2**63
    assert checksum.half_in(seal) == half


def test_a_cost_that_is_no_number_does_no_harm(store: Store, made: Any) -> None:
    run = made.run(store, cases=1)

    made.judge(store, run, 0, made.judgment(cost=math.nan))

    assert len(list(store.results(run))) == 1
