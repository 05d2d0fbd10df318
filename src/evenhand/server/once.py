"""Doing what is asked for under a key only once, however often it is asked for (REL-D10)."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from typing import Any, Final

from evenhand.domain.errors import ConflictError
from evenhand.domain.prompt import FieldError
from evenhand.store.rows import column
from evenhand.store.store import Store

LONGEST_KEY: Final = 200
KEPT_SECONDS: Final = 48 * 3600


def once(store: Store, key: str | None, asked: Any, do: Callable[[], str]) -> tuple[str, bool]:
    """Do something and give what came of it, with whether it was done now; ``asked`` is what was asked for.

    All is one transaction: what is done and the note that it was done are both there, or neither is, whoever else asks
    at the same moment and whatever becomes of this process. So it should be short: others wait to write meanwhile.
    """
    if key is None:
        return do(), True
    with store.database.transaction():
        store.database.lock()
        known = outcome_of(store, key, asked)
        if known is not None:
            return known, False
        outcome = do()
        now = time.time()
        store.database.execute(
            "INSERT INTO requests (key, body, outcome, created) VALUES (?, ?, ?, ?)",
            [column(key), _digest(asked), outcome, now],
        )
        store.database.execute("DELETE FROM requests WHERE created < ?", [now - KEPT_SECONDS])
    return outcome, True


def outcome_of(store: Store, key: str | None, asked: Any) -> str | None:
    """Return what came of a request that was made under a key before; None where there was none."""
    if key is None:
        return None
    if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
        raise FieldError("Idempotency-Key", f"it must have 1 to {LONGEST_KEY} printable characters")
    known = store.database.rows("SELECT body, outcome FROM requests WHERE key = ?", [column(key)])
    if known and known[0][0] != _digest(asked):
        raise ConflictError(f"Idempotency-Key {key!r:.80} was used for another request; take a new one")
    return str(known[0][1]) if known else None


def forget(store: Store, key: str | None) -> None:
    """Leave a key free again: what was asked for under it could not be done."""
    if key is not None:
        store.database.execute("DELETE FROM requests WHERE key = ?", [column(key)])


def _digest(asked: Any) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
