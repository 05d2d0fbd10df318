"""Finding secrets in a text that came from elsewhere, in whatever way they are spelt there, and hiding them."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple, NoReturn

from evenhand.domain.escapes import ODD, Resolved, may_have_escapes

HIDDEN: Final = "***"

# What is shorter is as likely a word of somebody's own: it is hidden where it stands alone, and in no other spelling.
LEAST_LENGTH: Final = 8
# A text may be JSON within JSON, with a quoted URL in it. Nobody reads on beyond that.
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
    linear in the text, whatever stands in it; most texts have no secret in them, and that is found out first.
    """

    __slots__ = ("_coded", "_needles", "_odd", "_starts", "_to_ascii")

    def __init__(self, values: Iterable[str]) -> None:
        known = list(dict.fromkeys(value for value in values if value.strip()))
        self._needles = tuple(dict.fromkeys(needle for value in known for needle in _needles(value)))
        # A text without any of these has no secret in it, not even the beginning of one at a cut.
        self._starts = tuple(dict.fromkeys(needle.start for needle in self._needles if needle.any_case))
        self._coded = tuple(dict.fromkeys(needle.start for needle in self._needles if not needle.any_case))
        self._to_ascii = all(map(str.isascii, known))
        self._odd = any(set(value) & ODD for value in known)

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
        """Tell at little cost whether a secret may be in a text."""
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
        """Find where secrets stand, in the text as it is and in what its escapes stand for."""
        layers: list[Resolved] = []
        for _ in range(_ROUNDS):
            for span in self._found(content):
                yield _in_text(span, layers)
            layer = Resolved(content)
            if layer.is_same:
                return
            layers.append(layer)
            content = layer.content

    def _found(self, content: bytes) -> Iterator[tuple[int, int]]:
        lower = content.lower()
        cuts = [len(content), *(found.start() for found in _ELLIPSIS.finditer(content))]
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
    """Give where that stands in the text which stands at a span in the last of its layers."""
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
    """Find a spelling wherever it stands."""
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
