"""The evaluations of a run as a list: filtered, sorted, page by page, and quick with a hundred thousand of them.

The table of evaluations has no index for this: each would have to be kept up with every commit of a run. So the narrow
columns of runs that somebody looks at are copied into a database in memory, which is cheap to go through as a whole.
The first pages of a run, in its own order, need no copy.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeAlias

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.server import cursors
from evenhand.server.filtering import Filter, Order
from evenhand.server.narrow import Narrow
from evenhand.server.rows_shown import rows_shown
from evenhand.store.store import Store

# The place of an evaluation in its run: position, place and sample.
Place: TypeAlias = tuple[int, int, int]
# A smaller run is copied when it is needed, and not ahead.
_LARGE: Final = 2_000
_LARGEST: Final = 2**53
_MOST_NAMES: Final = 50


class Results:
    """Gives the evaluations of runs page by page. Threads may share it."""

    def __init__(self, store: Store, reading: Store) -> None:
        self._store = store
        self._narrow = Narrow(reading)
        self._ahead = ThreadPoolExecutor(1, thread_name_prefix="results")
        self._asked: set[str] = set()
        self._mine = threading.Lock()

    def close(self) -> None:
        """End what is done ahead."""
        self._ahead.shutdown(wait=False, cancel_futures=True)
        self._narrow.close()
        self._ahead.shutdown(wait=True)

    def page(self, run: RunRecord, wanted: Filter, order: Order, *, limit: int, cursor: str | None) -> dict[str, Any]:
        """Give a page: its items, how many there are in all, and the cursor of the next one."""
        if wanted.is_empty and order == Order():
            return self._in_order(run, limit, cursor)
        keyed, total = self._narrow.page(run, wanted, order, limit=limit + 1, after=_read(cursor, order))
        places = [place for _, place in keyed[:limit]]
        more = _written(order, *keyed[limit - 1]) if len(keyed) > limit else None
        return {
            "items": rows_shown(self._store, run, places),
            "total": total,
            "next": more,
        }

    def places(self, run: RunRecord, wanted: Filter, order: Order) -> list[Place]:
        """Give the places of all that is wanted, as it stands at this moment."""
        keyed, _ = self._narrow.page(run, wanted, order, limit=_LARGEST, after=None)
        return [place for _, place in keyed]

    def evaluators(self, run: RunRecord) -> list[str]:
        """Name the evaluators of a run; of a large one, those of its first cases, until it was copied."""
        if (names := self._narrow.evaluators(run, _MOST_NAMES)) is not None:
            return names
        rows = self._store.database.rows(
            "SELECT DISTINCT evaluator FROM evaluations WHERE run = ? AND position < ? ORDER BY evaluator LIMIT ?",
            [run.number, _LARGE, _MOST_NAMES],
        )
        return [row[0] for row in rows]

    def _in_order(self, run: RunRecord, limit: int, cursor: str | None) -> dict[str, Any]:
        after = _read(cursor, Order())
        place = (-1, -1, -1) if after is None else after[1]
        found = self._store.database.rows(
            "SELECT DISTINCT position, place, sample FROM evaluations WHERE run = ? AND (position, place, sample) > "
            "(?, ?, ?) ORDER BY position, place, sample LIMIT ?",
            [run.number, *place, limit + 1],
        )
        places: list[Place] = [(one[0], one[1], one[2]) for one in found[:limit]]
        _, total = self._store.extent(run)
        self._prepare(run, total)
        more = _written(Order(), places[-1][0], places[-1]) if len(found) > limit else None
        return {"items": rows_shown(self._store, run, places), "total": total, "next": more}

    def _prepare(self, run: RunRecord, total: int) -> None:
        """Copy what is narrow of a large run ahead: who looks at it will want to filter it."""
        with self._mine:
            if total < _LARGE or run.id in self._asked or run.status is RunStatus.RUNNING:
                return
            self._asked.add(run.id)
        self._ahead.submit(self._narrow.copy, run)


def _written(order: Order, key: Any, place: Sequence[int]) -> str:
    return cursors.written([order.by, order.descending, key, *place])


def _read(cursor: str | None, order: Order) -> tuple[Any, Place] | None:
    if cursor is None:
        return None
    match cursors.read(cursor):
        case [order.by, order.descending, (int() | float() | str()) as key, int(position), int(place), int(sample)]:
            if all(0 <= one < _LARGEST for one in (position, place, sample)) and (
                isinstance(key, (float, str)) or abs(key) < _LARGEST
            ):
                return key, (position, place, sample)
    return cursors.refuse()
