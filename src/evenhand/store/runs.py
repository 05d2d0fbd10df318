"""The table of runs: making, finding, claiming and ending them."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Mapping
from typing import Any

from evenhand.domain.errors import RunBusyError, RunNotFoundError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store.database import Database
from evenhand.store.rows import column, dumps, loads
from evenhand.version import __version__

# A process on another machine that was not heard of for so long is taken for dead.
SILENT_SECONDS = 60.0
HEARTBEAT_SECONDS = 10.0

_COLUMNS = (
    "number, id, name, status, reason, source, definition, options, cases, repeat, forked_from, version, created, "
    "finished, abandoned_calls, abandoned_cost"
)


class Runs:
    """The runs of a store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def create(
        self,
        *,
        name: str,
        source: str | None,
        definition: Mapping[str, Any],
        options: Mapping[str, Any],
        repeat: int = 1,
        forked_from: str | None = None,
    ) -> RunRecord:
        """Make a run, claimed by this process, whose cases are still to be put in."""
        created = time.time()
        values = (
            _new_id(created), column(name), RunStatus.PLANNING, "", None if source is None else column(source),
            dumps(definition), dumps(options), 0, repeat, forked_from, __version__, created, None, _me(), created,
        )  # fmt: skip
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO runs (id, name, status, reason, source, definition, options, cases, repeat, forked_from, "
                "version, created, finished, owner, seen) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        return self.find(values[0])

    def find(self, wanted: str) -> RunRecord:
        """Find a run by its id, by the beginning of it that no other run has, or as ``last``."""
        if wanted == "last":
            found = self.newest(1)
            if not found:
                raise RunNotFoundError(f"there is no run in {self._db.where} yet; start one with: evenhand run SUITE")
            return found[0]
        # Not by LIKE, for which the databases disagree about capitals, and some letters mean any.
        rows = self._db.rows(
            f"SELECT {_COLUMNS} FROM runs WHERE SUBSTR(id, 1, ?) = ? ORDER BY LENGTH(id), number DESC LIMIT 3",  # noqa: S608
            [len(wanted), column(wanted)],
        )
        exact = [row for row in rows if row[1] == wanted] or rows
        if len(exact) == 1:
            return _record(exact[0])
        if exact:
            several = ", ".join(str(row[1]) for row in exact)
            raise RunNotFoundError(f"several runs begin with {wanted!r}: {several} …; give more of the id")
        latest = ", ".join(run.id for run in self.newest(3))
        known = f"; the latest are {latest}" if latest else "; there is none yet"
        raise RunNotFoundError(f"no run {wanted!r} in {self._db.where}{known}")

    def newest(self, limit: int | None = None, *, source: str | None = None) -> list[RunRecord]:
        """Give the runs, the newest first."""
        where, values = ("WHERE source = ?", [column(source)]) if source is not None else ("", [])
        most = "" if limit is None else f"LIMIT {int(limit)}"
        rows = self._db.rows(f"SELECT {_COLUMNS} FROM runs {where} ORDER BY number DESC {most}", values)  # noqa: S608
        return [_record(row) for row in rows]

    def claim(self, run: RunRecord) -> None:
        """Take a run over, unless a process that lives is at work on it."""
        with self._db.transaction():
            self._db.lock()
            owner, seen = self._owner(run)
            if owner is not None and owner != _me() and _lives(owner, seen):
                host, process = owner.split(":")[:2]
                raise RunBusyError(f"run {run.id} is being worked on by process {process} on {host}")
            self._db.execute("UPDATE runs SET owner = ?, seen = ? WHERE number = ?", [_me(), time.time(), run.number])

    def alive(self, run: RunRecord) -> None:
        """Tell others that this process is still at work on a run."""
        self._db.execute("UPDATE runs SET seen = ? WHERE number = ?", [time.time(), run.number])

    def mark(self, run: RunRecord, status: RunStatus, reason: str = "", *, cases: int | None = None) -> RunRecord:
        """Say how far a run has come; all but ``running`` and ``planning`` let go of it."""
        at_work = status in (RunStatus.RUNNING, RunStatus.PLANNING)
        finished = time.time() if status is RunStatus.FINISHED else None
        owner = _me() if at_work else None
        self._db.execute(
            "UPDATE runs SET status = ?, reason = ?, finished = ?, owner = ?, cases = ? WHERE number = ?",
            [status, column(reason), finished, owner, run.cases if cases is None else cases, run.number],
        )
        return self.find(run.id)

    def abandon(self, run: RunRecord, calls: int, cost: float | None) -> None:
        """Count calls that stand in no evaluation, since the run stopped before it was made."""
        self._db.execute(
            "UPDATE runs SET abandoned_calls = abandoned_calls + ?, abandoned_cost = abandoned_cost + ? "
            "WHERE number = ?",
            [calls, cost, run.number],  # what is unknown stays unknown, whatever is added to it
        )

    def in_hand(self, run: RunRecord) -> bool:
        """Tell whether a process that lives is at work on a run."""
        owner, seen = self._owner(run)
        return owner is not None and _lives(owner, seen)

    def delete(self, run: RunRecord) -> None:
        """Delete a run with everything in it, unless a process that lives is at work on it."""
        with self._db.transaction():
            self._db.lock()
            if self.in_hand(run):
                raise RunBusyError(f"run {run.id} is being worked on; stop that first")
            self._db.execute("DELETE FROM runs WHERE number = ?", [run.number])

    def _owner(self, run: RunRecord) -> tuple[str | None, float | None]:
        """Give the process that works on a run, and when it was last heard of."""
        rows = self._db.rows("SELECT owner, seen FROM runs WHERE number = ? AND id = ?", [run.number, run.id])
        if not rows:
            raise RunNotFoundError(f"run {run.id} is not in {self._db.where} any more")
        return rows[0][0], rows[0][1]


def _record(row: tuple[Any, ...]) -> RunRecord:
    known = dict(zip(_COLUMNS.split(", "), row, strict=True))
    read = {"status": RunStatus(known["status"])}
    read |= {name: loads(known[name]) for name in ("definition", "options")}
    return RunRecord(**(known | read))


def _new_id(now: float) -> str:
    """Make an id that sorts by time and can be typed."""
    letters = "abcdefghjkmnpqrstuvwxyz23456789"
    chance = "".join(secrets.choice(letters) for _ in range(4))
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{chance}"


def _me() -> str:
    """Name this process, and nothing that lives after it under the same number."""
    return f"{socket.gethostname()}:{os.getpid()}:{_TOKEN}"


_TOKEN = secrets.token_hex(4)


def _lives(owner: str, seen: float | None) -> bool:
    host, process, token = owner.split(":")
    if host == socket.gethostname() and os.name == "posix":
        if process == str(os.getpid()):
            return token == _TOKEN
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
    return seen is not None and time.time() - seen < SILENT_SECONDS
