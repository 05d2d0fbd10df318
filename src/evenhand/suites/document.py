"""A suite on disk: the keys beside the cases, and the cases one by one, from whichever files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

from evenhand.domain.errors import ConfigError
from evenhand.suites.credentials import literal_credentials
from evenhand.suites.json_reader import JsonReader, read_lines
from evenhand.suites.text_file import TextFile, require_file
from evenhand.suites.values import INLINE, Fault, Mapped, Piece, format_fault, kind, plain
from evenhand.suites.yaml_reader import YamlReader, may_have_keys_after

_ENDINGS: Final = (".yaml", ".yml")


def read_mapping(path: str | os.PathLike[str], *, what: str) -> dict[str, Any]:
    """Read a file; every mistake in how it is written is reported with its line, and so is a key written out (SPEC-S1).

    ``what`` says what the file should be, for one that is something else.
    """
    file = Path(path)
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

Reader: TypeAlias = YamlReader | JsonReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """The files of a suite; ``header`` is all but the cases, which are in ``case_file``, if it is known."""

    path: Path
    header: Mapped
    faults: tuple[Fault, ...]
    case_file: Path | None
    is_inline: bool

    def cases(self) -> Iterator[Piece]:
        """Read the cases, one by one, from the beginning."""
        if self.case_file is None:
            return
        with TextFile(self.case_file) as file:
            if self.case_file.suffix.lower() in _LINES:
                yield from read_lines(file)
            elif self.is_inline:
                yield from (piece for piece in _reader(file, self.case_file).suite(_CASE_KEYS) if piece.key is None)
            else:
                yield from _reader(file, self.case_file).cases()


def open_document(path: Path) -> Document:
    """Find the files of a suite and read all but the cases."""
    require_file(path)
    if path.suffix.lower() in _LINES:
        return _beside(path)
    if path.suffix.lower() not in _YAML + _JSON:
        raise ConfigError(
            f"{path}: a suite is a .yaml, .yml or .json file, or a .jsonl file with a .yaml file next to it"
        )
    return _read_document(path)


def open_case_file(path: Path) -> Document | None:
    """Return a file that has cases and nothing else, and no suite next to it; None for any other."""
    require_file(path)
    ending = path.suffix.lower()
    if ending in _LINES:
        is_alone = _suite_beside(path) is None
    elif ending in _YAML + _JSON:
        with TextFile(path) as file:
            is_alone = _reader(file, path).is_list()
    else:
        is_alone = False
    return Document(path=path, header=Mapped(1), faults=(), case_file=path, is_inline=False) if is_alone else None


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
            if document.case_file is not None and not document.case_file.samefile(cases):
                raise ConfigError(f"{suite} has its own cases; run {suite}, or set its cases to {cases.name}")
            return document
    for suite in (cases.with_name(f"suite{suffix}") for suffix in _YAML):
        if suite.is_file():
            document = _read_document(suite)
            if document.case_file is not None and document.case_file.samefile(cases):
                return document
    return None


def _read_document(path: Path, *, cases: Path | None = None) -> Document:
    header = Mapped(1)
    faults: list[Fault] = []
    case_key: tuple[str, int] | None = None
    inline = False
    with TextFile(path) as file:
        reader = _reader(file, path)
        for piece in reader.suite(_CASE_KEYS):
            if piece.key is None:  # a case, whose turn comes later
                continue
            faults += piece.faults
            if piece.key not in _CASE_KEYS:
                header.setdefault(piece.key, piece.value)
                header.lines.setdefault(piece.key, piece.line)
                continue
            if case_key and case_key[0] != piece.key:
                faults.append(
                    Fault(piece.line, f"{case_key[0]} and {piece.key} are two names for the same thing; give one")
                )
            elif not case_key:
                case_key = (piece.key, piece.line)
                inline = piece.value is INLINE
                cases = None if inline else _case_file(path, piece, faults)
            if inline and not _may_have_more_keys(path, reader):
                break
    if not case_key and cases is None:
        faults.append(Fault(1, "there are no cases; list them under cases, or name a file there, such as cases.jsonl"))
    return Document(
        path=path, header=header, faults=tuple(faults), case_file=path if inline else cases, is_inline=inline
    )


def _case_file(path: Path, piece: Piece, faults: list[Fault]) -> Path | None:
    """Find the file that ``cases`` names."""
    if not isinstance(piece.value, str):
        faults.append(
            Fault(piece.line, f"{piece.key} must be a list, or the path of a file with cases, not {kind(piece.value)}")
        )
        return None
    named = path.parent / piece.value
    if named.suffix.lower() not in _YAML + _JSON + _LINES:
        faults.append(Fault(piece.line, f"{piece.key}: {piece.value!r:.120} must be a .jsonl, .json or .yaml file"))
        return None
    try:
        require_file(named)
    except ConfigError as error:
        faults.append(Fault(piece.line, f"{piece.key}: {error}"))
        return None
    return named


def _may_have_more_keys(path: Path, reader: Reader) -> bool:
    """Return whether keys may follow on the cases: if none can, the cases need not be read to find out."""
    if not isinstance(reader, YamlReader) or reader.case_column is None:
        return True
    with TextFile(path) as file:
        return may_have_keys_after(file, reader.case_index, reader.case_column)


def _reader(file: TextFile, path: Path) -> Reader:
    return YamlReader(file) if path.suffix.lower() in _YAML else JsonReader(file)
