"""Remembering which ids there were, in little memory."""

from __future__ import annotations

from array import array
from typing import Final

# Of cases: beyond that many the store is the only one to notice, which refuses an id that stands twice.
MOST_REMEMBERED: Final = 1_000_000
_FIRST_SIZE: Final = 1 << 10


class SeenIds:
    """A set of texts that keeps eight bytes of each, in a table at most five eighths full: 4 MiB for 200,000.

    A set of Python integers would take four times as much.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST_REMEMBERED if most is None else most
        self._table = array("Q", [0]) * _FIRST_SIZE
        self._count = 0

    def add(self, text: str) -> bool:
        """Remember a text, and tell whether it was there before; by its hash, so ask again where that matters."""
        if self._count >= self._most:
            return False
        mark = (hash(text) & 0xFFFF_FFFF_FFFF_FFFF) or 1
        if not _put(self._table, mark):
            return True
        self._count += 1
        if self._count * 8 > len(self._table) * 5:
            larger = array("Q", [0]) * (2 * len(self._table))
            for known in self._table:
                if known:
                    _put(larger, known)
            self._table = larger
        return False


def _put(table: array[int], mark: int) -> bool:
    """Put a mark into the first free place from its own on; False if it is there already."""
    last = len(table) - 1
    place = mark & last
    while known := table[place]:
        if known == mark:
            return False
        place = (place + 1) & last
    table[place] = mark
    return True
