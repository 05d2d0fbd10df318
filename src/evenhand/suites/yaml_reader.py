"""Read YAML strictly and piece by piece, on the events of libyaml: data only, and no two ways to read it (SPEC-S1).

Refused are aliases and anchors, tags beyond the plain ones, duplicate keys, merge keys, several documents, and
the words that readers of YAML disagree about (see ``yaml_scalars``).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final, NoReturn

import yaml
from yaml import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from yaml.reader import ReaderError

from evenhand.domain.contract import storable
from evenhand.domain.errors import ConfigError
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import (
    INLINE,
    MAX_DEPTH,
    MAX_VALUES,
    TOO_DEEP,
    TOO_MANY,
    Fault,
    Listed,
    Mapped,
    Piece,
    kind,
)
from evenhand.suites.yaml_scalars import SUSPECTS, SurpriseError, meaning

_TAB: Final = "a tab; indent with spaces"
_UNCLOSED: Final = {
    "unexpected end of stream": "a quote is opened here and never closed",
    "unexpected document indicator": "a quote is opened here and not closed before the document ends",
    "',' or ']'": "a list that is opened with [ is not closed, or lacks a comma",
    "',' or '}'": "a mapping that is opened with { is not closed, or lacks a comma",
}

# What the parsers say, for which they have no codes, and what it means to the author of a suite.
_PROBLEMS: Final = (
    ("tab character", _TAB),
    ("mapping values are not allowed", "a colon is not allowed here; quote text that has ': ', or fix the indentation"),
    ("but got '?'", "PyYAML has no libyaml here, and so does not accept ? within [ ] or { }; put the text in quotes"),
    *_UNCLOSED.items(),
    ("unknown escape character", "a backslash in double quotes begins an escape; use single quotes, or double it"),
    ("Unicode character escape", "an escape that is not a character; write the character itself"),
    ("expected ':'", "a line that is neither a key with its colon nor part of a text; look at the indentation"),
    ("expected key", "the indentation does not fit the lines above; or a text needs quotes"),
    ("expected '-' indicator", "an item of a list must begin with '- ', with the same indentation as the others"),
    ("<block end>", "the indentation does not fit the lines above; or a text needs quotes"),
    ("undefined tag handle", "a tag; suites have none, so put text that begins with ! in quotes"),
)  # fmt: skip


def explained(error: yaml.YAMLError, file: TextFile) -> ConfigError:
    """Return what a parser did not accept, and where."""
    if isinstance(error, ReaderError):
        code = error.character if isinstance(error.character, int) else ord(error.character)
        message = f"the character U+{code:04X} is not allowed in YAML; in double quotes, write \\u{code:04x}"
        return ConfigError(f"{file.name}:{file.line_of(chr(code))}: {message}")
    problem = getattr(error, "problem", None) or str(error)
    message = next((ours for theirs, ours in _PROBLEMS if theirs in problem), f"not YAML: {problem}")
    # What was opened and never closed is found at its end, and mended at its beginning.
    opened = getattr(error, "context_mark", None) if message in _UNCLOSED.values() else None
    mark = opened or getattr(error, "problem_mark", None)
    if mark is not None and "cannot start any token" in problem:
        character = file.character_at(mark.line + 1, mark.column)
        message = (
            _TAB if character == "\t" else f"text cannot begin with {character or 'this character'}; put it in quotes"
        )
    return ConfigError(f"{file.name}:{1 if mark is None else mark.line + 1}: {message}")


# The pure parser takes thirty times as long, and is there where PyYAML was built without libyaml.
LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_CORE: Final = "tag:yaml.org,2002:"
_TAGS: Final = {"str": (str,), "int": (int,), "float": (float, int), "bool": (bool,), "null": (type(None),)}
_COLLECTION_TAGS: Final = {MappingStartEvent: "map", SequenceStartEvent: "seq"}
_MOST_FAULTS: Final = 100
_MOST_KEYS: Final = 64


class YamlReader:
    """Reads one YAML file from its beginning to its end."""

    def __init__(self, file: TextFile, *, loader: Any = LOADER) -> None:
        self._file = file
        self._faults: list[Fault] = []
        self._left = MAX_VALUES
        self._loader = loader
        self._event: Any = None
        # Keys that are text, with quotes and without.
        self._keys: set[str] = set()
        # Where the cases begin; without a column, the next key may be anywhere.
        self.case_column: int | None = None
        self.case_index = 0

    def suite(self, case_keys: frozenset[str]) -> Iterator[Piece]:
        """Read a mapping, key by key; lists under one of ``case_keys`` item by item."""
        try:
            yield from self._suite(case_keys)
        except yaml.YAMLError as error:
            raise explained(error, self._file) from None

    def is_list(self) -> bool:
        """Return whether the file is a list; nothing else can be read afterwards."""
        try:
            self._root(SequenceStartEvent, "")
        except (ConfigError, yaml.YAMLError):  # said by whoever reads it
            return False
        return True

    def cases(self) -> Iterator[Piece]:
        """Read a file that is a list of cases."""
        try:
            self._root(SequenceStartEvent, "a file of cases is a list; each case begins with '- '")
            yield from self._items()
            self._end()
        except yaml.YAMLError as error:
            raise explained(error, self._file) from None

    def _suite(self, case_keys: frozenset[str]) -> Iterator[Piece]:
        start = self._root(MappingStartEvent, "a suite is a mapping with keys such as evaluators and cases")
        seen: dict[str, int] = {}
        while not isinstance(event := self._event(), MappingEndEvent):
            line = _line(event)
            key = self._key(event)
            if key in seen:
                self._fault(line, f"duplicate key {key!r:.80}; first in line {seen[key]}")
            seen.setdefault(key, line)
            value = self._event()
            if key in case_keys and isinstance(value, SequenceStartEvent):
                self._check_node(value)
                self.case_column = None if start.flow_style else event.start_mark.column
                self.case_index = event.end_mark.index
                yield Piece(line, INLINE, self._take_faults(), key)
                yield from self._items()
            else:
                read = self._value(value, 2)
                yield Piece(line, read, self._take_faults(), key)
        self._end()

    def _items(self) -> Iterator[Piece]:
        while not isinstance(event := self._event(), SequenceEndEvent):
            line = _line(event)
            self._file.begin(line)
            self._left = MAX_VALUES
            value = self._value(event, 3)
            yield Piece(line, value, self._take_faults() if self._faults else ())

    def _root(self, event_type: type, expected: str) -> Any:
        self._event = self._loader(self._file).get_event  # which may read, and complain, already
        event = self._event()
        while event is not None and not isinstance(event, (DocumentStartEvent, StreamEndEvent)):
            event = self._event()
        if not isinstance(event, DocumentStartEvent):
            raise ConfigError(f"{self._file.name}: the file is empty; {expected}")
        event = self._event()
        if not isinstance(event, event_type):
            names = {MappingStartEvent: "a mapping", SequenceStartEvent: "a list"}
            actual = names.get(type(event)) or kind(self._value(event, 1))
            self._fail(_line(event), f"{expected}, not {actual}")
        self._check_node(event)
        return event

    def _end(self) -> None:
        event = self._event()
        while isinstance(event, DocumentEndEvent):
            event = self._event()
        if not isinstance(event, StreamEndEvent):
            self._fail(_line(event), "a second document begins here; write one suite per file")

    def _value(self, event: Any, depth: int) -> Any:
        if isinstance(event, ScalarEvent):
            return self._scalar(event)
        if isinstance(event, AliasEvent):
            return self._fault(_line(event), f"*{event.anchor:.80} is an alias; write out what it stands for")
        self._check_node(event)
        if depth > MAX_DEPTH:
            self._fail(_line(event), TOO_DEEP)
        if isinstance(event, MappingStartEvent):
            return self._mapping(event, depth)
        return self._list(event, depth)

    def _mapping(self, start: Any, depth: int) -> Mapped:
        made = Mapped(_line(start))
        lines = made.lines
        get, keys = self._event, self._keys
        while (event := get()).__class__ is not MappingEndEvent:
            line = event.start_mark.line + 1
            # Nearly all cases have the keys of the one before.
            is_known = event.__class__ is ScalarEvent and event.value in keys and event.tag is event.anchor is None
            key = event.value if is_known else self._key(event)
            value = get()
            read = self._scalar(value) if value.__class__ is ScalarEvent else self._value(value, depth + 1)
            if key in made:
                self._fault(line, f"duplicate key {key!r:.80}; first in line {lines[key]}")
                continue
            made[key] = read
            lines[key] = line
            self._left -= 1
            if self._left < 0:
                self._fail(line, TOO_MANY)
        return made

    def _list(self, start: Any, depth: int) -> Listed:
        made = Listed(_line(start))
        while (event := self._event()).__class__ is not SequenceEndEvent:
            line = _line(event)
            made.append(self._value(event, depth + 1))
            made.lines.append(line)
            self._left -= 1
            if self._left < 0:
                self._fail(line, TOO_MANY)
        return made

    def _key(self, event: Any) -> str:
        if not isinstance(event, ScalarEvent):
            self._fail(_line(event), "a key must be text")
        fault_count = len(self._faults)
        key = self._scalar(event)
        if isinstance(key, str):
            if key == "<<" and event.implicit[0]:
                self._fault(_line(event), "<< is a merge key; write the keys out")
            elif key and key[0] not in SUSPECTS and len(self._keys) < _MOST_KEYS:
                self._keys.add(key)
            return key
        if isinstance(key, int) and not isinstance(key, bool):
            return str(key)  # as JSON would have it: the score bands of a rubric begin with numbers
        if len(self._faults) == fault_count:
            self._fault(_line(event), f"the key {event.value!r:.80} must be text; put it in quotes")
        return str(event.value)

    def _scalar(self, event: Any) -> Any:
        if event.tag is not None or event.anchor is not None:
            return self._tagged_scalar(event)
        text = event.value
        if not event.implicit[0]:
            return text if text.isascii() else storable(text)
        if text and text[0] not in SUSPECTS:
            return text
        try:
            return meaning(text)
        except SurpriseError as surprise:
            return self._fault(_line(event), str(surprise))

    def _tagged_scalar(self, event: Any) -> Any:
        """Read a scalar that has a tag or an anchor: tags for plain kinds say nothing new, others are refused."""
        self._check_node(event)
        name = (event.tag or "").removeprefix(_CORE)
        if name in {"str", "!", ""} or name not in _TAGS:
            return event.value
        try:
            value = meaning(event.value)
        except SurpriseError as surprise:
            return self._fault(_line(event), str(surprise))
        if not isinstance(value, _TAGS[name]) or (isinstance(value, bool) and name != "bool"):
            return self._fault(_line(event), f"{event.value!r:.80} does not fit its tag !!{name}")
        return value

    def _check_node(self, event: Any) -> None:
        """Refuse anchors, and tags that could stand for anything."""
        line = _line(event)
        if event.anchor is not None:
            self._fault(line, f"&{event.anchor:.80} is an anchor; write out what it stands for wherever it is used")
        if event.tag in {None, "!"}:
            return
        name = event.tag.removeprefix(_CORE)
        collection = _COLLECTION_TAGS.get(type(event))
        if name == event.tag or (name not in _TAGS if collection is None else name != collection):
            tag = event.tag if name == event.tag else f"!!{name}"
            self._fault(
                line, f"the tag {tag:.80} is refused: a suite holds plain data; put text that begins with ! in quotes"
            )

    def _fault(self, line: int, text: str) -> None:
        """Note a mistake that does not keep the rest from being read."""
        if len(self._faults) < _MOST_FAULTS:
            self._faults.append(Fault(line, text))

    def _take_faults(self) -> tuple[Fault, ...]:
        faults, self._faults = tuple(self._faults), []
        return faults

    def _fail(self, line: int, text: str) -> NoReturn:
        raise ConfigError(f"{self._file.name}:{line}: {text}")


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


# To YAML these begin a line too.
_OTHER_LINE_FEEDS: Final = "\r\x85\u2028\u2029"


def may_have_keys_after(file: TextFile, index: int, column: int) -> bool:
    """Return whether a key may follow on a place in a file, no further in than a column; never misses one."""
    # A pattern that begins with one letter, rather than a choice of them, is looked for many times as fast.
    pattern = re.compile(rf"\n {{0,{column}}}(?:[^\s#-]|-(?!\s))")
    text = ""
    while chunk := file.read(1 << 16):
        file.begin(1)
        for other in _OTHER_LINE_FEEDS:
            chunk = chunk.replace(other, "\n")
        text += chunk
        if pattern.search(text, index):
            return True
        # A line may begin in one chunk and go on in the next.
        kept = min(len(text), column + 2)
        index = max(0, index - (len(text) - kept))
        text = text[-kept:]
    return False
