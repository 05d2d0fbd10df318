"""Whether the server can do its work: its database can be reached, and has the tables of this version."""

from __future__ import annotations

import asyncio
import logging
from typing import Final

from evenhand.domain.errors import StoreError
from evenhand.store.store import Store

# Whoever asks wants to know now.
READY_SECONDS: Final = 2.0

_log = logging.getLogger("evenhand.server")


class Readiness:
    """Looks at the store in a thread, once at a time: whoever asks meanwhile gets the same answer."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._look: asyncio.Task[bool] | None = None

    async def is_ready(self, seconds: float = READY_SECONDS) -> bool:
        """Return whether the store can be used; one that has not answered in time cannot."""
        if self._look is None or self._look.done():
            self._look = asyncio.create_task(asyncio.to_thread(self._can_be_used))
        await asyncio.wait([self._look], timeout=seconds)
        return self._look.done() and self._look.result()

    def _can_be_used(self) -> bool:
        try:
            self._store.require_ready()
        except StoreError as error:  # said in the log: anybody may ask, and it names the database
            _log.warning("not ready: %s", error)
            return False
        return True
