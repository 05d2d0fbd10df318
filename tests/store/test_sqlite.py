"""The file: who may read it, how it is opened, and what happens when it cannot be."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from evenhand.domain.errors import ConfigError, StoreError
from evenhand.store.sqlite import SQLite
from evenhand.store.store import DEFAULT_URL, Store, open_store

Within = Callable[..., subprocess.Popen[str]]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def pragma(store: Store, name: str) -> Any:
    return store.database.rows(f"PRAGMA {name}")[0][0]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


# Where it is


@pytest.fixture
def any_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("any_umask")
def test_the_usual_folder_is_made_for_its_owner_alone_and_not_for_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made: Any
) -> None:
    monkeypatch.chdir(tmp_path)

    store = open_store()
    made.run(store, cases=1)

    folder = tmp_path / ".evenhand"
    assert Path(DEFAULT_URL).parent == Path(folder.name)
    assert mode(folder) == 0o700
    assert (folder / ".gitignore").read_text() == "*\n"
    assert {one.name: mode(one) for one in folder.iterdir() if one.name != ".gitignore"} == {
        "evenhand.db": 0o600,
        "evenhand.db-wal": 0o600,
        "evenhand.db-shm": 0o600,
    }
    store.close()
    assert {one.name for one in folder.iterdir()} == {".gitignore", "evenhand.db"}


def test_a_folder_and_a_file_that_are_there_stay_as_they_are(tmp_path: Path) -> None:
    folder = tmp_path / ".evenhand"
    folder.mkdir(mode=0o755)
    (folder / ".gitignore").write_text("mine\n")
    (folder / "evenhand.db").touch(mode=0o640)

    open_store(str(folder / "evenhand.db")).close()

    assert (mode(folder), mode(folder / "evenhand.db")) == (0o755, 0o640)
    assert (folder / ".gitignore").read_text() == "mine\n"


def test_beside_other_files_nothing_is_made_but_the_database(tmp_path: Path, path: Path) -> None:
    open_store(str(path)).close()

    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("form", ["{path}", "sqlite:///{path}", "{relative}", "sqlite:///{relative}"])
def test_a_path_and_a_url_name_the_same_file(path: Path, form: str, monkeypatch: pytest.MonkeyPatch, made: Any) -> None:
    monkeypatch.chdir(path.parent)
    store = open_store(form.format(path=path, relative=path.name))

    run = made.run(store)

    assert path.exists()
    store.close()
    again = open_store(str(path))
    assert again.runs.newest() == [run]
    again.close()


@pytest.mark.parametrize("name", ["a b.db", "ä?x=1#%20.db", "-o.db", "100%.db"])
def test_a_file_may_have_any_name(tmp_path: Path, name: str) -> None:
    open_store(str(tmp_path / name)).close()

    assert [one.name for one in tmp_path.iterdir()] == [name]


# How it is opened


def test_a_setting_that_there_is_not_is_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="there are durability=full and mode=ro"):
        open_store(f"sqlite:///{path}?durability=some")


@pytest.mark.parametrize(("setting", "level"), [("", 1), ("?durability=full", 2)])
def test_the_settings_are_those_that_keep_commits(path: Path, setting: str, level: int) -> None:
    """Commits survive the death of the process; with full durability that of the machine too (REL-D7, REL-D8)."""
    store = open_store(f"sqlite:///{path}{setting}")

    assert pragma(store, "journal_mode") == "wal"
    assert pragma(store, "busy_timeout") >= 5000
    assert pragma(store, "synchronous") == level
    assert pragma(store, "foreign_keys") == 1
    store.close()


def test_a_file_in_another_mode_is_turned_to_wal(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()

    store = open_store(str(path))

    assert pragma(store, "journal_mode") == "wal"
    store.close()


# What can be wrong


@pytest.mark.parametrize("content", [b"not a database at all, but long enough to be looked at" * 9, b"{}"])
def test_another_kind_of_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.write_bytes(content)

    with pytest.raises(StoreError, match=r"cannot open .*runs\.db: file is not a database; it is another kind of file"):
        open_store(str(path))

    assert path.read_bytes() == content


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"cannot open .*: unable to open database file; is there a folder"):
        open_store(str(tmp_path))


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    open_store(str(tmp_path / "new" / "deep" / "runs.db")).close()

    assert (tmp_path / "new" / "deep" / "runs.db").is_file()


@pytest.mark.parametrize("place", ["file/runs.db", "file/.evenhand/runs.db"])
def test_a_place_that_cannot_be_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(StoreError, match=r"cannot create .*runs\.db: (File exists|Not a directory).*; choose another"):
        open_store(str(tmp_path / place))


# Opens a store as somebody who may not write there.
AS_NOBODY = """
import os, sys
from evenhand.domain.errors import ConfigError, StoreError
from evenhand.store import store, sqlite, migrations
from evenhand import registry

registry.points(store.STORES)
if os.geteuid() == 0:
    os.setgid(65534), os.setuid(65534)
try:
    store.open_store(sys.argv[1])
except StoreError as error:
    print(error)
"""


@pytest.mark.slow
def test_a_folder_in_which_one_may_not_write_is_told(within: Within) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "runs.db"
        Path(folder).chmod(0o555)

        told = within(AS_NOBODY, file).communicate()[0]

        Path(folder).chmod(0o755)
    assert f"cannot create {file}: Permission denied; choose another with --db" in told


def test_damage_is_found(path: Path, made: Any) -> None:
    store = open_store(str(path))
    made.run(store, cases=200)
    store.database.check()
    store.close()
    content = bytearray(path.read_bytes())
    half = len(content) // 2
    content[half:] = b"\xff" * len(content[half:])
    path.write_bytes(content)

    again = SQLite(str(path))
    with pytest.raises(StoreError, match=r"runs\.db is damaged: |cannot read .*malformed"):
        again.check()

    again.close()


def test_a_full_disk_is_told_and_what_was_committed_is_there(path: Path, made: Any) -> None:
    store = open_store(str(path))
    run = made.run(store, cases=2)
    made.judge(store, run, 0, made.judgment(0.5))
    pages = pragma(store, "page_count")
    store.database.execute(f"PRAGMA max_page_count = {pages}")

    with pytest.raises(StoreError, match="disk is full; what was committed before is safe: make room, then resume"):
        made.judge(store, run, 1, made.judgment(0.5, evaluation={"reasoning": "x" * 100_000}))

    store.database.execute("PRAGMA max_page_count = 1000000")
    assert store.extent(run) == (2, 1)
    made.judge(store, run, 1, made.judgment(0.5, evaluation={"reasoning": "x" * 100_000}))
    store.database.check()
    store.close()


def test_another_writer_is_waited_for_and_then_told_of(path: Path, made: Any) -> None:
    store, other = open_store(str(path)), open_store(str(path))
    other.database.execute("PRAGMA busy_timeout = 20")

    told = "cannot write to .*: database is locked; another process has been writing"
    with store.database.transaction(), pytest.raises(StoreError, match=told):
        made.run(other)

    made.run(other)
    store.close()
    other.close()


# Many processes at once

WRITING = """
import sys
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import Judgment
from evenhand.store.rows import Batch, evaluation_row
from evenhand.store.store import open_store

url, run, place, count = sys.argv[1], *map(int, sys.argv[2:])
sys.stdin.readline()
store = open_store(url)
for position in range(count):
    evaluation = Evaluation.with_score(evaluator="e", type="t", score=1.0, verdict="pass")
    store.commit(Batch(evaluations=[evaluation_row(run, position, place, Judgment(evaluation=evaluation))]))
store.close()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("writers", "count"),
    [
        (3, 150),
        pytest.param(8, 200, marks=pytest.mark.long),
        pytest.param(8, 1000, marks=pytest.mark.sweep),
    ],
)
@pytest.mark.starts(8, "many writers are the point")
def test_many_writers_and_a_reader_get_along(url: str, within: Within, made: Any, writers: int, count: int) -> None:
    """No lock is reported, and no row is lost (REL-D8)."""
    store = open_store(url)
    run = made.run(store, cases=count)
    processes = [within(WRITING, url, run.number, place, count) for place in range(writers)]

    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    seen = [0]
    while any(process.poll() is None for process in processes):
        seen.append(store.extent(run)[1])

    assert [process.communicate()[1] for process in processes] == [""] * writers
    assert seen == sorted(seen)
    assert store.extent(run)[1] == writers * count
    store.database.check()
    store.close()


OPENING = """
import sys
from evenhand.store.store import open_store

for url in sys.argv[1:]:
    sys.stdin.readline()
    store = open_store(url)
    store.runs.create(name="x", source=None, definition={}, options={})
    store.close()
    print("opened", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("openers", "times"), [(3, 10), pytest.param(8, 40, marks=pytest.mark.long)])
@pytest.mark.starts(8, "eight at once are the point")
def test_many_can_make_the_same_database_at_once(tmp_path: Path, within: Within, openers: int, times: int) -> None:
    paths = [tmp_path / f"{number}.db" for number in range(times)]
    processes = [within(OPENING, *paths) for _ in range(openers)]

    for path in paths:
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        told = [process.stdout.readline() for process in processes if process.stdout is not None]
        assert told == ["opened\n"] * openers, [process.communicate()[1] for process in processes]
        store = open_store(str(path))
        assert len(store.runs.newest()) == openers
        store.close()

    assert [process.communicate()[1] for process in processes] == [""] * openers
