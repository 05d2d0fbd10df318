"""Reading a YAML file that is one mapping, as strictly as a suite is read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.suites.credentials import literal_credentials
from evenhand.suites.textfile import TextFile
from evenhand.suites.values import plain, told
from evenhand.suites.yaml_reader import YamlReader

_ENDINGS: Final = (".yaml", ".yml")


def read_mapping(path: str | os.PathLike[str], *, what: str) -> dict[str, Any]:
    """Read a file; every mistake in how it is written is told with its line, and so is a key written out (SPEC-S1).

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
        raise ConfigError("\n".join(told(file, fault) for fault in faults))
    return {str(piece.key): plain(piece.value) for piece in pieces}


class _MappingReader(YamlReader):
    """Reads a mapping that is no suite, and says so."""

    def __init__(self, file: TextFile, what: str) -> None:
        super().__init__(file)
        self._what = what

    def _root(self, wanted: type, told: str) -> Any:  # noqa: ARG002 - that is about suites
        return super()._root(wanted, self._what)
