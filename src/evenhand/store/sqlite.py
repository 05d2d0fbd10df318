"""SQLite, the embedded default: a file in WAL mode, which readers and one writer share."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from evenhand.domain.errors import ConfigError, StoreError
from evenhand.store.database import Database
from evenhand.store.wal import commits_after, has_frames, log_of

MEMORY = ":memory:"
# The folder that is made when there is none; nobody else reads in it, and git leaves it alone.
FOLDER = ".evenhand"
WAIT_SECONDS = 10.0
_DURABLE = "durability=full"
# Of a damaged file, the driver may be unable to say in letters what is wrong.
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)
# So often one looks whether a commit is lost or just being made.
_LOOKS = 10


class SQLite(Database):
    """A database in one file, or in memory."""

    serial: ClassVar[str] = "INTEGER PRIMARY KEY AUTOINCREMENT"
    quick: ClassVar[bool] = True

    def __init__(self, path: str, *, durable: bool = False) -> None:
        super().__init__(path, trouble=_TROUBLE)
        if path != MEMORY:
            _prepare(Path(path))
        was_left = path != MEMORY and has_frames(log_of(path))
        try:
            # Each transaction is begun by hand: the driver would begin some, and not others.
            self._connection = sqlite3.connect(
                path, timeout=WAIT_SECONDS, isolation_level=None, check_same_thread=False
            )
        except _TROUBLE as error:
            raise self._told("open", error) from error
        try:
            self._settle(durable=durable)
            if was_left:
                self._require_whole_log()
            self._require_tables()
        except _TROUBLE as error:
            self._connection.close()
            raise self._told("open", error) from error
        except StoreError:
            self._connection.close()
            raise

    def _settle(self, *, durable: bool) -> None:
        self._run(f"PRAGMA busy_timeout = {int(WAIT_SECONDS * 1000)}")
        # For a file that is new: an evaluation takes about 4 kB, and several to a page cost half as much to write.
        self._run("PRAGMA page_size = 16384")
        self._turn_to_wal()
        # A commit survives the death of this process either way; FULL survives that of the machine too.
        self._run(f"PRAGMA synchronous = {'FULL' if durable else 'NORMAL'}")
        self._run("PRAGMA foreign_keys = ON")

    def _turn_to_wal(self) -> None:
        # For this SQLite does not wait: when several make a database at once, some would find it locked.
        until = time.monotonic() + WAIT_SECONDS
        while True:
            try:
                self._run("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
            else:
                return

    def _require_whole_log(self) -> None:
        """Refuse a log of which commits were lost, and keep a copy of it: closing folds the rest into the file."""
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
            f"a backup, or do this again to go on without them (the log is kept as {copy})"
        )

    def _last_frame(self) -> int | None:
        """Give the number of the last frame of the log that was read; None while another process folds it in."""
        ((_, last, _),) = self._run("PRAGMA wal_checkpoint").fetchall()
        return last if last >= 0 else None

    def _require_tables(self) -> None:
        """Refuse a file that is not empty and says that it has no tables: others would be written over what it has."""
        ((tables,),) = self._run("SELECT COUNT(*) FROM sqlite_master").fetchall()
        if not tables:
            pages, free = (self._run(f"PRAGMA {one}").fetchone()[0] for one in ("page_count", "freelist_count"))
            if pages - free > 1:
                raise StoreError(f"{self.where} is damaged: it has {pages:,} pages, and no tables; restore a backup")

    def _begin(self) -> None:
        # At once: a transaction that turns to writing later may find another writer, and cannot wait then.
        self._run("BEGIN IMMEDIATE")

    def _run(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        return self._connection.execute(sql, values)

    def _run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def has_table(self, name: str) -> bool:
        """Tell whether there is a table of that name."""
        return bool(self.rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", [name]))

    def lock(self) -> None:
        """Do nothing: whoever writes here is alone."""

    def close(self) -> None:
        """Close the connection; the last one to close folds the WAL into the file."""
        with self._mine:
            self._connection.close()

    def check(self, table: str | None = None) -> None:
        """Raise ``StoreError`` if the file, or one table in it, is damaged."""
        found = [str(row[0]) for row in self.rows(f"PRAGMA integrity_check{'' if table is None else f'({table})'}")]
        if found != ["ok"]:
            raise StoreError(f"{self.where} is damaged: {'; '.join(found[:3])}; restore a backup")

    def _advice(self, error: Exception) -> str:
        told = str(error)
        if "disk is full" in told:
            return "; what was committed before is safe: make room, then resume"
        if "locked" in told or "busy" in told:
            return f"; another process has been writing for more than {WAIT_SECONDS:.0f} seconds: try again"
        if "readonly" in told or "unable to open" in told:
            return "; is there a folder of that name, and may you write in it?"
        if "not a database" in told:
            return "; it is another kind of file: give the right one with --db"
        return ""


def connect(url: str) -> SQLite:
    """Open ``sqlite:///path/to/file.db``, or a plain path; ``?durability=full`` waits for the disk at each commit."""
    path, query = url.removeprefix("sqlite://"), ""
    if path != url:
        path, _, query = path.partition("?")
        path = path.removeprefix("/") or MEMORY
    if query not in ("", _DURABLE):
        raise ConfigError(f"{url}: a SQLite database has no setting {query!r:.80}; the only one is {_DURABLE}")
    if not path:  # SQLite would take it for a file that is deleted at the end
        raise ConfigError("the path of the database is empty; give one, such as .evenhand/evenhand.db")
    return SQLite(path, durable=bool(query))


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
        raise StoreError(f"cannot make {path}: {error.strerror}; give another place with --db") from None
