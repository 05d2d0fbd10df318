"""The places for evaluations on this machine: few work at once, while many others wait for answers from elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator


class LocalPlaces:
    """Places for so many evaluations. One that waits leaves its place to others, and takes one again afterwards."""

    def __init__(self, most: int) -> None:
        self._places = asyncio.Semaphore(most)
        # By evaluation, how many answers it waits for.
        self._away: Counter[str] = Counter()

    @property
    def away(self) -> int:
        """How many evaluations wait."""
        return len(self._away)

    @contextlib.asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Have a place while entered."""
        async with self._places:
            yield

    @contextlib.asynccontextmanager
    async def left(self, evaluation: str) -> AsyncIterator[None]:
        """Let others have the place of an evaluation while entered, for however many answers it waits."""
        self._away[evaluation] += 1
        if self._away[evaluation] == 1:
            self._places.release()
        try:
            yield
        finally:
            self._away[evaluation] -= 1
            if not self._away[evaluation]:
                del self._away[evaluation]
                await self._places.acquire()
