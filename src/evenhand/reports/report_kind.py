"""How a run is reported, whatever kind of run it is."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, Protocol, cast

from evenhand.domain.run_kind import AUDIT, DOCTOR, RANKING, SCORING, TUNE, is_doctor, is_tuning, mode_of
from evenhand.reports.report import Report, Writer, writer_of

# By their names, since reports know nothing of kinds; and loaded when used: some bring a library for arithmetic along.
_MODULES: Final = {
    DOCTOR: "evenhand.doctor.report",
    TUNE: "evenhand.tuner.report",
    SCORING: "evenhand.profiles.score_report",
    RANKING: "evenhand.profiles.ranking.report",
    AUDIT: "evenhand.profiles.audit.report",
}


class ReportKind(Protocol):
    """A module that reports one kind of run; ``WRITERS`` has the formats that it writes in a way of its own."""

    WRITERS: Mapping[str, Writer]

    def in_short(self, report: Report) -> str:
        """Return what came of the run, in one line."""
        ...

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
    if is_doctor(definition):
        kind: str | None = DOCTOR
    elif is_tuning(definition):
        kind = TUNE
    else:
        mode = mode_of(definition)
        kind = mode if mode in (SCORING, RANKING, AUDIT) else None
    return None if kind is None else cast("ReportKind", importlib.import_module(_MODULES[kind]))


def writer_for_run(definition: Mapping[str, Any], name: str) -> Writer:
    """Return the writer of a format: that of the kind of run, where it has one of its own."""
    kind = report_kind_of(definition)
    return (None if kind is None else kind.WRITERS.get(name)) or writer_of(name)
