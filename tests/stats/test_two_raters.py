"""A judge against people, and people among themselves: golden figures, refusals, and what must always hold."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st
from tests.by_chance import at_least

from evenhand.stats.correlation import auc, kendall_tau_b, pearson, spearman
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.kappa import Kappa, Weights, gwet_ac1, kappa, scott_pi, table_of
from evenhand.stats.ordinal_alpha import ordinal_alpha
from evenhand.stats.refusal import Refused
from evenhand.stats.score_difference import score_difference
from evenhand.stats.shares import bonett_price, share

Golden: TypeAlias = Callable[[str, str], list[Any]]
COUNTS = st.integers(0, 40)
TABLES = st.tuples(COUNTS, COUNTS, COUNTS, COUNTS)


def found(value: Any) -> Any:
    """Return a result that is not refused."""
    assert not isinstance(value, Refused), value.reason
    return value


def refused(value: object) -> str:
    assert isinstance(value, Refused)
    return value.reason


# Golden figures


def test_two_labels_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("agreement.json", "binary"):
        (tp, fn), (fp, tn) = case["table"]
        labels = JudgedLabels(tp=tp, fp=fp, fn=fn, tn=tn)
        agreement, beyond = found(labels.agreement()), found(labels.kappa())

        assert labels.n == case["n"]
        assert agreement.value == pytest.approx(case["agreement"], abs=1e-6)
        assert (agreement.interval.low, agreement.interval.high) == pytest.approx(case["agreement_interval"], abs=1e-6)
        assert (beyond.value, beyond.error) == pytest.approx((case["kappa"], case["kappa_se_fce"]), abs=1e-6)
        assert (beyond.interval.low, beyond.interval.high) == pytest.approx(case["kappa_interval"], abs=1e-6)
        assert scott_pi(labels.table) == pytest.approx(case["scott_pi"], abs=1e-6)
        assert gwet_ac1(labels.table) == pytest.approx(case["gwet_ac1"], abs=1e-6)
        assert labels.correlation() == pytest.approx(case["mcc"], abs=1e-6)


def test_labels_in_an_order_are_the_golden_ones(golden: Golden) -> None:
    (case,) = golden("agreement.json", "ordinal")
    human, judge = case["human"], case["judge"]
    table = table_of(human, judge, range(5))

    assert found(kappa(table)).value == pytest.approx(case["kappa"], abs=1e-6)
    assert found(kappa(table, "linear")).value == pytest.approx(case["kappa_linear"], abs=1e-6)
    assert found(kappa(table, "quadratic")).value == pytest.approx(case["kappa_quadratic"], abs=1e-6)
    assert ordinal_alpha(list(zip(human, judge, strict=True)), range(5)) == pytest.approx(
        case["alpha_ordinal"], abs=1e-6
    )
    assert spearman(human, judge) == pytest.approx(case["spearman"], abs=1e-6)
    assert kendall_tau_b(human, judge) == pytest.approx(case["kendall_tau_b"], abs=1e-6)
    assert pearson(human, judge) == pytest.approx(case["pearson"], abs=1e-6)
    apart = found(score_difference(human, judge))
    assert (apart.mean, apart.absolute) == pytest.approx(
        (case["mean_difference"], case["mean_absolute_error"]), abs=1e-6
    )


def test_ordinal_alpha_with_missing_ratings_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("agreement.json", "alpha_with_missing")

    alpha = ordinal_alpha(list(zip(*case["ratings"], strict=True)), (1, 2, 3))

    assert alpha == pytest.approx(case["alpha_ordinal"], abs=1e-6)


def test_the_people_of_pandalm_agree_as_was_published(golden: Golden, pandalm: dict[str, list[str]]) -> None:
    (case,) = golden("agreement.json", "pandalm_humans")
    people = [pandalm[f"annotator{number}"] for number in (1, 2, 3)]

    for one, other in ((1, 2), (1, 3), (2, 3)):
        agreement = found(kappa(table_of(people[one - 1], people[other - 1], "012")))
        assert agreement.value == pytest.approx(case[f"kappa_{one}{other}"], abs=1e-6)
        assert agreement.interval.low < agreement.value < agreement.interval.high
    majority = Counter(Counter(given).most_common(1)[0][0] for given in zip(*people, strict=True))
    assert majority == case["majority_counts"]


# Refusals


def test_without_labels_nothing_is_said() -> None:
    none = JudgedLabels(tp=0, fp=0, fn=0, tn=0)

    for value in (none.agreement(), none.sensitivity(), none.specificity(), none.kappa(), none.bias()):
        assert isinstance(value, Refused)
    assert isinstance(none.correlation(), Refused)
    assert isinstance(scott_pi(none.table), Refused)
    assert isinstance(gwet_ac1(none.table), Refused)
    assert isinstance(score_difference([], []), Refused)


def test_below_twenty_labels_kappa_has_no_interval() -> None:
    few = found(kappa([[9, 1], [1, 8]]))

    assert refused(few.interval) == "19 cases; an interval of kappa with 2 labels takes at least 20"
    assert not isinstance(found(kappa([[9, 1], [1, 9]])).interval, Refused)


@pytest.mark.parametrize(("table", "rater"), [([[30, 10], [0, 0]], "first"), ([[30, 0], [10, 0]], "second")])
def test_with_one_label_by_a_rater_kappa_has_no_interval(table: list[list[int]], rater: str) -> None:
    assert refused(found(kappa(table)).interval).startswith(f"the {rater} rater gave all cases the same label")


def test_with_one_label_in_all_there_is_no_kappa() -> None:
    assert "chance alone" in refused(kappa([[30, 0], [0, 0]]))
    assert "chance alone" in refused(scott_pi([[30, 0], [0, 0]]))
    assert gwet_ac1([[30, 0], [0, 0]]) == 1
    assert isinstance(ordinal_alpha([[1, 1], [1, 1]], (1, 2)), Refused)
    assert isinstance(ordinal_alpha([[1, None]], (1, 2)), Refused)


@pytest.mark.parametrize("measure", [pearson, spearman, kendall_tau_b])
@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [2.0]), ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0])])
def test_what_has_no_spread_goes_with_nothing(measure: Any, first: list[float], second: list[float]) -> None:
    assert isinstance(measure(first, second), Refused)
    assert isinstance(measure(second, first), Refused)


def test_one_class_has_no_auc() -> None:
    assert isinstance(auc([0.1, 0.9], [True, True]), Refused)
    assert isinstance(auc([], []), Refused)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: kappa([[1]]),
        lambda: kappa([[1, 2], [3]]),
        lambda: kappa([[1, -2], [3, 4]]),
        lambda: JudgedLabels(tp=-1, fp=0, fn=0, tn=0),
        lambda: share(3, 2, "labels"),
        lambda: bonett_price(3, 3, 5),
        lambda: table_of("ab", "ac", "ab"),
        lambda: pearson([1, 2], [1]),
        lambda: score_difference([1, 2], [1]),
    ],
)
def test_what_no_data_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"got|none of"):
        wrong()


# What must always hold


@given(TABLES)
def test_kappa_is_in_its_interval_whatever_the_table(counts: tuple[int, int, int, int]) -> None:
    tp, fp, fn, tn = counts
    value = JudgedLabels(tp=tp, fp=fp, fn=fn, tn=tn).kappa()

    if isinstance(value, Kappa):
        assert -1 - 1e-12 <= value.value <= 1 + 1e-12
        if not isinstance(value.interval, Refused):
            assert -1 <= value.interval.low <= value.value <= value.interval.high <= 1 + 1e-12
            assert value.interval.low < value.interval.high


@given(TABLES, st.sampled_from(("none", "linear", "quadratic")))
def test_of_two_labels_all_weights_are_the_same_and_raters_can_be_swapped(
    counts: tuple[int, int, int, int], weights: Weights
) -> None:
    tp, fp, fn, tn = counts
    plain, weighted, swapped = (
        kappa([[tp, fn], [fp, tn]]),
        kappa([[tp, fn], [fp, tn]], weights),
        kappa([[tp, fp], [fn, tn]]),
    )

    if isinstance(plain, Kappa):
        assert found(weighted).value == pytest.approx(plain.value, abs=1e-12)
        assert found(swapped).value == pytest.approx(plain.value, abs=1e-12)
        assert found(swapped).error == pytest.approx(plain.error, abs=1e-9)
    else:
        assert isinstance(swapped, Refused)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=25))
def test_kendall_by_merging_is_kendall_by_pairs(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    signs = [((a > b) - (a < b), (c > d) - (c < d)) for place, (a, c) in enumerate(pairs) for b, d in pairs[:place]]
    ordered = sum(one != 0 for one, _ in signs) * sum(other != 0 for _, other in signs)

    tau = kendall_tau_b(first, second)

    if ordered == 0:
        assert isinstance(tau, Refused)
    else:
        assert tau == pytest.approx(sum(one * other for one, other in signs) / ordered**0.5)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=25))
def test_auc_is_the_share_of_pairs(cases: list[tuple[int, bool]]) -> None:
    passes, fails = [s for s, passed in cases if passed], [s for s, passed in cases if not passed]

    area = auc([score for score, _ in cases], [passed for _, passed in cases])

    if not passes or not fails:
        assert isinstance(area, Refused)
    else:
        wins = sum((p > f) + (p == f) / 2 for p in passes for f in fails)
        assert area == pytest.approx(wins / (len(passes) * len(fails)))


# Simulations


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(400, id="sample"), pytest.param(4000, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize(
    ("n", "rate", "sensitivity", "specificity"),
    [(20, 0.5, 0.8, 0.8), (50, 0.7, 0.9, 0.8), (100, 0.7, 0.85, 0.7), (100, 0.9, 0.9, 0.6), (50, 0.5, 0.97, 0.97)],
)
def test_the_interval_of_kappa_holds_the_true_one(
    n: int, rate: float, sensitivity: float, specificity: float, draws: int
) -> None:
    chance = random.Random(20261117)
    cells = [rate * sensitivity, (1 - rate) * (1 - specificity), rate * (1 - sensitivity), (1 - rate) * specificity]
    agreement, judge_rate = cells[0] + cells[3], cells[0] + cells[1]
    by_chance = rate * judge_rate + (1 - rate) * (1 - judge_rate)
    true = (agreement - by_chance) / (1 - by_chance)

    covered = said = 0
    for _ in range(draws):
        drawn = Counter(chance.choices(("tp", "fp", "fn", "tn"), cells, k=n))
        value = JudgedLabels(tp=drawn["tp"], fp=drawn["fp"], fn=drawn["fn"], tn=drawn["tn"]).kappa()
        if isinstance(value, Kappa) and not isinstance(value.interval, Refused):
            said += 1
            covered += value.interval.low <= true <= value.interval.high

    assert said > 7 / 8 * draws
    assert covered >= (0.93 * said if draws == 4000 else at_least(said, 0.95))
