"""Listings in a database of this process: of runs at work, and of stores that can only be read."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from typing import Final, TypeAlias

from evenhand.domain.run import RunRecord
from evenhand.store import migrations
from evenhand.store.case_reader import CaseReader
from evenhand.store.database import Database
from evenhand.store.kept_listing import ClosedError, Extent
from evenhand.store.list_query import Listed
from evenhand.store.listed_rows import CASE_COLUMNS, EVALUATION_COLUMNS, RowMaker
from evenhand.store.sqlite import SQLite, scratch
from evenhand.store.store import Store

# On disk, about 150 bytes each with its case; at least one run is kept, however large.
MOST_ROWS: Final = 2_000_000
# Large runs, and those on a server, are looked at for what was added at most this often.
_STALE_SECONDS: Final = 2.0
_LARGE: Final = 20_000
_BLOCK: Final = 1024
_TABLES: Final = ("listed_evaluations", "listed_cases", "listed_metadata", "listed_keys")

# How many cases and evaluations a block of positions has: rows are only ever added.
_Counts: TypeAlias = dict[int, tuple[int, int]]


class _Scratch:
    """What is listed of a run so far."""

    def __init__(self, maker: RowMaker) -> None:
        self.maker = maker
        self.counts: _Counts = {}
        self.extents: dict[int, Extent] = {}
        self.at = 0.0
        self.finished: float | None = None
        self.version = 0

    def listed(self, database: Database, run: RunRecord) -> Listed:
        """Return it as queries need it."""
        every = list(self.extents.values())
        cases, rows, evaluations = (
            sum(getattr(extent, name) for extent in every) for name in ("cases", "rows", "evaluations")
        )
        whole = Extent(cases, rows, evaluations)
        for extent in every:
            whole.name(extent.evaluators)
        return whole.listed(database, run, f"{run.id} {self.version}")


class ScratchListings:
    """Listings of the runs that were listed last. Whoever uses it lets one thread at a time be about a run."""

    def __init__(self, source: Store, reader: CaseReader, closed: threading.Event) -> None:
        self._source = source
        self._reader = reader
        self._closed = closed
        self._mine = threading.Lock()
        self._runs: OrderedDict[int, _Scratch] = OrderedDict()
        self._database: SQLite | None = None

    def close(self) -> None:
        """Forget everything."""
        with self._mine:
            if self._database is not None:
                self._database.close()

    def has(self, run: RunRecord) -> bool:
        """Return whether a run was listed here."""
        return run.number in self._runs

    def refreshed(self, run: RunRecord) -> Listed:
        """Return the listing of a run, with what was added to it since."""
        database = self._opened()
        with self._mine:
            known = self._runs.get(run.number)
            if known is None:
                known = self._runs[run.number] = _Scratch(RowMaker(self._source, self._reader, run))
            self._runs.move_to_end(run.number)
        if not self._is_fresh(run, known):
            finished, at = run.finished, time.monotonic()
            self._refresh(database, run, known)
            known.finished, known.at = finished, at
        return known.listed(database, run)

    def _is_fresh(self, run: RunRecord, known: _Scratch) -> bool:
        if run.finished is not None:
            return known.finished == run.finished
        is_slow = run.cases > _LARGE or not isinstance(self._source.database, SQLite)
        return is_slow and bool(known.counts) and time.monotonic() - known.at < _STALE_SECONDS

    def _refresh(self, database: Database, run: RunRecord, known: _Scratch) -> None:
        counts = self._counts(run)
        for block in sorted(block for block, count in counts.items() if known.counts.get(block) != count):
            if self._closed.is_set():
                raise ClosedError("the lists were closed")
            made = known.maker.rows(block * _BLOCK, (block + 1) * _BLOCK - 1)
            with database.transaction():
                database.add_rows("listed_evaluations", EVALUATION_COLUMNS, made.evaluations, replace=True)
                database.add_rows("listed_cases", CASE_COLUMNS, made.cases, replace=True)
            extent = known.extents[block] = Extent()
            extent.add(made)
            known.counts[block] = counts[block]
            known.version += 1

    def _counts(self, run: RunRecord) -> _Counts:
        cases, evaluations = (
            dict(
                self._source.database.rows(
                    f"SELECT position / {_BLOCK}, COUNT(*) FROM {table} WHERE run = ? GROUP BY position / {_BLOCK}",  # noqa: S608 - our own
                    [run.number],
                )
            )
            for table in ("cases", "evaluations")
        )
        return {block: (count, evaluations.get(block, 0)) for block, count in cases.items()}

    def oldest(self) -> int | None:
        """Return the number of the run that was listed longest ago, where there are too many rows."""
        with self._mine:
            rows = sum(extent.evaluations for known in self._runs.values() for extent in known.extents.values())
            return next(iter(self._runs)) if len(self._runs) > 1 and rows > MOST_ROWS else None

    def forget(self, number: int) -> None:
        """Delete what is listed of a run."""
        with self._mine:
            self._runs.pop(number, None)
        database = self._opened()
        with database.transaction():
            for table in _TABLES:
                database.execute(f"DELETE FROM {table} WHERE run = ?", [number])  # noqa: S608 - our own names

    def _opened(self) -> SQLite:
        with self._mine:
            if self._database is None:
                self._database = scratch()
                migrations.apply(self._database, migrations.named("0006_listings.sql"))
            return self._database
