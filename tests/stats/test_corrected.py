"""What people would say of all cases: golden figures, fallbacks and refusals, and whether the intervals hold."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st
from tests.by_chance import at_least

from evenhand.domain.summary import Corrected
from evenhand.domain.verdict import reaches
from evenhand.stats.corrected import labels_only
from evenhand.stats.corrected_mean import Fit, corrected_mean, fitted
from evenhand.stats.corrected_rate import corrected_rate
from evenhand.stats.correlation import auc
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.prediction_powered import prediction_powered
from evenhand.stats.refusal import Refused
from evenhand.stats.rogan_gladen import by_error_rates, rogan_gladen
from evenhand.stats.unequal_chances import Drawn, by_chances
from evenhand.stats.wilson import effective_number, scaled_wilson

Golden: TypeAlias = Callable[[str, str], list[Any]]


def corrected(value: Corrected | Refused) -> Corrected:
    assert isinstance(value, Corrected), value.reason
    return value


def numbers(value: Corrected | Refused) -> tuple[float, float, float]:
    result = corrected(value)
    return result.value, result.interval.low, result.interval.high


def ends(value: Any) -> list[float]:
    assert not isinstance(value, Refused)
    return [value.interval.low, value.interval.high]


# Golden figures


def test_the_rate_from_labels_of_both_verdicts_is_the_golden_one(golden: Golden) -> None:
    for case in golden("corrected_rate.json", "post_stratified_mover"):
        labels = JudgedLabels(**case["labelled"])
        alone = labels_only([1] * labels.human_passes + [0] * (labels.n - labels.human_passes))

        result = corrected_rate(case["judge_passes"], case["judged"], labels)

        assert numbers(result) == pytest.approx((case["estimate"], case["low"], case["high"]), abs=1e-6)
        assert corrected(result).method == "post_stratified"
        assert not isinstance(alone, Refused)
        assert [alone.value, *ends(alone)] == pytest.approx(case["labels_only"], abs=1e-6)


def test_the_mean_along_the_line_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("corrected_rate.json", "ppi_regression_scaled_wilson")

    fit = fitted(case["human"], case["judge"], case["judge_all"])
    result = corrected_mean(case["human"], case["judge"], case["judge_all"], fewest=12)

    assert isinstance(fit, Fit)
    assert (fit.slope, fit.estimate, fit.error) == pytest.approx((case["beta"], case["estimate"], case["se"]), abs=1e-6)
    assert effective_number(fit.estimate, fit.error) == pytest.approx(case["n_eff"], abs=1e-6)
    assert numbers(result) == pytest.approx((case["estimate"], case["low"], case["high"]), abs=1e-6)


@pytest.mark.parametrize("what", ["ppi_plus_plus", "ppi_lambda_1"])
def test_ppi_as_published_is_the_golden_one(golden: Golden, what: str) -> None:
    (case,) = golden("corrected_rate.json", what)
    weight = 1.0 if what == "ppi_lambda_1" else None

    found = prediction_powered(case["human"], case["judge"], case["judge_unlabelled"], weight=weight)

    assert found == pytest.approx([case[name] for name in ("lam", "estimate", "se", "low", "high")], abs=1e-6)


def test_ppi_of_verdicts_is_the_golden_one(golden: Golden) -> None:
    for case in golden("corrected_rate.json", "post_stratified_mover"):
        tp, fp, fn, tn = (case["labelled"][name] for name in ("tp", "fp", "fn", "tn"))
        passes = case["judge_passes"] - tp - fp
        expected = case["ppi_plus_plus"]

        found = prediction_powered(
            [1] * tp + [0] * fp + [1] * fn + [0] * tn,
            [1] * (tp + fp) + [0] * (fn + tn),
            [1] * passes + [0] * (case["judged"] - tp - fp - fn - tn - passes),
        )

        assert found == pytest.approx([expected[name] for name in ("lam", "estimate", "se", "low", "high")], abs=1e-6)


def test_the_rate_by_error_rates_is_the_golden_one(golden: Golden) -> None:
    for case in golden("corrected_rate.json", "rogan_gladen"):
        tp, tn = case["true_positives"], case["true_negatives"]
        labels = JudgedLabels(tp=tp, fn=case["human_passes"] - tp, tn=tn, fp=case["human_fails"] - tn)

        result = by_error_rates(case["judge_passes"], case["judged"], labels)

        assert numbers(result) == pytest.approx((case["estimate"], case["low"], case["high"]), abs=1e-6)


def test_the_closed_form_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("corrected_rate.json", "rogan_gladen_point")

    estimate = rogan_gladen(case["observed"], case["sensitivity"], case["specificity"])

    assert estimate == pytest.approx(case["estimate"], abs=1e-12)


def test_the_mean_by_unequal_chances_is_the_golden_one(golden: Golden) -> None:
    for case in golden("corrected_rate.json", "active_poisson"):
        rows = zip(case["judge"], case["probabilities"], case["human"], case["drawn"], strict=True)
        cases = [Drawn(score, chance, label if drawn else None) for score, chance, label, drawn in rows]

        result = by_chances(cases, fewest=7)

        assert numbers(result) == pytest.approx((case["estimate"], case["low"], case["high"]), abs=1e-6)
        assert "beyond the scale" in (corrected(result).note or "")


def test_the_whole_card_of_a_judge_is_the_golden_one(golden: Golden, judged_rows: list[Any]) -> None:
    (card,) = golden("trust_expected.json", "judge_card")
    passes = [reaches(row["score"], card["pass_mark"]) for row in judged_rows]
    labelled = [row for row in judged_rows if row["human"] is not None]
    people = [row["human"] == "pass" for row in labelled]
    verdicts = [reaches(row["score"], card["pass_mark"]) for row in labelled]
    labels = JudgedLabels.of(zip(people, verdicts, strict=True))
    scores = [row["score"] for row in judged_rows]

    rate = corrected_rate(sum(passes), len(judged_rows), labels)
    mean = corrected_mean(list(map(float, people)), [row["score"] for row in labelled], scores)
    fit = fitted(list(map(float, people)), [row["score"] for row in labelled], scores)
    others = [float(reaches(row["score"], card["pass_mark"])) for row in judged_rows if row["human"] is None]
    published = prediction_powered(list(map(float, people)), list(map(float, verdicts)), others)

    assert (sum(passes), len(judged_rows), labels.n) == (card["judge_passes"], card["judged"], card["labelled"])
    assert (labels.tp, labels.fp, labels.fn, labels.tn) == tuple(card[name] for name in ("tp", "fp", "fn", "tn"))
    for name in ("agreement", "sensitivity", "specificity", "kappa", "bias"):
        found = getattr(labels, name)()
        assert found.value == pytest.approx(card[name], abs=1e-6)
        assert ends(found) == pytest.approx(card[f"{name}_interval"], abs=1e-6)
    bias = labels.bias()
    assert not isinstance(bias, Refused)
    assert bias.p == pytest.approx(card["bias_p"], abs=1e-6)
    assert auc([row["score"] for row in labelled], people) == pytest.approx(card["auc"], abs=1e-6)
    assert [rate.value, *ends(rate)] == pytest.approx([card["corrected"], *card["corrected_interval"]], abs=1e-6)  # type: ignore[union-attr]
    assert corrected(rate).worth == pytest.approx(card["worth_labels"], abs=1e-6)
    assert isinstance(fit, Fit)
    by_score = card["ppi_by_score"]
    assert (fit.slope, fit.error) == pytest.approx((by_score["beta"], by_score["se"]), abs=1e-6)
    assert numbers(mean) == pytest.approx([by_score[name] for name in ("estimate", "low", "high")], abs=1e-6)
    by_errors = card["rogan_gladen"]
    assert numbers(by_error_rates(sum(passes), len(judged_rows), labels)) == pytest.approx(
        [by_errors[name] for name in ("estimate", "low", "high")], abs=1e-6
    )
    expected = card["ppi_plus_plus"]
    assert published == pytest.approx([expected[name] for name in ("lam", "estimate", "se", "low", "high")], abs=1e-6)


def test_labels_between_pass_and_fail_have_an_interval_too() -> None:
    labels = [1.0, 0.75, 0.5, 1.0, 0.25, 0.75]

    found = labels_only(labels)

    plain = scaled_wilson(statistics.fmean(labels), statistics.stdev(labels) / math.sqrt(6), 6)
    assert not isinstance(found, Refused)
    assert found.value == pytest.approx(statistics.fmean(labels))
    low, high = ends(found)  # as cautious as those of a judge's scores
    assert 0 < low < plain[0]
    assert plain[1] < high < 1


# Fallbacks and refusals


def test_too_few_labels_of_a_verdict_leave_labels_alone() -> None:
    result = corrected(corrected_rate(950, 1000, JudgedLabels(tp=92, fp=4, fn=1, tn=3)))

    assert result.method == "labels_only"
    assert result.note == ("labels only: 4 of them are on cases that the judge failed, and at least 5 are needed")
    assert (result.value, result.worth) == (0.93, 100)


def test_too_few_labels_leave_the_scores_unused() -> None:
    labels, judge = [1.0, 0.0] * 24, [0.9, 0.2] * 24

    result = corrected(corrected_mean(labels, judge, judge * 4))

    assert result.method == "labels_only"
    assert result.note == "labels only: 48 of them, at least 50 are needed to use the judge's scores"


@pytest.mark.parametrize(
    ("labels", "judge", "all_scores", "why"),
    [
        ([1.0, 0.0] * 30, [0.5, 0.5] * 30, [0.5] * 100, "the judge gave all labelled cases the same score"),
        ([1.0, 1.0] * 30, [0.5, 0.7] * 30, [0.5] * 100, "all labels are equal"),
        ([1.0, 0.0] * 30, [0.2, 0.9] * 30, [0.5] * 100, "is -1.00, and must be at least 0.13"),
        ([1.0, 0.0, 1.0] * 20, [1.0, 0.9, 1.0] * 20, [0.0] * 100, "their mean would be"),
    ],
)
def test_a_judge_that_tells_nothing_leaves_labels_alone(
    labels: list[float], judge: list[float], all_scores: list[float], why: str
) -> None:
    result = corrected(corrected_mean(labels, judge, all_scores))

    assert result.method == "labels_only"
    assert why in (result.note or "")


def test_without_labels_there_is_no_rate() -> None:
    none = JudgedLabels(tp=0, fp=0, fn=0, tn=0)

    assert corrected_rate(5, 10, none) == Refused("there are no labels")
    assert corrected_mean([], [], [0.5]) == Refused("there are no labels")
    assert isinstance(by_error_rates(5, 10, none), Refused)
    assert labels_only([0.5]) == Refused("1 label; an interval takes at least 2")


def test_a_judge_that_may_be_no_better_than_chance_corrects_nothing() -> None:
    refused = by_error_rates(60, 100, JudgedLabels(tp=7, fp=4, fn=3, tn=6))

    assert isinstance(refused, Refused)
    assert "not surely better than chance" in refused.reason


def test_an_estimate_beyond_the_scale_is_said_to_be() -> None:
    result = corrected(by_error_rates(150, 1000, JudgedLabels(tp=90, fp=20, fn=10, tn=80)))

    assert (result.value, result.interval.low) == (0.0, 0.0)
    assert "beyond the end of the scale" in (result.note or "")


def test_error_rates_that_cannot_hold_are_refused() -> None:
    refused = by_error_rates(10, 10_000, JudgedLabels(tp=900, fp=200, fn=100, tn=800))

    assert isinstance(refused, Refused)
    assert "cannot hold for these cases" in refused.reason


def test_too_few_drawn_labels_are_refused() -> None:
    refused = by_chances([Drawn(0.5, 0.5, 1.0)] * 10 + [Drawn(0.5, 0.5)] * 10)

    assert refused == Refused("10 labels were drawn; with unequal chances at least 50 are needed")


def test_an_estimate_that_no_rate_can_be_is_refused() -> None:
    refused = by_chances([Drawn(0.5, 0.05, 1.0)] * 60 + [Drawn(0.5, 0.5)] * 10)

    assert isinstance(refused, Refused)
    assert "which no rate can be" in refused.reason


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: corrected_rate(3, 10, JudgedLabels(tp=4, fp=0, fn=0, tn=0)),
        lambda: corrected_rate(3, 10, JudgedLabels(tp=0, fp=0, fn=4, tn=4)),
        lambda: by_error_rates(11, 10, JudgedLabels(tp=4, fp=0, fn=0, tn=0)),
        lambda: by_error_rates(0, 0, JudgedLabels(tp=4, fp=0, fn=0, tn=0)),
        lambda: rogan_gladen(0.5, 0.5, 0.5),
        lambda: labels_only([1.5, 0.2]),
        lambda: fitted([1, 0], [1], [1, 0]),
        lambda: prediction_powered([1], [1], [1, 0]),
        lambda: by_chances([Drawn(0.5, 0.0)]),
        lambda: by_chances([Drawn(0.5, 1.0)]),
        lambda: by_chances([Drawn(0.5, 0.5, 1.5)]),
    ],
)
def test_what_no_data_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


# What must always hold


@given(st.tuples(*[st.integers(0, 30)] * 4), st.integers(0, 300), st.integers(0, 300))
def test_the_corrected_rate_is_in_its_interval_on_the_scale(
    counts: tuple[int, ...], more_passes: int, more_fails: int
) -> None:
    tp, fp, fn, tn = counts
    labels = JudgedLabels(tp=tp, fp=fp, fn=fn, tn=tn)
    passes = labels.judge_passes + more_passes

    result = corrected_rate(passes, labels.n + more_passes + more_fails, labels)

    if isinstance(result, Corrected):
        assert 0 <= result.interval.low <= result.value <= result.interval.high <= 1
        assert result.interval.low < result.interval.high
    else:
        assert labels.n == 0


@given(st.integers(5, 60), st.integers(5, 60), st.integers(1, 20))
def test_a_judge_that_is_always_right_is_corrected_by_nothing(passes: int, fails: int, times: int) -> None:
    result = corrected(
        corrected_rate(passes * times, (passes + fails) * times, JudgedLabels(tp=passes, fp=0, fn=0, tn=fails))
    )

    assert result.value == pytest.approx(passes / (passes + fails))


@given(st.tuples(*[st.integers(3, 30)] * 4), st.integers(0, 300), st.integers(0, 300))
def test_a_judge_that_says_the_opposite_tells_as_much(
    counts: tuple[int, ...], more_passes: int, more_fails: int
) -> None:
    tp, fp, fn, tn = counts
    passes, fails = tp + fp + more_passes, fn + tn + more_fails

    found = corrected_rate(passes, passes + fails, JudgedLabels(tp=tp, fp=fp, fn=fn, tn=tn))
    opposite = corrected_rate(fails, passes + fails, JudgedLabels(tp=fn, fp=tn, fn=tp, tn=fp))

    assert numbers(opposite) == pytest.approx(numbers(found), abs=1e-12)


def test_a_judge_that_contradicts_people_is_corrected_as_worked_out_by_hand() -> None:
    # The judge passes 200 of 1,000; people pass 2 of 20 that it passed, and 27 of 30 that it failed.
    result = corrected_rate(200, 1000, JudgedLabels(tp=2, fp=18, fn=27, tn=3))

    # Wilson's ends: 0.1764 and 0.2259 for 200 of 1,000; 0.0279 and 0.3010 for 2 of 20; 0.7438 and 0.9654 for 27 of 30.
    # The rate falls by 0.8 as the share of passes rises by 1, so that the upper end of that one lowers it.
    low = 0.74 - math.hypot(0.8 * (0.2259 - 0.2), 0.2 * (0.1 - 0.0279), 0.8 * (0.9 - 0.7438))
    high = 0.74 + math.hypot(0.8 * (0.2 - 0.1764), 0.2 * (0.3010 - 0.1), 0.8 * (0.9654 - 0.9))
    assert numbers(result) == pytest.approx((0.2 * 0.1 + 0.8 * 0.9, low, high), abs=1e-4)


# Simulations


def enough(covered: int, draws: int) -> bool:
    """Tell whether intervals held the truth in 93 % of all draws; of a sample, in what comes by chance with 95 %."""
    return covered >= (0.93 * draws if draws >= 1000 else at_least(draws, 0.95))


def drawn(chance: random.Random, rate: float, judged: int, labelled: int, judge: tuple[float, float]) -> Any:
    """Draw cases, judge them, and label some."""
    people = [chance.random() < rate for _ in range(judged)]
    verdicts = [chance.random() < (judge[0] if passed else 1 - judge[1]) for passed in people]
    return sum(verdicts), JudgedLabels.of(list(zip(people, verdicts, strict=True))[:labelled])


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(200, id="sample"), pytest.param(2000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("labelled", [50, 100])
@pytest.mark.parametrize("rate", [0.5, 0.9, 0.97])
@pytest.mark.parametrize("judge", [(0.9, 0.8), (0.75, 0.6)])
def test_the_corrected_rate_is_in_its_interval_as_often_as_promised(
    labelled: int, rate: float, judge: tuple[float, float], draws: int
) -> None:
    chance = random.Random(20261117)
    methods: Counter[str] = Counter()
    covered = 0

    for _ in range(draws):
        passes, labels = drawn(chance, rate, 500, labelled, judge)
        result = corrected(corrected_rate(passes, 500, labels))
        methods[result.method] += 1
        covered += result.interval.low <= rate <= result.interval.high

    assert enough(covered, draws)
    assert methods["post_stratified"] > draws / 4


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(150, id="sample"), pytest.param(1000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize(("of_passes", "of_fails"), [((9, 2), (3, 4)), ((6, 3), (4, 4))])
@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9])
def test_the_corrected_mean_is_in_its_interval_as_often_as_promised(
    rate: float, of_passes: tuple[float, float], of_fails: tuple[float, float], draws: int
) -> None:
    chance = random.Random(20261117)
    covered = 0

    for _ in range(draws):
        people = [float(chance.random() < rate) for _ in range(400)]
        scores = [chance.betavariate(*(of_passes if passed else of_fails)) for passed in people]
        result = corrected(corrected_mean(people[:100], scores[:100], scores))
        covered += result.interval.low <= rate <= result.interval.high

    assert enough(covered, draws)


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(300, id="sample"), pytest.param(2000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("rate", [0.5, 0.8, 0.9])
def test_labels_of_another_mix_are_corrected_by_error_rates(rate: float, draws: int) -> None:
    chance = random.Random(20261117)
    covered = 0

    for _ in range(draws):
        balanced = [place % 2 == 0 for place in range(100)]
        labels = JudgedLabels.of((passed, chance.random() < (0.9 if passed else 0.2)) for passed in balanced)
        passes, _ = drawn(chance, rate, 400, 0, (0.9, 0.8))
        result = by_error_rates(passes, 400, labels)
        covered += isinstance(result, Corrected) and result.interval.low <= rate <= result.interval.high

    assert enough(covered, draws)  # what was refused is not covered


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(200, id="sample"), pytest.param(1000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_labels_drawn_by_unequal_chances_hold_as_often_as_promised(rate: float, draws: int) -> None:
    chance = random.Random(20261117)
    covered = said = 0

    for _ in range(draws):
        people = [float(chance.random() < rate) for _ in range(400)]
        scores = [chance.betavariate(*((9, 2) if passed else (3, 4))) for passed in people]
        doubts = [1 - abs(2 * score - 1) for score in scores]
        mean = sum(doubts) / 400
        chances = [min(1.0, 0.25 * (0.5 * doubt / mean + 0.5)) for doubt in doubts]
        cases = [
            Drawn(score, of, label if chance.random() < of else None)
            for score, of, label in zip(scores, chances, people, strict=True)
        ]
        result = by_chances(cases)
        if isinstance(result, Corrected):
            said += 1
            covered += result.interval.low <= rate <= result.interval.high

    assert said > 0.96 * draws
    assert covered >= (0.93 * said if draws == 1000 else at_least(said, 0.95))
