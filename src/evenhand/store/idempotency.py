"""Idempotency keys: what is requested under a key is done once, however often it is requested (REL-D10)."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from typing import Any, Final

from evenhand.domain.errors import ConflictError
from evenhand.domain.prompt import FieldError
from evenhand.store.database import Database, atomic
from evenhand.store.rows import column

LONGEST_KEY: Final = 200
KEPT_SECONDS: Final = 48 * 3600


class IdempotencyKeys:
    """The keys of earlier requests, each with a digest of the request and its outcome."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def once(self, key: str | None, request: Any, act: Callable[[], str]) -> tuple[str, bool]:
        """Act on a request unless that was done before; return the outcome, and whether it is new.

        All is one transaction: the outcome and the note of it are both there, or neither is, whoever else sends the
        same request at the same moment and whatever becomes of this process. Keep it short: other writers wait. If the
        connection is lost, it is acted on again, with nothing left of the first time.
        """
        return (act(), True) if key is None else self._once(key, request, act)

    @atomic
    def _once(self, key: str, request: Any, act: Callable[[], str]) -> tuple[str, bool]:
        self._db.lock()
        earlier = self.outcome(key, request)
        if earlier is not None:
            return earlier, False
        outcome = act()
        now = time.time()
        self._db.execute(
            "INSERT INTO requests (key, body, outcome, created) VALUES (?, ?, ?, ?)",
            [column(key), _digest(request), outcome, now],
        )
        self._db.execute("DELETE FROM requests WHERE created < ?", [now - KEPT_SECONDS])
        return outcome, True

    def outcome(self, key: str | None, request: Any) -> str | None:
        """Return the outcome of an earlier request under this key, or None; refuse a key of another request."""
        if key is None:
            return None
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise FieldError("Idempotency-Key", f"it must have 1 to {LONGEST_KEY} printable characters")
        rows = self._db.rows("SELECT body, outcome FROM requests WHERE key = ?", [column(key)])
        if rows and rows[0][0] != _digest(request):
            raise ConflictError(f"Idempotency-Key {key!r:.80} was used for another request; choose a new one")
        return str(rows[0][1]) if rows else None

    @atomic
    def forget(self, key: str | None) -> None:
        """Free a key: what was requested under it could not be done."""
        if key is not None:
            self._db.execute("DELETE FROM requests WHERE key = ?", [column(key)])


def _digest(request: Any) -> str:
    digest = hashlib.sha256()
    for part in _written(request):
        digest.update(part.encode())
    return digest.hexdigest()


def _written(value: Any, levels: int = 6) -> Iterator[str]:
    """Yield what ``json.dumps`` writes, in parts: as one call, it would hold up all other threads for a large value."""
    if levels and value and isinstance(value, dict):
        for number, (name, part) in enumerate(sorted(value.items())):
            yield f"{', ' if number else '{'}{json.dumps(name)}: "
            yield from _written(part, levels - 1)
        yield "}"
    elif levels and value and isinstance(value, list):
        for number, part in enumerate(value):
            yield ", " if number else "["
            yield from _written(part, levels - 1)
        yield "]"
    else:
        yield json.dumps(value, sort_keys=True)
