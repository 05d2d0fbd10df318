"""A database that cannot be written to can be read, and whoever would have to write is told so first."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from tests.engine.preloaded import RunScript, preloaded

from evenhand.domain.errors import ConfigError, RunNotFoundError, StoreError
from evenhand.domain.run import RunStatus
from evenhand.engine.overview import kept_overview, overview_of
from evenhand.engine.store_location import StoreLocation
from evenhand.reports.overview import survey
from evenhand.store.migrations import known, migrate
from evenhand.store.sqlite import SQLite, connect
from evenhand.store.store import open_store
from evenhand.store.transfer import export_lines


@pytest.fixture
def path(tmp_path: Path, made: Any) -> Path:
    """A file with a finished run in it."""
    file = tmp_path / "runs.db"
    store = open_store(str(file))
    run = made.run(store, cases=2)
    for position in range(2):
        made.judge(store, run, position, made.judgment(0.5))
    store.runs.mark(run, RunStatus.FINISHED)
    store.close()
    return file


@pytest.fixture
def read_only(path: Path) -> str:
    return f"sqlite:///{path}?mode=ro"


# What may read, and what may not write


def test_a_run_is_read_and_exported_from_a_read_only_database(read_only: str, path: Path) -> None:
    written = path.read_bytes()
    with StoreLocation(read_only).opened(to_read=True) as store:
        run = store.runs.find("last")

        overview = overview_of(store, run)

        assert overview == survey(store.results(run))
        assert len(list(export_lines(store, run))) == 3
        assert kept_overview(store, run) is None
    assert path.read_bytes() == written


def test_who_would_write_is_told_before_anything_is_done(read_only: str) -> None:
    with (
        pytest.raises(StoreError, match=r"runs\.db is read-only, and this would write to it"),
        StoreLocation(read_only).opened(),
    ):
        pytest.fail("it was opened to write")

    with StoreLocation(read_only).opened(to_read=True) as store:
        with pytest.raises(StoreError, match="read-only"):
            store.runs.delete(store.runs.find("last"))
        with pytest.raises(StoreError, match="read-only"):
            store.runs.claim(store.runs.find("last"))
        assert len(store.runs.newest()) == 1


def test_a_read_only_database_takes_no_statement_that_writes(read_only: str) -> None:
    database = connect(read_only)

    with pytest.raises(StoreError, match="readonly"):
        database.execute("DELETE FROM runs")

    database.close()


def test_tables_of_an_older_version_are_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    database = SQLite(str(path))
    migrate(database, known()[:2])
    database.close()

    with pytest.raises(StoreError, match=r"old\.db is read-only and has the tables of an older Evenhand \(schema 2\)"):
        open_store(f"sqlite:///{path}?mode=ro")

    assert sqlite3.connect(path).execute("SELECT version FROM schema_version").fetchall() == [(2,)]


def test_a_file_without_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.db"
    path.touch()

    with pytest.raises(StoreError, match="has no tables of Evenhand"):
        open_store(f"sqlite:///{path}?mode=ro")


def test_reading_makes_no_file(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no such file, and mode=ro does not create one"):
        open_store(f"sqlite:///{tmp_path / 'none.db'}?mode=ro")

    assert list(tmp_path.iterdir()) == []


def test_other_settings_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no setting 'mode=rw'; there are durability=full and mode=ro"):
        open_store(f"sqlite:///{tmp_path / 'none.db'}?mode=rw")


def test_a_path_with_odd_letters_is_read(tmp_path: Path, path: Path) -> None:
    odd = tmp_path / "what #1 %41.db"
    shutil.copy(path, odd)

    store = open_store(f"sqlite:///{odd}?mode=ro")

    assert len(store.runs.newest()) == 1
    store.close()


def test_one_reads_while_another_writes(path: Path, read_only: str, made: Any) -> None:
    writer = open_store(str(path))
    reader = open_store(read_only)

    made.run(writer, cases=1, name="newer")

    assert [run.name for run in reader.runs.newest()] == ["newer", "refunds"]
    reader.close()
    writer.close()


# What the file system refuses: tried by a process that root's right to write anywhere was taken from

READ = """
import ctypes, os, sys
if os.getuid() == 0:
    libc = ctypes.CDLL(None)
    header, sets = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    assert libc.capget(header, sets) == 0
    for place in (0, 1):  # effective, permitted: without CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH
        sets[place] &= ~0b110
    assert libc.capset(header, sets) == 0
from evenhand.cli.main import main
sys.argv = ["evenhand", *sys.argv[1:]]
sys.exit(main())
"""


@pytest.fixture(scope="module")
def script() -> Iterator[RunScript]:
    with preloaded("evenhand.cli.main", "evenhand.cli.runs.finish", "evenhand.store.store") as run:
        yield run


@pytest.fixture
def denied(tmp_path: Path, path: Path, script: RunScript) -> Iterator[Callable[..., CompletedProcess[str]]]:
    """Run a command on a copy of the database that may only be read, in a folder that may only be read."""
    there = tmp_path / "denied"
    there.mkdir()

    def run(*args: str, file: int = 0o444, folder: int = 0o555) -> CompletedProcess[str]:
        there.chmod(0o755)
        for one in path.parent.glob("runs.db*"):
            (there / one.name).unlink(missing_ok=True)
            shutil.copy(one, there / one.name)
            (there / one.name).chmod(file)
        there.chmod(folder)
        return script(READ, *args, "--db", str(there / "runs.db"))

    yield run
    there.chmod(0o755)


@pytest.mark.slow
@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o555), (0o444, 0o777), (0o666, 0o555)])
def test_a_file_or_a_folder_without_rights_to_write_is_read(
    denied: Callable[..., CompletedProcess[str]], file: int, folder: int
) -> None:
    listed = denied("runs", "list", file=file, folder=folder)
    shown = denied("report", file=file, folder=folder)
    refused = denied("runs", "delete", "last", "--yes", file=file, folder=folder)

    assert (listed.returncode, listed.stderr) == (0, "")
    assert "refunds" in listed.stdout
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "refunds: 2 cases, finished" in shown.stdout
    assert refused.returncode == 1
    assert "runs.db is read-only, and this would write to it" in refused.stderr


@pytest.mark.slow
def test_commits_that_are_not_in_the_file_yet_are_read_or_missed_aloud(
    denied: Callable[..., CompletedProcess[str]], path: Path, made: Any
) -> None:
    writer = open_store(str(path))
    made.run(writer, cases=1, name="newer")

    listed = denied("runs", "list")

    told = "its last commits are still in runs.db-wal" in listed.stderr and "copy both files" in listed.stderr
    assert "newer" in listed.stdout or (listed.returncode == 1 and told)
    writer.close()


# PostgreSQL


@pytest.mark.slow
@pytest.mark.group("postgres-runs")
def test_a_connection_that_only_reads_is_one_to_postgresql_too(postgres_url: str, made: Any) -> None:
    store = open_store(postgres_url)
    run = made.run(store, cases=1)
    made.judge(store, run, 0, made.judgment(0.5))
    store.runs.mark(run, RunStatus.FINISHED)
    store.close()
    mark = "&" if "?" in postgres_url else "?"
    url = f"{postgres_url}{mark}options=-c%20default_transaction_read_only%3Don"

    with StoreLocation(url).opened(to_read=True) as reading:
        found = reading.runs.find("last")

        assert overview_of(reading, found).summary.cases.mean == 0.5
        assert reading.database.read_only
        with pytest.raises(StoreError, match="is read-only, and this would write to it"):
            reading.runs.delete(found)
    with pytest.raises(StoreError, match="is read-only"), StoreLocation(url).opened():
        pytest.fail("it was opened to write")


def test_a_run_that_is_not_there_is_still_not_found(read_only: str) -> None:
    with (
        StoreLocation(read_only).opened(to_read=True) as store,
        pytest.raises(RunNotFoundError, match="no run 'other'"),
    ):
        store.runs.find("other")
