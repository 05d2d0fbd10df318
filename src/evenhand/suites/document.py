"""A suite on disk: the keys beside the cases, and the cases one by one, from whichever files."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand.domain.errors import ConfigError
from evenhand.suites.credentials import literal_credentials
from evenhand.suites.json_reader import JsonReader, read_lines
from evenhand.suites.parquet import ARROW_TABLES, read_arrow_table
from evenhand.suites.plain_yaml import plain_cases
from evenhand.suites.rows import Rows
from evenhand.suites.tables import OTHER_ENDINGS, TABLES, read_table
from evenhand.suites.text_file import TextFile, require_file
from evenhand.suites.values import INLINE, Fault, Mapped, Piece, format_fault, kind, plain
from evenhand.suites.yaml_reader import YamlReader, may_have_keys_after

_ENDINGS: Final = (".yaml", ".yml")


def read_mapping(path: str | os.PathLike[str], *, what: str) -> dict[str, Any]:
    """Read a file; every mistake in how it is written is reported with its line, and so is a key written out (SPEC-S1).

    ``what`` says what the file should be, for one that is something else.
    """
    file = Path(path)
    if not file.exists():
        raise ConfigError(
            f"{file}: there is no such file; {what}, in a file whose name ends in {' or '.join(_ENDINGS)}"
        )
    if file.suffix.lower() not in _ENDINGS:
        raise ConfigError(f"{file}: {what}, in a file whose name ends in {' or '.join(_ENDINGS)}")
    with TextFile(file) as text:
        pieces = list(_MappingReader(text, what).suite(frozenset()))
    faults = [fault for piece in pieces for fault in piece.faults]
    faults += [fault for piece in pieces for fault in literal_credentials({str(piece.key): piece.value}, piece.line)]
    if faults:
        raise ConfigError("\n".join(format_fault(file, fault) for fault in faults))
    return {str(piece.key): plain(piece.value) for piece in pieces}


class _MappingReader(YamlReader):
    """Reads a mapping that is no suite, and says so."""

    def __init__(self, file: TextFile, expected: str) -> None:
        super().__init__(file)
        self._expected = expected

    def _root(self, event_type: type, expected: str) -> Any:  # noqa: ARG002 - that is about suites
        return super()._root(event_type, self._expected)


CASE_KEYS: Final = ("cases", "evalcases", "tests")
_CASE_KEYS: Final = frozenset(CASE_KEYS)
_YAML: Final = (".yaml", ".yml")
_JSON: Final = (".json",)
_LINES: Final = (".jsonl", ".ndjson")
_TABLES: Final = TABLES + ARROW_TABLES
# Files that have cases and nothing else, whatever is in them.
_CASES_ONLY: Final = _LINES + _TABLES
_ENDINGS_OF_CASES: Final = "a .jsonl, .json, .yaml, .csv, .tsv, .parquet or .arrow file"

Reader: TypeAlias = YamlReader | JsonReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The files of a suite; ``header`` is all but the cases, which are in ``case_files``, if these are known.

    ``first_case`` is the line from which cases beside the header may be read as plain ones.
    """

    path: Path
    header: Mapped
    faults: tuple[Fault, ...]
    case_files: tuple[Path, ...]
    is_inline: bool = False
    first_case: int | None = None

    def cases(self) -> Iterator[Piece]:
        """Read the cases as they are written, one by one, from the beginning."""
        for _, piece in self.rows(None):
            yield piece

    def rows(self, rows: Rows | None, *, every: bool = True) -> Iterator[tuple[Path, Piece]]:
        """Read the cases, each with the file that it is in; ``rows`` makes cases of rows.

        Those of tables, and of all files with ``every``.
        """
        for path in self.case_files:
            if path.suffix.lower() in _TABLES:
                heading = _any_heading if rows is None else rows.check_heading
                read = read_arrow_table if path.suffix.lower() in ARROW_TABLES else read_table
                for piece in read(path, heading):
                    yield path, piece if rows is None else rows.piece(piece, is_table=True)
                continue
            for piece in self._pieces(path):
                yield path, rows.piece(piece) if every and rows is not None else piece
        if rows is not None and every:
            try:
                rows.check_all_seen()
            except ConfigError as error:
                raise ConfigError(f"{self.path}: {error}") from None

    def _pieces(self, path: Path) -> Iterator[Piece]:
        read: int | None = 0
        first_line = self.first_case if self.is_inline else 1
        if first_line is not None and path.suffix.lower() in _YAML:
            with TextFile(path) as file:
                read = yield from plain_cases(file, first_line)
            if read is None:
                return
        with TextFile(path) as file:
            if path.suffix.lower() in _LINES:
                yield from read_lines(file)
            else:
                yield from itertools.islice(self._parsed(file, path), read, None)

    def _parsed(self, file: TextFile, path: Path) -> Iterator[Piece]:
        reader = _reader(file, path)
        if self.is_inline:
            return (piece for piece in reader.suite(_CASE_KEYS) if piece.key is None)
        return reader.cases()


def _any_heading(_: list[str]) -> None:
    """Take any columns."""


def open_document(path: Path) -> Document:
    """Find the files of a suite and read all but the cases."""
    require_file(path)
    if path.suffix.lower() in _CASES_ONLY:
        return _beside(path)
    if path.suffix.lower() not in _YAML + _JSON:
        raise ConfigError(
            f"{path}: a suite is a .yaml, .yml or .json file, or a .jsonl or .csv file with a .yaml file next to it"
            f"{_advice(path)}"
        )
    return _read_document(path)


def open_case_files(path: Path) -> Document | None:
    """Return files that have cases and nothing else, and no suite next to them; None for any other.

    The path may be a pattern, such as ``data/*.csv``.
    """
    several = _matching(Path(), str(path))
    if several is not None:
        return Document(path=path, header=Mapped(1), faults=(), case_files=several)
    require_file(path)
    ending = path.suffix.lower()
    if ending in _CASES_ONLY:
        is_alone = _suite_beside(path) is None
    elif ending in _YAML + _JSON:
        with TextFile(path) as file:
            is_alone = _reader(file, path).is_list()
    else:
        is_alone = False
    return Document(path=path, header=Mapped(1), faults=(), case_files=(path,)) if is_alone else None


def _beside(cases: Path) -> Document:
    """Find the suite that belongs to a file of cases."""
    if (document := _suite_beside(cases)) is not None:
        return document
    suite_path = cases.with_suffix(".yaml")
    raise ConfigError(f"{cases} has cases and nothing to judge them by; write {suite_path} with evaluators next to it")


def _suite_beside(cases: Path) -> Document | None:
    for suite in (cases.with_suffix(suffix) for suffix in _YAML):
        if suite.is_file():
            document = _read_document(suite, cases=cases)
            if document.case_files and not _has(document, cases):
                raise ConfigError(f"{suite} has its own cases; run {suite}, or set its cases to {cases.name}")
            return document
    for suite in (cases.with_name(f"suite{suffix}") for suffix in _YAML):
        if suite.is_file():
            document = _read_document(suite)
            if _has(document, cases):
                return document
    return None


def _has(document: Document, cases: Path) -> bool:
    return any(file.samefile(cases) for file in document.case_files)


def _read_document(path: Path, *, cases: Path | None = None) -> Document:
    header = Mapped(1)
    faults: list[Fault] = []
    case_key: str | None = None
    named: list[Piece] | None = None  # the files of cases
    inline = False
    first_case: int | None = None
    with TextFile(path) as file:
        reader = _reader(file, path)
        pieces = reader.suite(_CASE_KEYS)
        while (piece := next(pieces, None)) is not None:
            if piece.key is None:  # a case, whose turn comes later, or another file
                if named is not None:
                    named.append(piece)
                continue
            faults += piece.faults
            if piece.key not in _CASE_KEYS:
                header.setdefault(piece.key, piece.value)
                header.lines.setdefault(piece.key, piece.line)
                continue
            if case_key and case_key != piece.key:
                faults.append(
                    Fault(piece.line, f"{case_key} and {piece.key} are two names for the same thing; give one")
                )
            elif not case_key:
                case_key = piece.key
                inline = piece.value is INLINE
                named = None if inline else [piece]
                if inline and (first := _first_item(path, reader, pieces)) is not None:
                    inline = first.key is not None or not isinstance(first.value, str)
                    named = None if inline else []
                    first_case = first.line if isinstance(first.value, Mapped) and first.key is None else None
                    pieces = itertools.chain([first], pieces)
            if inline and not _may_have_more_keys(path, reader):
                break
    faults += _faults_of_cases(header, is_inline=inline, are_there=bool(case_key or cases))
    usual = () if cases is None else (cases,)
    files = usual if named is None else tuple(_case_files(path, case_key or "", named, faults))
    return Document(
        path=path,
        header=header,
        faults=tuple(faults),
        case_files=(path,) if inline else files,
        is_inline=inline,
        first_case=first_case,
    )


def _faults_of_cases(header: Mapped, *, is_inline: bool, are_there: bool) -> Iterator[Fault]:
    if not are_there:
        yield Fault(1, "there are no cases; list them under cases, or name a file there, such as cases.jsonl")
    if is_inline and header.get("columns") is not None:
        yield Fault(header.lines["columns"], "columns is for files of cases; here, write the keys of a case")


def _first_item(path: Path, reader: Reader, pieces: Iterator[Piece]) -> Piece | None:
    """Return what comes first in the list of cases, which may be a file; None if there is nothing that can be read."""
    try:
        return next(pieces, None)
    except ConfigError:
        if _may_have_more_keys(path, reader):
            raise
        return None  # a case, whose mistake is told when its turn comes


def _case_files(path: Path, key: str, named: list[Piece], faults: list[Fault]) -> Iterator[Path]:
    """Find the files that ``cases`` names, each once."""
    seen: set[Path] = set()
    for piece in named:
        if not isinstance(piece.value, str):
            ways = (
                "a list, or the path of a file with cases" if piece.key else "the path of a file, as the first one is"
            )
            faults.append(Fault(piece.line, f"{key} must be {ways}, not {kind(piece.value)}"))
            continue
        try:
            files = _files_like(path.parent, piece.value)
        except ConfigError as error:
            faults.append(Fault(piece.line, f"{key}: {error}"))
            continue
        for file in files:
            if (whole := file.resolve()) not in seen:
                seen.add(whole)
                yield file


def _files_like(folder: Path, name: str) -> tuple[Path, ...]:
    """Return the files of cases that a path or a pattern names, in their order."""
    files = _matching(folder, name)
    if files is None:
        files = (folder / name,)
        _require_ending(files[0], f"{name!r:.120}")
        require_file(files[0])
    return files


_PATTERN: Final = frozenset("*?[")


def _matching(folder: Path, name: str) -> tuple[Path, ...] | None:
    """Return the files that a pattern such as ``data/*.csv`` matches, sorted; None for the path of one file."""
    try:
        if not _PATTERN.intersection(name) or (folder / name).exists():
            return None
    except OSError:  # a name that is too long
        return None
    # A pattern is no path, and may begin at the root or above the folder, which a path's own ``glob`` refuses.
    matches = glob.iglob(os.path.join(glob.escape(str(folder)), name), recursive=True)  # noqa: PTH118, PTH207
    files = tuple(sorted(path for path in map(Path, matches) if not path.is_dir()))
    if not files:
        raise ConfigError(f"no file matches {name!r:.120}")
    for file in files:
        _require_ending(file, str(file))
        require_file(file)
    return files


def _require_ending(path: Path, name: str) -> None:
    ending = path.suffix.lower()
    if ending not in _YAML + _JSON + _CASES_ONLY:
        raise ConfigError(f"{name} must be {_ENDINGS_OF_CASES}{_advice(path)}")


def _advice(path: Path) -> str:
    """Say what to do with a file of another kind, if it is one that people often have."""
    advice = OTHER_ENDINGS.get(path.suffix.lower())
    return "" if advice is None else f"; {advice}"


def _may_have_more_keys(path: Path, reader: Reader) -> bool:
    """Return whether keys may follow on the cases: if none can, the cases need not be read to find out."""
    if not isinstance(reader, YamlReader) or reader.case_column is None:
        return True
    with TextFile(path) as file:
        return may_have_keys_after(file, reader.case_index, reader.case_column)


def _reader(file: TextFile, path: Path) -> Reader:
    return YamlReader(file) if path.suffix.lower() in _YAML else JsonReader(file)
