"""A database that a command only reads: where there is none yet, nothing is left behind."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from evenhand.domain.errors import RunNotFoundError
from evenhand.engine.store_location import StoreLocation
from evenhand.store.store import Store


@contextlib.contextmanager
def open_or_empty(db: str | Store) -> Iterator[Store]:
    """Open a database to read it, or an empty one in memory if there is none."""
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(StoreLocation(db).opened(to_read=True))
        except RunNotFoundError:
            store = stack.enter_context(StoreLocation(None).opened())
        yield store
