"""The table of saved filters: views of the list of runs, each under a name."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Final

from evenhand.domain.errors import ConfigError, NotFoundError
from evenhand.domain.run import NOT_A_LABEL, is_label
from evenhand.store.database import Database, atomic
from evenhand.store.rows import column

MOST_FILTERS: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedFilter:
    """A filter of the list of runs; ``query`` is that of an address, ``saved`` in seconds since 1970."""

    name: str
    query: str
    saved: float


class SavedFilters:
    """The saved filters of a store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def all(self) -> list[SavedFilter]:
        """Return all filters, by name."""
        rows = self._db.rows("SELECT name, query, saved FROM saved_filters")
        found = [SavedFilter(name=name, query=query, saved=saved) for name, query, saved in rows]
        return sorted(found, key=lambda each: each.name)  # each database would have an order of its own

    @atomic
    def save(self, name: str, query: str) -> SavedFilter:
        """Save a filter, in place of any other of this name."""
        if not is_label(name):
            raise ConfigError(f"name is {name!r:.80}; {NOT_A_LABEL}", key="name")
        self._db.lock()
        others = [each for each in self.all() if each.name != name]
        if len(others) >= MOST_FILTERS:
            raise ConfigError(f"there are {MOST_FILTERS} saved filters already; delete one first", key="name")
        saved = SavedFilter(name=name, query=query, saved=time.time())
        self._db.execute(
            "INSERT INTO saved_filters (name, query, saved) VALUES (?, ?, ?) "
            "ON CONFLICT (name) DO UPDATE SET query = excluded.query, saved = excluded.saved",
            [column(name), column(query), saved.saved],
        )
        return saved

    @atomic
    def delete(self, name: str) -> None:
        """Delete a filter; the runs stay as they are."""
        if not self._db.execute("DELETE FROM saved_filters WHERE name = ?", [column(name)]):
            raise NotFoundError(f"no saved filter {name!r:.200} in {self._db.where}")
