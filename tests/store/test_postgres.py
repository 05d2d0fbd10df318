"""What is PostgreSQL's own: its schema, its passwords, and connections that break."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunStatus
from evenhand.store.store import open_store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("postgres")]

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


def test_a_process_that_is_suspended_within_a_transaction_does_not_hold_up_others(
    postgres_url: str, made: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evenhand.store.postgres.IDLE_SECONDS", 0.2)
    suspended, other = open_store(postgres_url), open_store(postgres_url)
    made.run(other, cases=1)

    def overtaken() -> None:
        with suspended.database.transaction():
            suspended.database.execute("UPDATE runs SET seen = 1")
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


def test_a_connection_that_breaks_is_told_and_what_was_committed_is_there(postgres_url: str, made: Any) -> None:
    store = open_store(postgres_url)
    run = made.run(store, cases=2)
    made.judge(store, run, 0, made.judgment(0.5))
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'evenhand'")

    with pytest.raises(StoreError, match=r"cannot write to postgresql://.*/test_\d+: "):
        made.judge(store, run, 1, made.judgment(0.5))
    with pytest.raises(StoreError):
        store.database.check()
    store.close()

    again = open_store(postgres_url)
    assert again.extent(run) == (2, 1)
    assert again.runs.mark(run, RunStatus.FINISHED).status is RunStatus.FINISHED
    again.close()
