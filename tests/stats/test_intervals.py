"""Means, standard errors and intervals: golden numbers, and what must hold whatever the scores."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.intervals import ExactSum, Scores, wilson

UNIT = st.floats(min_value=0, max_value=1)
CLUSTERED = (1, 1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1)


def scores_of(scores: Iterable[float], clusters: Iterable[str | None] | None = None) -> Scores:
    taken = Scores()
    listed = list(scores)
    for score, cluster in zip(listed, [None] * len(listed) if clusters is None else clusters, strict=True):
        taken.add(score, cluster)
    return taken


# Golden numbers


def test_wilson_for_27_of_30() -> None:
    assert wilson(27 / 30, 30) == pytest.approx((0.7438, 0.9654), abs=5e-5)


@pytest.mark.parametrize(("n", "p", "coverage"), [(30, 0.9, 0.9742), (100, 0.95, 0.9659)])
def test_wilson_covers_as_often_as_enumerated(n: int, p: float, coverage: float) -> None:
    covered = [k for k in range(n + 1) if wilson(k / n, n)[0] <= p <= wilson(k / n, n)[1]]

    assert sum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in covered) == pytest.approx(coverage, abs=5e-5)


def test_clustered_error_of_the_golden_scores() -> None:
    taken = scores_of(CLUSTERED, [str(place // 3) for place in range(12)])

    assert (taken.n, taken.clusters) == (12, 4)
    assert taken.mean == pytest.approx(0.5833, abs=5e-5)
    assert taken.standard_error == pytest.approx(0.1486, abs=5e-5)
    assert taken.clustered_error == pytest.approx(0.2165, abs=5e-5)


def test_the_clustered_interval_uses_t_with_one_degree_less_than_clusters() -> None:
    interval = scores_of(CLUSTERED, [str(place // 3) for place in range(12)]).interval()

    assert interval is not None
    assert interval.method == "clustered"
    assert (interval.low, interval.high) == (0.0, 1.0)  # 3.182 standard errors reach beyond both ends


def test_a_t_interval_of_ten_scores() -> None:
    scores = [0.5, 0.6, 0.55, 0.7, 0.65, 0.6, 0.5, 0.75, 0.6, 0.55]

    interval = scores_of(scores).interval()

    half = 2.2621571628 * statistics.stdev(scores) / math.sqrt(10)
    assert interval is not None
    assert (interval.method, interval.level) == ("t", 0.95)
    assert (interval.low, interval.high) == pytest.approx((0.6 - half, 0.6 + half), abs=1e-9)


# Which interval when


@pytest.mark.parametrize("n", [2, 30, 99, 100, 1000])
def test_scores_of_only_zero_and_one_get_wilson(n: int) -> None:
    interval = scores_of([1.0, 0.0] * (n // 2)).interval()

    assert interval is not None
    assert interval.method == "wilson"


@pytest.mark.parametrize(("score", "ends"), [(1.0, (0.7224672, 1.0)), (0.0, (0.0, 0.2775328))])
def test_ten_times_the_best_or_the_worst_is_no_certainty(score: float, ends: tuple[float, float]) -> None:
    interval = scores_of([score] * 10).interval()

    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx(ends, abs=1e-7)
    assert interval.method == "wilson"


def test_equal_scores_between_get_the_widest_interval_that_their_mean_allows() -> None:
    interval = scores_of([0.8] * 5).interval()

    assert interval is not None
    assert interval.method == "widest"
    assert (interval.low, interval.high) == wilson(0.8, 5)


@pytest.mark.parametrize("scores", [[], [1.0], [0.4]])
def test_below_two_scores_there_is_no_interval(scores: list[float]) -> None:
    assert scores_of(scores).interval() is None


def test_one_cluster_has_no_interval() -> None:
    assert scores_of([0.1, 0.9, 0.5], ["a", "a", "a"]).interval() is None


def test_clusters_of_one_are_no_clusters() -> None:
    apart = scores_of([0.1, 0.9, 0.5], ["a", "b", "c"])

    assert apart.clusters == 3
    assert apart.interval() == scores_of([0.1, 0.9, 0.5]).interval()


def test_a_case_without_a_cluster_is_one_of_its_own() -> None:
    mixed = scores_of([0.1, 0.3, 0.9, 0.5], ["a", "a", None, None])

    named = scores_of([0.1, 0.3, 0.9, 0.5], ["a", "a", "b", "c"])
    assert mixed.clusters == 3
    assert mixed.interval() == named.interval()


def test_clusters_that_all_agree_count_as_that_many_scores() -> None:
    interval = scores_of([1.0] * 30, [str(place % 3) for place in range(30)]).interval()

    assert interval is not None
    assert (interval.low, interval.high) == wilson(1.0, 3)


# Whatever the scores


@given(st.lists(UNIT, min_size=2, max_size=50))
def test_the_interval_holds_the_mean_and_stays_on_the_scale(scores: list[float]) -> None:
    taken = scores_of(scores)

    interval = taken.interval()

    assert interval is not None
    assert taken.mean is not None
    assert 0 <= interval.low <= taken.mean <= interval.high <= 1


@given(st.lists(st.tuples(UNIT, st.sampled_from(["a", "b", None])), min_size=2, max_size=20))
def test_the_order_of_the_scores_does_not_move_a_digit(pairs: list[tuple[float, str | None]]) -> None:
    ordered = sorted(pairs, key=repr)

    one = scores_of([score for score, _ in pairs], [cluster for _, cluster in pairs])
    other = scores_of([score for score, _ in ordered], [cluster for _, cluster in ordered])

    assert (one.mean, one.interval()) == (other.mean, other.interval())


@given(st.lists(st.tuples(UNIT, st.sampled_from("abc")), min_size=2, max_size=20))
def test_the_clustered_error_is_the_sandwich(pairs: list[tuple[float, str]]) -> None:
    taken = scores_of([score for score, _ in pairs], [cluster for _, cluster in pairs])
    mean = math.fsum(score for score, _ in pairs) / len(pairs)
    residuals = {name: math.fsum(score - mean for score, cluster in pairs if cluster == name) for _, name in pairs}

    found = taken.clustered_error

    if len(residuals) < 2:
        assert found is None
    else:
        assert found == pytest.approx(math.hypot(*residuals.values()) / len(pairs), abs=1e-12)


@given(st.lists(UNIT, min_size=2, max_size=50))
def test_mean_and_error_agree_with_the_standard_library(scores: list[float]) -> None:
    taken = scores_of(scores)

    assert taken.mean == pytest.approx(statistics.fmean(scores), abs=1e-15)
    assert taken.standard_error == pytest.approx(statistics.stdev(scores) / math.sqrt(len(scores)), abs=1e-12)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300), max_size=20))
def test_an_exact_sum_is_rounded_once(numbers: list[float]) -> None:
    total = ExactSum()
    for number in numbers:
        total.add(number)

    assert total.value == math.fsum(numbers)
