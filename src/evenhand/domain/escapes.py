"""Escapes in texts, those of URLs, JSON and HTML: what they stand for, and where they stand."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from typing import Final

# Runs of those that stand for one byte each are resolved at once; no group can match in two ways.
_ESCAPE: Final = re.compile(
    rb"((?:%[0-9A-Fa-f]{2})++)"
    rb"|((?:\\x[0-9A-Fa-f]{2})++)"
    rb"|((?:\\u00[0-7][0-9A-Fa-f])++)"
    rb"|\\u([Dd][89ABab][0-9A-Fa-f]{2})\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})"
    rb"|\\u([0-9A-Fa-f]{4})"
    rb"|&#([0-9]{1,7});|&#[xX]([0-9A-Fa-f]{1,6});|&(amp|lt|gt|quot|apos);"
    rb"|\\([\"'\\/bfnrt])"
)
_LETTERS: Final = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t"}
_ENTITIES: Final = {b"amp": b"&", b"lt": b"<", b"gt": b">", b"quot": b'"', b"apos": b"'"}

# Characters that have escapes of their own.
ODD: Final = frozenset("\"'\\&<>\b\f\n\r\t")
_PERCENT: Final = re.compile("%[0-9A-Fa-f]{2}")
_BACKSLASH: Final = re.compile(r"\\(?:[/x]|u00)")
_BACKSLASH_BEYOND_ASCII: Final = re.compile(r"\\[/xu]")


def may_have_escapes(text: str, to_ascii: bool, odd: bool) -> bool:
    """Tell at little cost whether a text may have escapes in it that matter.

    ``to_ascii`` says that only those of ASCII do, and ``odd`` that those of the characters in ``ODD`` do.
    """
    if "\\" in text and (odd or (_BACKSLASH if to_ascii else _BACKSLASH_BEYOND_ASCII).search(text) is not None):
        return True
    return ("%" in text and _PERCENT.search(text) is not None) or (
        "&" in text and (odd or "&#" in text or "&amp" in text)
    )


class Resolved:
    """A text with its escapes resolved once, and the way back from a place in it to the place in the text."""

    __slots__ = ("_began", "_ended", "_from", "_to", "_width", "content", "is_same")

    def __init__(self, content: bytes) -> None:
        self._began, self._ended = array("q"), array("q")  # of the escapes in the text
        self._from, self._to = array("q"), array("q")  # of what they stand for
        self._width = array("b")  # of an escape in a run; 0 for one alone
        pieces: list[bytes] = []
        copied = length = 0
        for found in _ESCAPE.finditer(content):
            start, stop = found.span()
            meaning, width = _meaning(found)
            pieces += (content[copied:start], meaning)
            length += start - copied
            self._began.append(start)
            self._ended.append(stop)
            self._from.append(length)
            length += len(meaning)
            self._to.append(length)
            self._width.append(width)
            copied = stop
        self.is_same = not pieces
        self.content = b"".join((*pieces, content[copied:]))

    def start_of(self, place: int) -> int:
        """Give where in the text that begins which stands at a place here."""
        number = bisect_right(self._from, place) - 1
        if number < 0:
            return place
        if place >= self._to[number]:
            return self._ended[number] + place - self._to[number]
        return self._began[number] + self._width[number] * (place - self._from[number])

    def end_of(self, place: int) -> int:
        """Give where in the text that has ended which stands at a place here."""
        number = bisect_right(self._from, place) - 1
        if number < 0 or place >= self._to[number]:
            return self.start_of(place) + 1
        return self.start_of(place) + self._width[number] if self._width[number] else self._ended[number]


def _meaning(found: re.Match[bytes]) -> tuple[bytes, int]:
    percents, octets, units, high, low, four, decimal, hexadecimal, entity, letter = found.groups()
    if percents is not None:
        return bytes.fromhex(percents.replace(b"%", b"").decode()), 3
    if octets is not None:
        return bytes.fromhex(octets.replace(b"\\x", b"").decode()), 4
    if units is not None:
        return bytes.fromhex(units.replace(b"\\u00", b"").decode()), 6
    if letter is not None:
        return _LETTERS.get(letter, letter), 0
    if entity is not None:
        return _ENTITIES[entity], 0
    if high is not None:
        return _written(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF)), 0
    return _written(int(decimal) if decimal is not None else int(four or hexadecimal, 16)), 0


def _written(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code <= 0x10FFFF else b"?"
