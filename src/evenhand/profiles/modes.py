"""What depends on the mode of a run over profiles: its report, and whether more cases follow."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, Protocol, cast

from evenhand.engine.job import Job
from evenhand.profiles.job import is_ranking, mode_of
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


def with_next_rounds(job: Job) -> Job:
    """Let the job of a stored ranking continue with its next rounds; other jobs stay as they are."""
    if not is_ranking(job.definition):
        return job
    from evenhand.profiles.ranking.job import Rounds, design_of  # noqa: PLC0415 - loads numpy

    return replace(job, following=Rounds(design_of(job.definition)))
