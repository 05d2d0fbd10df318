"""Reports as files: the ending of the name says which format."""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TextIO, TypeAlias, cast

from evenhand.domain.errors import ConfigError
from evenhand.reports.report import Report
from evenhand.reports.whole import written_whole

Writer: TypeAlias = Callable[[Report, TextIO], object]

# Loaded when used: a run that writes JSONL needs no page templates.
_WRITERS: Final = {
    "jsonl": "evenhand.reports.jsonl:write_jsonl",
    "json": "evenhand.reports.json:write_json",
    "csv": "evenhand.reports.csv:write_csv",
    "md": "evenhand.reports.markdown:write_markdown",
    "xml": "evenhand.reports.junit:write_junit",
    "html": "evenhand.reports.html:write_html",
}
FORMATS: Final = tuple(_WRITERS)


def format_of(path: str | Path) -> str:
    """Give the format that a file's name asks for; ask this before a run, so that the mistake costs nothing.

    >>> format_of("out/results.jsonl")
    'jsonl'
    """
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending not in _WRITERS:
        known = ", ".join(f".{name}" for name in FORMATS)
        raise ConfigError(f"{path}: no report is written to {f'.{ending}' if ending else 'no ending'}; known: {known}")
    return ending


def writer_of(name: str) -> Writer:
    """Load the writer of a format."""
    module, _, function = _WRITERS[name].partition(":")
    return cast("Writer", getattr(importlib.import_module(module), function))


def write(report: Report, path: str | Path, *, instead: Mapping[str, Writer] | None = None) -> None:
    """Write a report to a file, whole or not at all: nobody ever reads half of it.

    ``instead`` has writers of a kind of run that tells itself in another way, by format.
    """
    name = format_of(path)
    writer = (instead or {}).get(name) or writer_of(name)
    # No translation of line ends: CSV has its own, and what stands within a text is the text's.
    with written_whole(path) as file, io.TextIOWrapper(file, encoding="utf-8", newline="") as out:
        writer(report, out)
