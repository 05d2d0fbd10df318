"""What is narrow of evaluations, copied into a database in memory: all that lists are filtered and sorted by."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import orjson

from evenhand.domain.run import RunRecord
from evenhand.engine.targets.models import MODEL
from evenhand.server.filtering import Filter, Order, joined
from evenhand.server.searching import positions_of_profile, positions_with
from evenhand.store.records import EVALUATIONS, require_sound
from evenhand.store.rows import loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store

# About 150 bytes each; at least one run is kept, however large.
MOST_ROWS: Final = 500_000
# PostgreSQL cannot tell what is new, so that a run which goes on is copied anew; not more often than this.
_STALE_SECONDS: Final = 2.0
_PAGE: Final = 4096

_TABLES: Final = """
CREATE TABLE evaluations (
    run INTEGER, position INTEGER, place INTEGER, sample INTEGER, round INTEGER, evaluator TEXT, status TEXT,
    verdict TEXT, score REAL, cost REAL, seconds REAL, retried INTEGER, PRIMARY KEY (run, position, place, sample)
) WITHOUT ROWID;
CREATE TABLE cases (run INTEGER, position INTEGER, id TEXT, model TEXT, PRIMARY KEY (run, position)) WITHOUT ROWID;
"""
# All but the content, and the checksum by which they are verified.
_COLUMNS: Final = ", ".join((*EVALUATIONS.columns, "checksum"))
_ADD: Final = (
    "INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "round = excluded.round, status = excluded.status, verdict = excluded.verdict, score = excluded.score, "
    "cost = excluded.cost, seconds = excluded.seconds, retried = excluded.retried WHERE excluded.round > round"
)
# With how many runs were ever deleted: SQLite gives the numbers of their rows again.
_NEWEST: Final = (
    "SELECT (SELECT COALESCE(MAX(rowid), 0) FROM evaluations), "
    "(SELECT seq FROM sqlite_sequence WHERE name = 'runs') - (SELECT COUNT(*) FROM runs)"
)
# Whether a judge was asked again, here or by a member of a panel; in a text, these quotes would have a backslash.
_RETRIED: Final = """content GLOB '*"retry_count":[1-9]*'"""
_RETRIED_ON_POSTGRES: Final = """content ~ '"retry_count":[1-9]'"""


@dataclass(slots=True)
class _Copied:
    """What was copied of a run: up to which row, how many, and of a run that is finished, when it was."""

    newest: int | None = None
    deleted: int = 0
    rows: int = 0
    at: float = 0.0
    finished: float | None = None


class Narrow:
    """Copies of the runs that were looked at last."""

    def __init__(self, source: Store) -> None:
        self._source = source
        self._mine = threading.RLock()
        self._memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._memory.executescript(_TABLES)
        self._runs: OrderedDict[int, _Copied] = OrderedDict()
        self._is_closed = False

    def close(self) -> None:
        """Forget everything; a copy that is being made is left as it is."""
        self._is_closed = True
        with self._mine:
            self._memory.close()

    def page(
        self,
        run: RunRecord,
        wanted: Filter,
        order: Order,
        *,
        limit: int,
        after: tuple[Any, tuple[int, int, int]] | None,
    ) -> tuple[list[tuple[Any, tuple[int, int, int]]], int]:
        """Give evaluations by their places, each with what it is sorted by, and how many there are in all."""
        where, values = self._where(run, wanted)
        source = f"FROM evaluations e {joined(wanted, order)} WHERE {where}"
        ((total,),) = self._rows(run, f"SELECT COUNT(*) {source}", values)
        key = order.key
        if after is not None:
            than = "<" if order.descending else ">"
            source += f" AND ({key} {than} ? OR ({key} = ? AND (e.position, e.place, e.sample) > (?, ?, ?)))"
            values += [after[0], after[0], *after[1]]
        direction = "DESC" if order.descending else "ASC"
        found = self._rows(
            run,
            f"SELECT {key}, e.position, e.place, e.sample {source} "
            f"ORDER BY {key} {direction}, e.position, e.place, e.sample LIMIT ?",
            [*values, limit],
        )
        return [(row[0], (row[1], row[2], row[3])) for row in found], int(total)

    def evaluators(self, run: RunRecord, most: int) -> list[str] | None:
        """Name the evaluators of a run; None where it is not copied yet, or just being copied."""
        if not self._mine.acquire(blocking=False):
            return None
        try:
            if run.number not in self._runs:
                return None
            sql = "SELECT DISTINCT evaluator FROM evaluations WHERE run = ? ORDER BY evaluator LIMIT ?"
            return [row[0] for row in self._rows(run, sql, [run.number, most])]
        finally:
            self._mine.release()

    def copy(self, run: RunRecord) -> None:
        """Copy what is new of a run."""
        with self._mine:
            known = self._runs.setdefault(run.number, _Copied())
            self._runs.move_to_end(run.number)
            if run.finished is not None and known.finished == run.finished:
                return
            if isinstance(self._source.database, SQLite):
                self._copy_since(run, known)
            elif (run.finished is not None or time.monotonic() - known.at > _STALE_SECONDS) and self._grew(run, known):
                self._copy_all(run, known)
            known.finished, known.at = run.finished, time.monotonic()
            self._make_room()

    def _grew(self, run: RunRecord, known: _Copied) -> bool:
        sql = "SELECT COUNT(*) FROM evaluations WHERE run = ?"
        return bool(self._source.database.rows(sql, [run.number])[0][0] != known.rows)

    def _rows(self, run: RunRecord, sql: str, values: list[Any]) -> list[tuple[Any, ...]]:
        with self._mine:
            self.copy(run)
            return self._memory.execute(sql, values).fetchall()

    def _where(self, run: RunRecord, wanted: Filter) -> tuple[str, list[Any]]:
        parts, values = wanted.conditions()
        for text, look in ((wanted.text, positions_with), (wanted.profile, positions_of_profile)):
            if text:
                parts.append("e.position IN (SELECT value FROM json_each(?))")
                values.append(orjson.dumps(look(self._source, run, text)).decode())
        return " AND ".join(["e.run = ?", *parts]), [run.number, *values]

    def _copy_since(self, run: RunRecord, known: _Copied) -> None:
        """Copy by the order in which SQLite was given the rows, so that what is new stands at the end."""
        rows = self._source.database.rows
        ((newest, deleted),) = rows(_NEWEST)
        if known.newest is None or known.deleted != deleted:
            self._copy_all(run, known)
        else:
            # The plus keeps SQLite from going through all of the run by its index.
            page = rows(
                f"SELECT {_COLUMNS}, {_RETRIED} FROM evaluations WHERE rowid > ? AND rowid <= ? AND +run = ?",  # noqa: S608 - all of it is ours
                [known.newest, newest, run.number],
            )
            self._add(run, known, page)
        known.newest, known.deleted = newest, deleted

    def _copy_all(self, run: RunRecord, known: _Copied) -> None:
        known.rows = 0
        for page in self._cases(run):
            self._memory.executemany("INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?)", page)
        retried = _RETRIED if isinstance(self._source.database, SQLite) else _RETRIED_ON_POSTGRES
        for first in range(0, run.cases, _PAGE):
            if self._is_closed:
                return
            page = self._source.database.rows(
                f"SELECT {_COLUMNS}, {retried} FROM evaluations WHERE run = ? AND position BETWEEN ? AND ?",  # noqa: S608 - all of it is ours
                [run.number, first, first + _PAGE - 1],
            )
            self._add(run, known, page)

    def _add(self, run: RunRecord, known: _Copied, page: list[tuple[Any, ...]]) -> None:
        require_sound(EVALUATIONS, run, page)
        rows = [(run.number, *row[:5], row[6], row[8], row[7], *row[11:13], row[-1]) for row in page]
        self._memory.execute("BEGIN")
        self._memory.executemany(_ADD, rows)
        self._memory.execute("COMMIT")
        known.rows += len(page)

    def _cases(self, run: RunRecord) -> Iterator[list[tuple[Any, ...]]]:
        after = -1
        while rows := self._source.database.rows(
            "SELECT position, id, content FROM cases WHERE run = ? AND position > ? ORDER BY position LIMIT ?",
            [run.number, after, _PAGE],
        ):
            if self._is_closed:
                return
            yield [(run.number, position, identity, _model_in(content)) for position, identity, content in rows]
            after = rows[-1][0]

    def _make_room(self) -> None:
        while len(self._runs) > 1 and sum(one.rows for one in self._runs.values()) > MOST_ROWS:
            number, _ = self._runs.popitem(last=False)
            for table in ("evaluations", "cases"):
                self._memory.execute(f"DELETE FROM {table} WHERE run = ?", [number])  # noqa: S608 - our own names


def _model_in(content: str) -> str | None:
    if f'"{MODEL}":' not in content:  # most cases name none, and need not be read to know it
        return None
    found = loads(content)["case"].get("metadata", {}).get(MODEL)
    return found if isinstance(found, str) else None
