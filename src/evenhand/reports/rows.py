"""A run, its cases and its numbers as plain JSON values: the names that programs rely on (SPEC-S7)."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final

from evenhand.domain.run import CaseResult, Judgment, RunRecord
from evenhand.domain.stored import answer_to
from evenhand.domain.summary import Interval, Summary, Tally

SCHEMA_VERSION: Final = 1


def case_row(result: CaseResult) -> dict[str, Any]:
    """Give a case: its score, its question and answer, and all evaluations.

    ``answer`` is the one that the case brought; where a target made it, that of the first sample, and ``answers`` has
    all of them with what they took.
    """
    row: dict[str, Any] = {"case_id": result.id} | outcome_row(result)
    row["question"] = result.case.question_text
    row["answer"] = result.answers[0].text if result.answers else result.case.candidate_answer
    if result.answers:
        row["answers"] = [answer_to(answer) for answer in result.answers]
    if result.case.cluster is not None:
        row["cluster"] = result.case.cluster
    if result.case.metadata:
        row["metadata"] = dict(result.case.metadata)
    row["evaluations"] = [evaluation_row(judgment) for judgment in result.judgments]
    return row


def outcome_row(result: CaseResult) -> dict[str, Any]:
    """Give what came of a case: nothing yet while something is still to be judged."""
    if result.pending:
        return {"status": "pending", "score": None, "verdict": None}
    outcome = result.outcome
    verdict = None if outcome.verdict is None else outcome.verdict.value
    return {"status": outcome.status.value, "score": outcome.score, "verdict": verdict}


def evaluation_row(judgment: Judgment) -> dict[str, Any]:
    """Give an evaluation (SPEC-E1) with its place in the run."""
    return judgment.evaluation.as_dict() | {
        "sample": judgment.sample,
        "weight": judgment.weight,
        "required": judgment.required,
        "cost": judgment.cost,
    }


def run_row(run: RunRecord) -> dict[str, Any]:
    """Give a run; its times as ISO 8601."""
    return {
        "id": run.id,
        "name": run.name,
        "status": run.status.value,
        "reason": run.reason,
        "source": run.source,
        "definition": dict(run.definition),
        "options": dict(run.options),
        "cases": run.cases,
        "repeat": run.repeat,
        "forked_from": run.forked_from,
        "version": run.version,
        "created": moment(run.created),
        "finished": None if run.finished is None else moment(run.finished),
        "abandoned_calls": run.abandoned_calls,
        "abandoned_cost": run.abandoned_cost,
    }


def summary_row(summary: Summary) -> dict[str, Any]:
    """Give the numbers of a run: those of its cases, what it took, and those of each evaluator."""
    by_model = {name: tally_row(tally) for name, tally in summary.models.items()}
    return tally_row(summary.cases) | {
        "repeat": summary.repeat,
        "retries": summary.retries,
        "cost": summary.cost,
        "calls": summary.calls,
        "programs": summary.programs,
        "functions": summary.functions,
        "target_calls": summary.target_calls,
        "cached": summary.cached,
        "transport_faults": summary.transport_faults,
        "input_tokens": summary.input_tokens,
        "output_tokens": summary.output_tokens,
        "judges": list(summary.judges),
        "errors_by_class": dict(summary.errors_by_class),
        "flags": dict(summary.flags),
        "reasons": dict(summary.reasons),
        "ambiguous": dict(summary.ambiguous),
        "overturned": dict(summary.overturned),
        "evaluators": {name: tally_row(tally) for name, tally in summary.evaluators.items()},
        **({"models": by_model} if by_model else {}),
    }


def tally_row(tally: Tally) -> dict[str, Any]:
    """Give the numbers of a set of cases."""
    return {
        "n": tally.n,
        "scored": tally.scored,
        "not_evaluated": tally.not_evaluated,
        "errors": tally.errors,
        "target_errors": tally.target_errors,
        "pending": tally.pending,
        "mean": tally.mean,
        "interval": _interval(tally.interval),
        "mean_if_errors_zero": tally.mean_if_errors_zero,
        "pass": tally.passed,
        "borderline": tally.borderline,
        "fail": tally.failed,
        "pass_rate": tally.pass_rate,
        "pass_rate_interval": _interval(tally.pass_rate_interval),
        "clusters": tally.clusters,
    }


def moment(seconds: float) -> str:
    """Write a moment, given in seconds since 1970, as programs read it.

    >>> moment(0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else asdict(interval)
