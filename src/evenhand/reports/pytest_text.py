"""Results in the output of pytest: a case that fails its test, and all cases together at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.reports.counts import NO_ANSWER, no_answer
from evenhand.reports.phrases import Standing, mean_sentence, pass_rate_sentence, score_text
from evenhand.reports.safe_text import plain
from evenhand.reports.summary import blamed, summarize

_LONGEST: Final = 1000
_CASE: Final = "case"


def describe(result: CaseResult, min_verdict: str | None = None) -> str:
    """Say what was found about a case, each evaluator with its reasons; ``min_verdict`` is what was required."""
    standing = Standing.of_case(result)
    lines = [f"case {plain(result.id)!r}: {_heading(standing, result, min_verdict)}"]
    for judgment in result.judgments:
        lines += _lines(judgment)
    if (question := result.case.question_text) is not None:
        lines.append(f"  question: {plain(question, _LONGEST)}")
    answers = [answer.text for answer in result.answers if answer.text is not None]
    if (answer := answers[0] if answers else result.case.candidate_answer) is not None:
        lines.append(f"  answer: {plain(answer, _LONGEST)}")
    return "\n".join(lines)


def _heading(standing: Standing, result: CaseResult, min_verdict: str | None) -> str:
    if standing is Standing.ERROR:
        return f"{blamed(result)} failed"
    if result.has_errors and standing.scored:
        samples = result.by_sample
        errors = sum(sample.status is Status.ERROR for sample in samples)
        return f"{blamed(result)} failed for {errors} of {len(samples)} answers; {standing.word} by the others"
    if not standing.scored:
        return standing.word
    demand = (
        "" if min_verdict is None else f"; wanted {min_verdict}{'' if min_verdict == Standing.PASS else ' or better'}"
    )
    return f"{standing.word}, score {score_text(result.outcome.score)}{demand}"


def _lines(judgment: Judgment) -> Iterator[str]:
    evaluation = judgment.evaluation
    standing = Standing.of(evaluation)
    score = f" {score_text(evaluation.score)}" if standing.scored else ""
    label = "" if evaluation.label is None else f", {plain(evaluation.label)}"
    yield f"  {plain(evaluation.evaluator)}: {standing.word}{score}{label}"
    # The words of a model must not pass for lines of ours.
    yield from (f"    missed: {plain(miss, _LONGEST)}" for miss in evaluation.misses)
    reason = evaluation.error or evaluation.reasoning
    if reason and reason not in evaluation.misses:  # a check's reason is what it missed
        yield f"    {plain(reason, _LONGEST)}"


def outcome_record(result: CaseResult) -> dict[str, Any]:
    """Return what the summary needs of a result, in plain values that can be sent to another process."""
    samples = [
        {
            "status": sample.status.value,
            "score": sample.score,
            "verdict": None if sample.verdict is None else sample.verdict.value,
            "no_answer": sample.status is Status.ERROR and no_answer(sample.evaluations),
        }
        for sample in result.by_sample or (result.outcome,)
    ]
    return {"samples": samples, "cluster": result.case.cluster}


def summary_sentences(records: Iterable[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the mean and the pass rate of all recorded results, each with n and interval."""
    tally = summarize(_result(record) for record in records).evaluators[_CASE]
    return mean_sentence(tally), pass_rate_sentence(tally)


def _result(record: Mapping[str, Any]) -> CaseResult:
    """Return a result with one evaluation for each sample, in place of all those of the case."""
    judgments = tuple(
        Judgment(evaluation=_evaluation(sample), sample=number, cost=0.0)
        for number, sample in enumerate(record["samples"])
    )
    return CaseResult(position=0, case=Case(cluster=record["cluster"]), judgments=judgments)


def _evaluation(sample: Mapping[str, Any]) -> Evaluation:
    status = sample["status"]
    return Evaluation(
        evaluator=_CASE,
        type=_CASE,
        status=status,
        score=sample["score"],
        verdict=sample["verdict"],
        reasoning=status,
        error=(NO_ANSWER if sample["no_answer"] else status) if status == Standing.ERROR else None,
    )
