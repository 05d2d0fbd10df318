"""Rows of tables as cases: which column is which key of a case, what is missing, and what becomes metadata.

These rules hold wherever rows come from: CSV, Parquet, data frames, mappings from Python, and files of cases without a
suite.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any, Final, NamedTuple

from evenhand.domain.errors import ConfigError, did_you_mean
from evenhand.suites.cases import NAMES
from evenhand.suites.json_reader import read_value
from evenhand.suites.values import ELSEWHERE, MOST_GUESSED, Fault, Listed, Mapped, Piece, name_hint

# Names of pandas' classes for a value that is missing.
_MISSING: Final = frozenset({"NAType", "NaTType"})
_METADATA: Final = "metadata."
# Keys whose text is JSON, with an example of what is right.
_JSON: Final = {
    "rubrics": '["Names Paris"]',
    "evaluators": '[{"type": "contains"}]',
    "metadata": '{"topic": "geography"}',
    "output_messages": '[{"role": "assistant", "content": "Paris"}]',
}
_NUMBERS: Final = frozenset({"latency", "cost"})
_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,300}(\.[0-9]{0,300})?([eE][+-]?[0-9]{1,3})?")
# Rows of one table have the same columns; rows of JSON may all differ.
_MOST_LAYOUTS: Final = 256
_MOST_NAMED: Final = 20


def columns_of(value: Any) -> dict[str, str]:
    """Return the column of each key of a case, as ``columns`` gives them; raises ``ConfigError`` for what is wrong.

    >>> columns_of({"input": "question", "metadata.lang": "language"})
    {'input': 'question', 'metadata.lang': 'language'}
    """
    if not isinstance(value, Mapping) or not value:
        raise ConfigError("columns must be a mapping of keys of a case to columns, such as {input: question}")
    columns: dict[str, str] = {}
    keys: dict[str, str] = {}
    for key, column in value.items():
        name = key if isinstance(key, str) and len(key) > len(_METADATA) and key.startswith(_METADATA) else None
        name = name or NAMES.get(key)
        if name is None:
            raise ConfigError(f"columns: a case has no key {key!r:.80}{name_hint(str(key), NAMES)}", key=key)
        if name in columns:
            raise ConfigError(f"columns: {name} and {key} are two names for the same thing; give one", key=key)
        if not isinstance(column, str) or not column:
            raise ConfigError(f"columns: {key} must be the name of a column, not {column!r:.80}", key=key)
        if column in keys:
            raise ConfigError(
                f"columns: {column!r:.80} is given for {keys[column]} and for {key}; give it once", key=key
            )
        columns[name] = column
        keys[column] = key
    return columns


class _Place(NamedTuple):
    """Where a column goes: to a key of the case, or of its metadata."""

    column: str
    key: str
    is_metadata: bool


class _Layout(NamedTuple):
    """Where the columns of a row go, and what is wrong with their names."""

    places: tuple[_Place, ...]
    faults: tuple[tuple[str, str], ...]


class Rows:
    """Makes cases out of rows; ``columns`` says which column is which key where the names differ.

    With a target, a case need not have an answer, and a column such as ``response`` is something else.
    """

    def __init__(self, columns: Mapping[str, str] | None = None, *, has_target: bool = False) -> None:
        self._columns = columns or {}
        self._keys = {column: key for key, column in self._columns.items()}
        self._unseen = dict(self._columns)
        self._names: dict[str, None] = {}
        self._has_target = has_target
        self._layouts: dict[tuple[str, ...], _Layout] = {}

    def check_heading(self, names: Iterable[str]) -> None:
        """Refuse a table whose columns are not those of cases; raises ``ConfigError``."""
        known = list(names)
        for key, column in self._columns.items():
            if column not in known:
                raise ConfigError(f"columns: there is no column {column!r:.80} for {key}{_near(column, known)}")
        layout = self._layout(tuple(known))
        if layout.faults:
            raise ConfigError(layout.faults[0][1])
        if all(place.is_metadata for place in layout.places):
            named = ", ".join(map(repr, known[:_MOST_NAMED]))[:400]
            raise ConfigError(
                "the first line must name the columns, and none is a key of a case, such as input or "
                f"candidate_answer: {named}; map them with columns, such as columns: {{input: {known[0]:.40}}}"
            )

    def piece(self, piece: Piece, *, is_table: bool = False) -> Piece:
        """Return a row as a case with the keys of one in a suite; in tables, None stands for a missing value."""
        if not isinstance(piece.value, Mapped) or piece.faults:
            return piece
        faults: list[Fault] = []
        value = self._row(piece.value, faults, is_table=is_table)
        return Piece(piece.line, value, tuple(faults))

    def check_all_seen(self) -> None:
        """Refuse ``columns`` that no row had; for rows whose columns are known one by one, once all are read."""
        for key, column in self._unseen.items():
            if self._names:
                raise ConfigError(f"columns: no case has {column!r:.80} for {key}{_near(column, self._names)}")

    def _row(self, written: Mapped, faults: list[Fault], *, is_table: bool) -> Mapped:
        row, more = Mapped(written.line), Mapped(written.line)
        lines = written.lines
        layout = self._layout(tuple(written))
        faults += [Fault(lines[column], text) for column, text in layout.faults]
        for column, key, is_metadata in layout.places:
            value, line = written[column], lines[column]
            if value.__class__ is not str and (_is_missing(value) or (is_table and value is None)):
                if not is_metadata and not self._has_target and NAMES[key] == "candidate_answer":
                    faults.append(Fault(line, _no_answer(column, value)))
                continue
            if is_metadata:
                if key in more:
                    faults.append(Fault(line, f"{key!r:.80} is in the metadata twice; give it once"))
                more[key] = value
                more.lines[key] = line
            else:
                row[key] = _cell(NAMES[key], column, value, line, faults)
                row.lines[key] = line
        return _with_metadata(row, more, faults) if more else row

    def _layout(self, names: tuple[str, ...]) -> _Layout:
        layout = self._layouts.get(names)
        if layout is None:
            if len(self._layouts) >= _MOST_LAYOUTS:
                self._layouts.clear()
            layout = self._layouts[names] = self._made_layout(names)
            if self._unseen:
                self._unseen = {key: column for key, column in self._unseen.items() if column not in names}
                self._names.update(dict.fromkeys(names[:_MOST_LAYOUTS] if len(self._names) < _MOST_LAYOUTS else ()))
        return layout

    def _made_layout(self, names: tuple[str, ...]) -> _Layout:
        mapped = {key for column, key in self._keys.items() if column in names}
        fields = mapped | {NAMES[name] for name in names if name in NAMES and name not in self._keys}
        fields |= {"candidate_answer"} if self._has_target else set()
        places: list[_Place] = []
        faults: list[tuple[str, str]] = []
        for name in names:
            key = self._keys.get(name)
            if key is not None:
                is_metadata = key.startswith(_METADATA)
                places.append(_Place(name, key.removeprefix(_METADATA) if is_metadata else key, is_metadata))
            elif name in NAMES:
                # Where another column is that key, this one is the user's own.
                places.append(_Place(name, name, NAMES[name] in self._columns))
            elif _is_further(name, fields):
                places.append(_Place(name, name, True))
            else:
                faults.append((name, f"no key {name!r:.80}{name_hint(name, NAMES)}{_mapping_hint(name)}"))
        return _Layout(tuple(places), tuple(faults))


def _near(column: str, known: Iterable[str]) -> str:
    names = list(known)[: 10 * _MOST_NAMED]
    hint = did_you_mean(column[:MOST_GUESSED], (name[:MOST_GUESSED] for name in names))
    return hint if hint.endswith("?") else f"; known: {', '.join(names[:_MOST_NAMED])[:400]}"


def _mapping_hint(name: str) -> str:
    ours = NAMES.get(ELSEWHERE.get(name, ""))
    return "" if ours is None else f", or write columns: {{{ours}: {name}}}"


def _no_answer(column: str, value: object) -> str:
    how = " (NaN)" if value is not None else ""
    return f"{column} is missing{how}; give text, leave out the row, or give a target that makes answers"


# Words that are near a name and mean something else.
_NO_MISTAKES: Final = frozenset({"content"})


def _is_further(key: str, fields: set[str]) -> bool:
    """Return whether a key is the user's own, and not one of a case, a misspelt one, or another tool's name for one.

    Where the case has that field already, a key such as ``response`` is something else.
    """
    ours = NAMES.get(ELSEWHERE.get(key, ""))
    if ours is not None and ours not in fields:
        return False
    near = difflib.get_close_matches(key[:MOST_GUESSED], NAMES, n=1, cutoff=0.75)
    return not near or key in _NO_MISTAKES or key.startswith(f"{near[0]}_")  # such as question_id


def _is_missing(value: object) -> bool:
    """Return whether a value is what tables have where there is none."""
    return (isinstance(value, float) and math.isnan(value)) or type(value).__name__ in _MISSING


def _cell(name: str, column: str, value: Any, line: int, faults: list[Fault]) -> Any:
    """Return a value as the key of a case takes it: text is read as JSON or as a number where the key is that."""
    if name == "id":
        return str(value) if type(value) is int else value
    if not isinstance(value, str):
        return value
    if name in _JSON:
        read = read_value(value, line)
        example = f"{column} must be JSON, such as {_JSON[name]}"
        faults += [Fault(line, f"{example}: {fault.text}") for fault in read.faults]
        return read.value
    return _number(value.strip()) if name in _NUMBERS else value


def _number(text: str) -> float | str:
    """Return the number that a text is, else the text, which is then refused."""
    if not _NUMBER.fullmatch(text):
        return text
    return int(text) if text.isdigit() and len(text) < 18 else float(text)


def _with_metadata(row: Mapped, more: Mapped, faults: list[Fault]) -> Mapped:
    own = row.get("metadata")
    if own is None:
        row["metadata"] = more
        row.lines["metadata"] = more.line
        return row
    if not isinstance(own, Mapped):  # which is refused
        return row
    faults += [
        Fault(more.lines[key], f"{key!r:.80} is a key of the metadata too; give it once") for key in more if key in own
    ]
    whole = Mapped(own.line)
    whole.update({**own, **more})
    whole.lines.update({**own.lines, **more.lines})
    return row.with_value("metadata", whole)


def mapped(case: Mapping[Any, Any], line: int) -> Mapped:
    """Return a mapping from Python as one from a file, where the same rules hold; its line is its number."""
    made = Mapped(line)
    for key, value in case.items():
        made[str(key)] = _from_file(value, line)
        made.lines[str(key)] = line
    return made


def _from_file(value: object, line: int) -> object:
    # numpy has texts, numbers and lists of its own.
    if isinstance(value, str):
        return str(value)
    if type(value).__module__ == "numpy" and callable(to_list := getattr(value, "tolist", None)):
        value = to_list()
    if isinstance(value, date | time) and not _is_missing(value):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return mapped(value, line)
    if isinstance(value, list | tuple):
        listed = Listed(line)
        listed.extend(value)
        listed.lines = [line] * len(value)
        return listed
    return value
