"""An index of evaluations in memory, by which lists are filtered, sorted and searched."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any, Final

import orjson

from evenhand.domain.run import RunRecord
from evenhand.engine.targets.model import MODEL
from evenhand.profiles.job import is_ranking
from evenhand.server.runs.views import members_of
from evenhand.store.records import EVALUATIONS, require_sound
from evenhand.store.rows import dumps, loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store

# What a list may be sorted by beside the columns that are texts.
_NUMBERS: Final = ("score", "cost", "seconds")
_KEYS: Final = {"model": "c.model", "case_id": "c.id"}
_VERDICTS: Final = "CASE e.verdict WHEN 'fail' THEN 0 WHEN 'borderline' THEN 1 WHEN 'pass' THEN 2 END"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which evaluations are wanted; None is any. ``text`` is looked for in case and answer.

    ``profile`` is the id of a profile: then those of it are wanted, or those of the groups in which it was ranked.
    """

    verdict: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    evaluator: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    min_score: float | None = None
    max_score: float | None = None
    has_error: bool | None = None
    retried: bool | None = None
    text: str | None = None
    profile: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all are wanted."""
        return all(getattr(self, one.name) in ((), None, "") for one in fields(self))

    def conditions(self) -> tuple[list[str], list[Any]]:
        """Write it as conditions with their values: all but text and profile, which stand elsewhere."""
        parts, values = list[str](), list[Any]()
        for column, several in (
            ("e.verdict", self.verdict),
            ("e.status", self.status),
            ("e.evaluator", self.evaluator),
            ("c.model", self.model),
        ):
            if several:
                parts.append(f"{column} IN ({', '.join('?' * len(several))})")
                values += several
        for condition, value in (("e.score >= ?", self.min_score), ("e.score <= ?", self.max_score)):
            if value is not None:
                parts.append(condition)
                values.append(value)
        if self.has_error is not None:
            parts.append(f"e.status {'=' if self.has_error else '<>'} 'error'")
        if self.retried is not None:
            parts.append("e.retried" if self.retried else "NOT e.retried")
        return parts, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a list is sorted; evaluations that do not have what it is sorted by come last."""

    by: str = "position"
    descending: bool = False

    @property
    def key(self) -> str:
        """Write what is sorted by; what stands for nothing comes last."""
        if self.by in _NUMBERS:
            return f"COALESCE(e.{self.by}, {'-1e300' if self.descending else '1e300'})"
        if self.by == "verdict":
            return f"COALESCE({_VERDICTS}, {-1 if self.descending else 9})"
        if self.by == "position":
            return "e.position"
        return f"COALESCE({_KEYS.get(self.by, f'e.{self.by}')}, '')"


def joined(wanted: Filter, order: Order) -> str:
    """Write where the cases are joined, which most lists do not need."""
    needs = wanted.model or order.by in _KEYS
    return "JOIN cases c ON c.run = e.run AND c.position = e.position" if needs else ""


_CASES_AT_ONCE: Final = 4096
_OF_A_CASE: Final = ("id", "question", "candidate_answer", "reference_answer", "expected_outcome")


def positions_with(store: Store, run: RunRecord, text: str) -> list[int]:
    """Return the positions of the cases that have a text in their id, question, reference or answer, in any case.

    Of a group, the ids and texts of its profiles count as well.
    """
    wanted = text.casefold()
    found: set[int] = set()
    for table, texts_of in (("cases", _of_group if is_ranking(run.definition) else _of_case), ("answers", _of_answer)):
        found.update(
            position
            for position, content in _likely(store, run, table, text)
            if any(wanted in one.casefold() for one in texts_of(content))
        )
    return sorted(found)


def positions_of_profile(store: Store, run: RunRecord, profile: str) -> list[int]:
    """Return the positions of the cases about a profile, by its exact id; of a ranking, those of its groups."""
    ids_of: Callable[[Any], list[str]] = (
        (lambda case: [one["id"] for one in members_of(case.get("metadata", {}))])
        if is_ranking(run.definition)
        else (lambda case: [case.get("id")])
    )
    likely = _likely(store, run, "cases", profile)
    return [position for position, content in likely if profile in ids_of(content["case"])]


def _likely(store: Store, run: RunRecord, table: str, text: str) -> Iterator[tuple[int, Any]]:
    """Yield what the database finds a text in, piece by piece: a common word is in all, which memory need not hold."""
    like = "LIKE" if isinstance(store.database, SQLite) else "ILIKE"
    for first in range(0, run.cases, _CASES_AT_ONCE):
        rows = store.database.rows(
            f"SELECT position, content FROM {table} WHERE run = ? AND position BETWEEN ? AND ? "  # noqa: S608 - our own names
            f"AND content {like} ? ESCAPE '!' ORDER BY position",
            [run.number, first, first + _CASES_AT_ONCE - 1, _pattern(text)],
        )
        yield from ((position, loads(content)) for position, content in rows)


def _pattern(text: str) -> str:
    """Write a text as the database looks for it, so that it finds too much rather than too little.

    What stands in the column is JSON: names of fields are found too. SQLite knows capitals in ASCII only, so any other
    letter stands for anything. Each case that was found is looked at again.
    """
    written = dumps(text)[1:-1].replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{''.join(letter if letter.isascii() else '%' for letter in written)}%"


def _of_case(content: Any) -> list[str]:
    case = content["case"]
    messages = [one for one in case.get("input_messages", ()) if isinstance(one, dict)]
    texts = [case.get(name) for name in _OF_A_CASE] + [one.get("content") for one in messages]
    return [one for one in texts if isinstance(one, str)]


def _of_group(content: Any) -> list[str]:
    members = members_of(content["case"].get("metadata", {}))
    return [*_of_case(content), *(str(one[name]) for one in members for name in ("id", "text") if name in one)]


def _of_answer(content: Any) -> list[str]:
    return [content["text"]] if isinstance(content.get("text"), str) else []


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


class ResultsIndex:
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
        """Return evaluations by their places, each with what it is sorted by, and how many there are in all."""
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
