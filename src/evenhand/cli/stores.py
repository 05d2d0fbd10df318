"""Opening the database that ``--db`` names."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from evenhand.domain.errors import RunNotFoundError
from evenhand.engine.place import Place
from evenhand.store.store import Store


@contextlib.contextmanager
def opened_if_there(db: str) -> Iterator[Store]:
    """Open a database, or an empty one in memory where there is none yet: who only asks leaves nothing behind."""
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(Place(db).opened(to_read=True))
        except RunNotFoundError:
            store = stack.enter_context(Place(None).opened())
        yield store
