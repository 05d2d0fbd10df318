"""Which replies the cache may have: a small filter that spares a run most of its look-ups.

A look-up takes about as long as reading a reply. Nearly always a run either finds everything in the cache or nothing,
so the keys that are there are noted in a fixed amount of memory (a Bloom filter): "no" is certain, and "perhaps" is
looked up.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_BITS: Final = 1 << 23  # one megabyte: beside 200,000 keys, one look-up in 400 is in vain
_MASK: Final = _BITS - 1
_SHIFT: Final = 24
# So many digits of a key make both places.
_DIGITS: Final = 12


class Remembered:
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
        one, other = _places(key)
        return bool(bits[one >> 3] & (1 << (one & 7)) and bits[other >> 3] & (1 << (other & 7)))


def _places(key: str) -> tuple[int, int]:
    # The hash is random already: its digits are as good as those of other hashes.
    number = int(key[:_DIGITS], 16)
    return number & _MASK, (number >> _SHIFT) & _MASK
