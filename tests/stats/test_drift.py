"""Whether a judge has changed: golden figures, refusals, and how often an alarm is false."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st
from tests.by_chance import at_most

from evenhand.stats.drift import Drift, chance_of_ok, drift, flip_e_value, watch_flips
from evenhand.stats.refusal import Refused

Golden: TypeAlias = Callable[[str, str], list[Any]]


def test_changes_of_agreement_are_the_golden_ones(golden: Golden) -> None:
    for case in golden("drift.json", "agreement_drop"):
        found = drift(case["became_right"], case["became_wrong"], case["anchors"], case["max_drop"])

        assert isinstance(found, Drift)
        assert (found.change, found.interval.low, found.interval.high, found.p) == pytest.approx(
            (case["change"], case["low_90"], case["high_90"], case["mcnemar_p"]), abs=1e-6
        )
        assert found.outcome == case["verdict"]
        assert (found.outcome == "ok") == case["passes"]


def test_the_monitor_of_flips_is_the_golden_one(golden: Golden) -> None:
    for case in golden("drift.json", "flip_monitor"):
        value = flip_e_value(case["flips"], case["anchors"], case["usual_flip_rate"])

        assert value == pytest.approx(case["e_value"], rel=1e-6)
        assert (value >= 20) == case["alarm"]


@pytest.mark.parametrize(("anchors", "chance"), [(100, 0.58), (200, 0.87), (400, 0.99)])
def test_how_likely_anchors_tell_is_said_beforehand(anchors: int, chance: float) -> None:
    assert chance_of_ok(anchors) == pytest.approx(chance, abs=0.01)


def test_the_chance_is_the_sum_over_all_that_can_happen() -> None:
    summed = 0.0
    for right in range(31):
        for wrong in range(31 - right):
            found = drift(right, wrong, 30, 0.1)
            assert isinstance(found, Drift)
            ways = math.comb(30, right) * math.comb(30 - right, wrong)
            summed += (found.outcome == "ok") * ways * 0.05 ** (right + wrong) * 0.9 ** (30 - right - wrong)

    assert chance_of_ok(30, flips=0.1, max_drop=0.1) == pytest.approx(summed, abs=1e-12)


def test_without_anchors_nothing_is_said() -> None:
    assert isinstance(drift(0, 0, 0), Refused)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: drift(3, 3, 5),
        lambda: drift(1, 1, 5, 0),
        lambda: chance_of_ok(0),
        lambda: chance_of_ok(10, flips=0),
        lambda: flip_e_value(3, 2, 0.1),
        lambda: flip_e_value(1, 2, 1.0),
    ],
)
def test_what_no_data_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


@given(st.integers(0, 60), st.integers(0, 60), st.integers(1, 200))
def test_a_better_judge_has_not_drifted(right: int, wrong: int, unchanged: int) -> None:
    found = drift(right, wrong, right + wrong + unchanged)

    assert isinstance(found, Drift)
    if right >= wrong:
        assert found.outcome != "drifted"
    assert found.interval.low <= found.change <= found.interval.high


@given(st.lists(st.booleans(), max_size=60), st.floats(0.01, 0.9))
def test_an_alarm_is_not_taken_back(flipped: list[bool], usual: float) -> None:
    whole = watch_flips(flipped, usual)

    values = [flip_e_value(sum(flipped[:n]), n, usual) for n in range(1, len(flipped) + 1)]
    assert whole.alarm_after == next((n for n, value in enumerate(values, start=1) if value >= 20), None)
    assert (whole.anchors, whole.flips) == (len(flipped), sum(flipped))


@pytest.mark.parametrize("usual", [1e-6, 0.5])
def test_the_monitor_stands_extremes(usual: float) -> None:
    assert flip_e_value(0, 100_000, usual) < 1
    assert flip_e_value(100_000, 100_000, usual) == math.inf


@pytest.mark.long
@pytest.mark.parametrize(
    "draws", [pytest.param(300, id="sample"), pytest.param(1000, id="all", marks=pytest.mark.sweep)]
)
def test_looking_after_every_anchor_rings_as_rarely_as_promised(draws: int) -> None:
    chance = random.Random(20261117)

    rung = [watch_flips([chance.random() < 0.06 for _ in range(150)], 0.06).alarm_after for _ in range(draws)]

    assert sum(after is not None for after in rung) <= (50 if draws == 1000 else at_most(draws, 0.05))
