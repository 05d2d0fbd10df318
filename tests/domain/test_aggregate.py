"""From evaluations to the case's score (SPEC-O5)."""

import math
from typing import Any

import pytest

from evenhand import ConfigError, Evaluation, Status, Thresholds, Verdict, Weighed, case_score


def scored(score: float, verdict: Verdict | None = None) -> Evaluation:
    return Evaluation.with_score(evaluator="x", type="y", score=score, verdict=verdict or Thresholds().verdict(score))


FAILED = Evaluation.with_error(evaluator="x", type="y", error="unparsable: no JSON")
SKIPPED = Evaluation.without_score(evaluator="x", type="y", reasoning="nothing there")


def test_the_case_score_is_the_weighted_mean() -> None:
    result = case_score([Weighed(evaluation=scored(1.0), weight=3), Weighed(evaluation=scored(0.2), weight=1)])

    assert (result.score, result.verdict) == (0.8, Verdict.PASS)


def test_weight_zero_shows_but_does_not_count() -> None:
    result = case_score([Weighed(evaluation=scored(1.0)), Weighed(evaluation=scored(0.0), weight=0)])

    assert (result.score, result.verdict, len(result.evaluations)) == (1.0, Verdict.PASS, 2)


def test_a_failing_required_evaluator_fails_the_case() -> None:
    result = case_score(
        [Weighed(evaluation=scored(1.0), weight=99), Weighed(evaluation=scored(0.1), weight=1, required=True)]
    )

    assert (result.score, result.verdict) == (0.991, Verdict.FAIL)


def test_a_required_evaluator_of_weight_zero_still_fails_the_case() -> None:
    result = case_score([Weighed(evaluation=scored(1.0)), Weighed(evaluation=scored(0.0), weight=0, required=True)])

    assert (result.score, result.verdict) == (1.0, Verdict.FAIL)


def test_where_only_a_required_evaluator_of_weight_zero_has_scored_it_decides() -> None:
    result = case_score([Weighed(evaluation=scored(0.3), weight=0, required=True), Weighed(evaluation=SKIPPED)])

    assert (result.status, result.score, result.verdict) == (Status.SCORED, 0.3, Verdict.FAIL)


@pytest.mark.parametrize("weight", [-1, math.nan, math.inf, True, "1"])
def test_a_weight_must_be_one(weight: Any) -> None:
    with pytest.raises(ConfigError, match="it must be a finite number, 0 or more"):
        Weighed(evaluation=SKIPPED, weight=weight)


def test_what_was_not_evaluated_is_in_no_denominator() -> None:
    result = case_score([Weighed(evaluation=scored(0.9)), Weighed(evaluation=SKIPPED, weight=5)])

    assert (result.status, result.score) == (Status.SCORED, 0.9)


def test_a_case_with_nothing_evaluated_has_no_score() -> None:
    result = case_score([Weighed(evaluation=SKIPPED)])

    assert (result.status, result.score, result.verdict) == (Status.NOT_EVALUATED, None, None)


def test_a_failed_judge_that_counts_leaves_the_case_in_error() -> None:
    assert case_score([Weighed(evaluation=scored(1.0)), Weighed(evaluation=FAILED)]).status is Status.ERROR
    assert case_score([Weighed(evaluation=scored(1.0)), Weighed(evaluation=FAILED, weight=0)]).status is Status.SCORED


@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_case_that_a_required_evaluator_fails_is_failed_also_where_another_judge_failed(weight: float) -> None:
    required = Weighed(evaluation=scored(0.0), weight=weight, required=True)

    result = case_score([Weighed(evaluation=FAILED), required])

    assert (result.status, result.score, result.verdict) == (Status.SCORED, None, Verdict.FAIL)


def test_a_required_evaluator_that_passes_decides_nothing_where_another_judge_failed() -> None:
    passing = Weighed(evaluation=scored(1.0), required=True)

    assert case_score([Weighed(evaluation=FAILED), passing]).status is Status.ERROR
    assert case_score([Weighed(evaluation=FAILED, required=True), passing]).status is Status.ERROR


def test_thresholds_belong_to_the_case() -> None:
    result = case_score([Weighed(evaluation=scored(0.7))], Thresholds(pass_at=0.7))

    assert result.verdict is Verdict.PASS
