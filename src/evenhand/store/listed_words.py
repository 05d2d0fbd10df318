"""The words of the texts that are searched, each with the cases that have it: so a text is found without reading all.

A word is a run of letters and digits. Wherever a text is found in another, its words are words there, but for its first
and its last, which may be parts of longer ones. So the words of a run are looked through, which are few, and then only
the texts that have them.
"""

from __future__ import annotations

import re
import struct
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from evenhand.domain.run import RunRecord
from evenhand.store.database import Database
from evenhand.store.list_query import Listed, Where
from evenhand.store.records import Row

# Bounds of what is in memory at a time: so many cases, and about so many characters.
_MOST_CASES: Final = 16_384
_MOST_CHARACTERS: Final = 16_000_000
_PAGE: Final = 256
# Of longer words, which hardly anybody looks for, is only kept that a case has one.
_LONGEST: Final = 64
_LONG: Final = ""
# Where the words leave more cases than a share of all, reading all texts takes no longer.
_MOST_READ: Final = 0.5

_WORD: Final = re.compile(r"[^\W_]+")
# All that separates words, where letters are ASCII.
_SEPARATORS: Final = {number: " " for number in range(128) if not chr(number).isalnum()}
# How positions are written: as numbers of two bytes, or as a bit for each case.
_NUMBERS, _BITS = b"n", b"b"


def words_of(text: str) -> set[str]:
    """Return the words of a text.

    >>> sorted(words_of("it's snake_case, ½ größer"))
    ['case', 'größer', 'it', 's', 'snake', '½']
    """
    return set(text.translate(_SEPARATORS).split() if text.isascii() else _WORD.findall(text))


def keep_words(run: RunRecord, listed: Listed) -> None:
    """Keep the words of the next cases, whose texts are kept."""
    database, first = listed.database, listed.words
    found: dict[str, array[int]] = {}
    upto, characters = first, 0
    while upto < min(first + _MOST_CASES, listed.cases) and characters < _MOST_CHARACTERS:
        last = min(upto + _PAGE, first + _MOST_CASES, listed.cases) - 1
        for position, text in _texts(database, run, upto, last):
            characters += len(text)
            for word in words_of(text):
                kept = word if len(word) <= _LONGEST else _LONG
                if (positions := found.get(kept)) is None:
                    found[kept] = array("H", (position - first,))
                elif positions[-1] != position - first:  # it may have several long ones
                    positions.append(position - first)
        upto = last + 1
    rows: list[Row] = [(run.number, word, first, _written(found[word], upto - first)) for word in sorted(found)]
    with database.transaction():
        sql = f"SELECT covers, words FROM listings WHERE run = ?{database.for_update}"  # noqa: S608 - our own words
        if database.rows(sql, [run.number]) == [(listed.covers, first)]:  # no other process was quicker
            database.add_rows("listed_words", ("run", "word", "first", "positions"), rows)
            database.execute("UPDATE listings SET words = ? WHERE run = ?", [upto, run.number])


def _texts(database: Database, run: RunRecord, first: int, last: int) -> list[Row]:
    sql = "SELECT position, text FROM listed_texts WHERE run = ? AND position BETWEEN ? AND ? ORDER BY position"
    return database.rows(sql, [run.number, first, last])


class Candidates(NamedTuple):
    """The cases whose words are those of a text, as a bit for each position, and whether all of them have the text."""

    bits: int
    is_certain: bool

    @property
    def positions(self) -> Sequence[int]:
        """Their positions, in their order."""
        length = self.bits.bit_length()
        return range(length) if self.bits.bit_count() == length else _set_bits(self.bits)


def candidates(listed: Listed, text: str) -> Candidates | None:
    """Return the cases that may have a text, which is folded; None if its words do not tell."""
    spans = [match.span() for match in _WORD.finditer(text)]
    parts = [(text[start:end], start == 0, end == len(text)) for start, end in spans if end - start <= _LONGEST]
    if not parts:
        return None
    # First what an index finds; words that end with the first part take a look at every word.
    parts.sort(key=lambda part: part[1])
    long = _bits_of(listed, Where(["word = ?"], [_LONG]))
    bits = (1 << listed.cases) - 1
    for part, is_open_before, is_open_after in parts:
        if is_open_before and len(parts) > 1 and bits.bit_count() <= _PAGE:
            break  # few enough to be read
        where = _like(listed.database, part, is_open_before=is_open_before, is_open_after=is_open_after)
        bits &= _bits_of(listed, where) | long
    is_certain = len(spans) == 1 and spans[0] == (0, len(text)) and not bits & long
    if not is_certain and bits.bit_count() > listed.cases * _MOST_READ:
        return None
    return Candidates(bits, is_certain)


def _like(database: Database, part: str, *, is_open_before: bool, is_open_after: bool) -> Where:
    """Return the condition that a word may be that part of a text: it may begin before it, or end after it."""
    if not is_open_before and not is_open_after:
        return Where(["word = ?"], [part])
    if not is_open_before:
        # The last letter there is: none comes after it.
        return Where(["word >= ?", "word <= ?"], [part, part + chr(0x10FFFF)])
    condition, value = database.containing("word", part)
    where = Where([condition], [value])
    if not is_open_after:
        where.add("SUBSTR(word, LENGTH(word) - ?) = ?", len(part) - 1, part)
    return where


def _bits_of(listed: Listed, where: Where) -> int:
    """Return the cases that have a word of some kind."""
    sql = f"SELECT first, positions FROM listed_words WHERE run = ? AND {where.sql}"  # noqa: S608 - our own words
    found: dict[int, int] = {}
    few: dict[int, bytearray] = {}
    for first, written in listed.database.rows(sql, [listed.run, *where.values]):
        if written[:1] == _BITS:
            found[first] = found.get(first, 0) | int.from_bytes(written[1:], "little")
            continue
        if (flags := few.get(first)) is None:
            flags = few[first] = bytearray(_MOST_CASES // 8)
        for place in _numbers_in(written):
            flags[place >> 3] |= 1 << (place & 7)
    for first, flags in few.items():
        found[first] = found.get(first, 0) | int.from_bytes(flags, "little")
    # From the last to the first, so that each is moved over those before it once.
    bits, above = 0, listed.cases
    for first in sorted(found, reverse=True):
        bits = found[first] | (bits << (above - first))
        above = first
    return bits << above


def _written(positions: Sequence[int], cases: int) -> bytes:
    """Write offsets, which are in their order: as a bit for each case, unless they are few."""
    if 2 * len(positions) <= cases // 8:
        return _NUMBERS + struct.pack(f"<{len(positions)}H", *positions)
    flags = bytearray(-(-cases // 8))
    for position in positions:
        flags[position >> 3] |= 1 << (position & 7)
    return _BITS + bytes(flags)


def _numbers_in(written: bytes) -> tuple[int, ...]:
    return struct.unpack(f"<{len(written) // 2}H", written[1:])


def _set_bits(bits: int) -> list[int]:
    """Return the places of the bits that are set, in their order."""
    flags = bits.to_bytes(-(-bits.bit_length() // 8), "little")
    return [8 * place + bit for place, byte in enumerate(flags) if byte for bit in _BITS_OF[byte]]


_BITS_OF: Final = [[bit for bit in range(8) if byte >> bit & 1] for byte in range(256)]
