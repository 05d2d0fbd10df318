"""Whether a judge is told from one that shuffles, by many rankings that are played with dice.

The same is asked of whole rankings, which also have intervals, in ``test_chance.py``: there stands what was found
before rankings knew what they do not know, and all of those are in the sweep but a few.
"""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from tests.by_chance import at_least, at_most, of_mean

from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.result import Agreement

from .played import played

pytestmark = pytest.mark.long


def agreements(draws: int, count: int, *, slope: float, ends: float = 0.0, **options: Any) -> list[Agreement]:
    design = RankingDesign(**options)
    return [played(design, seed, count, slope=slope, ends=ends).agreement() for seed in range(draws)]


def beating(found: list[Agreement]) -> int:
    return sum(bool(one.beats_chance) for one in found)


@pytest.mark.parametrize(
    ("count", "draws", "options"),
    [
        pytest.param(60, 15, {}, marks=pytest.mark.sweep),
        (20, 40, {}),
        (60, 40, {"name": "random"}),
        (20, 60, {"group_size": 2}),
    ],
    ids=str,
)
def test_a_judge_that_shuffles_is_said_to_beat_chance_once_in_forty(
    count: int, draws: int, options: dict[str, Any]
) -> None:
    found = agreements(draws, count, slope=0.0, **options)

    assert beating(found) <= at_most(draws, 1 / 40)
    shares = [one.share or 0 for one in found]
    assert statistics.fmean(shares) == pytest.approx(0.5, abs=of_mean(shares))


@pytest.mark.parametrize(
    ("count", "draws", "options"),
    [
        pytest.param(10, 40, {}, marks=pytest.mark.sweep),
        (50, 60, {"name": "random"}),
        (50, 60, {"name": "staged"}),
    ],
    ids=str,
)
def test_so_is_one_that_shuffles_but_for_both_ends(count: int, draws: int, options: dict[str, Any]) -> None:
    assert beating(agreements(draws, count, slope=0.0, ends=3.0, **options)) <= at_most(draws, 1 / 40)


@pytest.mark.parametrize(
    ("slope", "count", "draws", "options", "rate", "share"),
    [
        (2.0, 60, 8, {}, 1.0, 0.73),
        pytest.param(2.0, 20, 20, {}, 0.98, 0.75, marks=pytest.mark.sweep),
        (2.0, 60, 20, {"name": "random"}, 1.0, 0.77),
        (2.0, 60, 20, {"name": "staged"}, 1.0, 0.75),
        (2.0, 20, 30, {"group_size": 4, "rounds": 5}, 0.65, 0.66),
        (2.0, 20, 40, {"group_size": 2}, 0.83, 0.79),
        pytest.param(2.0, 20, 30, {"group_size": 2, "rounds": 8}, 0.98, 0.84, marks=pytest.mark.sweep),
        pytest.param(1e9, 12, 20, {"group_size": 2}, 0.98, 0.92, marks=pytest.mark.sweep),
        (1e9, 20, 20, {"group_size": 2}, 0.98, 0.92),
    ],
    ids=str,
)
def test_a_judge_that_is_right_of_most_is_told_from_chance_as_often_as_was_measured(
    slope: float, count: int, draws: int, options: dict[str, Any], rate: float, share: float
) -> None:
    """``rate`` and ``share`` are those of sixty others."""
    found = agreements(draws, count, slope=slope, **options)

    assert beating(found) >= at_least(draws, rate)
    shares = [one.share or 0 for one in found]
    assert statistics.fmean(shares) == pytest.approx(share, abs=of_mean(shares) + 0.03)


@pytest.mark.parametrize("seeds", [range(2), pytest.param(range(2, 4), marks=pytest.mark.sweep)], ids=str)
def test_a_judge_without_noise_gives_the_order_in_which_the_profiles_are(seeds: range) -> None:
    """Before, in half of the runs: in the others, some neighbours had never met."""
    for seed in seeds:
        found = played(RankingDesign(), seed, 100, slope=1e9)
        strengths = found.strengths()

        by_truth = sorted(range(100), key=lambda one: found.quality[one])
        assert sorted(range(100), key=lambda one: strengths[one]) == by_truth
