"""Reading CSV and TSV strictly and row by row: what spreadsheets write, and no guess where it could be two things."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from evenhand.domain.errors import ConfigError
from evenhand.suites.text_file import TextFile
from evenhand.suites.values import Fault, Mapped, Piece, format_fault

_CHUNK: Final = 1 << 16
_DELIMITERS: Final = {",": "commas", ";": "semicolons", "\t": "tabs"}
_TABS: Final = (".tsv", ".tab")
TABLES: Final = (".csv", *_TABS)
# What Excel reads and writes in a line before the first: which character separates the cells.
_SEPARATOR_LINE: Final = re.compile(r"sep=(.)", re.IGNORECASE)
_IN_QUOTES: Final = re.compile(r'(?:[^"]|"")*+')
_MOST_COLUMNS: Final = 10_000
_CARRIAGE_RETURN: Final = "a carriage return that ends no line; save the file with usual line ends, or quote the cell"

# What people mean to be a table and is none, by its ending and by its first bytes.
_EXPORT: Final = "it is an Excel workbook; export it as CSV (UTF-8)"
_UNPACK: Final = "it is packed; unpack it"
OTHER_ENDINGS: Final = {
    **dict.fromkeys((".xlsx", ".xls", ".xlsm", ".xlsb"), _EXPORT),
    ".ods": "it is a spreadsheet; export it as CSV (UTF-8)",
    **dict.fromkeys((".gz", ".zip", ".bz2", ".xz", ".zst", ".7z"), _UNPACK),
}
_OTHER_BEGINNINGS: Final = {
    b"PK\x03\x04": "this is a zip file or an Excel workbook, whatever its name; export it as CSV (UTF-8), or unpack it",
    b"\xd0\xcf\x11\xe0": "this is an Excel workbook, whatever its name; export it as CSV (UTF-8)",
    b"\x1f\x8b": "this is packed by gzip, whatever its name; unpack it",
    b"PAR1": "this is a Parquet file; name it .parquet",
    b"ARROW1": "this is an Arrow file; name it .arrow",
    b"\xff\xfe": "this looks like UTF-16; save it as UTF-8",
    b"\xfe\xff": "this looks like UTF-16; save it as UTF-8",
}


def read_table(
    source: Path | bytes,
    check_heading: Callable[[list[str]], None],
    *,
    name: str | None = None,
    such_as: str = "input",
) -> Iterator[Piece]:
    """Read a table row by row; an empty cell is None. A row that is wrong does not hide the next.

    ``check_heading`` gets the names of the columns; what it raises is told with its place, which is that of the file,
    or ``name`` for a table in memory. ``such_as`` is an example of a column.
    """
    with TextFile(source, name=name) as file:
        _refuse_others(source, file.name)
        delimiter = "\t" if Path(file.name).suffix.lower() in _TABS else None
        records = _Records(file, delimiter)
        rows = iter(records)
        heading = next(rows, None)
        if heading is None:
            raise ConfigError(f"{file.name}: the file is empty; the first line names the columns, such as {such_as}")
        names = heading.cells
        for text in _heading_faults(heading):
            raise ConfigError(format_fault(file.name, Fault(heading.line, text)))
        try:
            check_heading(names)
        except ConfigError as error:
            raise ConfigError(format_fault(file.name, Fault(heading.line, str(error)))) from None
        for row in rows:
            line, cells = row.line, row.cells
            if row.problem or len(cells) != len(names):
                yield Piece(line, None, (Fault(line, row.problem or _miscounted(cells, names, records.delimiter)),))
            elif any(cells):
                mapped = Mapped(line)
                mapped.update(zip(names, (cell or None for cell in cells), strict=True))
                mapped.lines = dict.fromkeys(names, line)
                yield Piece(line, mapped)


class _Record(NamedTuple):
    line: int
    cells: list[str]
    problem: str = ""


class _Records:
    """The rows of a file with their lines; the first one decides what separates the cells."""

    def __init__(self, file: TextFile, delimiter: str | None) -> None:
        self._file = file
        self._given = delimiter
        self.delimiter = ""
        # The row that is being read: the line it begins in, its cells, and the cell in quotes that is open.
        self._began = 1
        self._cells: list[str] = []
        self._open: list[str] | None = None

    def __iter__(self) -> Iterator[_Record]:
        for number, line in self._lines():
            if self._is_before_heading(line, number):
                continue
            if self._open is None:
                self._began = number
                if '"' not in line and "\0" not in line:
                    text = line.removesuffix("\r")
                    if "\r" in text:
                        yield _Record(number, [], _CARRIAGE_RETURN)
                    elif text:
                        yield _Record(number, text.split(self.delimiter))
                    continue
            record = self._read(line)
            if record is not None:
                self._open, self._cells = None, []
                yield record
        if self._open is not None:
            yield _Record(self._began, [], "a quote is opened in this row and never closed")

    def _is_before_heading(self, line: str, number: int) -> bool:
        """Return whether a line comes before the one that names the columns; that one tells what separates them."""
        if self.delimiter:
            return False
        match = _SEPARATOR_LINE.fullmatch(line.removesuffix("\r"))
        if match:
            self._given = match[1]
        elif line.strip():
            self.delimiter = self._given or self._told_by(line, number)
        return not self.delimiter

    def _lines(self) -> Iterator[tuple[int, str]]:
        number = 1
        counted = 0
        rest = ""
        while chunk := self._file.read(_CHUNK):
            *lines, rest = (rest + chunk).split("\n")
            for line in lines:
                yield number, line
                number += 1
            if lines and self._open is None:
                self._file.begin(number)
            elif lines and counted != self._began:
                counted = self._began
                self._file.begin(counted, "; perhaps a quote in it is never closed")
        if rest:
            yield number, rest

    def _told_by(self, line: str, number: int) -> str:
        """Return what separates the names in the first line; quoted names do not count."""
        bare = re.sub(r'"[^"]*+"?', "", line)
        present = [mark for mark in _DELIMITERS if mark in bare]
        if len(present) > 1:
            words = " and ".join(_DELIMITERS[mark] for mark in present)
            text = (
                f"the first line has {words}, and it cannot be told which separate the columns; write names that "
                f"contain one in quotes, or sep={present[0]} in a line before it"
            )
            raise ConfigError(format_fault(self._file.name, Fault(number, text)))
        if not present and "|" in bare:
            return "|"
        return present[0] if present else ","

    def _read(self, line: str) -> _Record | None:
        """Read a line with quotes; None if a cell goes on in the next."""
        if "\0" in line:
            return _Record(self._began, [], "this row contains the character NUL; is the file text, in UTF-8?")
        at = 0
        while True:
            if self._open is None and not line.startswith('"', at):
                end = line.find(self.delimiter, at)
                cell = line[at:].removesuffix("\r") if end < 0 else line[at:end]
                if "\r" in cell:
                    return _Record(self._began, [], _CARRIAGE_RETURN)
                self._cells.append(cell)
                if end < 0:
                    return _Record(self._began, self._cells)
                at = end + 1
                continue
            if self._open is None:
                self._open = []
                at += 1
            match = _IN_QUOTES.match(line, at)
            end = match.end() if match else at
            self._open.append(line[at:end])
            if end == len(line):
                self._open.append("\n")
                return None
            self._cells.append("".join(self._open).replace('""', '"'))
            self._open = None
            if line[end + 1 : end + 3] in ("", "\r"):
                return _Record(self._began, self._cells)
            if not line.startswith(self.delimiter, end + 1):
                number = len(self._cells)
                text = (
                    f"cell {number} goes on after its closing quote; double the quotes in it, and quote it as a whole"
                )
                return _Record(self._began, [], text)
            at = end + 2


def _refuse_others(source: Path | bytes, name: str) -> None:
    """Refuse what is no text, and say what it is."""
    if isinstance(source, Path):
        with source.open("rb") as file:
            beginning = file.read(8)
    else:
        beginning = source[:8]
    for first, text in _OTHER_BEGINNINGS.items():
        if beginning.startswith(first):
            raise ConfigError(f"{name}: {text}")
    if beginning[1:2] == b"\0" or beginning[:1] == b"\0":
        raise ConfigError(f"{name}: this looks like UTF-16; save it as UTF-8")


def _heading_faults(heading: _Record) -> Iterator[str]:
    if heading.problem:
        yield heading.problem
    names = heading.cells
    if len(names) > _MOST_COLUMNS:
        yield f"the table has {len(names):,} columns; at most {_MOST_COLUMNS:,} are allowed"
    seen: dict[str, int] = {}
    for number, name in enumerate(names, 1):
        if not name.strip():
            yield f"column {number} has no name; the first line names the columns: name it, or remove it"
        if name in seen:
            yield f"columns {seen[name]} and {number} have the same name, {name!r:.80}; rename one"
        seen[name] = number


def _miscounted(cells: list[str], names: list[str], delimiter: str) -> str:
    mark = "a tab" if delimiter == "\t" else repr(delimiter)
    found = f"{len(cells)} {'cell' if len(cells) == 1 else 'cells'}"
    which = f"; {names[len(cells)]!r:.80} is the first without one" if len(cells) < len(names) else ""
    return (
        f"this row has {found}, and the first line names {len(names)} columns{which}; a cell that contains "
        f"{mark} must be in quotes"
    )
