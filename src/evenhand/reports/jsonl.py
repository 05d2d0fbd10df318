"""JSONL: one line per case, in suite order (SPEC-S7)."""

from __future__ import annotations

from typing import TextIO

from evenhand.reports.report import Report
from evenhand.reports.rows import case_row
from evenhand.reports.strict import strict_json


def write_jsonl(report: Report, out: TextIO) -> None:
    """Write the cases of a run."""
    out.writelines(strict_json(case_row(result)) + "\n" for result in report.results())
