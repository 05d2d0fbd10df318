"""Lists of a run's evaluations and cases: filtered, sorted and searched through narrow rows that are kept in the store.

The rows of a run are made when the first list needs them, and count as long as nothing is added to the run. Of a run
that is at work, and where the store cannot be written to, they are in a database of this process.
"""

from __future__ import annotations

import contextlib
import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

from evenhand.domain.errors import StoreError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.store.case_reader import CaseReader
from evenhand.store.kept_listing import ClosedError, KeptListings, OvertakenError
from evenhand.store.list_filter import CaseFilter, CaseOrder, CasePage, Filter, Order
from evenhand.store.list_query import Listed, SortedPlace, Where, cases_page, evaluations_page, found_in
from evenhand.store.listed_metadata import count_with, metadata_conditions
from evenhand.store.listed_texts import keep_texts, positions_with_kept_text
from evenhand.store.listed_words import keep_words
from evenhand.store.scratch_listing import ScratchListings
from evenhand.store.store import Store
from evenhand.store.text_search import positions_of_profile, positions_with_text

__all__ = ["CaseFilter", "CaseOrder", "CasePage", "CaseReader", "Filter", "Listing", "Order", "SortedPlace"]

# Of runs with so many cases, the texts are kept once somebody has searched them.
LARGE: Final = 2_000
# Between two pages of them, so that whoever waits for the run gets it.
_PAUSE_SECONDS: Final = 0.005
_AT_WORK: Final = (RunStatus.PLANNING, RunStatus.RUNNING)
# How many searches are remembered, and how many positions of cases that they found.
_MOST_SEARCHES: Final = 16
_MOST_FOUND: Final = 2_000_000
_MOST_TOTALS: Final = 256


class Listing:
    """The lists of a store's runs. Threads may share it; while a run is being listed, they only wait for that run."""

    def __init__(self, source: Store, reader: CaseReader) -> None:
        self._source = source
        self._reader = reader
        self.closed = threading.Event()
        self._kept = KeptListings(source, reader, self.closed)
        self._scratch = ScratchListings(source, reader, self.closed)
        self._mine = threading.Lock()
        self._locks: dict[int, threading.Lock] = {}
        # The runs whose listing cannot be kept.
        self._refused: set[int] = set()
        # A list has many pages, and may be sorted in many ways.
        self._searches = _Remembered(_MOST_SEARCHES, _MOST_FOUND)
        self._totals = _Remembered(_MOST_TOTALS, _MOST_TOTALS)
        self._background = ThreadPoolExecutor(1, thread_name_prefix="listing")

    def close(self) -> None:
        """Stop what is being made, and forget what was not kept."""
        self.closed.set()
        self._background.shutdown(wait=True, cancel_futures=True)
        with self._mine:
            locks = list(self._locks.values())
        for lock in locks:
            with lock:  # what is being made ends at its next page
                pass
        self._scratch.close()

    def page(
        self,
        run: RunRecord,
        condition: Filter,
        order: Order,
        *,
        limit: int,
        after: SortedPlace | None = None,
        offset: int = 0,
    ) -> tuple[list[SortedPlace], int]:
        """Return a page of places, each with its sort key, and how many evaluations match in all.

        It begins after a place, or after so many of them (``offset``).
        """
        with self._listed(run) as listed:
            key = (run.number, listed.covers, condition)
            total = listed.evaluations if condition.is_empty else self._totals.get(key)
            if total is None and listed.totals is not None:
                total = listed.totals.of_evaluations(condition)
            where, _ = self._looked_up(run, listed, condition, f"e.{listed.place}")
            page, total = evaluations_page(
                listed, condition, where, order, limit=limit, after=after, offset=offset, total=total
            )
            self._totals.keep(key, total)
            return page, total

    def case_page(
        self,
        run: RunRecord,
        condition: CaseFilter,
        order: CaseOrder,
        *,
        limit: int,
        after: tuple[Any, int] | None = None,
        offset: int = 0,
    ) -> CasePage:
        """Return a page of rows, each with its sort key, and how many rows and cases match in all."""
        with self._listed(run) as listed:
            key = (run.number, listed.covers, condition)
            totals = (listed.rows, listed.cases) if condition.is_empty else self._totals.get(key)
            if totals is None and listed.totals is not None and not listed.has_several:
                count = listed.totals.of_cases(condition)
                totals = None if count is None else (count, count)
            name = f"{found_in(condition)}.{listed.place}"
            where, found = self._looked_up(run, listed, condition, name)
            if totals is None and found is not None and not listed.has_several:
                totals = (found, found)
            if condition.positions is not None:
                where.add(*listed.database.among(name, condition.positions))
            page = cases_page(listed, condition, where, order, limit=limit, after=after, offset=offset, totals=totals)
            self._totals.keep(key, (page.total, page.matching))
            return page

    def cases_in(self, run: RunRecord, rows: Sequence[int]) -> dict[int, list[int]]:
        """Return the positions of all cases of some rows, in their order; a row that is not there is left out."""
        with self._listed(run) as listed:
            those, value = listed.database.among("row", rows)
            found = listed.database.rows(
                f"SELECT row, position FROM listed_cases WHERE run = ? AND {those} ORDER BY row, position",  # noqa: S608 - marks only
                [run.number, value],
            )
        positions: dict[int, list[int]] = {}
        for row, position in found:
            positions.setdefault(row, []).append(position)
        return {row: positions[row] for row in rows if row in positions}

    def evaluators(self, run: RunRecord, most: int) -> list[str] | None:
        """Return the names of the evaluators of a run; None while it is not listed yet."""
        listed = self.ready(run)
        return None if listed is None else list(listed.evaluators[:most])

    def ready(self, run: RunRecord) -> Listed | None:
        """Return the listing of a run; None while there is none, or somebody makes it."""
        lock = self._lock(run.number)
        if not lock.acquire(blocking=False):
            return None
        try:
            listed = None if run.status in _AT_WORK else self._kept.find(run)
            if listed is None and self._scratch.has(run):
                listed = self._scratch.refreshed(run)
            return listed
        finally:
            lock.release()

    def prepare(self, run: RunRecord) -> None:
        """Make the listing of a run, or bring it up to date."""
        with contextlib.suppress(ClosedError), self._listed(run):
            pass

    @contextlib.contextmanager
    def _listed(self, run: RunRecord) -> Iterator[Listed]:
        """Hold on to the listing of a run: nothing of it is forgotten meanwhile."""
        with self._lock(run.number):
            yield self._ready(run)
        self._make_room()

    def _lock(self, number: int) -> threading.Lock:
        with self._mine:
            return self._locks.setdefault(number, threading.Lock())

    def _ready(self, run: RunRecord) -> Listed:
        if self.closed.is_set():
            raise ClosedError("the lists were closed")
        if run.status in _AT_WORK:
            return self._scratch.refreshed(run)
        if (kept := self._kept.find(run)) is not None:
            return kept
        if not self._source.database.read_only and run.number not in self._refused:
            try:
                return self._kept.make(run)
            except ClosedError:
                raise
            except OvertakenError:
                pass  # the next list finds what the other has made
            except StoreError:  # a damaged row is told below, too
                self._refused.add(run.number)
        return self._scratch.refreshed(run)

    def _make_room(self) -> None:
        """Forget runs that are not kept and were listed longest ago, unless somebody reads them now."""
        while (number := self._scratch.oldest()) is not None:
            lock = self._lock(number)
            if not lock.acquire(blocking=False):
                return
            try:
                self._scratch.forget(number)
            finally:
                lock.release()

    def _looked_up(
        self, run: RunRecord, listed: Listed, condition: Filter | CaseFilter, name: str
    ) -> tuple[Where, int | None]:
        """Return the conditions for text, profile and metadata, on the column that has the position of a case.

        And how many cases match, where the filter asks for one of these and nothing else.
        """
        where, counts = Where(), list[int | None]()
        for text, find in ((condition.text, self._with_text), (condition.profile, self._of_profile)):
            if text:
                positions = self._found(run, listed, text, find)
                counts.append(len(positions))
                if len(positions) < listed.cases:  # a common word is in all of them
                    where.add(*listed.database.among(name, positions))
        where.extend(metadata_conditions(self._source, listed.database, run, condition.metadata, name))
        counts += [None] * len(condition.metadata)
        if len(counts) != 1 or not replace(condition, text=None, profile=None, metadata=()).is_empty:
            return where, None
        for key, values in condition.metadata:
            counts = [count_with(listed.database, run, key, values)]
        return where, counts[0]

    def _found(
        self, run: RunRecord, listed: Listed, text: str, find: Callable[[RunRecord, Listed, str], Sequence[int]]
    ) -> Sequence[int]:
        """Return the positions that a search finds."""
        key = (run.number, listed.covers, find.__name__, text)
        found: Sequence[int] | None = self._searches.get(key)
        if found is None:
            found = find(run, listed, text)
            found = found if isinstance(found, range) else array("q", found)
            self._searches.keep(key, found, size=1 if isinstance(found, range) else len(found))
        return found

    def _of_profile(self, run: RunRecord, _listed: Listed, profile: str) -> list[int]:
        return positions_of_profile(self._source, self._reader, run, profile)

    def _with_text(self, run: RunRecord, listed: Listed, text: str) -> Sequence[int]:
        if listed.cases >= LARGE and not listed.has_words and self._keeps(listed) and not self.closed.is_set():
            self._background.submit(self.prepare_texts, run)
        if listed.has_texts:
            return positions_with_kept_text(listed, text)
        return positions_with_text(self._source, self._reader, run, text)

    def prepare_texts(self, run: RunRecord) -> None:
        """Keep the texts of a run that are searched, and their words, page by page, unless its listing is not kept."""
        with contextlib.suppress(StoreError):  # without them, it is searched as before
            while not self.closed.wait(_PAUSE_SECONDS):
                with self._listed(run) as listed:
                    if listed.has_words or not self._keeps(listed):
                        return
                    if not listed.has_texts:
                        keep_texts(self._source, self._reader, run, listed)
                        continue
                keep_words(run, listed)  # for which nobody has to wait

    def _keeps(self, listed: Listed) -> bool:
        return listed.database is self._source.database and not listed.database.read_only


class _Remembered:
    """What was found last, by what was asked for. Threads may share it."""

    def __init__(self, most: int, largest: int) -> None:
        self._most = most
        self._largest = largest
        self._mine = threading.Lock()
        self._found: OrderedDict[Hashable, tuple[int, Any]] = OrderedDict()

    def get(self, key: Hashable) -> Any:
        """Return what was found; None if it is not known any more."""
        with self._mine:
            if key not in self._found:
                return None
            self._found.move_to_end(key)
            return self._found[key][1]

    def keep(self, key: Hashable, found: Any, *, size: int = 1) -> None:
        """Remember what was found, and forget what was asked for longest ago."""
        with self._mine:
            self._found[key] = size, found
            self._found.move_to_end(key)
            while len(self._found) > 1 and (
                len(self._found) > self._most or sum(size for size, _ in self._found.values()) > self._largest
            ):
                self._found.popitem(last=False)
