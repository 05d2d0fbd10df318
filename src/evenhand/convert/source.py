"""The file of another tool: read strictly, key by key, so that nothing in it is lost without a word."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple

from evenhand.domain.context import context_from
from evenhand.domain.errors import ConfigError
from evenhand.reports.safe_text import plain as one_line
from evenhand.suites.json_reader import JsonReader, read_lines
from evenhand.suites.text_file import NamedFiles, TextFile
from evenhand.suites.values import INLINE, MAX_VALUES, Fault, Listed, Mapped, format_fault, plain
from evenhand.suites.yaml_reader import YamlReader

_YAML: Final = (".yaml", ".yml")
_LINES: Final = (".jsonl", ".ndjson")
_FILE: Final = "file://"
_REMOTE: Final = ("http://", "https://", "package:", "huggingface://", "s3://", "gs://", "az://")
_PROGRAMS: Final = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py", ".rb", ".go")

# The lists that may be long; they are read item by item.
_LISTS: Final = frozenset({"tests", "evalcases", "eval_cases", "examples", "data", "dataset", "cases"})

NO_PLACE: Final = "Evenhand has nothing for it"


class Loaded(NamedTuple):
    """A value from a file, with the name that messages have for the file."""

    value: Any
    file: str


class CannotCarryError(Exception):
    """Something that cannot be carried over; says why."""


class Left:
    """What is not carried over, or not exactly: a line each, with its place in the source and the reason."""

    def __init__(self) -> None:
        # By file, each in the order in which it came up.
        self._faults: dict[str, set[Fault]] = {}

    @property
    def lines(self) -> tuple[str, ...]:
        """The lines, each once, file by file and in the order of the source."""
        return tuple(
            one_line(format_fault(file, fault), None)
            for file, faults in self._faults.items()
            for fault in sorted(faults)
        )

    def note(self, file: str, line: int, text: str) -> None:
        """List something that is carried over in another way."""
        self._faults.setdefault(file, set()).add(Fault(line, text))

    def add(self, file: str, line: int, what: str, reason: str) -> None:
        """List something that is not carried over."""
        self.note(file, line, f"{what} is not carried over: {reason}")


class Part:
    """A mapping of the source while it is carried over: whatever nobody takes is listed in the end.

    >>> left = Left()
    >>> with Part(Mapped(1), "the test", file="suite.yaml", left=left) as part:
    ...     part.take("vars")
    >>> left.lines
    ()
    """

    def __init__(self, mapping: Mapped, name: str, *, file: str, left: Left) -> None:
        self.mapping = mapping
        self.name = name
        self.file = file
        self.left = left
        self._taken: set[str] = set()

    def __enter__(self) -> Part:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.leave_rest(NO_PLACE)

    def take(self, *keys: str) -> Any:
        """Return the value of the first key that has one, which is thereby dealt with; None where none has."""
        for key in keys:
            if self.mapping.get(key) is not None:
                self._taken.add(key)
                return self.mapping[key]
        return None

    def has(self, key: str) -> bool:
        """Return whether a key has a value that was not taken yet."""
        return key not in self._taken and self.mapping.get(key) is not None

    def line(self, *keys: str) -> int:
        """Return the line of the first key that is there, else that of the mapping."""
        return next((self.mapping.lines[key] for key in keys if key in self.mapping.lines), self.mapping.line)

    def part(self, key: str, name: str) -> Part | None:
        """Take a mapping as a part of its own; anything else under the key is listed."""
        value = self.take(key)
        if isinstance(value, Mapped):
            return Part(value, name, file=self.file, left=self.left)
        if value is not None:
            self.leave(key, "it must be a mapping")
        return None

    def listed(self, *keys: str) -> Listed:
        """Take a list; anything else under the key is listed."""
        value = self.take(*keys)
        if isinstance(value, Listed):
            return value
        if value is not None:
            self.leave(next(key for key in keys if self.mapping.get(key) is not None), "it must be a list")
        return Listed(self.mapping.line)

    def leave(self, key: str, reason: str) -> None:
        """List a key, if it has a value."""
        if self.mapping.get(key) is not None:
            self._taken.add(key)
            self.left.add(self.file, self.line(key), f"{self.name}: {key}", reason)

    def leave_rest(self, reason: str) -> None:
        """List every key that was not taken."""
        for key in [key for key in self.mapping if self.has(key)]:
            self.leave(key, reason)

    def leave_whole(self, reason: str) -> None:
        """List the mapping itself, in place of its keys."""
        self._taken.update(self.mapping)
        self.left.add(self.file, self.mapping.line, self.name, reason)

    def note(self, text: str, *keys: str) -> None:
        """List something that is carried over in another way."""
        self.left.note(self.file, self.line(*keys), f"{self.name}: {text}")


class Source:
    """The file that is converted, and its folder: no file outside it is ever read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.absolute().parent

    def read(self) -> Loaded:
        """Read the file itself."""
        return Loaded(read_value(self.path, name=str(self.path)), str(self.path))

    def text(self, reference: str) -> str:
        """Return the text of a file that the source names, ``file://`` or not."""
        name = _local_name(reference)
        try:
            return NamedFiles(self.folder).read(name)
        except ConfigError as error:
            raise CannotCarryError(str(error)) from None

    def value(self, reference: str) -> Loaded:
        """Return the value in a YAML, JSON, JSONL or CSV file that the source names."""
        self.text(reference)  # which refuses what is not in the folder, or no text
        name = _local_name(reference)
        try:
            return Loaded(read_value(self.folder / name, name=name), name)
        except ConfigError as error:
            raise CannotCarryError(str(error)) from None


def is_file(value: object) -> bool:
    """Return whether a value is a reference to a file."""
    return isinstance(value, str) and value.startswith(_FILE)


def _local_name(reference: str) -> str:
    name = reference.removeprefix(_FILE)
    if name.startswith(_REMOTE):
        raise CannotCarryError("nothing is fetched from elsewhere; save it in the folder, and name the file")
    if name.endswith(_PROGRAMS) or any(f"{ending}:" in name for ending in _PROGRAMS):
        raise CannotCarryError(f"{name:.80} is a program, and no program of another tool is run")
    if "*" in name:
        raise CannotCarryError(f"{name:.80} is a pattern; name the files one by one")
    return name


def read_value(path: Path, *, name: str) -> Any:
    """Read a whole YAML, JSON, JSONL or CSV file, with the line of every value; every mistake is reported."""
    ending = path.suffix.lower()
    if ending == ".csv":
        return _read_table(path, name)
    if ending not in (*_YAML, *_LINES, ".json"):
        raise ConfigError(f"{name}: only .yaml, .yml, .json, .jsonl and .csv files are read")
    faults: list[Fault] = []
    value: Mapped | Listed
    if ending not in _LINES and not _is_list(path, name):
        value = Mapped(1)
        current = Listed(1)
        with TextFile(path, name=name) as file:
            for piece in _reader(file, ending).suite(_LISTS):
                faults += piece.faults
                if piece.key is None:
                    current.append(piece.value)
                    current.lines.append(piece.line)
                    continue
                if piece.value is INLINE:
                    current = Listed(piece.line)
                value.setdefault(piece.key, current if piece.value is INLINE else piece.value)
                value.lines.setdefault(piece.key, piece.line)
    else:
        value = Listed(1)
        with TextFile(path, name=name) as file:
            for piece in read_lines(file) if ending in _LINES else _reader(file, ending).cases():
                faults += piece.faults
                value.append(piece.value)
                value.lines.append(piece.line)
                if len(value) > MAX_VALUES:
                    raise ConfigError(f"{name}: there are more than {MAX_VALUES:,} items; split the file")
    if faults:
        raise ConfigError("\n".join(format_fault(name, fault) for fault in faults))
    return value


def _is_list(path: Path, name: str) -> bool:
    with TextFile(path, name=name) as file:
        return _reader(file, path.suffix.lower()).is_list()


def _reader(file: TextFile, ending: str) -> YamlReader | JsonReader:
    return YamlReader(file) if ending in _YAML else JsonReader(file)


def _read_table(path: Path, name: str) -> Listed:
    """Read a table: a mapping of text for each row."""
    table = Listed(1)
    with TextFile(path, name=name) as file:
        text = "".join(iter(file.read, ""))
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        heads = [head.strip() for head in next(reader, [])]
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                table.append(_row(heads, cells, line, name))
                table.lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise ConfigError(f"{name}:{reader.line_num}: not CSV: {error}") from None
    return table


def _row(heads: list[str], cells: list[str], line: int, name: str) -> Mapped:
    if len(cells) > len(heads) or len(set(heads)) < len(heads):
        raise ConfigError(f"{name}:{line}: {len(cells)} values under {len(heads)} names; each name must be there once")
    row = Mapped(line)
    row.update(zip(heads, cells, strict=False))
    row.lines.update(dict.fromkeys(row, line))
    return row


def items(listed: Listed) -> Iterator[tuple[Any, int]]:
    """Yield the items of a list with their lines."""
    return zip(listed, listed.lines, strict=True)


def as_context(value: Any) -> Any:
    """Return a value that a case can have as its context: a text, or a list of documents; None for any other.

    >>> as_context(["Returns: 30 days."])
    ['Returns: 30 days.']
    """
    made = plain(value)
    try:
        return None if context_from(made) is None else made
    except ConfigError:
        return None
