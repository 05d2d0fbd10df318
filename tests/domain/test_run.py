from __future__ import annotations

import pytest

from evenhand import Case, Evaluation, Status, Verdict
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.verdict import Thresholds

CASE = Case(id="capital", question="Capital of France?", candidate_answer="Paris")


def scored(score: float, verdict: str = "pass", evaluator: str = "quality") -> Evaluation:
    return Evaluation.with_score(evaluator=evaluator, type="llm_judge", score=score, verdict=Verdict(verdict))


def broken(evaluator: str = "quality") -> Evaluation:
    return Evaluation.with_error(evaluator=evaluator, type="llm_judge", error="timeout: no reply")


def result(*judgments: Judgment, awaited: int = 0) -> CaseResult:
    return CaseResult(position=0, case=CASE, judgments=judgments, awaited=awaited)


def test_a_case_that_was_judged_once_has_the_score_of_its_evaluators() -> None:
    found = result(
        Judgment(evaluation=scored(1.0), weight=3),
        Judgment(evaluation=scored(0.0, "fail", "tone"), weight=1),
    ).outcome

    assert (found.status, found.score, found.verdict) == (Status.SCORED, 0.75, Verdict.BORDERLINE)


def test_a_case_that_was_judged_several_times_has_the_mean_of_its_samples() -> None:
    found = result(*(Judgment(evaluation=scored(score), sample=n) for n, score in enumerate((0.7, 0.8, 0.9)))).outcome

    assert (found.score, found.verdict) == (0.8, Verdict.PASS)


def test_a_sample_whose_judge_failed_is_left_out_of_the_mean_and_not_taken_for_a_zero() -> None:
    found = result(Judgment(evaluation=scored(0.9)), Judgment(evaluation=broken(), sample=1)).outcome

    assert (found.status, found.score) == (Status.SCORED, 0.9)
    assert [one.status for one in found.evaluations] == [Status.SCORED, Status.ERROR]


def test_a_case_is_in_error_when_the_judge_failed_in_every_sample() -> None:
    found = result(Judgment(evaluation=broken()), Judgment(evaluation=broken(), sample=1)).outcome

    assert (found.status, found.score, found.verdict) == (Status.ERROR, 0.0, Verdict.FAIL)


@pytest.mark.parametrize(("failing", "verdict"), [(1, Verdict.PASS), (2, Verdict.FAIL)])
def test_a_required_evaluator_that_fails_most_samples_fails_the_case(failing: int, verdict: Verdict) -> None:
    judgments = [
        Judgment(evaluation=scored(0.0, "fail", "safe"), weight=0, required=True, sample=sample)
        if sample < failing
        else Judgment(evaluation=scored(1.0, "pass", "safe"), weight=0, required=True, sample=sample)
        for sample in range(3)
    ]
    judgments += [Judgment(evaluation=scored(0.9), sample=sample) for sample in range(3)]

    assert result(*judgments).outcome.verdict is verdict


def test_a_case_of_which_something_is_awaited_is_pending() -> None:
    assert result(awaited=1).pending
    assert not result(Judgment(evaluation=scored(1.0))).pending


def test_thresholds_of_the_run_decide_on_the_verdict_of_a_case() -> None:
    strict = CaseResult(
        position=0, case=CASE, judgments=(Judgment(evaluation=scored(0.9)),), thresholds=Thresholds(pass_at=0.95)
    )

    assert strict.outcome.verdict is Verdict.BORDERLINE


def test_a_cost_that_is_unknown_makes_the_cost_of_the_case_unknown() -> None:
    known = Judgment(evaluation=scored(1.0), cost=0.25)
    unknown = Judgment(evaluation=scored(1.0), cost=None, sample=1)

    assert result(known).cost == 0.25
    assert result(known, unknown).cost is None


def test_an_answer_of_a_target_is_put_into_its_case() -> None:
    made = MadeAnswer(text="Lyon", latency=0.5, cost=0.01)

    answered = made.put_into(CASE)

    assert (answered.candidate_answer, answered.latency, answered.cost) == ("Lyon", 0.5, 0.01)
    assert answered.question == CASE.question
