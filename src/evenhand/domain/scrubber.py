"""Find secrets in a text that came from elsewhere, in whatever encoding they are spelt there, and hide them."""

from __future__ import annotations

import base64
import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, NoReturn

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
    """Return, at little cost, whether a text may have escapes in it that matter.

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
        for match in _ESCAPE.finditer(content):
            start, stop = match.span()
            meaning, width = _meaning(match)
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
        """Return where in the original text the content at a place here begins."""
        number = bisect_right(self._from, place) - 1
        if number < 0:
            return place
        if place >= self._to[number]:
            return self._ended[number] + place - self._to[number]
        return self._began[number] + self._width[number] * (place - self._from[number])

    def end_of(self, place: int) -> int:
        """Return where in the original text the content at a place here ends."""
        number = bisect_right(self._from, place) - 1
        if number < 0 or place >= self._to[number]:
            return self.start_of(place) + 1
        return self.start_of(place) + self._width[number] if self._width[number] else self._ended[number]


def _meaning(match: re.Match[bytes]) -> tuple[bytes, int]:
    percents, octets, units, high, low, four, decimal, hexadecimal, entity, letter = match.groups()
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
        return _encode(0x10000 + ((int(high, 16) & 0x3FF) << 10) + (int(low, 16) & 0x3FF)), 0
    return _encode(int(decimal) if decimal is not None else int(four or hexadecimal, 16)), 0


def _encode(code: int) -> bytes:
    return chr(code).encode("utf-8", "surrogatepass") if code <= 0x10FFFF else b"?"


HIDDEN: Final = "***"

# What is shorter may well be an ordinary word: it is hidden only as a word of its own, and in no other spelling.
LEAST_LENGTH: Final = 8
# A text may be JSON within JSON, with a quoted URL in it; deeper nesting is not looked for.
_ROUNDS: Final = 4
_ELLIPSIS: Final = re.compile(rb"(?:\xe2\x80\xa6|\.{3})[.\xe2\x80\xa6]*+")
_WORDLIKE: Final = re.compile(rb"[0-9A-Za-z_\x80-\xff]")
_URL_SAFE: Final = bytes.maketrans(b"+/", b"-_")
_CODED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
# Beyond the letters that a secret decides alone, its Base64 shares up to three on either side with what is around it.
_SHARED: Final = 3


class _Needle(NamedTuple):
    """One spelling of a secret, in lower case where case does not matter: ``least`` bytes at a cut give it away."""

    spelling: bytes
    least: int
    any_case: bool = True

    @property
    def start(self) -> str:
        """What is in every text that has this in it, whole or cut off; a character for each byte."""
        return self.spelling[: self.least].decode("latin-1")


class Scrubber:
    r"""Hides secrets: as they are, percent-encoded, with JSON's or HTML's escapes, in Base64 and in hexadecimal.

    >>> scrubber = Scrubber(["sk-very-secret"])
    >>> scrubber.scrub(r"no such key: sk\u002dvery%2Dsecret, or c2stdmVyeS1zZWNyZXQ=")
    'no such key: ***, or ***'

    Where a text was cut off, at its end or before an ellipsis, the beginning of a secret is hidden too. The work is
    linear in the text, whatever is in it; most texts have no secret in them, and that is found out first.
    """

    __slots__ = ("_coded", "_needles", "_odd", "_starts", "_to_ascii")

    def __init__(self, values: Iterable[str]) -> None:
        secrets = list(dict.fromkeys(value for value in values if value.strip()))
        self._needles = tuple(dict.fromkeys(needle for value in secrets for needle in _needles(value)))
        # A text without any of these has no secret in it, not even the beginning of one at a cut.
        self._starts = tuple(dict.fromkeys(needle.start for needle in self._needles if needle.any_case))
        self._coded = tuple(dict.fromkeys(needle.start for needle in self._needles if not needle.any_case))
        self._to_ascii = all(map(str.isascii, secrets))
        self._odd = any(set(value) & ODD for value in secrets)

    def scrub(self, text: str) -> str:
        """Hide the secrets in a text; cut it afterwards, not before."""
        if not self._needles or not self._may_have(text):
            return text
        content = text.encode("utf-8", "surrogatepass")
        spans = sorted(self._spans(content))
        if not spans:
            return text
        pieces: list[bytes] = []
        end = -1
        for start, stop in spans:
            if start > end:  # what is side by side is hidden as one
                pieces += (content[max(end, 0) : start], HIDDEN.encode())
            end = max(end, stop)
        pieces.append(content[end:])
        return b"".join(pieces).decode("utf-8", "surrogatepass")

    def _may_have(self, text: str) -> bool:
        """Return, at little cost, whether a secret may be in a text."""
        if may_have_escapes(text, self._to_ascii, self._odd):
            return True
        if not text.isascii():
            text = text.encode("utf-8", "surrogatepass").decode("latin-1")
        for start in self._coded:
            if start in text:
                return True
        text = text.lower()
        for start in self._starts:  # noqa: SIM110 - a generator would take longer than the search
            if start in text:
                return True
        return False

    def _spans(self, content: bytes) -> Iterator[tuple[int, int]]:
        """Yield where secrets are, in the text as it is and in what its escapes stand for."""
        layers: list[Resolved] = []
        for _ in range(_ROUNDS):
            for span in self._spans_in_layer(content):
                yield _in_text(span, layers)
            layer = Resolved(content)
            if layer.is_same:
                return
            layers.append(layer)
            content = layer.content

    def _spans_in_layer(self, content: bytes) -> Iterator[tuple[int, int]]:
        lower = content.lower()
        cuts = [len(content), *(match.start() for match in _ELLIPSIS.finditer(content))]
        for needle in self._needles:
            within = lower if needle.any_case else content
            if needle.spelling[: needle.least] in within:
                yield from _whole(needle, within)
                yield from _cut_off(needle, within, cuts)

    def __repr__(self) -> str:
        return f"Scrubber({HIDDEN})"

    def __copy__(self) -> Scrubber:
        return self

    def __deepcopy__(self, memo: object) -> Scrubber:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError("a Scrubber is not pickled: it knows secrets")


def _in_text(span: tuple[int, int], layers: list[Resolved]) -> tuple[int, int]:
    """Return the span in the original text of a span in the last of its layers."""
    start, stop = span
    for layer in reversed(layers):
        start, stop = layer.start_of(start), layer.end_of(stop - 1)
    return start, stop


def _is_short(needle: _Needle) -> bool:
    return len(needle.spelling) < LEAST_LENGTH


def _needles(value: str) -> Iterator[_Needle]:
    spellings = dict.fromkeys((value.encode("utf-8", "replace"), value.encode("latin-1", "replace")))
    for secret in spellings:
        yield _Needle(secret.lower(), LEAST_LENGTH)
        if len(secret) < LEAST_LENGTH:
            continue
        yield _Needle(secret.hex().encode(), 2 * LEAST_LENGTH)
        for before in range(3):
            coded = base64.b64encode(bytes(before) + secret)
            # Only what the secret alone decides on: the rest is its neighbours', too.
            alone = coded[(0, 2, 3)[before] : (before + len(secret)) * 8 // 6]
            for spelling in dict.fromkeys((alone, alone.translate(_URL_SAFE))):
                yield _Needle(spelling, LEAST_LENGTH, any_case=False)


def _whole(needle: _Needle, content: bytes) -> Iterator[tuple[int, int]]:
    """Yield each place of a spelling."""
    spelling = needle.spelling
    at = content.find(spelling)
    while at >= 0:
        start, stop = at, at + len(spelling)
        if not needle.any_case:  # Base64
            while start > max(0, at - _SHARED) and content[start - 1] in _CODED:
                start -= 1
            while stop < min(len(content), at + len(spelling) + _SHARED) and content[stop] in _CODED:
                stop += 1
        if not (_is_short(needle) and (_is_wordlike(content, start - 1) or _is_wordlike(content, stop))):
            yield start, stop
        at = content.find(spelling, at + len(spelling))


def _cut_off(needle: _Needle, content: bytes, cuts: list[int]) -> Iterator[tuple[int, int]]:
    """Find the beginning of a spelling where a text was cut off."""
    spelling, least, _ = needle
    if len(spelling) <= least:
        return
    for cut in cuts:
        if cut < least:
            continue
        at = spelling.find(content[cut - least : cut])
        while at >= 0:
            start = cut - least - at
            if start >= 0 and content.startswith(spelling[: at + least], start):
                yield start, cut
            at = spelling.find(content[cut - least : cut], at + 1)


def _is_wordlike(content: bytes, at: int) -> bool:
    return 0 <= at < len(content) and _WORDLIKE.match(content, at) is not None
