"""Krippendorff's alpha of a jury, against figures worked out elsewhere and by hand."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from evenhand.domain.summary import JuryAgreement
from evenhand.stats.agreement import Rating, Ratings

Golden: TypeAlias = Callable[[str, str], list[Any]]


def agreement(
    rows: Sequence[Sequence[Any]], *, labels: bool = False, clusters: Sequence[str] | None = None
) -> JuryAgreement:
    """Return the agreement on cases, each a row of the scores that its jurors gave, with None where one gave none."""
    ratings = Ratings()
    for number, row in enumerate(rows):
        given = [
            Rating(f"juror-{juror}", value, str(value) if labels else None)
            for juror, value in enumerate(row)
            if value is not None
        ]
        missing = len(row) - len(given)
        ratings.add([(given, missing)], cluster=None if clusters is None else clusters[number])
    return ratings.agreement()


def by_definition(rows: Sequence[Sequence[Any]], distance: Any) -> float:
    """Work alpha out as the textbook has it: the mean distance within cases over that among all ratings."""
    rated = [[value for value in row if value is not None] for row in rows]
    rated = [row for row in rated if len(row) > 1]
    values = [value for row in rated for value in row]
    n = len(values)
    within = sum(sum(distance(a, b) for a in row for b in row) / (len(row) - 1) for row in rated) / n
    among = sum(distance(a, b) for a in values for b in values) / (n * (n - 1))
    return float(1 - within / among)


def squared(first: float, second: float) -> float:
    return (first - second) ** 2


def test_alpha_with_missing_ratings_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("agreement.json", "alpha_with_missing")
    scores = [[None if value is None else value / 4 for value in row] for row in zip(*case["ratings"], strict=True)]

    assert agreement(scores).alpha == pytest.approx(case["alpha_interval"], abs=1e-6)
    assert agreement(scores, labels=True).alpha == pytest.approx(case["alpha_nominal"], abs=1e-6)
    assert agreement(scores).left_out == 2  # two have a single rating


def test_alpha_of_two_raters_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("agreement.json", "ordinal")
    scores = [(human / 4, judge / 4) for human, judge in zip(case["human"], case["judge"], strict=True)]

    assert agreement(scores).alpha == pytest.approx(case["alpha_interval"], abs=1e-6)
    assert agreement(scores, labels=True).alpha == pytest.approx(case["alpha_nominal"], abs=1e-6)


def test_alpha_of_two_by_two_tables_is_the_golden_one(golden: Golden) -> None:
    assert len(golden("agreement.json", "binary")) == 4
    for case in golden("agreement.json", "binary"):
        rows = [
            (float(first), float(second))
            for first in (0, 1)
            for second in (0, 1)
            for _ in range(case["table"][first][second])
        ]

        # Of two values, one distance is as good as another.
        assert agreement(rows).alpha == pytest.approx(case["krippendorff_alpha"], abs=1e-6)
        assert agreement(rows, labels=True).alpha == pytest.approx(case["krippendorff_alpha"], abs=1e-6)


def test_alpha_of_the_people_who_made_pandalm_is_the_golden_one(golden: Golden, pandalm: dict[str, list[str]]) -> None:
    (case,) = golden("agreement.json", "pandalm_humans")
    people = [pandalm[f"annotator{number}"] for number in (1, 2, 3)]
    rows = [[float(said) / 2 for said in given] for given in zip(*people, strict=True)]

    assert agreement(rows, labels=True).alpha == pytest.approx(case["alpha_nominal"], abs=1e-6)


def test_alpha_is_what_is_worked_out_by_hand() -> None:
    # Within cases: 2 × 0.25² + 2 × 0.25² = 0.25, over 6 ratings. All ratings: 2 × (6 × Σx² − (Σx)²) over 6 × 5.
    rows = [(0.0, 0.25), (1.0, 0.75), (0.5, 0.5)]

    found = agreement(rows)

    assert found.alpha == pytest.approx(1 - (0.25 / 6) / (2 * (6 * 2.125 - 9) / 30))
    assert found.alpha == pytest.approx(1 - 1 / 6)
    assert (found.scale, found.cases, found.jurors, found.ratings) == ("interval", 3, 2, 6)
    assert found.difference == pytest.approx(0.5 / 3)


def test_a_juror_who_gave_no_score_is_missing_and_no_zero() -> None:
    found = agreement([(0.9, 0.8, None), (0.1, None, 0.2), (0.5, None, None)])

    assert found.alpha == pytest.approx(by_definition([(0.9, 0.8), (0.1, 0.2)], squared))
    assert (found.cases, found.left_out, found.missing, found.jurors) == (2, 1, 4, 3)


@given(st.lists(st.lists(st.sampled_from([None, 0.0, 0.1, 0.3, 0.9, 1.0]), min_size=2, max_size=4), min_size=2))
def test_alpha_is_the_one_of_the_textbook(rows: list[list[float | None]]) -> None:
    values = {value for row in rows if len(row) - row.count(None) > 1 for value in row if value is not None}

    found, named = agreement(rows), agreement(rows, labels=True)

    if len(values) < 2:
        assert found.alpha is named.alpha is None
    else:
        assert found.alpha == pytest.approx(by_definition(rows, squared), abs=1e-9)
        assert named.alpha == pytest.approx(by_definition(rows, lambda a, b: float(a != b)), abs=1e-9)


def test_alpha_is_not_defined_where_nothing_differs() -> None:
    same, none = agreement([(0.8, 0.8)] * 30), agreement([(0.8, None)] * 30)

    assert (same.alpha, same.interval, same.cases, same.difference) == (None, None, 30, 0.0)
    assert (none.alpha, none.interval, none.cases, none.left_out, none.difference) == (None, None, 0, 30, None)


def test_jurors_who_never_differ_give_no_interval() -> None:
    found = agreement([(number / 40, number / 40) for number in range(40)])

    assert (found.alpha, found.interval) == (1.0, None)


def drawn(count: int, *, seed: int = 7) -> list[tuple[float, ...]]:
    chance = random.Random(seed)
    answers = [chance.random() for _ in range(count)]
    return [tuple(min(1.0, max(0.0, answer + chance.gauss(0, 0.1))) for _ in range(3)) for answer in answers]


def resampled(rows: list[tuple[float, ...]], times: int) -> tuple[float, float]:
    chance = random.Random(1)
    alphas = sorted(agreement(chance.choices(rows, k=len(rows))).alpha or 0.0 for _ in range(times))
    return alphas[int(times * 0.025)], alphas[int(times * 0.975)]


@pytest.mark.slow
def test_the_interval_is_close_to_that_of_a_bootstrap_over_cases() -> None:
    rows = drawn(120)

    found = agreement(rows).interval

    assert found is not None
    assert found.method == "delta"
    assert (found.low, found.high) == pytest.approx(resampled(rows, 400), abs=0.015)


def test_below_twenty_cases_there_is_no_interval() -> None:
    assert agreement(drawn(19)).interval is None
    assert agreement(drawn(20)).interval is not None


def test_clusters_are_what_the_interval_is_over() -> None:
    rows = [row for row in drawn(30) for _ in range(4)]

    alone = agreement(rows)
    grouped = agreement(rows, clusters=[f"document-{number // 4}" for number in range(120)])
    few = agreement(rows, clusters=[f"document-{number // 20}" for number in range(120)])

    assert alone.alpha == grouped.alpha == few.alpha
    assert alone.interval is not None
    assert grouped.interval is not None
    assert few.interval is None
    assert grouped.interval.high - grouped.interval.low > 1.8 * (alone.interval.high - alone.interval.low)
    assert (alone.clusters, grouped.clusters, few.clusters) == (None, 30, 6)


def test_samples_of_a_case_are_several_ratings_of_one_case() -> None:
    once, twice = Ratings(), Ratings()
    for first, second, _ in drawn(40):
        given = ([Rating("a", first), Rating("b", second)], 0)
        once.add([given])
        twice.add([given, given])

    found, repeated = once.agreement(), twice.agreement()

    assert (found.cases, repeated.cases, repeated.ratings) == (40, 40, 160)
    assert found.interval is not None
    assert repeated.interval is not None
    assert repeated.interval.high - repeated.interval.low == pytest.approx(
        found.interval.high - found.interval.low, rel=0.02
    )


def test_the_order_of_the_cases_changes_no_digit() -> None:
    rows = drawn(60)
    clusters = [f"c{number % 25}" for number in range(60)]
    shuffled = list(zip(rows, clusters, strict=True))
    random.Random(3).shuffle(shuffled)

    other = agreement([row for row, _ in shuffled], clusters=[cluster for _, cluster in shuffled])

    assert other == agreement(rows, clusters=clusters)


def test_where_some_ratings_have_no_label_the_scores_are_compared() -> None:
    ratings = Ratings()
    ratings.add([([Rating("a", 1.0, "good"), Rating("b", 0.0, "bad")], 0)])
    assert ratings.agreement().scale == "nominal"

    ratings.add([([Rating("a", 1.0, "good"), Rating("b", 0.5)], 0)])
    assert ratings.agreement().scale == "interval"


def test_more_labels_than_a_choice_has_are_no_labels() -> None:
    ratings = Ratings()
    for number in range(200):
        ratings.add([([Rating("a", 0.1, f"label {number}"), Rating("b", 0.2, "other")], 0)])

    assert ratings.agreement().scale == "interval"
