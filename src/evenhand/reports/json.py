"""A run as JSON and JSONL, and the canonical report (SPEC-S3, S7)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from evenhand.domain.context import context_to
from evenhand.domain.json_codec import answer_to
from evenhand.domain.run import CaseResult, Judgment, RunRecord
from evenhand.domain.summary import AnswerTally, Interval, Rate, Steadiness, Summary, Tally
from evenhand.reports.corrected import corrected_row
from evenhand.reports.report import Report
from evenhand.reports.safe_text import strict_json

SCHEMA_VERSION: Final = 1


def case_row(result: CaseResult) -> dict[str, Any]:
    """Return a case: its score, its question and answer, and all evaluations.

    ``answer`` is the one that the case brought; where a target made it, that of the first sample, and ``answers`` has
    all of them with what they took.
    """
    row: dict[str, Any] = {"case_id": result.id} | outcome_row(result)
    row["question"] = result.case.question_text
    row["answer"] = result.answers[0].text if result.answers else result.case.candidate_answer
    if result.case.context is not None:
        row["context"] = context_to(result.case.context)
    if result.answers:
        row["answers"] = [answer_to(answer) for answer in result.answers]
    if result.case.cluster is not None:
        row["cluster"] = result.case.cluster
    if result.case.metadata:
        row["metadata"] = dict(result.case.metadata)
    row["evaluations"] = [evaluation_row(judgment) for judgment in result.judgments]
    return row


def outcome_row(result: CaseResult) -> dict[str, Any]:
    """Return what came of a case: nothing yet while something is still to be judged."""
    if result.pending:
        return {"status": "pending", "score": None, "verdict": None}
    outcome = result.outcome
    verdict = None if outcome.verdict is None else outcome.verdict.value
    return {"status": outcome.status.value, "score": outcome.score, "verdict": verdict}


def evaluation_row(judgment: Judgment) -> dict[str, Any]:
    """Return an evaluation (SPEC-E1) with its place in the run."""
    return judgment.evaluation.as_dict() | {
        "sample": judgment.sample,
        "weight": judgment.weight,
        "required": judgment.required,
        "cost": judgment.cost,
    }


def run_row(run: RunRecord) -> dict[str, Any]:
    """Return a run; its times as ISO 8601."""
    return {
        "id": run.id,
        "name": run.name,
        "label": run.label,
        "tags": list(run.tags),
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
    """Return the numbers of a run: those of its cases, what it took, and those of each evaluator."""
    by_model = {name: tally_row(tally) for name, tally in summary.models.items()}
    return tally_row(summary.cases) | {
        "repeat": summary.repeat,
        "retries": summary.retries,
        "cost": summary.cost,
        "known_cost": summary.known_cost,
        "unpriced": list(summary.unpriced),
        "calls": summary.calls,
        "programs": summary.programs,
        "functions": summary.functions,
        "target_calls": summary.target_calls,
        "batch_calls": summary.batch_calls,
        "cached": summary.cached,
        "transport_faults": summary.transport_faults,
        "input_tokens": summary.input_tokens,
        "output_tokens": summary.output_tokens,
        "prompt_cached_tokens": summary.prompt_cached_tokens,
        "prompt_cache_saving": summary.prompt_cache_saving,
        "judges": list(summary.judges),
        "errors_by_class": dict(summary.errors_by_class),
        "flags": dict(summary.flags),
        "reasons": dict(summary.reasons),
        "ambiguous": dict(summary.ambiguous),
        "overturned": dict(summary.overturned),
        "steadiness": _steadiness(summary.steadiness),
        "discarded": {kind: asdict(part) for kind, part in summary.discarded.items()},
        "agreement": {name: asdict(agreement) for name, agreement in summary.agreement.items()},
        **({"cascades": {name: asdict(tally) for name, tally in summary.cascades.items()}} if summary.cascades else {}),
        "evaluators": {name: tally_row(tally) for name, tally in summary.evaluators.items()},
        **({"models": by_model} if by_model else {}),
        **({"slices": _slices(summary)} if summary.slices or summary.unsliced else {}),
    }


def target_rows(report: Report) -> dict[str, Any]:
    """Return the targets of a run against each other; nothing where there are not several."""
    compared = report.target_comparison()
    return {} if compared is None else {"targets": compared.as_dict()}


def _slices(summary: Summary) -> dict[str, Any]:
    """Return the slices by key and value; null for a key that has too many values."""
    slices = {
        key: {
            value: tally_row(part.cases)
            | {"evaluators": {name: tally_row(tally) for name, tally in part.evaluators.items()}}
            for value, part in parts.items()
        }
        for key, parts in summary.slices.items()
    }
    return slices | dict.fromkeys(summary.unsliced)


def _rate(rate: Rate) -> dict[str, Any]:
    return {"value": rate.value, "interval": _interval(rate.interval)}


def _steadiness(steadiness: Steadiness | None) -> dict[str, Any] | None:
    """Return how steady the verdicts of repeated cases are; ``pass@k`` and ``pass^k`` by k."""
    if steadiness is None:
        return None
    return {
        "cases": steadiness.cases,
        "flipped": steadiness.flipped,
        "flip_rate": _rate(steadiness.flip_rate),
        "same_verdict": _rate(steadiness.same_verdict),
        "passes": [
            {"k": row.k, "cases": row.cases, "any": _rate(row.any), "all": _rate(row.all)} for row in steadiness.passes
        ],
    }


def _answers(answers: AnswerTally) -> dict[str, int]:
    """Return what became of the answers to cases that were judged several times."""
    return {
        "n": answers.n,
        "errors": answers.errors,
        "target_errors": answers.target_errors,
        "not_evaluated": answers.not_evaluated,
    }


def tally_row(tally: Tally) -> dict[str, Any]:
    """Return the numbers of a set of cases."""
    return {
        "n": tally.n,
        "scored": tally.scored,
        "not_evaluated": tally.not_evaluated,
        "errors": tally.errors,
        "target_errors": tally.target_errors,
        "pending": tally.pending,
        "answers": None if tally.answers is None else _answers(tally.answers),
        "mean": tally.mean,
        "interval": _interval(tally.interval),
        "mean_if_errors_zero": tally.mean_if_errors_zero,
        "pass": tally.passed,
        "borderline": tally.borderline,
        "fail": tally.failed,
        "failed_unscored": tally.failed_unscored,
        "pass_rate": tally.pass_rate,
        "pass_rate_interval": _interval(tally.pass_rate_interval),
        "pass_rate_bounds": None if tally.pass_rate_bounds is None else list(tally.pass_rate_bounds),
        "clusters": tally.clusters,
        **corrected_row(tally),
    }


# What the numbers of cases say of passing and failing.
_OF_VERDICTS: Final = frozenset(
    ("pass", "borderline", "fail", "failed_unscored", "pass_rate", "pass_rate_interval", "pass_rate_bounds")
)


def without_verdicts(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of cases that neither pass nor fail."""
    return {name: value for name, value in row.items() if name not in _OF_VERDICTS}


def moment(seconds: float) -> str:
    """Write a moment, given in seconds since 1970, as programs read it.

    >>> moment(0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _interval(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else asdict(interval)


def write_json(report: Report, out: TextIO) -> None:
    """Write a report; each case has a line of its own, so that the file can be searched and compared by lines."""
    out.write(f'{{"schema_version": {SCHEMA_VERSION},\n"run": {strict_json(run_row(report.run))},\n')
    out.write(f'"summary": {strict_json(summary_row(report.summary))},\n')
    out.write(f'"gates": {strict_json([gate.as_dict() for gate in report.gates])},\n')
    out.writelines(f'"{name}": {strict_json(row)},\n' for name, row in target_rows(report).items())
    out.write('"cases": [')
    between = "\n"
    for result in report.results():
        out.write(between + strict_json(case_row(result)))
        between = ",\n"
    out.write("\n]}\n")


def write_jsonl(report: Report, out: TextIO) -> None:
    """Write the cases of a run."""
    out.writelines(strict_json(case_row(result)) + "\n" for result in report.results())


# What depends on when, where and how often it was run, and not on what was found.
_OF_THE_RUN: Final = (
    "id", "label", "tags", "source", "options", "forked_from", "version", "created", "finished", "abandoned_calls",
    "abandoned_cost",
)  # fmt: skip
_OF_THE_SUMMARY: Final = (
    "cost", "known_cost", "unpriced", "calls", "programs", "functions", "target_calls", "batch_calls", "cached",
    "transport_faults", "input_tokens", "output_tokens", "prompt_cached_tokens", "prompt_cache_saving", "discarded",
)  # fmt: skip
_OF_DETAILS: Final = frozenset({"attempts", "cached", "cost", "latency", "seconds", "usage"})
_CACHED: Final = "cached"


def canonical(report: Report) -> str:
    """Return the canonical report as text."""
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
    for row in (summary, *summary["evaluators"].values()):
        row.pop("corrected", None)  # labels come after the run
    out.write('{"cases":[')
    between = "\n"
    for result in report.results():
        out.write(between + strict_json(_case(result), sort_keys=True))
        between = ",\n"
    gates = [gate.as_dict() for gate in report.gates if gate.kind != "trust"]
    out.write(f'\n],\n"gates":{strict_json(gates, sort_keys=True)}')
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
    canonical_row = _without(row, ("cost", "usage"))
    canonical_row["attempts"] = [
        {"error": attempt["error"], "raw": attempt["raw"]} for attempt in row["attempts"] if attempt["kind"] == "reply"
    ]
    canonical_row["flags"] = [flag for flag in row["flags"] if flag != _CACHED]
    canonical_row["details"] = _settled(row["details"])
    return canonical_row


def _settled(value: object) -> object:
    """Take out of details, which hold whole evaluations where a composite made them, what was measured."""
    if isinstance(value, dict):
        return {key: _settled(each) for key, each in value.items() if key not in _OF_DETAILS}
    return [_settled(each) for each in value] if isinstance(value, list) else value


def _without(row: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}
