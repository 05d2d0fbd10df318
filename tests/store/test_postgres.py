"""What is PostgreSQL's own: its schema, its passwords, and connections that break."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from evenhand.domain.errors import ConnectionLostError, RunBusyError, StoreError
from evenhand.domain.prompt import PromptText
from evenhand.domain.run import RunStatus
from evenhand.store.postgres import Postgres
from evenhand.store.store import Store, open_store
from evenhand.store.transfer import export_lines, import_lines

pytestmark = [pytest.mark.slow, pytest.mark.group("postgres-runs")]

PASSWORD = "pass-canary-51e2"


def test_the_tables_stand_in_a_schema_of_their_own(postgres_url: str, made: Any) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE TABLE runs (mine TEXT)")
        connection.execute("CREATE TABLE schema_version (version TEXT)")

    store = open_store(postgres_url)
    run = made.run(store, cases=1)

    assert store.runs.newest() == [run]
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT * FROM runs").fetchall() == []
        assert connection.execute("SELECT name FROM evenhand.runs").fetchall() == [("refunds",)]
    store.close()


@pytest.mark.parametrize("scheme", ["postgresql", "postgres"])
def test_both_usual_schemes_are_understood(postgres_url: str, scheme: str) -> None:
    store = open_store(postgres_url.replace("postgresql:", f"{scheme}:"))

    store.database.check()

    store.close()


def test_a_process_that_is_suspended_within_a_transaction_does_not_hold_up_others(postgres_url: str, made: Any) -> None:
    suspended, other = open_store(postgres_url), open_store(postgres_url)
    made.run(other, cases=1)
    limit = "idle_in_transaction_session_timeout"
    assert suspended.database.rows(f"SHOW {limit}") == [("1min",)]

    def overtaken() -> None:
        with suspended.database.transaction():
            suspended.database.execute("UPDATE runs SET seen = 1")
            suspended.database.execute(f"SET {limit} = 200")  # rather than wait for a minute
            other.database.execute("UPDATE runs SET seen = 2")  # waits until the server has ended that connection

    with pytest.raises(StoreError, match="the connection is lost: what was committed before is safe, and a run can be"):
        overtaken()
    assert other.database.rows("SELECT seen FROM runs") == [(2,)]
    suspended.close()
    other.close()


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port on which nobody listens, and which nobody else can take meanwhile."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


@pytest.mark.parametrize(
    "rest",
    [
        "127.0.0.1:{port}/runs",
        "127.0.0.1:{port}/runs?connect_timeout=1&bogus=1",
        "127.0.0.1:{port}/runs?password=pass-canary-51e2",
        "127.0.0.1:abc/runs",
        "127.0.0.1:{port},127.0.0.1:{port}/runs",
        "[::1/runs",
        "127.0.0.1:{port}/runs?sslmode=nonsense",
    ],
)
def test_a_password_is_in_no_message(rest: str, free_port: int) -> None:
    url = f"postgresql://ann:{PASSWORD}@{rest.format(port=free_port)}"

    with pytest.raises(StoreError, match="cannot open postgresql://") as caught:
        open_store(url)

    told = [str(caught.value), repr(caught.value.__cause__), repr(caught.value.__context__)]
    assert not any(PASSWORD in one for one in told)


def test_a_wrong_password_is_told_without_it(postgres: str) -> None:
    url = re.sub(r"//postgres@", f"//nobody:{PASSWORD}@", postgres)

    with pytest.raises(StoreError, match=r"cannot open postgresql://.*/postgres: .*nobody") as caught:
        open_store(url)

    assert PASSWORD not in str(caught.value)


def test_one_who_may_not_make_a_schema_is_told_so(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE guest LOGIN")
    try:
        with pytest.raises(StoreError, match="permission denied"):
            open_store(postgres_url.replace("postgres@", "guest@"))
    finally:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute("DROP ROLE guest")


def test_one_who_may_use_the_schema_need_not_be_able_to_make_one(postgres_url: str, made: Any) -> None:
    owner = open_store(postgres_url)
    run = made.run(owner, cases=1)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("CREATE ROLE worker LOGIN")
        connection.execute("GRANT USAGE ON SCHEMA evenhand TO worker")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA evenhand TO worker")

    store = open_store(postgres_url.replace("postgres@", "worker@"))
    made.judge(store, run, 0, made.judgment(0.5))

    assert owner.extent(run) == (1, 1)
    store.close()
    owner.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("DROP OWNED BY worker")
        connection.execute("DROP ROLE worker")


def end_connections(url: str) -> None:
    """End the connections to a database, as an administrator does."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE application_name = 'evenhand' AND datname = current_database()"
        )


@contextlib.contextmanager
def closed_to_all(postgres: str, url: str) -> Iterator[None]:
    """Let nobody into a database, and end the connections to it."""
    name = url.partition("?")[0].rpartition("/")[2]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false".encode())
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true".encode())


def test_an_import_of_a_run_is_repeated_where_its_lines_can_be_read_again(
    postgres_url: str, made: Any, tmp_path: Path
) -> None:
    with contextlib.closing(open_store(str(tmp_path / "there.db"))) as there:
        exported = list(export_lines(there, made.run(there, cases=3)))
    store = open_store(postgres_url)
    losses = iter((True, True, False))

    def lines() -> Iterator[bytes]:
        is_lost = next(losses)
        for number, line in enumerate(exported):
            if is_lost and number == 2:
                end_connections(postgres_url)
            yield line

    with pytest.raises(ConnectionLostError, match=r"^run\.jsonl: nothing of it was imported; import it again\. cannot"):
        import_lines(store, lines(), name="run.jsonl")
    before = store.runs.newest()
    imported = import_lines(store, lines, name="run.jsonl")

    assert before == []
    assert (imported.cases, [run.id for run in store.runs.newest()]) == (3, [imported.id])
    store.close()


def test_after_a_connection_was_lost_reads_and_writes_go_on_with_another(postgres_url: str, made: Any) -> None:
    store = open_store(postgres_url)
    run = made.run(store, cases=2)
    made.judge(store, run, 0, made.judgment(0.5))

    end_connections(postgres_url)
    assert store.extent(run) == (2, 1)
    end_connections(postgres_url)
    made.judge(store, run, 1, made.judgment(0.5))
    end_connections(postgres_url)
    store.database.check()
    end_connections(postgres_url)

    assert store.runs.mark(run, RunStatus.FINISHED).status is RunStatus.FINISHED
    assert store.extent(run) == (2, 2)
    store.close()


def test_a_database_that_stays_away_is_reported_and_what_was_committed_is_there(
    postgres: str, postgres_url: str, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.postgres.RECONNECT_SECONDS", 0.2)
    store = open_store(postgres_url)
    run = made.run(store, cases=2)
    made.judge(store, run, 0, made.judgment(0.5))

    with closed_to_all(postgres, postgres_url):
        with pytest.raises(
            ConnectionLostError, match=r"cannot open postgresql://.*/test_\d+: .*not currently accepting"
        ):
            made.judge(store, run, 1, made.judgment(0.5))
        with pytest.raises(ConnectionLostError):
            store.database.check()
        with pytest.raises(ConnectionLostError):
            store.require_ready()

    store.require_ready()
    assert store.extent(run) == (2, 1)
    made.judge(store, run, 1, made.judgment(0.5))
    assert store.extent(run) == (2, 2)
    store.close()


class Cut(Postgres):
    """A database whose connection is lost while it commits: before that is done, or just afterwards."""

    url = ""
    cuts: tuple[str, ...] = ()

    def _run(self, sql: str, values: Any = ()) -> Any:
        if sql != "COMMIT" or not self.cuts:
            return super()._run(sql, values)
        cut, *others = self.cuts
        self.cuts = tuple(others)
        if cut == "after":
            super()._run(sql)
        end_connections(self.url)
        return super()._run(sql)


@pytest.mark.parametrize("cuts", [("before",), ("after",), ("before", "before", "after")], ids="-".join)
def test_what_became_of_a_commit_is_asked_so_that_it_is_made_once(
    postgres_url: str, made: Any, cuts: tuple[str, ...]
) -> None:
    open_store(postgres_url).close()
    database = Cut(postgres_url)
    store = Store(database)
    run = made.run(store, cases=1)
    database.url = postgres_url

    database.cuts = cuts
    store.runs.abandon(run, 3, 0.5)  # adds to what is there, so that twice would be seen
    database.cuts = cuts
    prompt = store.prompts.create(PromptText(name="capitals"))  # and a second one would be refused

    assert database.cuts == ()
    assert store.runs.find(run.id).abandoned_calls == 3
    assert [one.id for one in store.prompts.all()] == [prompt.id]
    store.close()


def test_a_transaction_that_nobody_repeats_is_undone_and_reported(postgres_url: str, made: Any) -> None:
    store = open_store(postgres_url)
    run = made.run(store, cases=1)

    def cut() -> None:
        with store.transaction():
            made.judge(store, run, 0, made.judgment(0.5))
            end_connections(postgres_url)
            made.judge(store, run, 0, made.judgment(0.5, round=1))

    with pytest.raises(ConnectionLostError, match="the connection is lost: what was committed before is safe"):
        cut()

    assert store.extent(run) == (1, 0)
    store.close()


def test_who_lost_a_run_with_the_connection_writes_nothing_into_it(postgres_url: str, made: Any) -> None:
    store, other = open_store(postgres_url), open_store(postgres_url)
    run = made.run(store, cases=1)
    taken: list[bool] = []

    def write() -> None:
        made.judge(store, run, 0, made.judgment(0.5))
        if not taken:
            taken.append(True)
            end_connections(postgres_url)
            other.runs.claim(run)
            store.extent(run)

    with pytest.raises(RunBusyError, match="was taken over by"):
        store.atomically(write)

    assert other.extent(run) == (1, 0)
    store.close()
    other.close()


def test_a_closed_store_does_not_open_itself_again(postgres_url: str) -> None:
    store = open_store(postgres_url)
    store.close()

    with pytest.raises(StoreError, match="the connection is closed"):
        store.runs.newest()


def test_tables_of_another_version_are_not_ready(postgres_url: str) -> None:
    store = open_store(postgres_url)
    store.require_ready()
    for version, told in ((3, "has the tables of schema 3"), (999, "was written by a newer Evenhand")):
        store.database.execute("UPDATE schema_version SET version = ?", [version])

        with pytest.raises(StoreError, match=told):
            store.require_ready()
    store.close()
