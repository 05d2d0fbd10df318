"""Paired differences: golden numbers, which test when, too little data, and what must hold whatever the scores."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings, strategies as st
from tests.by_chance import at_least, at_most

from evenhand.domain.paired_difference import PairedDifference
from evenhand.stats.paired import PairedScores, holm
from evenhand.stats.power import mcnemar_minimum_detectable, mcnemar_power, minimum_detectable, needed_pairs

Golden: TypeAlias = Callable[[str, str], list[Any]]
Pair = tuple[float, float, str | None]

UNIT = st.floats(min_value=0, max_value=1)
# Hours of sleep that ten patients gained by one drug and by another (Student, 1908).
SLEEP = (
    (0.7, 1.9), (-1.6, 0.8), (-0.2, 1.1), (-1.2, 0.1), (-0.1, -0.1),
    (3.4, 4.4), (3.7, 5.5), (0.8, 1.6), (0.0, 4.6), (2.0, 3.4),
)  # fmt: skip


def compared(pairs: Iterable[tuple[float, float] | Pair]) -> PairedDifference:
    taken = PairedScores()
    for pair in pairs:
        taken.add(*pair)
    return taken.compared()


def binary(wins: int, losses: int, ties: int = 0) -> list[tuple[float, float]]:
    return [(0.0, 1.0)] * wins + [(1.0, 0.0)] * losses + [(1.0, 1.0)] * ties


# Golden numbers


def test_mcnemar_for_15_against_5() -> None:
    found = compared(binary(15, 5, ties=30))

    assert found.test == "exact McNemar"
    assert found.p == pytest.approx(0.04139, abs=5e-6)
    assert (found.difference, found.wins, found.ties, found.losses) == (0.2, 15, 30, 5)
    assert found.effect is not None
    assert (found.effect.name, found.effect.value) == ("odds ratio", 3.0)


@pytest.mark.parametrize(("difference", "cases"), [(0.03, 971), (0.05, 351)])
def test_cases_that_show_a_difference_at_a_variance_of_one_ninth(difference: float, cases: int) -> None:
    assert needed_pairs(1 / 9, difference) == cases


def test_students_sleepers() -> None:
    found = compared(((a + 2) / 10, (b + 2) / 10) for a, b in SLEEP)

    assert found.test == "paired t"
    assert found.difference == pytest.approx(0.158)
    assert found.p == pytest.approx(0.002833, abs=5e-7)
    assert found.interval is not None
    # Student's own is [0.070, 0.246]; one sleeper gained far more than all others, which leaves the error less certain.
    assert (found.interval.low, found.interval.high) == pytest.approx((0.0572774, 0.2587226), abs=1e-6)
    assert found.effect is not None
    assert found.effect.value == pytest.approx(1.284558, abs=1e-6)
    assert (found.wins, found.ties, found.losses) == (9, 1, 0)


def test_equal_clusters_are_compared_by_their_means() -> None:
    means = [0.1, 0.3, -0.1, 0.25, 0.2, 0.05, 0.15]
    within = (-0.05, 0.0, 0.05)

    clustered = compared((0.3, 0.3 + mean + more, str(place)) for place, mean in enumerate(means) for more in within)

    by_mean = compared((0.3, 0.3 + mean) for mean in means)
    assert clustered.test == "cluster-robust t"
    assert (clustered.n, clustered.clusters) == (21, 7)
    assert clustered.p == pytest.approx(by_mean.p)
    assert clustered.interval is not None
    assert by_mean.interval is not None
    assert clustered.interval.low == pytest.approx(by_mean.interval.low)
    assert clustered.minimum_detectable == pytest.approx(by_mean.minimum_detectable)


# Error rates that can be summed up rather than simulated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gained", "lost"),
    [
        (0.1, 0.1),
        (0.2, 0.05),
        *(pytest.param(*chances, marks=pytest.mark.long) for chances in ((0.2, 0.2), (0.3, 0.1), (0.15, 0.0))),
    ],
)
def test_the_interval_for_shares_covers_as_often_as_it_says(gained: float, lost: float) -> None:
    n = 30
    covered = wrong = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            ways = math.comb(n, wins) * math.comb(n - wins, losses)
            chance = ways * gained**wins * lost**losses * (1 - gained - lost) ** (n - wins - losses)
            found = compared(binary(wins, losses, n - wins - losses))
            assert found.interval is not None
            assert found.p is not None
            covered += chance * (found.interval.low <= gained - lost <= found.interval.high)
            wrong += chance * (found.p < 0.05)

    assert 0.93 <= covered <= 0.97
    assert gained != lost or wrong <= 0.05


# How much can be shown


def test_power_of_mcnemars_test_is_the_golden_one(golden: Golden) -> None:
    for case in golden("power.json", "mcnemar_power"):
        found = mcnemar_power(case["n"], case["wins"], case["losses"])
        assert found == pytest.approx(case["power"], abs=1e-6)
    for case in golden("power.json", "mcnemar_minimum_detectable"):
        smallest = mcnemar_minimum_detectable(case["n"], case["discordant_share"])
        assert smallest == pytest.approx(case["minimum_detectable"], abs=case["tolerance"])


def test_what_paired_scores_can_show_is_the_golden_figure(golden: Golden) -> None:
    for case in golden("power.json", "paired_t_minimum_detectable"):
        error = case["sd"] / math.sqrt(case["n"])
        assert minimum_detectable(error, case["n"] - 1) == pytest.approx(case["minimum_detectable"], abs=1e-6)
    for case in golden("power.json", "paired_t_needed"):
        assert needed_pairs(case["sd"] ** 2, case["difference"]) == case["needed"]


def test_what_a_comparison_can_show_depends_on_changes_to_either_side_alike() -> None:
    both, one_side = compared(binary(10, 4, 86)), compared(binary(14, 0, 86))

    assert both.minimum_detectable == one_side.minimum_detectable == mcnemar_minimum_detectable(100, 0.14)
    assert both.needed == one_side.needed
    assert both.needed != compared(binary(6, 0, 94)).needed


def test_one_win_among_a_hundred_ties_shows_how_little_the_exact_test_can() -> None:
    found = compared(binary(1, 0, ties=99))

    assert found.minimum_detectable == pytest.approx(0.0779, abs=2e-4)
    assert found.needed is not None
    assert mcnemar_power(found.needed, 0.05, 0) >= 0.8
    assert mcnemar_power(found.needed - 1, 0.05, 0) < 0.8


def test_many_changes_and_few_have_nearly_the_same_detectable_difference_where_the_methods_meet() -> None:
    exact, normal = (mcnemar_minimum_detectable(1000, changed) for changed in (0.1999, 0.2001))

    assert exact is not None
    assert exact == pytest.approx(normal, rel=0.03)


# Many small wins and a few large losses


@pytest.mark.slow
@pytest.mark.parametrize("n", [8, 20, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("noise", [0.0, 0.005])
def test_many_small_wins_do_not_hide_a_few_large_losses(n: int, noise: float) -> None:
    chance = random.Random(8)
    found = 0
    for _ in range(300):
        losses = (chance.random() < 0.05 for _ in range(n))
        pairs = [(0.95, 0.0 if lost else 1.0 - abs(chance.gauss(0, noise))) for lost in losses]
        one = compared(pairs)
        found += one.better or one.worse

    assert found / 300 <= 0.05


# Too little data


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([], "no case is scored in both runs; at least 6 are needed"),
        ([(0.1, 0.9)], "1 case is scored in both runs; at least 6 are needed"),
        ([(0.1, 0.9)] * 5, "5 cases are scored in both runs; at least 6"),
        ([(0.1, 0.9, "a")] * 50, "the 50 cases come from 1 cluster; at least 6"),
        ([(0.1, 0.9, str(place % 5)) for place in range(50)], "the 50 cases come from 5 clusters; at least 6"),
        (
            [*((0.1, 0.9, None) for _ in range(10)), *((0.1, 0.9, "a") for _ in range(90))],
            "come from 11 clusters, so unequal that they say as much as 1;",
        ),
    ],
)
def test_too_little_data_is_said_instead_of_a_number(pairs: list[Pair], words: str) -> None:
    found = compared(pairs)

    assert found.lacking is not None
    assert words in found.lacking
    assert (found.interval, found.p, found.test, found.effect, found.minimum_detectable) == (None,) * 5
    assert not found.better
    assert not found.worse


def test_six_wins_in_six_are_enough() -> None:
    found = compared(binary(6, 0))

    assert found.p == pytest.approx(2 / 64)
    assert found.better
    assert found.effect is not None
    assert found.effect.value is None  # no loss to divide by


# No spread


@pytest.mark.parametrize("scores", [(0.4, 0.4), (1.0, 1.0)])
def test_equal_scores_show_no_difference_and_no_certainty(scores: tuple[float, float]) -> None:
    found = compared([scores] * 30)

    assert (found.difference, found.p, found.ties) == (0.0, 1.0, 30)
    assert found.interval is not None
    assert -0.1 < found.interval.low < 0 < found.interval.high < 0.1


def test_equal_differences_are_noted_past_float_noise() -> None:
    found = compared([(0.7, 0.8), (0.8, 0.9), (0.1, 0.2), (0.2, 0.3), (0.3, 0.4), (0.5, 0.6)] * 5)

    assert found.test == "exact sign"
    assert found.p == pytest.approx(2 / 2**30)
    assert found.interval is not None
    assert found.interval.method == "widest"
    assert found.interval.low < 0.1 < found.interval.high


def test_clusters_that_all_differ_by_the_same_count_as_that_many() -> None:
    found = compared((0.2, 0.2 + more, str(place)) for place in range(8) for more in (0.1, 0.3))

    assert found.test == "exact sign"
    assert found.p == pytest.approx(2 / 2**8)


# Several, and how many


def test_holm_never_turns_the_order_around() -> None:
    raw = {"a": 0.04, "b": 0.01, "c": 0.03, "d": 0.5}

    corrected = holm(raw)

    assert corrected == pytest.approx({"b": 0.04, "c": 0.09, "a": 0.09, "d": 0.5})
    assert list(corrected) == list(raw)
    assert holm({}) == {}
    assert holm({"only": 0.2}) == {"only": 0.2}


@given(st.dictionaries(st.text(max_size=3), UNIT, max_size=8))
def test_holm_only_ever_raises_p_values(raw: dict[str, float]) -> None:
    corrected = holm(raw)

    assert all(raw[name] <= corrected[name] <= 1 for name in raw)
    ordered = sorted(raw, key=raw.__getitem__)
    assert all(corrected[one] <= corrected[other] for one, other in pairwise(ordered))


def test_of_many_tests_more_is_needed_to_be_found() -> None:
    assert minimum_detectable(0.01, 1000, tests=17) == pytest.approx(0.01 * (2.9816 + 0.8420), rel=1e-3)


def test_a_detectable_difference_shrinks_with_the_error() -> None:
    assert minimum_detectable(0.01, 1000) == pytest.approx(0.0280, abs=5e-5)
    assert minimum_detectable(0.01, 6) > minimum_detectable(0.01, 1000)


# Whatever the scores

PAIRS = st.lists(st.tuples(UNIT, UNIT, st.sampled_from([None, None, "a", "b", "c"])), min_size=6, max_size=40)


@pytest.mark.slow
@settings(max_examples=30)
@given(PAIRS)
def test_the_order_of_the_cases_does_not_move_a_digit(pairs: list[Pair]) -> None:
    assert compared(pairs) == compared(sorted(pairs, key=repr))


@pytest.mark.slow
@settings(max_examples=30)
@given(PAIRS)
def test_turned_around_everything_is_turned_around(pairs: list[Pair]) -> None:
    found = compared(pairs)

    turned = compared((b, a, cluster) for a, b, cluster in pairs)

    assert (turned.wins, turned.ties, turned.losses) == (found.losses, found.ties, found.wins)
    assert turned.p == found.p
    assert turned.better == found.worse
    if found.interval is not None and turned.interval is not None:
        assert turned.interval.low == pytest.approx(-found.interval.high, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=30)
@given(PAIRS)
def test_the_interval_holds_the_difference_and_ends_where_differences_do(pairs: list[Pair]) -> None:
    found = compared(pairs)

    if found.interval is not None and found.difference is not None:
        assert -1 <= found.interval.low <= found.difference <= found.interval.high <= 1
        assert found.p is not None
        assert 0 <= found.p <= 1


# By simulation: how often a difference is found where there is none, and how often the interval holds the true one

RUNS = pytest.mark.parametrize(
    "runs", [pytest.param(400, id="sample"), pytest.param(4000, id="all", marks=pytest.mark.sweep)]
)


def holds(covered: int, runs: int) -> bool:
    """Tell whether intervals held the truth in 93 to 97 % of all runs; of a sample, in what comes by 95 to 97 %."""
    if runs == 4000:
        return 0.93 <= covered / runs <= 0.97
    return at_least(runs, 0.95) <= covered <= at_most(runs, 0.97)


def near(centre: float, spread: float, chance: random.Random) -> float:
    return min(1.0, max(0.0, chance.gauss(centre, spread)))


def continuous(chance: random.Random) -> Iterator[Pair]:
    for _ in range(30):
        hard = chance.random()
        yield near(hard, 0.2, chance), near(hard, 0.2, chance), None


def skewed(chance: random.Random) -> Iterator[Pair]:
    """Scores as judges give them: mostly high, now and then 0."""
    for _ in range(30):
        usual = chance.betavariate(5, 1)
        a, b = (0.0 if chance.random() < 0.1 else usual for _ in "ab")
        yield a, b, None


def passing(chance: random.Random) -> Iterator[Pair]:
    for _ in range(30):
        ease = chance.random()
        yield float(chance.random() < ease), float(chance.random() < ease), None


def clustered(chance: random.Random) -> Iterator[Pair]:
    for cluster in range(15):
        shared = chance.gauss(0, 0.1)
        for _ in range(5):
            yield near(0.5, 0.1, chance), near(0.5 + shared, 0.1, chance), str(cluster)


def unequal(chance: random.Random) -> Iterator[Pair]:
    for cluster in range(15):
        shared = chance.gauss(0, 0.1)
        for _ in range(chance.choice((1, 2, 5, 12))):
            yield near(0.5, 0.1, chance), near(0.5 + shared, 0.1, chance), str(cluster)


@pytest.mark.long
@pytest.mark.timeout(1800)
@RUNS
@pytest.mark.parametrize(
    ("draw", "least"), [(continuous, 0.035), (skewed, 0.035), (passing, 0.0), (clustered, 0.035), (unequal, 0.035)]
)
def test_where_there_is_no_difference_one_is_found_as_rarely_as_promised(draw: object, least: float, runs: int) -> None:
    chance = random.Random(20261115)

    found = [compared(draw(chance)) for _ in range(runs)]  # type: ignore[operator]  # one of the above
    wrong = sum(one.p is not None and one.p < 0.05 for one in found)
    covered = sum(one.interval is not None and one.interval.low <= 0 <= one.interval.high for one in found)

    if runs == 4000:
        assert least <= wrong / runs <= 0.065
    else:
        assert (at_least(runs, least) if least else 0) <= wrong <= at_most(runs, 0.05)
    assert holds(covered, runs)


TRUE = 0.1


def shifted(chance: random.Random) -> Iterator[Pair]:
    for _ in range(30):
        score = chance.uniform(0.2, 0.6)
        yield score, score + chance.uniform(TRUE - 0.3, TRUE + 0.3), None


def shifted_in_clusters(chance: random.Random) -> Iterator[Pair]:
    for cluster in range(15):
        shift = chance.uniform(TRUE - 0.2, TRUE + 0.2)
        for _ in range(chance.choice((2, 4, 6))):
            score = chance.uniform(0.2, 0.6)
            yield score, score + shift + chance.uniform(-0.1, 0.1), str(cluster)


@pytest.mark.long
@pytest.mark.timeout(1800)
@RUNS
@pytest.mark.parametrize("draw", [shifted, shifted_in_clusters])
def test_the_interval_holds_a_true_difference_as_often_as_promised(draw: object, runs: int) -> None:
    chance = random.Random(20261115)

    found = [compared(draw(chance)).interval for _ in range(runs)]  # type: ignore[operator]  # one of the above

    assert holds(sum(one is not None and one.low <= TRUE <= one.high for one in found), runs)


@pytest.mark.long
@pytest.mark.timeout(1800)
@RUNS
def test_the_detectable_difference_is_found_four_times_in_five(runs: int) -> None:
    chance = random.Random(20261115)
    spread, n = 0.1, 30
    true = minimum_detectable(spread / math.sqrt(n), n)

    found = [compared((0.4, 0.4 + chance.gauss(true, spread)) for _ in range(n)).p for _ in range(runs)]

    some = sum(p is not None and p < 0.05 for p in found)
    if runs == 4000:
        assert some / runs == pytest.approx(0.8, abs=0.025)
    else:
        assert at_least(runs, 0.8) <= some <= at_most(runs, 0.8)
