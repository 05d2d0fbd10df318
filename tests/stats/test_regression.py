"""Least squares with clustered errors: what they recover, and that they are as wide as chance makes them."""

from __future__ import annotations

import itertools
import statistics

import numpy as np
import pytest

from evenhand.stats.regression import Estimate, Fit, ratio_interval

WEIGHTS = (1.2, 0.8, 0.5, 0.3, 0.0, -0.2)
CELLS = list(itertools.product((0, 1), repeat=6))
ROWS = [[1.0, *cell] for cell in CELLS]
TRUE = [3 + sum(weight * level for weight, level in zip(WEIGHTS, cell, strict=True)) for cell in CELLS]
EACH = [f"profile-{number}" for number in range(64)]


def only(place: int, of: int) -> list[float]:
    return [float(number == place) for number in range(of)]


def estimated(fit: Fit, contrast: list[float]) -> Estimate:
    found = fit.estimate(contrast)
    assert found is not None
    return found


def test_weights_are_recovered_where_there_is_no_noise() -> None:
    fit = Fit(ROWS, TRUE, EACH)

    found = [estimated(fit, only(place, 7)) for place in range(1, 7)]

    assert [one.value for one in found] == pytest.approx(WEIGHTS, abs=1e-6)
    assert {one.error for one in found} == {0.0}
    assert [one.p for one in found] == [0, 0, 0, 0, 1, 0]


def test_errors_are_those_that_the_noise_makes() -> None:
    # Noise of 0.8 in twenty replicates of 64 cells: 2 · 0.8 / √1280.
    chance = np.random.default_rng(7)
    noise = chance.normal(0, 0.8, (150, 64, 20)).mean(axis=2)

    found = [estimated(Fit(ROWS, TRUE + one, EACH), only(1, 7)) for one in noise]

    assert statistics.fmean(one.error or 0.0 for one in found) == pytest.approx(0.0447, abs=0.001)
    assert statistics.fmean(one.value for one in found) == pytest.approx(1.2, abs=0.015)
    assert {one.df for one in found} == {57}


def test_where_clusters_have_every_level_the_error_is_that_of_their_own_differences() -> None:
    chance = np.random.default_rng(2)
    rows: list[list[float]] = []
    scores: list[float] = []
    clusters: list[str] = []
    differences: list[float] = []
    for number in range(5):
        start, step = chance.normal(0, 2), chance.normal(0.5, 1)
        mine = {cell: start + step * cell[0] + 0.3 * cell[1] for cell in itertools.product((0, 1), repeat=2)}
        rows += [[1, *cell] for cell in mine]
        scores += mine.values()
        clusters += [f"base-{number}"] * 4
        differences.append(step)

    found = estimated(Fit(rows, scores, clusters), only(1, 3))

    assert found.value == pytest.approx(statistics.fmean(differences))
    assert found.error == pytest.approx(statistics.stdev(differences) / 5**0.5)
    assert found.df == 4


def test_what_rows_cannot_tell_apart_is_not_estimated() -> None:
    fit = Fit([[1, 0, 0], [1, 1, 1], [1, 0, 0], [1, 1, 1]], [1, 2, 3, 4], "abcd")

    assert fit.estimate([0, 1, 0]) is None
    assert estimated(fit, [0, 1, 1]).value == pytest.approx(1)


def test_where_nothing_is_left_over_there_is_no_error_and_no_p_value() -> None:
    found = estimated(Fit([[1, 0], [1, 1]], [1, 4], "ab"), [0, 1])

    assert found.value == pytest.approx(3)
    assert (found.error, found.interval, found.p) == (None, None, None)


def test_one_cluster_has_no_error() -> None:
    assert estimated(Fit([[1.0]] * 4, [1, 2, 3, 4], "aaaa"), [1]).error is None


def test_what_one_cluster_alone_decides_has_no_error() -> None:
    fit = Fit([[1, 0], [1, 0], [1, 0], [1, 1], [1, 1]], [1, 2, 4, 5, 7], "abcdd")

    step, start = estimated(fit, [0, 1]), estimated(fit, [1, 0])

    assert step.value == pytest.approx(6 - 7 / 3)
    assert (step.error, step.interval, step.p) == (None, None, None)
    assert start.error is not None
    assert start.error > 0


def test_many_clusters_are_fitted_without_a_matrix_of_them_all() -> None:
    count = 1_200
    rows = [[1.0, float(number % 2)] for number in range(count)]

    found = estimated(
        Fit(rows, [number % 7 for number in range(count)], [str(number) for number in range(count)]), [0, 1]
    )

    assert found.df == count - 2


def test_a_ratio_has_no_interval_where_what_is_below_may_be_nothing() -> None:
    fit = Fit(ROWS, TRUE + np.random.default_rng(3).normal(0, 0.3, 64), EACH)

    strong, weak, none = (estimated(fit, only(place, 7)) for place in (1, 3, 5))
    around = ratio_interval(weak, strong)

    assert around is not None
    assert around.low < 0.5 / 1.2 < around.high
    assert ratio_interval(strong, none) is None


def test_errors_of_unequal_clusters_are_those_of_the_textbook() -> None:
    chance = np.random.default_rng(4)
    clusters = "aaaabbcccccdefgg"
    rows = np.column_stack([np.ones(16), chance.normal(size=(16, 2))])
    scores = rows @ [5, 1, 0] + chance.normal(size=16)
    wanted = np.array([0.0, 1.0, 0.5])

    found = estimated(Fit(rows, scores, clusters), wanted.tolist())

    # With whole matrices: the sandwich whose residuals are multiplied by (I - H)^(-1/2), and Satterthwaite's degrees.
    inverse = np.linalg.inv(rows.T @ rows)
    leftover = np.eye(16) - rows @ inverse @ rows.T
    weights = np.zeros((16, 7))
    for number, name in enumerate("abcdefg"):
        at = [place for place, one in enumerate(clusters) if one == name]
        values, vectors = np.linalg.eigh(leftover[np.ix_(at, at)])
        weights[at, number] = vectors @ np.diag(values**-0.5) @ vectors.T @ rows[at] @ inverse @ wanted
    together = weights.T @ leftover @ weights
    assert found.value == pytest.approx(float(wanted @ inverse @ rows.T @ scores))
    assert found.error == pytest.approx(float(np.linalg.norm(weights.T @ leftover @ scores)))
    assert found.df == int(np.trace(together) ** 2 / (together**2).sum())
