"""Which cases of a run have which value for a key of their metadata: read once for each key that lists filter by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord
from evenhand.domain.slices import MOST_KEYS, NONE, slice_value
from evenhand.store.database import Database
from evenhand.store.list_filter import hashed
from evenhand.store.list_query import Where
from evenhand.store.rows import dumps, loads
from evenhand.store.store import Store

_COLUMNS: Final = ("run", "key", "value", "position")
_PAGE: Final = 4096


def metadata_conditions(
    source: Store, database: Database, run: RunRecord, wanted: Sequence[tuple[str, Sequence[str]]], name: str
) -> Where:
    """Return the conditions that the case whose position is in a column has one of some values, for each key."""
    where = Where()
    for key, values in wanted:
        cases = _count_cases(source, run)
        if not _read_on(source, database, run, key, cases):
            where.add(*database.among(name, _positions(source, run, key, values, cases)))
            continue
        listed = "FROM listed_metadata m WHERE m.run = ? AND m.key = ?"
        parts, given = list[str](), list[Any]()
        if named := [hashed(value) for value in values if value != NONE]:
            marks = ", ".join("?" * len(named))
            parts.append(f"{name} IN (SELECT m.position {listed} AND m.value IN ({marks}))")
            given += [run.number, hashed(key), *named]
        if NONE in values:  # of which there are no rows
            parts.append(f"{name} NOT IN (SELECT m.position {listed})")
            given += [run.number, hashed(key)]
        where.add(f"({' OR '.join(parts)})", *given)
    return where


def count_with(database: Database, run: RunRecord, key: str, values: Sequence[str]) -> int | None:
    """Return how many cases have one of some values for a key; None if that is not kept."""
    if NONE in values or not database.rows(
        "SELECT 1 FROM listed_keys WHERE run = ? AND key = ? AND cases >= ?", [run.number, hashed(key), run.cases]
    ):
        return None
    marks = ", ".join("?" * len(values))
    ((count,),) = database.rows(
        f"SELECT COUNT(*) FROM listed_metadata WHERE run = ? AND key = ? AND value IN ({marks})",  # noqa: S608 - marks
        [run.number, hashed(key), *map(hashed, values)],
    )
    return int(count)


def _count_cases(source: Store, run: RunRecord) -> int:
    ((count,),) = source.database.rows("SELECT COALESCE(MAX(position), -1) + 1 FROM cases WHERE run = ?", [run.number])
    return int(count)


def _has_room(database: Database, run: RunRecord, key: str) -> bool:
    """Return whether a key is one of the first: asking for any word as a key must not fill the database."""
    rows = database.rows("SELECT key FROM listed_keys WHERE run = ?", [run.number])
    return len(rows) < MOST_KEYS or (hashed(key),) in rows


def _positions(source: Store, run: RunRecord, key: str, values: Sequence[str], cases: int) -> list[int]:
    """Return the positions of the cases that have one of some values, without keeping them."""
    positions = list[int]()
    for first in range(0, cases, _PAGE):
        found = _values(source, run, key, first, first + _PAGE - 1)
        positions += [position for position, value in found if value in values]
    return positions


def _read_on(source: Store, database: Database, run: RunRecord, key: str, cases: int) -> bool:
    """Read the cases that were added since, page by page, unless there is no place to keep what they have."""
    if not _has_room(database, run, key):
        return False
    try:
        _keep(source, database, run, key, cases)
    except StoreError:  # what is damaged is told without keeping, too
        return False
    return True


def _keep(source: Store, database: Database, run: RunRecord, key: str, cases: int) -> None:
    while (read := _cases_read(database, run, key)) < cases:
        upto = min(read + _PAGE, cases)
        found = _values(source, run, key, read, upto - 1)
        page = [(run.number, hashed(key), hashed(value), position) for position, value in found if value != NONE]
        with database.transaction():
            database.lock()
            if _cases_read(database, run, key) != read:  # another process was quicker
                continue
            database.add_rows("listed_metadata", _COLUMNS, page)
            database.execute("DELETE FROM listed_keys WHERE run = ? AND key = ?", [run.number, hashed(key)])
            database.add_rows("listed_keys", ("run", "key", "cases"), [(run.number, hashed(key), upto)])
        if upto == cases > _PAGE:
            database.survey("listed_metadata")


def _cases_read(database: Database, run: RunRecord, key: str) -> int:
    """Return how many cases were read for a key."""
    sql = "SELECT cases FROM listed_keys WHERE run = ? AND key = ?"
    return sum(row[0] for row in database.rows(sql, [run.number, hashed(key)]))


def _values(source: Store, run: RunRecord, key: str, first: int, last: int) -> list[tuple[int, str]]:
    """Return the values of some cases by their positions."""
    written = dumps(key)
    rows = source.database.rows(
        "SELECT position, content FROM cases WHERE run = ? AND position BETWEEN ? AND ?", [run.number, first, last]
    )
    return [(position, _value(content, key) if written in content else NONE) for position, content in rows]


def _value(content: str, key: str) -> str:
    metadata = loads(content)["case"].get("metadata")
    return slice_value(metadata if isinstance(metadata, Mapping) else {}, key)
