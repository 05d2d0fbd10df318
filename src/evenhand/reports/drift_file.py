"""Drift as files: HTML, Markdown or JSON, as the file's name says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from evenhand.reports.drift import drift_json, drift_markdown
from evenhand.reports.report import write_whole, writer_for
from evenhand.trust.drift import DriftReport


def _html(report: DriftReport) -> str:
    from evenhand.reports.html.drift import drift_html  # noqa: PLC0415 - page templates are slow to load

    return drift_html(report)


_WRITERS: Final[dict[str, Callable[[DriftReport], str]]] = {
    ".html": _html,
    ".md": drift_markdown,
    ".json": lambda report: drift_json(report) + "\n",
}


def drift_writer(path: str) -> Callable[[DriftReport], str]:
    """Return the writer that a file's name asks for; ask this first, so that the mistake costs nothing."""
    return writer_for(path, _WRITERS, "drift")


def write_drift(report: DriftReport, path: str) -> None:
    """Write what was found to a file, whole or not at all."""
    write_whole(path, drift_writer(path)(report))
