"""CSV: one row per case, evaluator and sample, for spreadsheets and data frames."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator
from typing import Any, Final, TextIO, TypeAlias

from evenhand.domain.contract import storable
from evenhand.domain.gates import slices_of
from evenhand.domain.run import CaseResult, Judgment
from evenhand.reports.highlights import judges_of, stated_models_of
from evenhand.reports.json import outcome_row
from evenhand.reports.report import Report
from evenhand.reports.safe_text import strict_json

Cell: TypeAlias = str | float | None

COLUMNS: Final = (
    "case_id", "case_status", "case_score", "case_verdict", "sample", "evaluator", "type", "judge", "status", "score",
    "score_raw", "verdict", "weight", "required", "hits", "misses", "reasoning", "error", "flags", "retry_count",
    "requests", "seconds", "cost", "cluster", "question", "answer", "judge_model", "label",
)  # fmt: skip

# What makes a spreadsheet take a text for a formula, also full width, or behind characters that nobody sees (REL-S3).
# Quotes before it belong to it, so that the one put in front can always be told from the text's own.
_FORMULA: Final = re.compile("'*[=+\\-@\t\r\n＝＋－＠\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]")


def write_csv(report: Report, out: TextIO) -> None:
    """Write the evaluations of a run; a case that has none yet has a row too.

    Each key of metadata that the run slices by is a column. Texts are quoted and numbers are not. A text that a
    spreadsheet might run is given a quote in front.
    """
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    keys = slices_of(report.run.definition)
    writer.writerow([*COLUMNS, *map(_column_of, keys)])
    for result in report.results():
        sliced_by = [cell(result.case.metadata.get(key)) for key in keys]
        for row in flat_rows(result):
            writer.writerow([*(cell(row.get(column)) for column in COLUMNS), *sliced_by])


def _column_of(key: str) -> Cell:
    return cell(f"metadata.{key}")


def flat_rows(result: CaseResult) -> Iterator[dict[str, Any]]:
    """Yield a case as flat rows, one for each evaluator and sample, by the names of ``COLUMNS``."""
    about = {f"case_{name}": value for name, value in outcome_row(result).items()} | {
        "case_id": result.id,
        "cluster": result.case.cluster,
        "question": result.case.question_text,
        "answer": result.case.candidate_answer,
    }
    answers = {answer.sample: answer.text for answer in result.answers}
    for judgment in result.judgments:
        made = {"answer": answers[judgment.sample]} if judgment.sample in answers else {}
        yield about | made | _evaluation(judgment)
    if not result.judgments:
        yield about | ({"answer": result.answers[0].text} if result.answers else {})


def _evaluation(judgment: Judgment) -> dict[str, Any]:
    evaluation = judgment.evaluation
    return {
        "sample": judgment.sample,
        "evaluator": evaluation.evaluator,
        "type": evaluation.type,
        "judge": ", ".join(judges_of(evaluation)) or None,
        "judge_model": ", ".join(stated_models_of(evaluation)) or None,
        "status": evaluation.status.value,
        "score": evaluation.score,
        "score_raw": evaluation.score_raw,
        "verdict": None if evaluation.verdict is None else evaluation.verdict.value,
        "label": evaluation.label,
        "weight": judgment.weight,
        "required": judgment.required,
        "hits": list(evaluation.hits),
        "misses": list(evaluation.misses),
        "reasoning": evaluation.reasoning,
        "error": evaluation.error,
        "flags": " ".join(evaluation.flags),
        "retry_count": evaluation.retry_count,
        "requests": sum(not attempt.cached for attempt in evaluation.attempts),
        "seconds": judgment.seconds,
        "cost": judgment.cost,
    }


def cell(value: object) -> Cell:
    """Return a value as a cell; a text that a spreadsheet might run is given a quote in front."""
    match value:
        case None:
            return None
        case str():
            text = storable(value)
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() <= 64:
            return value
        case float() if math.isfinite(value):
            return value
        case _:
            text = strict_json(value)
    return f"'{text}" if _FORMULA.match(text) else text


def text_in(value: str) -> str:
    """Return the text that ``cell`` wrote, without the quote in front.

    >>> text_in("'=A1"), text_in("'tis")
    ('=A1', "'tis")
    """
    return value[1:] if value.startswith("'") and _FORMULA.match(value) else value
