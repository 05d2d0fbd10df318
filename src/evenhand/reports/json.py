"""JSON: the run, its numbers, its gates and all its cases in one document (SPEC-S7)."""

from __future__ import annotations

from typing import TextIO

from evenhand.reports.report import Report
from evenhand.reports.rows import SCHEMA_VERSION, case_row, run_row, summary_row
from evenhand.reports.strict import strict_json


def write_json(report: Report, out: TextIO) -> None:
    """Write a report; each case has a line of its own, so that the file can be searched and compared by lines."""
    out.write(f'{{"schema_version": {SCHEMA_VERSION},\n"run": {strict_json(run_row(report.run))},\n')
    out.write(f'"summary": {strict_json(summary_row(report.summary))},\n')
    out.write(f'"gates": {strict_json([gate.as_dict() for gate in report.gates])},\n"cases": [')
    between = "\n"
    for result in report.results():
        out.write(between + strict_json(case_row(result)))
        between = ",\n"
    out.write("\n]}\n")
