"""Reading JSON and JSONL strictly and bit by bit: no NaN, no key twice, nothing after the end (SPEC-S1)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # there in every version, and in no stub
from typing import Any, Final, NoReturn

from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import (
    INLINE,
    MAX_DEPTH,
    MAX_VALUES,
    TOO_DEEP,
    TOO_LARGE,
    TOO_MANY,
    Fault,
    Listed,
    Mapped,
    Piece,
    is_too_large,
    kind,
)

_CHUNK: Final = 1 << 16
_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?")
_WORDS: Final = {"true": True, "false": False, "null": None}
_WORD: Final = re.compile(r"-?[A-Za-z]+")
_MOST_DIGITS: Final = 1_000
_MOST_FAULTS: Final = 100
# Of those that are read as a whole: half an escape or half a word looks wrong until the rest of it is there.
_LONGEST_TOKEN: Final = 12


# What the standard library says, and what it means to the author of a suite.
_CONTROL_CHARACTER: Final = "a control character in a string, such as a line break; write \\n"
_ESCAPE: Final = "a backslash in a string begins an escape; double it"


class _RefusedError(Exception):
    """A text that cannot be read, and where; with ``is_open``, more text might mend it."""

    def __init__(self, at: int, text: str, *, is_open: bool = False) -> None:
        super().__init__(text)
        self.at = at
        self.is_open = is_open


class _NotJsonError(_RefusedError):
    def __str__(self) -> str:
        return f"not JSON: {self.args[0]}"


class JsonText:
    """A text with JSON values in it, whose first character is in a certain line and column of its file."""

    def __init__(self, text: str, *, line: int = 1, column: int = 1) -> None:
        self.text = text
        self.faults: list[Fault] = []
        self.left = MAX_VALUES
        self._line = line
        self._column = column
        self._last_place = (0, line)

    def line_at(self, at: int) -> int:
        """Return the line of a place; places come mostly in order, so that counting goes on from the last one."""
        start, line = self._last_place
        if at < start:
            start, line = 0, self._line
        line += self.text.count("\n", start, at)
        self._last_place = (at, line)
        return line

    def column_at(self, at: int) -> int:
        """Return the column of a place, counted from 1."""
        start = self.text.rfind("\n", 0, at)
        return at + self._column if start < 0 else at - start

    def after_space(self, at: int) -> int:
        """Step over white space."""
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int = 1) -> tuple[Any, int]:
        """Read the value at a place; return it with where it ends."""
        opening = self.text[at : at + 1]
        if opening == '"':
            return self.string(at)
        if opening in "{[" and opening:
            if depth > MAX_DEPTH:
                raise _RefusedError(at, TOO_DEEP)
            return self._object(at, depth) if opening == "{" else self._array(at, depth)
        if match := _NUMBER.match(self.text, at):
            return self._number(at, match), match.end()
        if match := _WORD.match(self.text, at):
            return self._word(at, match[0]), match.end()
        raise _NotJsonError(
            at, "the text ends where a value should be" if not opening else f"{opening!r} cannot begin a value"
        )

    def string(self, at: int) -> tuple[str, int]:
        """Read the string at a place."""
        try:
            text, end = scanstring(self.text, at + 1, True)
        except json.JSONDecodeError as error:
            if error.pos == at:
                raise _NotJsonError(at, "a string is opened here and never closed", is_open=True) from None
            is_control = self.text[error.pos] < " "
            raise _NotJsonError(error.pos, _CONTROL_CHARACTER if is_control else _ESCAPE) from None
        return storable(text), end

    def key(self, at: int) -> tuple[str, int]:
        """Read a key and its colon; return it with where its value begins."""
        if not self.text.startswith('"', at):
            raise _NotJsonError(at, "expected a key in double quotes")
        key, at = self.string(at)
        at = self.after_space(at)
        if not self.text.startswith(":", at):
            raise _NotJsonError(at, f"expected a colon after the key {key!r:.80}")
        return key, self.after_space(at + 1)

    def next_member(self, at: int, closing: str, *, is_first: bool) -> int | None:
        """Find where the next member of an object or array begins; None if it is closed there."""
        at = self.after_space(at)
        if self.text.startswith(closing, at):
            return None
        if is_first:
            return at
        if not self.text.startswith(",", at):
            raise _NotJsonError(at, f"expected a comma or {closing}")
        at = self.after_space(at + 1)
        if self.text.startswith(closing, at):
            raise _NotJsonError(at, f"trailing comma before {closing}")
        return at

    def fault(self, at: int, text: str) -> None:
        """Note a mistake that does not keep the rest from being read."""
        if len(self.faults) < _MOST_FAULTS:
            self.faults.append(Fault(self.line_at(at), text))

    def _object(self, start: int, depth: int) -> tuple[Mapped, int]:
        made = Mapped(self.line_at(start))
        at = start + 1
        while (begin := self.next_member(at, "}", is_first=at == start + 1)) is not None:
            line = self.line_at(begin)
            key, at = self.key(begin)
            value, at = self.value(at, depth + 1)
            self._count(begin)
            if key in made:
                self.fault(begin, f"duplicate key {key!r:.80}; first in line {made.lines[key]}")
                continue
            made[key] = value
            made.lines[key] = line
        return made, self.after_space(at) + 1

    def _array(self, start: int, depth: int) -> tuple[Listed, int]:
        made = Listed(self.line_at(start))
        at = start + 1
        while (begin := self.next_member(at, "]", is_first=at == start + 1)) is not None:
            made.lines.append(self.line_at(begin))
            value, at = self.value(begin, depth + 1)
            self._count(begin)
            made.append(value)
        return made, self.after_space(at) + 1

    def _number(self, at: int, match: re.Match[str]) -> float | None:
        digits = match[0]
        if match[1] or match[2]:
            number = float(digits)
            if math.isfinite(number):
                return number
            self.fault(at, f"{digits:.40} is too large a number")
            return None
        if len(digits) > _MOST_DIGITS or is_too_large(int(digits)):
            self.fault(at, f"{digits:.40} is {TOO_LARGE}")
            return None
        return int(digits)

    def _word(self, at: int, word: str) -> bool | None:
        if word not in _WORDS and word not in {"NaN", "Infinity", "-Infinity"}:
            raise _NotJsonError(at, f"{word:.40} is not JSON; put text in double quotes")
        if word not in _WORDS:
            self.fault(at, f"{word} is not JSON; write null, or a finite number")
        return _WORDS.get(word)

    def _count(self, at: int) -> None:
        self.left -= 1
        if self.left < 0:
            raise _RefusedError(at, TOO_MANY)


class JsonReader:
    """Reads one JSON file from its beginning to its end."""

    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._json = JsonText("")
        self._at = 0
        self._is_whole = False

    def suite(self, case_keys: frozenset[str]) -> Iterator[Piece]:
        """Read an object, key by key; arrays under one of ``case_keys`` item by item."""
        self._open("{", "a suite is an object with keys such as evaluators and cases")
        self._at += 1
        seen: dict[str, int] = {}
        while self._next("}", is_first=not seen):
            line = self._json.line_at(self._at)
            key = self._read(JsonText.key)
            if key in seen:
                self._json.fault(self._at, f"duplicate key {key!r:.80}; first in line {seen[key]}")
            seen.setdefault(key, line)
            if key in case_keys and self._sees("["):
                yield Piece(line, INLINE, self._take_faults(), key)
                yield from self._items()
            else:
                value = self._read(lambda json, at: json.value(at, 2))
                yield Piece(line, value, self._take_faults(), key)
        self._end()

    def is_list(self) -> bool:
        """Return whether the file is an array; nothing else can be read afterwards."""
        self._read(lambda json, at: (None, json.after_space(at)))
        return self._sees("[")

    def cases(self) -> Iterator[Piece]:
        """Read a file that is an array of cases."""
        return self.listed("a file of cases is a list")

    def listed(self, expected: str) -> Iterator[Piece]:
        """Read a file that is an array; ``expected`` says so of one that is something else."""
        self._open("[", expected)
        yield from self._items()
        self._end()

    def _items(self) -> Iterator[Piece]:
        self._at += 1
        is_first = True
        while self._next("]", is_first=is_first):
            is_first = False
            line = self._json.line_at(self._at)
            self._file.begin(line)
            self._json.left = MAX_VALUES
            value = self._read(lambda json, at: json.value(at, 3))
            yield Piece(line, value, self._take_faults())

    def _open(self, opening: str, expected: str) -> None:
        self._read(lambda json, at: (None, json.after_space(at)))
        if self._sees(opening):
            return
        line = self._json.line_at(self._at)
        if self._is_whole and self._at == len(self._json.text):
            raise ConfigError(f"{self._file.name}: the file is empty; {expected}")
        value = self._read(lambda json, at: json.value(at))
        raise ConfigError(f"{self._file.name}:{line}: {expected}, not {kind(value)}")

    def _next(self, closing: str, *, is_first: bool) -> bool:
        """Go to the next member, or over the end."""

        def following(json: JsonText, at: int) -> tuple[bool, int]:
            begin = json.next_member(at, closing, is_first=is_first)
            return (False, json.after_space(at) + 1) if begin is None else (True, begin)

        return bool(self._read(following))

    def _sees(self, opening: str) -> bool:
        return self._json.text.startswith(opening, self._at)

    def _read(self, read: Any) -> Any:
        """Read something at the place where we are, with as much of the file as it takes."""
        more = _CHUNK
        while True:
            faults, left = len(self._json.faults), self._json.left
            try:
                value, end = read(self._json, self._at)
            except _RefusedError as error:
                is_cut = error.is_open or error.at + _LONGEST_TOKEN > len(self._json.text)
                if self._is_whole or not is_cut:
                    self._fail(error.at, str(error))
            else:
                # What ends with the text may go on in the file.
                if end < len(self._json.text) or self._is_whole:
                    self._at = end
                    return value
            del self._json.faults[faults:]
            self._json.left = left
            self._load(more)
            more *= 2

    def _load(self, size: int) -> None:
        """Read on, and let go of what was read before."""
        chunks: list[str] = []
        while size > 0 and (chunk := self._file.read(_CHUNK)):
            chunks.append(chunk)
            size -= len(chunk)
        self._is_whole = size > 0
        old, at = self._json, self._at
        fresh = JsonText(old.text[at:] + "".join(chunks), line=old.line_at(at), column=old.column_at(at))
        fresh.faults, fresh.left = old.faults, old.left
        self._json, self._at = fresh, 0

    def _take_faults(self) -> tuple[Fault, ...]:
        faults, self._json.faults = tuple(self._json.faults), []
        return faults

    def _end(self) -> None:
        self._read(lambda json, at: (None, json.after_space(at)))
        if self._at < len(self._json.text):
            self._fail(self._at, "unexpected text after the end; write one suite per file")

    def _fail(self, at: int, text: str) -> NoReturn:
        place = f"{self._json.line_at(at)}:{self._json.column_at(at)}"
        raise ConfigError(f"{self._file.name}:{place}: {text}")


def read_lines(file: TextFile) -> Iterator[Piece]:
    """Read a file with one JSON value a line; blank lines are skipped, and a broken one does not hide the next."""
    number = 1
    rest = ""
    while chunk := file.read(4 * _CHUNK):
        *lines, rest = (rest + chunk).split("\n")
        for line in lines:
            if line and not line.isspace():
                yield read_value(line, number)
            number += 1
        if lines:
            file.begin(number)
    if rest and not rest.isspace():
        yield read_value(rest, number)


def read_value(text: str, number: int) -> Piece:
    """Read a text that is one JSON value, such as a line of a file or a cell of a table."""
    json_text = JsonText(text, line=number)
    try:
        value, end = json_text.value(json_text.after_space(0), 3)
        end = json_text.after_space(end)
        if end < len(text):
            raise _NotJsonError(end, "unexpected text after the value; write one case per line")
    except _RefusedError as error:
        column = json_text.column_at(error.at)
        return Piece(number, None, (Fault(number, f"column {column}: {error}"),))
    return Piece(number, value, tuple(json_text.faults))
