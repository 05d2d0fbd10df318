"""Opening the database that ``--db`` names, and naming it without its password."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Final

from evenhand.domain.errors import RunNotFoundError
from evenhand.domain.secret import HIDDEN
from evenhand.engine.place import Place
from evenhand.store.store import Store

# Up to the last @: a password may have some that should have been written %40.
_LOGIN: Final = re.compile(r"^([^:/]+://[^:/?@]*:).*@")
_PASSWORD: Final = re.compile(r"(password=)[^&]*", re.IGNORECASE)


@contextlib.contextmanager
def opened_if_there(db: str) -> Iterator[Store]:
    """Open a database, or an empty one in memory where there is none yet: who only asks leaves nothing behind."""
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(Place(db).opened(to_read=True))
        except RunNotFoundError:
            store = stack.enter_context(Place(None).opened())
        yield store


def without_password(db: str) -> str:
    """Give the URL of a database as it may be shown.

    >>> without_password("postgresql://me:secret@db.example/evals")
    'postgresql://me:***@db.example/evals'
    """
    return _PASSWORD.sub(rf"\1{HIDDEN}", _LOGIN.sub(rf"\1{HIDDEN}@", db))
