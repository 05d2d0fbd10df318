"""Listings that are kept in the store: made page by page, and counted once they are whole."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable
from typing import Final

from evenhand.domain.errors import StoreError
from evenhand.domain.run import IMPORTED_FROM, RunRecord
from evenhand.store.case_reader import CaseReader
from evenhand.store.database import Database
from evenhand.store.list_query import Listed
from evenhand.store.list_totals import Totals
from evenhand.store.listed_rows import CASE_COLUMNS, EVALUATION_COLUMNS, ListedRows, RowMaker
from evenhand.store.rows import dumps, loads
from evenhand.store.store import Store

# How the rows are made: where it is another, all of them are made anew.
FORMAT: Final = "2"
# In place of it while rows are being made; what they cover is then the mark of whoever makes them.
_UNFINISHED: Final = ""
_PAGE: Final = 2048
MOST_NAMES: Final = 200
_TABLES: Final = ("listed_evaluations", "listed_cases")
_NAME: Final = EVALUATION_COLUMNS.index("evaluator")


class OvertakenError(StoreError):
    """Another process makes the same listing, or the run has changed meanwhile."""


class ClosedError(StoreError):
    """Nobody waits for the listing any more."""


class Extent:
    """How much a listing holds: cases, rows, evaluations, and the names of the first evaluators."""

    def __init__(self, cases: int = 0, rows: int = 0, evaluations: int = 0) -> None:
        self.cases, self.rows, self.evaluations = cases, rows, evaluations
        self._names: set[str] = set()
        self.totals: Totals | None = None

    def add(self, made: ListedRows) -> None:
        """Take in some rows."""
        self.cases += len(made.cases)
        self.rows += sum(case[1] == case[2] for case in made.cases)
        self.evaluations += len(made.evaluations)
        self.name(evaluation[_NAME] for evaluation in made.evaluations)
        if self.totals is not None:
            self.totals.add(made)

    def name(self, names: Iterable[str]) -> None:
        """Take in names of evaluators."""
        self._names.update(names)
        if len(self._names) > 2 * MOST_NAMES:
            self._names = set(self.evaluators)

    @property
    def evaluators(self) -> tuple[str, ...]:
        """The names of the evaluators, in their order."""
        return tuple(sorted(self._names)[:MOST_NAMES])

    def listed(self, database: Database, run: RunRecord, covers: str, *, texts: int = 0, words: int = 0) -> Listed:
        """Return the listing that holds as much."""
        # What another tool has recorded is in its own order, in which the cases of a row need not be together.
        totals = self.totals if self.totals is not None and self.totals.is_known else None
        in_order = self.rows == self.cases or IMPORTED_FROM not in run.definition
        return Listed(
            database=database, run=run.number, covers=covers, cases=self.cases, rows=self.rows,
            evaluations=self.evaluations, evaluators=self.evaluators, in_order=in_order,
            names_all=len(self._names) < MOST_NAMES, totals=totals, texts=texts, words=words,
        )  # fmt: skip


class KeptListings:
    """The listings of a store. Whoever uses it lets one thread at a time be about a run."""

    def __init__(self, source: Store, reader: CaseReader, closed: threading.Event) -> None:
        self._source = source
        self._db = source.database
        self._reader = reader
        self._closed = closed

    def find(self, run: RunRecord) -> Listed | None:
        """Return the listing of a run; None if there is none, or it is out of date."""
        rows = self._db.rows(
            "SELECT format, covers, cases, rows, evaluations, evaluators, totals, texts, words FROM listings "
            "WHERE run = ?",
            [run.number],
        )
        for kept_format, covers, cases, count, evaluations, evaluators, totals, texts, words in rows:
            if kept_format == FORMAT and covers == self._source.summaries.known_coverage(run):
                extent = Extent(cases, count, evaluations)
                extent.name(loads(evaluators))
                extent.totals = _totals_in(totals)
                return extent.listed(self._db, run, covers, texts=texts, words=words)
        return None

    def make(self, run: RunRecord) -> Listed:
        """Make the listing of a run; raises ``StoreError`` where it cannot be written, or others were quicker.

        What a page holds is read before it is written, so that others wait for no more than the writing.
        """
        covers, mark = self._source.summaries.coverage(run), secrets.token_hex(8)
        maker, extent = RowMaker(self._source, self._reader, run), Extent()
        extent.totals = totals = Totals()
        self._begin(run, mark)
        for first in range(0, run.cases, _PAGE):
            if self._closed.is_set():
                raise ClosedError("the lists were closed")
            made = maker.rows(first, first + _PAGE - 1)
            extent.add(made)
            with self._db.transaction():
                self._require(run, mark)
                self._db.add_rows("listed_evaluations", EVALUATION_COLUMNS, made.evaluations)
                self._db.add_rows("listed_cases", CASE_COLUMNS, made.cases)
        if extent.cases > _PAGE:
            for table in _TABLES:
                self._db.survey(table)
        names, counted = dumps(extent.evaluators), dumps(totals.as_dict())
        with self._db.transaction():
            self._require(run, mark)
            if self._source.summaries.coverage(run) != covers:
                raise OvertakenError(f"run {run.id} has changed while its lists were made")
            self._db.execute(
                "UPDATE listings SET format = ?, covers = ?, cases = ?, rows = ?, evaluations = ?, evaluators = ?, "
                "totals = ? WHERE run = ?",
                [FORMAT, covers, extent.cases, extent.rows, extent.evaluations, names, counted, run.number],
            )
        return extent.listed(self._db, run, covers)

    def _begin(self, run: RunRecord, mark: str) -> None:
        """Take over the listing of a run, and delete what there is."""
        with self._db.transaction():
            self._db.execute(
                "INSERT INTO listings (run, format, covers, cases, rows, evaluations, evaluators, texts) "
                "VALUES (?, ?, ?, 0, 0, 0, '[]', 0) "
                "ON CONFLICT (run) DO UPDATE SET format = excluded.format, covers = excluded.covers, "
                "texts = 0, words = 0",
                [run.number, _UNFINISHED, mark],
            )
            for table in (*_TABLES, "listed_texts", "listed_words"):
                self._db.execute(f"DELETE FROM {table} WHERE run = ?", [run.number])  # noqa: S608 - our own names

    def _require(self, run: RunRecord, mark: str) -> None:
        """Within a transaction: raise ``OvertakenError`` if the listing is another's by now."""
        sql = f"SELECT format, covers FROM listings WHERE run = ?{self._db.for_update}"  # noqa: S608 - our own words
        if self._db.rows(sql, [run.number]) != [(_UNFINISHED, mark)]:
            raise OvertakenError(f"another process makes the lists of run {run.id}")


def _totals_in(written: str) -> Totals | None:
    """Return the totals of a listing; None where there are none, or not as this version writes them."""
    try:
        return Totals.from_dict(loads(written))
    except (KeyError, TypeError, ValueError, StoreError):  # then what matches is counted
        return None
