"""An index of evaluations in an SQLite database in memory: lists are filtered, sorted and searched by it.

It copies the columns that lists need, and leaves the content where it is: of a large run, reading that takes seconds.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, TypeAlias

import orjson

from evenhand.domain.run import RunRecord
from evenhand.store.metadata_index import MetadataIndex
from evenhand.store.records import EVALUATIONS, Row, require_sound
from evenhand.store.results import Place, count_evaluations
from evenhand.store.rows import dumps, loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store

# What a list may be sorted by beside the columns that are texts.
_NUMBERS: Final = ("score", "cost", "seconds")
_KEYS: Final = {"model": "c.model", "case_id": "c.id"}
_VERDICTS: Final = "CASE e.verdict WHEN 'fail' THEN 0 WHEN 'borderline' THEN 1 WHEN 'pass' THEN 2 END"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which evaluations a list shows; None and () are any. ``text`` is searched for in case and answer.

    ``profile`` is the id of a profile: its evaluations, or those of the groups in which it was ranked. ``metadata`` has
    keys of the metadata of cases, each with the values of which a case has to have one, as slices name them.
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
    label: tuple[str, ...] = ()
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it leaves nothing out."""
        return all(getattr(self, field.name) in ((), None, "") for field in fields(self))

    def conditions(self) -> tuple[list[str], list[Any]]:
        """Return SQL conditions with their values, for all but text, profile and metadata, which are looked up."""
        parts, values = list[str](), list[Any]()
        for column, names in (
            ("e.verdict", self.verdict),
            ("e.status", self.status),
            ("e.evaluator", self.evaluator),
            ("e.label", self.label),
            ("c.model", self.model),
        ):
            if names:
                parts.append(f"{column} IN ({', '.join('?' * len(names))})")
                values += names
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
    """How a list is sorted; evaluations without a value to sort by come last."""

    by: str = "position"
    descending: bool = False

    @property
    def key(self) -> str:
        """The SQL expression to sort by."""
        if self.by in _NUMBERS:
            return f"COALESCE(e.{self.by}, {'-1e300' if self.descending else '1e300'})"
        if self.by == "verdict":
            return f"COALESCE({_VERDICTS}, {-1 if self.descending else 9})"
        if self.by == "position":
            return "e.position"
        return f"COALESCE({_KEYS.get(self.by, f'e.{self.by}')}, '')"


def _join(condition: Filter, order: Order) -> str:
    """Return the join with the cases, which most lists do not need."""
    needs = condition.model or order.by in _KEYS
    return "JOIN cases c ON c.run = e.run AND c.position = e.position" if needs else ""


_CASES_AT_ONCE: Final = 4096
_SEARCHED: Final = ("id", "question", "candidate_answer", "reference_answer", "expected_outcome")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReader:
    """How what lists filter and search by is read from a stored case; it depends on the kind of run.

    ``model_key`` is where the metadata of a case names the model that answered. ``group_members`` returns the profiles
    of a group, each with an id and perhaps a text; None for a run whose cases are not groups.
    """

    model_key: str
    group_members: Callable[[RunRecord, Mapping[str, Any]], Sequence[Mapping[str, Any]] | None]

    def texts(self, run: RunRecord, case: Mapping[str, Any]) -> list[str]:
        """Return the texts that are searched: of a group, the ids and texts of its profiles as well."""
        messages = [message for message in case.get("input_messages", ()) if isinstance(message, dict)]
        texts = [case.get(name) for name in _SEARCHED] + [message.get("content") for message in messages]
        members = self.group_members(run, case) or ()
        texts += [str(member[name]) for member in members for name in ("id", "text") if name in member]
        return [text for text in texts if isinstance(text, str)]

    def profile_ids(self, run: RunRecord, case: Mapping[str, Any]) -> list[Any]:
        """Return the ids of the profiles that a case is about."""
        members = self.group_members(run, case)
        return [case.get("id")] if members is None else [member["id"] for member in members]

    def model(self, content: str) -> str | None:
        """Return the model that answered a case, from its stored JSON."""
        if f'"{self.model_key}":' not in content:  # most cases name none, and need not be parsed to know it
            return None
        name = loads(content)["case"].get("metadata", {}).get(self.model_key)
        return name if isinstance(name, str) else None


def _positions_with_text(store: Store, reader: CaseReader, run: RunRecord, text: str) -> list[int]:
    """Return the positions of the cases that have a text in their id, question, reference or answer, in any case."""
    needle = text.casefold()
    positions = {
        position
        for position, content in _candidates(store, run, "cases", text)
        if any(needle in searched.casefold() for searched in reader.texts(run, content["case"]))
    }
    for position, content in _candidates(store, run, "answers", text):
        answer = content.get("text")
        if isinstance(answer, str) and needle in answer.casefold():
            positions.add(position)
    return sorted(positions)


def _positions_of_profile(store: Store, reader: CaseReader, run: RunRecord, profile: str) -> list[int]:
    """Return the positions of the cases about a profile, by its exact id; of a ranking, those of its groups."""
    candidates = _candidates(store, run, "cases", profile)
    return [position for position, content in candidates if profile in reader.profile_ids(run, content["case"])]


def _candidates(store: Store, run: RunRecord, table: str, text: str) -> Iterator[tuple[int, Any]]:
    """Yield what the database finds a text in, page by page: a common word is in all, which memory need not hold."""
    like = "LIKE" if isinstance(store.database, SQLite) else "ILIKE"
    for first in range(0, run.cases, _CASES_AT_ONCE):
        rows = store.database.rows(
            f"SELECT position, content FROM {table} WHERE run = ? AND position BETWEEN ? AND ? "  # noqa: S608 - our own names
            f"AND content {like} ? ESCAPE '!' ORDER BY position",
            [run.number, first, first + _CASES_AT_ONCE - 1, _pattern(text)],
        )
        yield from ((position, loads(content)) for position, content in rows)


def _pattern(text: str) -> str:
    """Return a pattern for LIKE that matches too much rather than too little.

    The column is JSON, so names of fields match too. SQLite ignores the case of ASCII letters only, so every other
    letter becomes a wildcard. Each case that matches is checked again.
    """
    escaped = dumps(text)[1:-1].replace("!", "!!").replace("%", "!%").replace("_", "!_")
    return f"%{''.join(letter if letter.isascii() else '%' for letter in escaped)}%"


# About 150 bytes each; at least one run is kept, however large.
MOST_ROWS: Final = 500_000
# PostgreSQL has no row ids, so a run in progress is copied again, at most this often.
_STALE_SECONDS: Final = 2.0
_PAGE: Final = 4096

_TABLES: Final = """
CREATE TABLE evaluations (
    run INTEGER, position INTEGER, place INTEGER, sample INTEGER, round INTEGER, evaluator TEXT, status TEXT,
    verdict TEXT, score REAL, cost REAL, seconds REAL, retried INTEGER, label TEXT,
    PRIMARY KEY (run, position, place, sample)
) WITHOUT ROWID;
CREATE TABLE cases (run INTEGER, position INTEGER, id TEXT, model TEXT, PRIMARY KEY (run, position)) WITHOUT ROWID;
"""
# All but the content, and the checksum by which they are verified.
_COLUMNS: Final = ", ".join((*EVALUATIONS.columns, "checksum"))
_ADD: Final = (
    "INSERT INTO evaluations VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "round = excluded.round, status = excluded.status, verdict = excluded.verdict, score = excluded.score, "
    "cost = excluded.cost, seconds = excluded.seconds, retried = excluded.retried, label = excluded.label "
    "WHERE excluded.round > round"
)
# With how many runs were ever deleted: SQLite reuses their row ids.
_NEWEST: Final = (
    "SELECT (SELECT COALESCE(MAX(rowid), 0) FROM evaluations), "
    "(SELECT seq FROM sqlite_sequence WHERE name = 'runs') - (SELECT COUNT(*) FROM runs)"
)
# Whether a judge was asked again, here or by a member of a panel; in a text, these quotes would have a backslash.
_RETRIED: Final = """content GLOB '*"retry_count":[1-9]*'"""
_RETRIED_ON_POSTGRES: Final = """content ~ '"retry_count":[1-9]'"""
# The content of evaluations that may have a label. It is parsed here: a database does not take every letter.
_LABELLED: Final = """CASE WHEN instr(content, '"label":') > 0 THEN content END"""
_LABELLED_ON_POSTGRES: Final = """CASE WHEN position('"label":' IN content) > 0 THEN content END"""


# The value by which an evaluation is sorted, and its place.
SortedPlace: TypeAlias = tuple[Any, Place]


@dataclass(slots=True)
class _Copied:
    """What was copied of a run: up to which row, how many rows, and when a finished run had finished."""

    newest: int | None = None
    deleted: int = 0
    rows: int = 0
    at: float = 0.0
    finished: float | None = None


class ResultsIndex:
    """Copies of the runs that were listed last. Threads may share it."""

    def __init__(self, source: Store, reader: CaseReader) -> None:
        self._source = source
        self._reader = reader
        self._mine = threading.RLock()
        self._memory = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._memory.executescript(_TABLES)
        self._metadata = MetadataIndex(self._memory, source)
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
        condition: Filter,
        order: Order,
        *,
        limit: int,
        after: SortedPlace | None,
    ) -> tuple[list[SortedPlace], int]:
        """Return a page of places, each with its sort key, and how many evaluations there are in all."""
        where, values = self._where(run, condition)
        with self._mine:  # of what is looked up for one list, nothing is forgotten before the list is there
            parts, more = self._metadata.conditions(run, dict(condition.metadata))
            source = f"FROM evaluations e {_join(condition, order)} WHERE {' AND '.join([where, *parts])}"
            return self._page(run, source, [*values, *more], order, limit=limit, after=after)

    def _page(
        self, run: RunRecord, source: str, values: list[Any], order: Order, *, limit: int, after: SortedPlace | None
    ) -> tuple[list[SortedPlace], int]:
        ((total,),) = self._rows(run, f"SELECT COUNT(*) {source}", values)
        key = order.key
        if after is not None:
            than = "<" if order.descending else ">"
            source += f" AND ({key} {than} ? OR ({key} = ? AND (e.position, e.place, e.sample) > (?, ?, ?)))"
            values += [after[0], after[0], *after[1]]
        direction = "DESC" if order.descending else "ASC"
        rows = self._rows(
            run,
            f"SELECT {key}, e.position, e.place, e.sample {source} "
            f"ORDER BY {key} {direction}, e.position, e.place, e.sample LIMIT ?",
            [*values, limit],
        )
        return [(row[0], (row[1], row[2], row[3])) for row in rows], int(total)

    def evaluators(self, run: RunRecord, most: int) -> list[str] | None:
        """Return the names of the evaluators of a run; None while it is not copied yet."""
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
            copied = self._runs.setdefault(run.number, _Copied())
            self._runs.move_to_end(run.number)
            if run.finished is not None and copied.finished == run.finished:
                return
            if isinstance(self._source.database, SQLite):
                self._copy_since(run, copied)
            elif (run.finished is not None or time.monotonic() - copied.at > _STALE_SECONDS) and self._has_grown(
                run, copied
            ):
                self._copy_all(run, copied)
            copied.finished, copied.at = run.finished, time.monotonic()
            self._make_room()

    def _has_grown(self, run: RunRecord, copied: _Copied) -> bool:
        return count_evaluations(self._source, run) != copied.rows

    def _rows(self, run: RunRecord, sql: str, values: list[Any]) -> list[Row]:
        with self._mine:
            self.copy(run)
            return self._memory.execute(sql, values).fetchall()

    def _where(self, run: RunRecord, condition: Filter) -> tuple[str, list[Any]]:
        parts, values = condition.conditions()
        for text, search in ((condition.text, _positions_with_text), (condition.profile, _positions_of_profile)):
            if text:
                parts.append("e.position IN (SELECT value FROM json_each(?))")
                values.append(orjson.dumps(search(self._source, self._reader, run, text)).decode())
        return " AND ".join(["e.run = ?", *parts]), [run.number, *values]

    def _copy_since(self, run: RunRecord, copied: _Copied) -> None:
        """Copy the rows that were added since, by the row ids of SQLite."""
        rows = self._source.database.rows
        ((newest, deleted),) = rows(_NEWEST)
        if copied.newest is None or copied.deleted != deleted:
            self._copy_all(run, copied)
        else:
            # The plus keeps SQLite from scanning the whole run by its index.
            page = rows(
                f"SELECT {_COLUMNS}, {_RETRIED}, {_LABELLED} FROM evaluations "  # noqa: S608 - all of it is ours
                "WHERE rowid > ? AND rowid <= ? AND +run = ?",
                [copied.newest, newest, run.number],
            )
            self._add(run, copied, page)
        copied.newest, copied.deleted = newest, deleted

    def _copy_all(self, run: RunRecord, copied: _Copied) -> None:
        copied.rows = 0
        for page in self._cases(run):
            self._memory.executemany("INSERT OR REPLACE INTO cases VALUES (?, ?, ?, ?)", page)
        is_sqlite = isinstance(self._source.database, SQLite)
        read = f"{_RETRIED}, {_LABELLED}" if is_sqlite else f"{_RETRIED_ON_POSTGRES}, {_LABELLED_ON_POSTGRES}"
        for first in range(0, run.cases, _PAGE):
            if self._is_closed:
                return
            page = self._source.database.rows(
                f"SELECT {_COLUMNS}, {read} FROM evaluations WHERE run = ? AND position BETWEEN ? AND ?",  # noqa: S608 - all of it is ours
                [run.number, first, first + _PAGE - 1],
            )
            self._add(run, copied, page)

    def _add(self, run: RunRecord, copied: _Copied, page: list[Row]) -> None:
        require_sound(EVALUATIONS, run, page)
        rows = [
            (run.number, *row[:5], row[6], row[8], row[7], *row[11:13], row[-2], _label_in(row[-1])) for row in page
        ]
        self._memory.execute("BEGIN")
        self._memory.executemany(_ADD, rows)
        self._memory.execute("COMMIT")
        copied.rows += len(page)

    def _cases(self, run: RunRecord) -> Iterator[list[Row]]:
        after = -1
        while rows := self._source.database.rows(
            "SELECT position, id, content FROM cases WHERE run = ? AND position > ? ORDER BY position LIMIT ?",
            [run.number, after, _PAGE],
        ):
            if self._is_closed:
                return
            yield [(run.number, position, case_id, self._reader.model(content)) for position, case_id, content in rows]
            after = rows[-1][0]

    def _make_room(self) -> None:
        while len(self._runs) > 1 and sum(copied.rows for copied in self._runs.values()) > MOST_ROWS:
            number, _ = self._runs.popitem(last=False)
            for table in ("evaluations", "cases"):
                self._memory.execute(f"DELETE FROM {table} WHERE run = ?", [number])  # noqa: S608 - our own names


def _label_in(content: str | None) -> str | None:
    label = None if content is None else loads(content).get("label")
    return label if isinstance(label, str) else None
