"""SQLite, the embedded default: a file in WAL mode, which readers and one writer share."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evenhand.domain.errors import ConfigError, StoreError
from evenhand.store.database import Database, Space
from evenhand.store.location import FOLDER
from evenhand.store.verification import commits_after, has_frames, log_of

MEMORY = ":memory:"
# A file that has no name, and is gone once it is closed.
_UNNAMED = ""
WAIT_SECONDS = 10.0
_DURABLE = "durability=full"
_READ_ONLY = "mode=ro"
# The second, where a damaged schema makes a message of which Python cannot make a text.
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)
# How many kilobytes of a database for what need not be kept stay in memory.
_SCRATCH_CACHE = 32_768
# So often one looks whether a commit is lost or just being made.
_LOOKS = 10


class SQLite(Database):
    """A database in one file, or in memory."""

    serial: ClassVar[str] = "INTEGER PRIMARY KEY AUTOINCREMENT"
    clustered: ClassVar[str] = " WITHOUT ROWID"
    quick: ClassVar[bool] = True

    def __init__(self, path: str, *, durable: bool = False, read_only: bool = False) -> None:
        super().__init__(path, trouble=_TROUBLE)
        is_there = path not in (MEMORY, _UNNAMED) and Path(path).is_file()
        self.read_only = read_only or (is_there and not os.access(path, os.W_OK))
        if path not in (MEMORY, _UNNAMED) and not self.read_only:
            _prepare(Path(path))
        try:
            self._connection = self._open(path, durable=durable)
        except _TROUBLE as error:
            if self.read_only or not is_there or not _is_denied(error):
                raise self._error("open", error) from error
            # The file could be written to, and its folder cannot: SQLite needs a second file beside it.
            self.read_only = True
            try:
                self._connection = self._open(path, durable=durable)
            except _TROUBLE as second:
                raise self._error("open", second) from second

    def _open(self, path: str, *, durable: bool) -> sqlite3.Connection:
        if not self.read_only:
            was_left = path not in (MEMORY, _UNNAMED) and has_frames(log_of(path))
            return self._connect(path, lambda: self._settle(durable=durable, was_left=was_left))
        try:
            return self._connect(f"{Path(path).absolute().as_uri()}?{_READ_ONLY}", self._settle_to_read)
        except sqlite3.OperationalError as error:
            # To read beside a writer takes a file for locks. Where that cannot be made, there is no writer either,
            # unless commits of one are left over that are not in the file yet.
            left = Path(f"{path}-wal")
            if not _is_denied(error) or not Path(path).is_file():
                raise
            if left.exists() and left.stat().st_size:
                raise StoreError(
                    f"cannot read {path}: its last commits are still in {left.name}, and reading these takes a folder "
                    "that can be written to; copy both files to one"
                ) from None
            return self._connect(f"{Path(path).absolute().as_uri()}?immutable=1", self._settle_to_read)

    def _connect(self, where: str, settle: Callable[[], None]) -> sqlite3.Connection:
        # Each transaction is begun by hand: the driver would begin some, and not others.
        self._connection = sqlite3.connect(
            where, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False, uri=where.startswith("file:")
        )
        try:
            settle()
        except BaseException:
            self._connection.close()
            raise
        return self._connection

    def _settle_to_read(self) -> None:
        self._run(f"PRAGMA busy_timeout = {int(WAIT_SECONDS * 1000)}")
        self._run("PRAGMA query_only = ON")
        self._require_tables()  # what cannot be read is said now

    def _settle(self, *, durable: bool, was_left: bool) -> None:
        self._run(f"PRAGMA busy_timeout = {int(WAIT_SECONDS * 1000)}")
        # For a file that is new: an evaluation takes about 4 kB, and several to a page cost half as much to write.
        self._run("PRAGMA page_size = 16384")
        self._turn_to_wal()
        # A commit survives the death of this process either way; FULL survives that of the machine too.
        self._run(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self._run("PRAGMA foreign_keys = ON")
        if was_left:
            self._require_whole_log()
        self._require_tables()

    def _turn_to_wal(self) -> None:
        # For this SQLite does not wait: when several make a database at once, some would find it locked.
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                self._run("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if _code(error) not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def _require_whole_log(self) -> None:
        """Refuse a log that has lost commits, and keep a copy of it: closing checkpoints the rest."""
        log = log_of(self.where)
        ((page_size,),) = self._run("PRAGMA page_size").fetchall()
        lost = 0
        for _ in range(_LOOKS):
            if (last := self._last_frame()) is None:
                continue
            unread = commits_after(log, last=last, page_size=page_size)
            if not unread.frames:
                return
            # Another process may just have made them, or be in the middle of it: then its end is waited for.
            self._run("BEGIN IMMEDIATE")
            self._run("ROLLBACK")
            last = self._last_frame()
            if last is not None and commits_after(log, last=last, page_size=page_size).salts == unread.salts:
                if not (lost := unread.after(last)):
                    return
                break
        if not lost:  # it is busy, and so in use
            return
        copy = Path(f"{log}.damaged")
        with contextlib.suppress(OSError):
            shutil.copyfile(log, copy)
        raise StoreError(
            f"{log} is damaged: {lost:,} commits in it cannot be read any more, and all before them are sound; restore "
            f"a backup, or run this again to continue without them (the log is kept as {copy})"
        )

    def _last_frame(self) -> int | None:
        """Return the number of the last frame of the log that was read; None while another process checkpoints it."""
        ((_, last, _),) = self._run("PRAGMA wal_checkpoint").fetchall()
        return last if last >= 0 else None

    def _require_tables(self) -> None:
        """Refuse a file that is not empty and says that it has no tables: others would be written over what it has."""
        # The pages first: another process may make the tables in between, and nobody takes them away.
        pages, free = (self._run(f"PRAGMA {pragma}").fetchone()[0] for pragma in ("page_count", "freelist_count"))
        ((tables,),) = self._run("SELECT COUNT(*) FROM sqlite_master").fetchall()
        if not tables and pages - free > 1:
            raise StoreError(f"{self.where} is damaged: it has {pages:,} pages, and no tables; restore a backup")

    def _begin(self) -> None:
        # At once: a transaction that turns to writing later may find another writer, and cannot wait then.
        self._run("BEGIN IMMEDIATE")

    def _run(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def _run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def _add_rows(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, replace: bool) -> None:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        self._run_many(f"INSERT {'OR REPLACE ' * replace}INTO {table} ({names}) VALUES ({marks})", rows)  # noqa: S608

    def among(self, column: str, numbers: Sequence[int]) -> tuple[str, Any]:
        """Return the condition that a column has one of many numbers, and the one value that it takes."""
        return f"{column} IN (SELECT value FROM json_each(?))", orjson.dumps(list(numbers)).decode()  # noqa: S608 - our own name

    def containing(self, column: str, text: str) -> tuple[str, Any]:
        """Return the condition that a column has a text in it, letter by letter, and the one value that it takes."""
        # Three times as quick as instr.
        return f"{column} GLOB ?", f"*{''.join(f'[{one}]' if one in '*?[' else one for one in text)}*"

    def survey(self, table: str) -> None:
        """Do nothing: without numbers, queries go by the keys of the tables, as they should."""

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [name]))

    def space(self) -> Space:
        """Return how much space the file takes, once what is in the log is in it."""
        pages, free, size = (
            self.rows(f"PRAGMA {pragma}")[0][0] for pragma in ("page_count", "freelist_count", "page_size")
        )
        return Space(taken=pages * size, free=free * size)

    def vacuum(self) -> None:
        """Write the file anew without what was deleted; that needs as much space beside it as the runs take."""
        self.require_writable()
        self.execute("VACUUM")
        self.rows("PRAGMA wal_checkpoint(TRUNCATE)")

    def lock(self) -> None:
        """Do nothing: whoever writes here is alone."""

    def close(self) -> None:
        """Close the connection; the last one to close checkpoints the WAL."""
        with self._mine:
            self._connection.close()

    def check(self, table: str | None = None) -> None:
        """Raise ``StoreError`` if the file, or one table in it, is damaged."""
        problems = [str(row[0]) for row in self.rows(f"PRAGMA integrity_check{'' if table is None else f'({table})'}")]
        if problems != ["ok"]:
            raise StoreError(f"{self.where} is damaged: {'; '.join(problems[:3])}; restore a backup")

    def _advice(self, error: Exception) -> str:
        code = _code(error)
        if code == sqlite3.SQLITE_FULL:
            return "; what was committed before is safe: make room, then resume"
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return f"; another process has been writing for more than {WAIT_SECONDS:.0f} seconds: try again"
        if _is_denied(error):
            return "; is there a folder of that name, and may you write in it?"
        if code == sqlite3.SQLITE_NOTADB:
            return "; it is another kind of file: give the right one with --db"
        return ""


def scratch() -> SQLite:
    """Open an empty database for what need not be kept; what does not fit into memory is in a file without a name."""
    database = SQLite(_UNNAMED)
    for pragma in (
        "foreign_keys = OFF",
        "journal_mode = MEMORY",
        "synchronous = OFF",
        f"cache_size = {-_SCRATCH_CACHE}",
    ):
        database.rows(f"PRAGMA {pragma}")
    return database


def connect(url: str) -> SQLite:
    """Open ``sqlite:///path/to/file.db``, or a plain path.

    ``?durability=full`` waits for the disk at each commit; ``?mode=ro`` only reads.
    """
    path, query = url.removeprefix("sqlite://"), ""
    if path != url:
        path, _, query = path.partition("?")
        path = path.removeprefix("/") or MEMORY
    if query not in ("", _DURABLE, _READ_ONLY):
        raise ConfigError(
            f"{url}: a SQLite database has no setting {query!r:.80}; there are {_DURABLE} and {_READ_ONLY}"
        )
    if not path:  # SQLite would take it for a file that is deleted at the end
        raise ConfigError("the path of the database is empty; give one, such as .evenhand/evenhand.db")
    if query == _READ_ONLY and not Path(path).is_file():
        raise StoreError(f"cannot open {path}: there is no such file, and {_READ_ONLY} does not create one")
    return SQLite(path, durable=query == _DURABLE, read_only=query == _READ_ONLY)


def _is_denied(error: Exception) -> bool:
    return _code(error) in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)


def _code(error: Exception) -> int:
    """Return SQLite's primary code for an error; the upper bytes of an extended one say more than is needed."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _prepare(path: Path) -> None:
    """Make the folder and an empty file that only their owner can read: answers may be confidential."""
    try:
        ours = path.parent.name == FOLDER
        path.parent.mkdir(mode=0o700 if ours else 0o777, parents=True, exist_ok=True)
        if ours:
            with contextlib.suppress(FileExistsError), (path.parent / ".gitignore").open("x") as ignored:
                ignored.write("*\n")
        if not path.exists():
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        raise StoreError(f"cannot create {path}: {error.strerror}; choose another with --db") from None
