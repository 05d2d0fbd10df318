"""Transactions of both databases: all or nothing, one thread at a time, and trouble told in words."""

from __future__ import annotations

import threading

import pytest

from evenhand.domain.errors import StoreError
from evenhand.store.database import Database
from evenhand.store.store import Store, open_store


@pytest.fixture
def database(store: Store) -> Database:
    store.database.execute("CREATE TABLE things (name TEXT PRIMARY KEY, size BIGINT)")
    return store.database


def names(database: Database) -> list[str]:
    return [row[0] for row in database.rows("SELECT name FROM things ORDER BY name")]


def test_what_is_done_in_a_transaction_is_there_afterwards(database: Database) -> None:
    with database.transaction():
        assert database.execute("INSERT INTO things (name) VALUES (?)", ["a"]) == 1
        database.execute_many("INSERT INTO things (name, size) VALUES (?, ?)", [("b", 1), ("c", None)])
        database.execute_many("INSERT INTO things (name) VALUES (?)", [])

    assert names(database) == ["a", "b", "c"]
    assert database.execute("UPDATE things SET size = 2 WHERE name > ?", ["a"]) == 2


@pytest.mark.parametrize("trouble", [RuntimeError("crash"), KeyboardInterrupt(), SystemExit(1)])
def test_nothing_is_there_of_a_transaction_that_broke_off(database: Database, trouble: BaseException) -> None:
    def break_off() -> None:
        with database.transaction():
            database.execute("INSERT INTO things (name) VALUES ('a')")
            raise trouble

    with pytest.raises(type(trouble)):
        break_off()

    assert names(database) == []


def test_a_statement_that_is_refused_undoes_the_whole_transaction(database: Database) -> None:
    def put_twice() -> None:
        with database.transaction():
            database.execute("INSERT INTO things (name) VALUES ('a')")
            database.execute("INSERT INTO things (name) VALUES ('a')")

    with pytest.raises(StoreError, match=r"cannot write to .*(?i:unique)"):
        put_twice()

    assert names(database) == []
    with database.transaction():  # and the next one works
        database.execute("INSERT INTO things (name) VALUES ('b')")
    assert names(database) == ["b"]


def test_a_question_that_is_refused_is_told_with_the_place(database: Database) -> None:
    with pytest.raises(StoreError, match=r"cannot read .*nowhere"):
        database.rows("SELECT * FROM nowhere")


def test_signs_of_a_pattern_or_a_place_are_what_they_are_in_values(database: Database) -> None:
    for name in ("?", "%s", "100%", "%(a)s"):
        database.execute("INSERT INTO things (name) VALUES (?)", [name])

    assert sorted(names(database)) == sorted(["?", "%s", "100%", "%(a)s"])
    assert database.rows("SELECT 7 % 4 WHERE ? = ?", ["%s", "%s"]) == [(3,)]


def test_threads_take_turns_in_transactions(database: Database) -> None:
    database.execute("INSERT INTO things (name, size) VALUES ('counter', 0)")
    failures: list[BaseException] = []

    def count() -> None:
        try:
            for _ in range(50):
                with database.transaction():
                    ((size,),) = database.rows("SELECT size FROM things")
                    database.execute("UPDATE things SET size = ?", [size + 1])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert database.rows("SELECT size FROM things") == [(200,)]


def test_a_reader_sees_what_is_committed_and_no_more(url: str, database: Database) -> None:
    reader = open_store(url).database

    with database.transaction():
        database.execute("INSERT INTO things (name) VALUES ('a')")
        assert names(reader) == []

    assert names(reader) == ["a"]
    reader.close()


def test_tables_are_known_by_their_names(database: Database) -> None:
    assert database.has_table("things")
    assert not database.has_table("thing_")
