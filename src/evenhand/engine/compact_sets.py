"""Sets that take little memory: the ids there were, and the replies the cache may have.

A look-up takes about as long as reading a reply. Nearly always a run either finds everything in the cache or nothing,
so the keys that are there are noted in a fixed amount of memory (a Bloom filter): "no" is certain, and "perhaps" is
looked up.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from typing import Final

# Of cases: beyond that many the store is the only one to notice, which refuses a duplicate id.
MOST_REMEMBERED: Final = 1_000_000
_FIRST_SIZE: Final = 1 << 10


class IdSet:
    """A set of texts that keeps eight bytes of each, in a table at most five eighths full: 4 MiB for 200,000.

    A set of Python integers would take four times as much.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = MOST_REMEMBERED if most is None else most
        self._table = array("Q", [0]) * _FIRST_SIZE
        self._count = 0

    def add(self, text: str) -> bool:
        """Remember a text, and return whether it was there before; by its hash, so ask again where that matters."""
        if self._count >= self._most:
            return False
        mark = (hash(text) & 0xFFFF_FFFF_FFFF_FFFF) or 1
        if not _insert(self._table, mark):
            return True
        self._count += 1
        if self._count * 8 > len(self._table) * 5:
            larger = array("Q", [0]) * (2 * len(self._table))
            for entry in self._table:
                if entry:
                    _insert(larger, entry)
            self._table = larger
        return False


def _insert(table: array[int], mark: int) -> bool:
    """Put a mark into the first free place from its own on; False if it is there already."""
    last = len(table) - 1
    place = mark & last
    while entry := table[place]:
        if entry == mark:
            return False
        place = (place + 1) & last
    table[place] = mark
    return True


_BITS: Final = 1 << 23  # one megabyte: beside 200,000 keys, one look-up in 400 is in vain
_MASK: Final = _BITS - 1
_SHIFT: Final = 24
# So many digits of a key make both places.
_DIGITS: Final = 12


class BloomFilter:
    """The keys of replies; a key is a hexadecimal hash."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._bits = bytearray(_BITS >> 3)
        self._has_any = False
        for key in keys:
            self.add(key)

    def add(self, key: str) -> None:
        """Note a key."""
        self._has_any = True
        for place in _places(key):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, key: str) -> bool:
        if not self._has_any:
            return False
        bits = self._bits
        first, second = _places(key)
        return bool(bits[first >> 3] & (1 << (first & 7)) and bits[second >> 3] & (1 << (second & 7)))


def _places(key: str) -> tuple[int, int]:
    # The hash is random already: its digits are as good as those of other hashes.
    number = int(key[:_DIGITS], 16)
    return number & _MASK, (number >> _SHIFT) & _MASK
