"""Which cases of a run have which value for a key of their metadata: read once for each key that lists filter by."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, Final, TypeAlias

from evenhand.domain.run import RunRecord
from evenhand.domain.slices import slice_value
from evenhand.store.rows import loads
from evenhand.store.store import Store

# Values by key, as slices name them; a case has to have one of the values of each key.
Wanted: TypeAlias = Mapping[str, Sequence[str]]

# About 60 bytes each. What one list needs is kept, however much it is.
MOST_ROWS: Final = 1_000_000
_PAGE: Final = 4096
_TABLE: Final = """
CREATE TABLE slices (run INTEGER, key TEXT, value BLOB, position INTEGER, PRIMARY KEY (run, key, value, position))
WITHOUT ROWID
"""


class MetadataIndex:
    """The values of cases in an SQLite database in memory. Whoever uses it sees to it that one thread does."""

    def __init__(self, memory: sqlite3.Connection, source: Store) -> None:
        self._memory = memory
        self._source = source
        # The last position that was read, by run and key; those that were used last come last.
        self._read: OrderedDict[tuple[int, str], int] = OrderedDict()
        memory.execute(_TABLE)

    def conditions(self, run: RunRecord, wanted: Wanted) -> tuple[list[str], list[Any]]:
        """Return SQL conditions with their values; they hold until the next call."""
        parts, values = list[str](), list[Any]()
        for key, names in wanted.items():
            self._read_on(run, key)
            parts.append(
                "e.position IN (SELECT position FROM slices WHERE run = e.run AND key = ? "  # noqa: S608 - marks only
                f"AND value IN ({', '.join('?' * len(names))}))"
            )
            values += [key, *map(_digest, names)]
        self._make_room(len(wanted))
        return parts, values

    def _read_on(self, run: RunRecord, key: str) -> None:
        """Read the cases that were added since; none ever changes."""
        place = (run.number, key)
        after = self._read.get(place, -1)
        while rows := self._source.database.rows(
            "SELECT position, content FROM cases WHERE run = ? AND position > ? ORDER BY position LIMIT ?",
            [run.number, after, _PAGE],
        ):
            self._memory.execute("BEGIN")
            self._memory.executemany(
                "INSERT OR IGNORE INTO slices VALUES (?, ?, ?, ?)",
                [(run.number, key, _digest(_value(content, key)), position) for position, content in rows],
            )
            self._memory.execute("COMMIT")
            after = rows[-1][0]
        self._read[place] = after
        self._read.move_to_end(place)

    def _make_room(self, needed: int) -> None:
        while len(self._read) > needed and sum(after + 1 for after in self._read.values()) > MOST_ROWS:
            place, _ = self._read.popitem(last=False)
            self._memory.execute("DELETE FROM slices WHERE run = ? AND key = ?", place)


def _value(content: str, key: str) -> str:
    metadata = loads(content)["case"].get("metadata")
    return slice_value(metadata if isinstance(metadata, Mapping) else {}, key)


def _digest(value: str) -> bytes:
    """Return what stands for a value, which may be long."""
    return blake2b(value.encode("utf-8", "surrogatepass"), digest_size=16).digest()
