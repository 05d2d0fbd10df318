"""Verdicts and margins that hold for new cases: golden figures, refusals, and whether they hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st
from tests.by_chance import at_most

from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.stats.conformal import ScoreMargin, SureVerdicts, rank_of_quantile, score_margin, sure_verdicts
from evenhand.stats.refusal import Refused

Golden: TypeAlias = Callable[[str, str], list[Any]]


def sure(value: SureVerdicts | Refused) -> SureVerdicts:
    assert isinstance(value, SureVerdicts), value.reason
    return value


def test_ranks_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("conformal.json", "rank_of_quantile"):
        assert rank_of_quantile(case["n"], case["alpha"]) == case["rank"]


def test_margins_and_levels_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("conformal.json", "split_conformal"):
        found = score_margin(case["calibration_judge"], case["calibration_human"], case["alpha"])

        assert isinstance(found, ScoreMargin)
        assert found.margin == pytest.approx(case["quantile"], abs=1e-6)
        interval = found.interval(case["judge"])
        assert (interval.low, interval.high) == pytest.approx((case["low"], case["high"]), abs=1e-6)
        assert list(found.levels(case["judge"], case["levels"])) == case["level_set"]


def test_sure_verdicts_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("conformal.json", "label_conditional"):
        found = sure(sure_verdicts(case["scores"], case["human"], case["alpha"]))

        assert (found.pass_above, found.fail_below) == (case["pass_above"], case["fail_below"])
        for row in case["rows"]:
            assert found.p_pass(row["score"]) == pytest.approx(row["p_pass"], abs=1e-6)
            assert found.p_fail(row["score"]) == pytest.approx(row["p_fail"], abs=1e-6)
            assert found.verdict(row["score"]) == row["verdict"]


def test_too_few_of_a_class_are_refused_as_the_golden_case_says(golden: Golden) -> None:
    (case,) = golden("conformal.json", "label_conditional_too_few")
    passes, fails = case["human_passes"], case["human_fails"]

    refused = sure_verdicts([0.9] * passes + [0.2] * fails, [True] * passes + [False] * fails, case["alpha"])

    assert refused == Refused(
        "people passed 8 of the labelled cases; verdicts that are wrong in at most 0.1 of them take at least 9"
    )
    assert isinstance(sure_verdicts([0.9] * 9 + [0.2] * 9, [True] * 9 + [False] * 9, case["alpha"]), SureVerdicts)


def test_the_verdicts_of_a_judge_card_are_the_golden_ones(golden: Golden, judged_rows: list[Any]) -> None:
    (card,) = golden("trust_expected.json", "judge_card")
    labelled = [row for row in judged_rows if row["human"] is not None]

    found = sure(sure_verdicts([row["score"] for row in labelled], [row["human"] == "pass" for row in labelled]))

    expected = card["conformal_90"]
    assert (found.pass_above, found.fail_below) == (expected["pass_above"], expected["fail_below"])
    assert Counter(str(found.verdict(row["score"])) for row in judged_rows) == expected["verdicts"]
    assert found.thresholds == Thresholds(pass_at=0.85, borderline_at=0.7)


def test_thresholds_that_overlap_leave_no_borderline() -> None:
    scores, people = [0.9, 0.8] * 10 + [0.3, 0.2] * 10, [True] * 20 + [False] * 20

    found = sure(sure_verdicts(scores, people))

    assert (found.pass_above, found.fail_below) == (0.3, 0.8)
    assert found.verdict(0.5) is Verdict.FAIL
    assert found.thresholds == Thresholds(pass_at=0.8, borderline_at=0.8)


def test_where_no_labelled_score_passes_there_is_no_pass_mark() -> None:
    found = sure(sure_verdicts([0.5] * 20 + [0.5] * 20, [True] * 20 + [False] * 20))

    assert isinstance(found.thresholds, Refused)


def test_too_few_labels_have_no_margin() -> None:
    assert score_margin([0.5] * 8, [0.5] * 8) == Refused("8 labels; at least 9 are needed to leave out 0.1 of cases")


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.07, 0.1, 0.2, 0.29, 0.3])
def test_the_fewest_labels_that_are_named_will_do(alpha: float) -> None:
    refused = score_margin([], [], alpha)

    assert isinstance(refused, Refused)
    fewest = next(n for n in range(1, 200) if rank_of_quantile(n, alpha) is not None)
    assert f"at least {fewest} are needed" in refused.reason


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: rank_of_quantile(10, 0.0),
        lambda: rank_of_quantile(10, 1.0),
        lambda: score_margin([0.5], []),
        lambda: sure_verdicts([0.5], []),
    ],
)
def test_what_no_data_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


@given(
    st.lists(st.integers(0, 20), min_size=9, max_size=40),
    st.lists(st.integers(0, 20), min_size=9, max_size=40),
    st.integers(0, 20),
)
def test_thresholds_pass_nothing_that_the_verdicts_do_not(passes: list[int], fails: list[int], score: int) -> None:
    scores = [number / 20 for number in (*passes, *fails)]
    found = sure(sure_verdicts(scores, [True] * len(passes) + [False] * len(fails)))
    verdict = found.verdict(score / 20)

    assert (verdict is Verdict.FAIL) == (found.p_pass(score / 20) <= 0.1 + 1e-9)
    assert (verdict is Verdict.PASS) == (found.p_fail(score / 20) <= 0.1 + 1e-9 and verdict is not Verdict.FAIL)
    if isinstance(found.thresholds, Thresholds):
        stricter = found.thresholds.verdict(score / 20)
        assert stricter is verdict or (stricter, verdict) == (Verdict.BORDERLINE, Verdict.PASS)


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(400, id="sample"), pytest.param(3000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("labelled", [40, 100])
def test_sure_verdicts_are_wrong_as_rarely_as_promised(labelled: int, draws: int) -> None:
    chance = random.Random(20261117)
    wrong: Counter[bool] = Counter()
    seen: Counter[bool] = Counter()

    for _ in range(draws):
        people = [place % 2 == 0 for place in range(labelled + 2)]
        scores = [chance.betavariate(*((7, 3) if passed else (4, 5))) for passed in people]
        found = sure(sure_verdicts(scores[:-2], people[:-2]))
        for score, passed in zip(scores[-2:], people[-2:], strict=True):
            seen[passed] += 1
            wrong[passed] += found.verdict(score) is (Verdict.FAIL if passed else Verdict.PASS)

    for passed in (True, False):
        assert wrong[passed] <= (0.11 * draws if draws == 3000 else at_most(draws, 0.1))
