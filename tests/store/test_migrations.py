"""A database is brought up to date whole or not at all, and one from the future is left alone."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunStatus
from evenhand.store import migrations
from evenhand.store.database import Database
from evenhand.store.migrations import known, migrate, version_of
from evenhand.store.postgres import Postgres
from evenhand.store.rows import case_content, dumps, evaluation_row
from evenhand.store.sqlite import SQLite
from evenhand.store.store import open_store
from evenhand.store.verification import verify_run

LATER = """
-- A column, and what stands in it; then a table of its own.
ALTER TABLE runs ADD COLUMN note TEXT NOT NULL DEFAULT '';
UPDATE runs SET note = name;
CREATE TABLE notes (number {serial}, text TEXT NOT NULL);
"""

# Applies a migration of three statements, and is killed after as many of them as asked for.
KILLED = """
import os, signal, sys
from evenhand.store import migrations
from evenhand.store.postgres import Postgres
from evenhand.store.sqlite import SQLite

url, kind, later, survived = *sys.argv[1:4], int(sys.argv[4])


class Fragile({"sqlite": SQLite, "postgresql": Postgres}[kind]):
    def execute(self, sql, values=()):
        count = super().execute(sql, values)
        if sql.startswith(("ALTER", "UPDATE", "CREATE TABLE notes")):
            self.done = getattr(self, "done", 0) + 1
            if self.done == survived:
                os.kill(os.getpid(), signal.SIGKILL)
        return count


migrations.migrate(Fragile(url), [*migrations.known(), later])
print("done")
"""


def connect(url: str) -> Database:
    return Postgres(url) if url.startswith("postgresql:") else SQLite(url)


def tables(database: Database) -> set[str]:
    return {
        name for name in ("runs", "cases", "answers", "evaluations", "replies", "notes") if database.has_table(name)
    }


def test_a_new_database_gets_all_tables(url: str) -> None:
    database = connect(url)
    assert (version_of(database), tables(database)) == (0, set())

    migrate(database, known())

    assert version_of(database) == len(known())
    assert tables(database) == {"runs", "cases", "answers", "evaluations", "replies"}
    database.close()


def test_an_older_database_is_brought_up_to_date_with_what_is_in_it(url: str, made: Any) -> None:
    store = open_store(url)
    run = made.run(store, cases=2, name="mine")
    before = list(store.results(run))

    migrate(store.database, [*known(), LATER])

    assert version_of(store.database) == len(known()) + 1
    assert store.database.rows("SELECT note FROM runs") == [("mine",)]
    assert store.database.has_table("notes")
    assert list(store.results(run)) == before
    store.close()


def test_opening_again_changes_nothing(url: str, made: Any) -> None:
    store = open_store(url)
    run = made.run(store, cases=1)
    store.close()

    again = open_store(url)

    assert again.runs.newest() == [run]
    again.close()


@pytest.mark.parametrize("wrong", ["CREATE TABLE runs (x TEXT);", "NONSENSE;", "INSERT INTO nowhere VALUES (1);"])
def test_a_migration_that_fails_leaves_the_old_version(url: str, made: Any, wrong: str) -> None:
    store = open_store(url)
    run = made.run(store, cases=1)

    with pytest.raises(StoreError, match="cannot write to "):
        migrate(store.database, [*known(), LATER + wrong])

    assert version_of(store.database) == len(known())
    assert not store.database.has_table("notes")
    assert store.runs.newest() == [run]
    migrate(store.database, [*known(), LATER])
    assert version_of(store.database) == len(known()) + 1
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("survived", [2, *(pytest.param(one, marks=pytest.mark.long) for one in (1, 3, 4))])
def test_a_process_killed_within_a_migration_leaves_the_old_version(
    url: str, made: Any, within: Callable[..., subprocess.Popen[str]], survived: int
) -> None:
    store = open_store(url)
    run = made.run(store, cases=1)
    store.close()
    kind = "postgresql" if url.startswith("postgresql:") else "sqlite"

    process = within(KILLED, url, kind, LATER, survived)
    assert (process.communicate()[0], process.returncode) == ("", -9)

    again = open_store(url)
    again.database.check()
    assert version_of(again.database) == len(known())
    assert not again.database.has_table("notes")
    assert again.runs.newest() == [run]
    migrate(again.database, [*known(), LATER])
    assert again.database.rows("SELECT note FROM runs") == [("refunds",)]
    again.close()


def test_a_database_from_the_future_is_refused_and_left_alone(url: str, made: Any) -> None:
    store = open_store(url)
    migrate(store.database, [*known(), LATER])
    made.run(store)
    store.close()

    newest = len(known())
    told = (
        rf"was written by a newer Evenhand \(schema {newest + 1}, this one knows {newest}\); upgrade, or give another"
    )
    with pytest.raises(StoreError, match=told):
        open_store(url)

    database = connect(url)
    assert version_of(database) == newest + 1
    assert database.rows("SELECT COUNT(*) FROM runs") == [(1,)]
    database.close()


def test_a_database_of_the_version_before_keeps_its_runs_its_cache_and_its_owner(url: str, made: Any) -> None:
    """As before rows had checksums: a finished run, one that was left at work, and a reply with its text."""
    database = connect(url)
    migrate(database, known()[:2])
    for number, status in enumerate(("finished", "running"), start=1):
        database.execute(
            "INSERT INTO runs (id, name, status, reason, definition, options, cases, repeat, version, created, owner, "
            "seen) VALUES (?, 'old', ?, '', '{}', '{}', 1, 1, '0.1', 1.5, 'elsewhere:1:abcd', 2.5)",
            [f"run-{number}", status],
        )
        ((run,),) = database.rows("SELECT number FROM runs WHERE id = ?", [f"run-{number}"])
        case = made.planned(0, Case(id="case-0"))
        database.execute(
            "INSERT INTO cases (run, position, id, hash, expected, content) VALUES (?, 0, 'case-0', 'h', 1, ?)",
            [run, dumps(case_content(case))],
        )
    database.execute(
        "INSERT INTO evaluations (run, position, place, sample, round, evaluator, key, status, score, verdict, weight, "
        "required, cost, seconds, content) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        evaluation_row(run - 1, 0, 0, made.judgment(0.5)),
    )
    answer = '{"text": "Yes", "attempts": [{"kind": "reply", "raw": "Yes"}]}'
    database.execute(
        "INSERT INTO answers (run, position, sample, round, content) VALUES (?, 0, 0, 0, ?)", [run - 1, answer]
    )
    database.execute("INSERT INTO replies VALUES ('key', 'model', 1.5, '{\"text\": \"said\", \"usage\": null}')")
    database.close()

    store = open_store(url)

    finished, at_work = store.runs.find("run-1"), store.runs.find("run-2")
    (result,) = store.results(finished)
    assert [one.evaluation.score for one in result.judgments] == [0.5]
    assert (result.answers[0].text, result.answers[0].attempts[0].raw) == ("Yes", "Yes")
    assert (finished.covered, finished.evaluations) == (False, None)
    assert store.reply("key") == {"text": "said", "usage": None}
    assert [told[:3] for told in store.replies_by_model()] == [("model", 1, 31)]
    verified = verify_run(store, "run-1")
    assert (verified.is_sound, verified.rows, verified.uncovered) == (True, 4, 4)
    store.runs.claim(at_work)
    made.judge(store, at_work, 0, made.judgment(1.0))
    ended = store.runs.mark(at_work, RunStatus.FINISHED)
    assert (ended.evaluations, ended.covered) == (1, False)
    assert len(list(store.results(ended))) == 1
    store.close()


class Overtaken(SQLite):
    """A database that another program brings up to date between our look at its version and our transaction."""

    def _begin(self) -> None:
        other = SQLite(self.where)
        migrate(other, [*known(), LATER])
        other.close()
        super()._begin()


def test_a_newer_program_that_was_quicker_is_not_undone(tmp_path: Path) -> None:
    database = Overtaken(str(tmp_path / "runs.db"))

    with pytest.raises(StoreError, match="was written by a newer Evenhand"):
        migrate(database, known())

    assert version_of(database) == len(known()) + 1
    database.close()


def test_statements_are_told_apart_from_comments() -> None:
    text = "-- one; two\nCREATE TABLE a (\n  -- three;\n  b TEXT);\n\n;UPDATE a SET b = 1"

    assert migrations._statements(text) == ["CREATE TABLE a (\n  b TEXT)", "UPDATE a SET b = 1"]
