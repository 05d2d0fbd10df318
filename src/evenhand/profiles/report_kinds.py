"""How each kind of run over profiles is reported: on a terminal, as JSON, and in files."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, cast

from evenhand.profiles.job import mode_of
from evenhand.reports.report import Report

# Loaded when used: what ranks and audits brings a library for arithmetic along.
_MODULES: Final = {
    "scoring": "evenhand.profiles.score_report",
    "ranking": "evenhand.profiles.ranking.report",
    "audit": "evenhand.profiles.audit.report",
}


class ReportKind(Protocol):
    """A module that reports one kind of run."""

    def terminal(self, report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
        """Return the report for a terminal."""
        ...

    def rows(self, report: Report) -> dict[str, Any]:
        """Return what it has beside other runs, as plain JSON values."""
        ...

    def write(self, report: Report, path: str | Path) -> None:
        """Write it to a file."""
        ...


def report_kind_of(definition: Mapping[str, Any]) -> ReportKind | None:
    """Return how a run is reported, by its definition; None where it is reported like every other."""
    module = _MODULES.get(mode_of(definition) or "")
    return None if module is None else cast("ReportKind", importlib.import_module(module))
