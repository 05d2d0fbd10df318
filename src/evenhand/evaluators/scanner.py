"""Where JSON objects begin and end in a text, whatever stands around them.

The work is linear in the length of the text (SPEC-R3), although every opening brace is tried. A scan that dies has
settled all objects nested in it, so only braces inside its strings are tried again; and of any three scans that would
cover one place, the third would begin where one of the others stands between strings, and be settled by that one.

Every regular expression here is matched at one place and is possessive: it goes over a text once and gives nothing
back. Searching for a start goes over the text once, and from a brace on as far as its first key. That ends at the next
quotation mark that may begin another, so that no two braces have a character of their keys in common.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

MAX_DEPTH: Final = 100

_SPACES = re.compile(r"[ \t\n\r]*+")
_STRING_BODY = re.compile(r'[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+')
_SCALAR = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|true|false|null")
# An object begins where a brace is followed by a key and its colon, or by its end; `{curly}` words cost little.
_START = rf'\{{(?=[ \t\n\r]*+(?:\}}|"{_STRING_BODY.pattern}"[ \t\n\r]*+:))'
OBJECT_START: Final = re.compile(_START)
VALUE_START: Final = re.compile(rf"{_START}|\[")


class Scanner:
    """Finds the JSON objects of a text by their brackets, in one pass; ``work`` counts the characters looked at.

    What has more than ``MAX_DEPTH`` brackets in each other is not JSON here. Only the outer ones of them are given up,
    so that every object which would be one by itself is found, however deep it stands; unless only ``outermost`` ones
    are wanted.
    """

    def __init__(self, text: str, *, outermost: bool = False) -> None:
        self.text = text
        self.work = 0
        self.stopped_at = 0
        self._outermost = outermost
        self._ends: dict[int, int | None] = {}

    def spans(self, start: re.Pattern[str] = OBJECT_START) -> Iterator[tuple[int, int]]:
        """Yield where objects begin and end, left to right; never one inside another that is whole."""
        position = 0
        while match := start.search(self.text, position):
            begin = match.start()
            end = self.end_of(begin)
            if end is None:
                position = begin + 1
            else:
                yield begin, end
                position = end

    def end_of(self, begin: int) -> int | None:
        """Return where the object or array that begins here ends; None if it is not strict JSON or too deep."""
        if begin not in self._ends:
            self._scan(begin)
        return self._ends[begin]

    def _scan(self, begin: int) -> None:
        """Follow the grammar from an opening bracket; settles it and every bracket nested in it."""
        opened = [begin]
        position: int | None = begin + 1
        while opened and position is not None:
            self.stopped_at = position
            position = self._step(opened, position)
        for unfinished in opened:
            self._ends[unfinished] = None
        self.work += (position or self.stopped_at) - begin

    def _step(self, opened: list[int], position: int) -> int | None:
        """Step over a closing bracket, or over one member and what comes before it; None where the grammar ends."""
        text, start = self.text, opened[-1]
        is_first = position == start + 1
        position = self._after_space(position)
        if text.startswith("}" if text[start] == "{" else "]", position):
            self._ends[opened.pop()] = position + 1
            return position + 1
        if not is_first:
            if not text.startswith(",", position):
                return None
            position = self._after_space(position + 1)
        if text[start] == "{":
            after_key = self._after_key(position)
            if after_key is None:
                return None
            position = after_key
        if text.startswith(("{", "["), position):
            if len(opened) == MAX_DEPTH:
                if self._outermost:
                    return None
                self._ends[opened.pop(0)] = None
            opened.append(position)
            return position + 1
        if text.startswith('"', position):
            return self._after_string(position)
        scalar = _SCALAR.match(text, position)
        return scalar.end() if scalar else None

    def _after_key(self, position: int) -> int | None:
        """Step over a key, its colon and the space behind it."""
        end = self._after_string(position)
        if end is None:
            return None
        end = self._after_space(end)
        return self._after_space(end + 1) if self.text.startswith(":", end) else None

    def _after_string(self, position: int) -> int | None:
        if not self.text.startswith('"', position):
            return None
        end = self._advance(_STRING_BODY, position + 1)
        return end + 1 if self.text.startswith('"', end) else None

    def _after_space(self, position: int) -> int:
        return self._advance(_SPACES, position)

    def _advance(self, pattern: re.Pattern[str], position: int) -> int:
        """Go as far as a pattern does that also matches nothing."""
        match = pattern.match(self.text, position)
        self.stopped_at = match.end() if match else position
        return self.stopped_at
