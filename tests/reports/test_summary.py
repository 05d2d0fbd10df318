"""From results to numbers (SPEC-E2, SPEC-S7)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Evaluation, Status, Usage
from evenhand.domain.run import CaseResult, Judgment, MadeAnswer
from evenhand.domain.summary import Summary
from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.reports.effort import effort_sentence
from evenhand.reports.overview import survey
from evenhand.reports.phrases import mean_sentence, pass_rate_sentence
from evenhand.reports.summary import Summarizer, summarize

# A broken judge is not a zero (REL-J1)

# Scores from 0 to 5 of three arms over the same 33 cases, None where the judge failed: what a peer once published
# with its failures as zeros, which turned three near equals into a ranking.
ARMS = {
    "first": ([3.9] * 10 + [3.8] * 8 + [3.7], 14),
    "second": ([3.7] * 10 + [3.6] * 4, 19),
    "third": ([3.9] * 30 + [3.8] * 3, 0),
}


def judged(found: float | None, position: int) -> CaseResult:
    if found is None:
        evaluation = Evaluation.with_error(evaluator="quality", type="llm_judge", error="unparsable: no JSON")
    else:
        verdict = Thresholds().verdict(found)
        evaluation = Evaluation.with_score(evaluator="quality", type="llm_judge", score=found, verdict=verdict)
    return CaseResult(position=position, case=Case(), judgments=(Judgment(evaluation=evaluation, cost=0.0),))


@pytest.mark.parametrize(
    ("arm", "as_zeros", "of_the_scored"), [("first", 2.22, 3.85), ("second", 1.56, 3.67), ("third", 3.89, 3.89)]
)
def test_failures_as_zeros_would_have_inverted_a_ranking(arm: str, as_zeros: float, of_the_scored: float) -> None:
    scores, failures = ARMS[arm]

    tally = summarize(
        judged(None if score is None else score / 5, place) for place, score in enumerate([*scores, *[None] * failures])
    ).cases

    assert tally.mean is not None
    assert tally.mean_if_errors_zero is not None
    assert (tally.n, tally.errors) == (33, failures)
    assert round(tally.mean * 5, 2) == of_the_scored
    assert round(tally.mean_if_errors_zero * 5, 2) == as_zeros


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), max_size=20), st.integers(0, 20), st.randoms(use_true_random=False))
def test_which_cases_err_never_moves_the_mean_of_the_others(scores: list[float], errors: int, chance: Any) -> None:
    found: list[float | None] = [*scores, *[None] * errors]
    before = summarize(judged(one, place) for place, one in enumerate(found)).cases
    chance.shuffle(found)

    after = summarize(judged(one, place) for place, one in enumerate(found)).cases

    assert after == before
    assert after.mean == summarize(judged(one, place) for place, one in enumerate(scores)).cases.mean


# Counts


def test_every_case_is_in_exactly_one_count(made: Any) -> None:
    results = [made.case(0.9), made.case(0.7), made.case(0.1), made.case("empty: nothing"), made.case(None)]

    tally = summarize([*results, made.case(1.0, awaited=1), made.case(awaited=2)]).cases

    assert (tally.n, tally.scored, tally.not_evaluated, tally.errors, tally.pending) == (7, 3, 1, 1, 2)
    assert (tally.passed, tally.borderline, tally.failed) == (1, 1, 1)
    assert tally.mean == pytest.approx(1.7 / 3)
    assert tally.mean_if_errors_zero == pytest.approx(1.7 / 4)
    assert tally.pass_rate == pytest.approx(1 / 3)
    assert tally.pass_rate_interval is not None
    assert tally.pass_rate_interval.method == "wilson"


def test_without_a_scored_case_there_is_no_mean(made: Any) -> None:
    tally = summarize([made.case("empty: nothing"), made.case(None)]).cases

    assert (tally.mean, tally.interval, tally.pass_rate) == (None, None, None)
    assert tally.mean_if_errors_zero == 0.0


def test_a_half_judged_case_has_no_score_but_its_evaluators_do(made: Any) -> None:
    summary = summarize([made.case(1.0, awaited=1)])

    assert (summary.cases.scored, summary.cases.pending) == (0, 1)
    assert summary.evaluators["quality"].mean == 1.0


def test_each_evaluator_has_its_own_numbers(made: Any) -> None:
    summary = summarize([made.case(1.0, 0.5), made.case("empty: x", 0.7), made.case(0.0)])

    quality, second = summary.evaluators["quality"], summary.evaluators["second"]
    assert (quality.n, quality.scored, quality.errors, quality.mean) == (3, 2, 1, 0.5)
    assert (second.n, second.scored, second.mean) == (2, 2, 0.6)


def test_an_evaluator_without_weight_has_numbers_too(made: Any) -> None:
    summary = summarize([made.case(made.judgment(0.3, weight=0.0, name="aside"), made.judgment(1.0))])

    assert summary.evaluators["aside"].mean == 0.3
    assert summary.cases.mean == 1.0


def test_clusters_widen_the_interval(made: Any) -> None:
    scores = (1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0)

    tally = summarize(made.case(score, cluster=str(place // 3)) for place, score in enumerate(scores)).cases

    assert tally.clusters == 4
    assert tally.interval is not None
    assert tally.interval.method == "clustered"


def test_repeats_of_a_case_count_as_one(made: Any) -> None:
    samples = [made.judgment(found, sample=place) for place, found in enumerate((1.0, 0.5, "empty: x"))]

    summary = summarize([made.case(*samples), made.case(*[made.judgment(0.25, sample=place) for place in range(3)])])

    assert summary.repeat == 3
    assert (summary.cases.n, summary.cases.mean) == (2, 0.5)
    assert (summary.evaluators["quality"].n, summary.evaluators["quality"].mean) == (2, 0.5)
    assert summary.errors_by_class == {"empty": 1}


@pytest.mark.parametrize(
    ("found", "counts"),
    [
        ((1.0, 0.7, 0.0), (0, 1, 0)),
        ((1.0, 0.7), (0, 1, 0)),
        ((1.0, 0.9, 0.0), (1, 0, 0)),
        (("empty: x", 0.2), (0, 0, 1)),
    ],
)
def test_an_evaluators_verdict_over_samples_is_the_middle_one(
    made: Any, found: tuple[Any, ...], counts: tuple[int, int, int]
) -> None:
    samples = [made.judgment(one, sample=place) for place, one in enumerate(found)]

    tally = summarize([made.case(*samples)]).evaluators["quality"]

    assert (tally.passed, tally.borderline, tally.failed) == counts


@pytest.mark.parametrize(("found", "count"), [(("empty: x", None), "errors"), ((None, None), "not_evaluated")])
def test_samples_without_any_score_are_an_error_if_one_is(made: Any, found: tuple[Any, ...], count: str) -> None:
    samples = [made.judgment(one, sample=place) for place, one in enumerate(found)]

    tally = summarize([made.case(*samples)]).evaluators["quality"]

    assert (tally.scored, getattr(tally, count)) == (0, 1)


# What it took


def test_requests_tokens_retries_and_flags_are_added_up(made: Any) -> None:
    usage = Usage(input_tokens=10, output_tokens=2)
    attempts = (
        Attempt(kind="transport", error="timeout: late"),
        made.reply("?", error="unparsable: no JSON", usage=usage),
        made.reply(usage=usage),
        made.reply(usage=usage, cached=True),
    )
    judgment = made.judgment(0.5, attempts=attempts, retry_count=1, flags=("clamped", "within_text"), cost=0.1)
    answer = MadeAnswer(text="Paris", attempts=(made.reply(usage=usage),), cost=0.2)

    summary = summarize([made.case(judgment, answers=(answer,)), made.case(judgment)])

    assert (summary.calls, summary.cached, summary.transport_faults, summary.retries) == (7, 2, 2, 2)
    assert (summary.input_tokens, summary.output_tokens) == (50, 10)
    assert summary.flags == {"clamped": 2, "within_text": 2}
    assert summary.cost == pytest.approx(0.4)


def test_a_function_may_say_what_it_took_without_saying_how(made: Any) -> None:
    answer = MadeAnswer(text="Paris", usage=Usage(input_tokens=7, output_tokens=3), cost=0.0)

    summary = summarize([made.case(1.0, answers=(answer,))])

    assert (summary.calls, summary.input_tokens, summary.output_tokens) == (0, 7, 3)


def test_ten_dimes_are_a_dollar(made: Any) -> None:
    assert summarize([made.case(made.judgment(1.0, cost=0.1)) for _ in range(10)]).cost == 1.0


@pytest.mark.parametrize("where", ["judgment", "answer"])
def test_one_unknown_price_makes_the_cost_unknown(made: Any, where: str) -> None:
    answers = (MadeAnswer(text="Paris", cost=None if where == "answer" else 1.0),)
    judgment = made.judgment(1.0, cost=None if where == "judgment" else 1.0)

    assert summarize([made.case(judgment, answers=answers)]).cost is None


def test_a_round_that_was_done_anew_counts_for_what_it_took_only(made: Any) -> None:
    late = made.judgment("timeout: late", attempts=(made.reply(),), cost=0.5)
    done_anew = made.case(made.judgment(1.0, attempts=(made.reply(),), cost=0.25), replaced=(late,))

    summary = summarize([done_anew])

    assert (summary.calls, summary.cost) == (2, 0.75)
    assert (summary.cases.n, summary.cases.errors, summary.errors_by_class) == (1, 0, {})


def test_errors_are_counted_by_class_the_targets_apart(made: Any) -> None:
    failed = MadeAnswer(text=None, error="timeout: the target was late", cost=0.0)

    summary = summarize(
        [made.case("empty: a"), made.case("empty: b"), made.case("refusal: no"), made.case(None, answers=(failed,))]
    )

    assert summary.errors_by_class == {"empty": 2, "refusal": 1, "target timeout": 1}


def test_a_target_that_failed_is_no_judge_error_and_is_listed_once(made: Any) -> None:
    failed = MadeAnswer(text=None, error="function_error: boom", cost=0.0)
    no_answer = "no_answer: the target failed: function_error: boom"

    summary = summarize(
        [
            made.case(no_answer, no_answer, no_answer, answers=(failed,)),
            made.case(no_answer, no_answer),
            made.case("empty: x", 1.0),
        ]
    )

    assert summary.errors_by_class == {"target function_error": 1, "no_answer": 1, "empty": 1}
    assert (summary.cases.errors, summary.cases.target_errors) == (3, 2)
    assert (summary.evaluators["quality"].errors, summary.evaluators["quality"].target_errors) == (3, 2)


def test_a_case_that_a_judge_failed_in_one_sample_is_a_judge_error(made: Any) -> None:
    samples = [made.judgment(found, sample=place) for place, found in enumerate(("no_answer: x", "empty: x"))]

    tally = summarize([made.case(*samples)]).cases

    assert (tally.errors, tally.target_errors) == (1, 0)


def test_the_most_frequent_reason_for_no_evaluation_comes_first(made: Any) -> None:
    reasons = ["No reference.", "No answer.", "No answer."]

    summary = summarize(made.case(made.judgment(None, reasoning=reason)) for reason in reasons)

    assert list(summary.reasons.items()) == [("No answer.", 2), ("No reference.", 1)]


def test_of_very_many_reasons_ten_are_told_apart_and_the_others_counted(made: Any) -> None:
    reasons = [f"Reason {place}." for place in range(25)]

    summary = summarize(made.case(made.judgment(None, reasoning=reason)) for reason in [*reasons, "Reason 3."])

    assert len(summary.reasons) == 11
    assert summary.reasons["Reason 3."] == 2
    assert list(summary.reasons.items())[-1] == ("other reasons", 15)


def test_judges_are_named_also_those_within_a_composite(made: Any) -> None:
    details = {
        "members": [{"details": {"judge": "b/two"}}, {"details": {}}, "odd"],
        "meta_judge": {"details": {"judge": "a/one"}},
    }
    plain = made.judgment(1.0, details={"judge": "c/three"})
    odd = made.judgment(1.0, details={"judge": 3, "members": "none"})

    summary = summarize([made.case(made.judgment(1.0, details=details)), made.case(plain), made.case(odd)])

    assert summary.judges == ("a/one", "b/two", "c/three")


def test_a_run_without_cases_has_a_summary_too() -> None:
    summary = Summarizer().summary()

    assert summary == Summary(cases=summary.cases)
    assert (summary.cases.n, summary.cases.mean, summary.cost) == (0, None, 0.0)


def failed_without_score(made: Any) -> CaseResult:
    result: CaseResult = made.case(
        made.judgment(0.0, name="has city", required=True), made.judgment("timeout: late", name="judge")
    )
    return result


def test_a_case_that_failed_without_a_score_is_in_the_pass_rate_and_in_no_mean(made: Any) -> None:
    report = made.report(
        made.case(1.0), made.case(0.9), failed_without_score(made), gates={"max_failed": 0, "min_pass_rate": 0.7}
    )

    cases = report.summary.cases
    assert (cases.n, cases.scored, cases.failed, cases.failed_unscored, cases.errors) == (3, 2, 1, 1, 0)
    assert (cases.mean, cases.pass_rate) == (0.95, 2 / 3)
    assert report.summary.evaluators["judge"].errors == 1
    assert report.summary.errors_by_class == {"timeout": 1}
    assert [gate.ok for gate in report.gates] == [False, False]
    assert mean_sentence(cases).endswith(" over 2 of 3; 1 failed without a score")
    assert pass_rate_sentence(cases).endswith(": 2 of 3")


def test_samples_that_failed_without_a_score_count_in_the_verdict_of_the_case(made: Any) -> None:
    def sample(number: int, score: float | str) -> tuple[Judgment, Judgment]:
        return (
            made.judgment(0.0 if isinstance(score, str) else 1.0, name="has city", required=True, sample=number),
            made.judgment(score, name="judge", sample=number),
        )

    mostly = made.case(*sample(0, 1.0), *sample(1, "timeout: late"), *sample(2, "timeout: late")).outcome
    seldom = made.case(*sample(0, 1.0), *sample(1, 1.0), *sample(2, "timeout: late")).outcome
    never = made.case(*sample(0, "timeout: late"), *sample(1, "timeout: late")).outcome

    assert (mostly.score, mostly.verdict) == (1.0, Verdict.FAIL)
    assert (seldom.score, seldom.verdict) == (1.0, Verdict.PASS)
    assert (never.status, never.score, never.verdict) == (Status.SCORED, None, Verdict.FAIL)


@pytest.mark.parametrize(
    ("judge", "target", "shown"),
    [
        (0.12, None, "cost $0.12 without the target, whose cost is unknown"),
        (None, 0.5, "cost at least $0.50, since a price is unknown"),
        (None, None, "cost unknown"),
        (0.12, 0.5, "cost $0.62"),
    ],
)
def test_the_cost_is_known_where_it_is_known(made: Any, judge: float | None, target: float | None, shown: str) -> None:
    answer = MadeAnswer(text="Paris", attempts=(Attempt(kind="reply", raw="Paris"),), cost=target)
    summary = summarize([made.case(made.judgment(1.0, cost=judge), answers=(answer,))])

    assert summary.cost == (None if judge is None or target is None else 0.62)
    assert summary.known_cost == sum(cost for cost in (judge, target) if cost is not None)
    assert summary.unpriced == tuple(whose for whose, cost in (("judge", judge), ("target", target)) if cost is None)
    assert effort_sentence(summary).endswith(shown)


def test_tokens_and_calls_in_batches_count_alike_whether_cases_are_gathered_or_not() -> None:
    used = Usage(input_tokens=1000, output_tokens=10, cached_tokens=600)
    attempts = (Attempt(kind="reply", raw="{}", usage=used, cost=0.002, saved=0.001),)
    in_batch = (replace(attempts[0], batch=True),)
    fault = Attempt(kind="transport", error="server_error: HTTP 500", batch=True)
    from_own_cache = (Attempt(kind="reply", raw="{}", usage=used, cached=True, batch=True),)
    results = [
        CaseResult(
            position=position,
            case=Case(),
            judgments=(
                Judgment(
                    evaluation=Evaluation.with_score(
                        evaluator="quality", type="llm_judge", score=1.0, verdict=Verdict.PASS, attempts=kind
                    ),
                    cost=0.0,
                ),
            ),
        )
        for position, kind in enumerate([attempts, in_batch, attempts, from_own_cache, (fault, *attempts)])
    ]

    one_by_one, gathered = summarize(results), survey(results).summary

    assert one_by_one == gathered
    assert (gathered.prompt_cached_tokens, gathered.input_tokens) == (2400, 4000)
    assert gathered.prompt_cache_saving == 0.004
    assert (gathered.batch_calls, gathered.calls, gathered.transport_faults) == (1, 5, 1)
