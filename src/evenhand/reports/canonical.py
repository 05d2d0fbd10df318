"""The canonical report: equal, byte for byte, for runs that came to the same (SPEC-S3)."""

from __future__ import annotations

import io
from typing import Any, Final, TextIO

from evenhand.domain.run import CaseResult
from evenhand.reports.report import Report
from evenhand.reports.rows import SCHEMA_VERSION, case_row, run_row, summary_row
from evenhand.reports.strict import strict_json

# What depends on when, where and how often it was run, and not on what was found.
_OF_THE_RUN: Final = (
    "id", "source", "options", "forked_from", "version", "created", "finished", "abandoned_calls", "abandoned_cost",
)  # fmt: skip
_OF_THE_SUMMARY: Final = (
    "cost", "calls", "programs", "functions", "target_calls", "cached", "transport_faults", "input_tokens",
    "output_tokens",
)  # fmt: skip
_OF_DETAILS: Final = frozenset({"attempts", "cached", "cost", "latency", "seconds", "usage"})
_CACHED: Final = "cached"


def canonical(report: Report) -> str:
    """Give the canonical report as text."""
    out = io.StringIO()
    write_canonical(report, out)
    return out.getvalue()


def write_canonical(report: Report, out: TextIO) -> None:
    """Write one JSON text with sorted keys, without run id, times, host, cache and cost.

    Requests that failed on the way are left out too, and tokens: a reply from the cache has neither.
    """
    run = _without(run_row(report.run), _OF_THE_RUN)
    summary = _without(summary_row(report.summary), _OF_THE_SUMMARY)
    summary["flags"].pop(_CACHED, None)
    out.write('{"cases":[')
    between = "\n"
    for result in report.results():
        out.write(between + strict_json(_case(result), sort_keys=True))
        between = ",\n"
    out.write(f'\n],\n"gates":{strict_json([gate.as_dict() for gate in report.gates], sort_keys=True)}')
    out.write(f',\n"run":{strict_json(run, sort_keys=True)},\n"schema_version":{SCHEMA_VERSION}')
    out.write(f',\n"summary":{strict_json(summary, sort_keys=True)}}}\n')


def _case(result: CaseResult) -> dict[str, Any]:
    row = case_row(result)
    if "answers" in row:
        row["answers"] = [
            {"error": answer["error"], "sample": answer["sample"], "text": answer["text"]} for answer in row["answers"]
        ]
    row["evaluations"] = [_evaluation(evaluation) for evaluation in row["evaluations"]]
    return row


def _evaluation(row: dict[str, Any]) -> dict[str, Any]:
    known = _without(row, ("cost", "usage"))
    known["attempts"] = [
        {"error": attempt["error"], "raw": attempt["raw"]} for attempt in row["attempts"] if attempt["kind"] == "reply"
    ]
    known["flags"] = [flag for flag in row["flags"] if flag != _CACHED]
    known["details"] = _settled(row["details"])
    return known


def _settled(value: object) -> object:
    """Take out of details, which hold whole evaluations where a composite made them, what was measured."""
    if isinstance(value, dict):
        return {key: _settled(each) for key, each in value.items() if key not in _OF_DETAILS}
    return [_settled(each) for each in value] if isinstance(value, list) else value


def _without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
