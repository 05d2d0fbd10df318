"""The designs against a simulated judge: as good as they were measured to be, with the calls that they promise."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

import pytest
from tests.by_chance import at_most

from evenhand.profiles.ranking.design import RankingDesign
from evenhand.stats.bias import Slots

from .played import played

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

COUNT = 1000
SEEDS = 8
# The share of the top ten varies by .15 from run to run, more than its limits, so there are more seeds.
SEEDS_OF_RANDOM = 24


@pytest.mark.parametrize(
    "sampled", [pytest.param(3, id="sample"), pytest.param(None, id="all", marks=pytest.mark.sweep)]
)
@pytest.mark.parametrize(
    ("design", "calls", "spearman", "top_ten"),
    [
        (RankingDesign(name="random", group_size=5, rounds=5), 1000, 0.923, 0.36),
        (RankingDesign(name="random", group_size=10, rounds=3), 300, 0.915, 0.38),
        (RankingDesign(name="random", group_size=10, rounds=10), 1000, 0.975, 0.66),
        (RankingDesign(name="random", group_size=20, rounds=5), 250, 0.961, 0.65),
        (RankingDesign(name="swiss", group_size=10, rounds=5), 500, 0.955, 0.65),
        (RankingDesign(name="swiss", group_size=10, rounds=10), 1000, 0.979, 0.80),
        (RankingDesign(name="swiss", group_size=20, rounds=10), 500, 0.982, 0.79),
        (RankingDesign(name="staged", group_size=20), 206, 0.941, 0.79),
        (RankingDesign(name="staged", group_size=10), 420, 0.928, 0.76),
    ],
    ids=lambda one: f"{one.name}-{one.group_size}-{one.rounds}" if isinstance(one, RankingDesign) else None,
)
def test_a_thousand_are_ranked_as_well_as_was_measured(
    design: RankingDesign, calls: int, spearman: float, top_ten: float, sampled: int | None
) -> None:
    every = SEEDS_OF_RANDOM if design.name == "random" else SEEDS
    seeds = sampled or every
    fewer = math.sqrt(every / seeds)  # by what the mean of fewer varies more

    found = [simulated(design, seed) for seed in range(seeds)]

    # A round that begins with half a group may have one more.
    assert calls <= sum(design.group_counts(COUNT)) <= calls * 1.01
    assert statistics.fmean(one for one, _ in found) == pytest.approx(spearman, abs=0.02)
    assert statistics.fmean(one for _, one in found) == pytest.approx(top_ten, abs=0.10 * fewer)


@pytest.mark.parametrize("draws", [pytest.param(20, id="sample"), pytest.param(100, id="all", marks=pytest.mark.sweep)])
@pytest.mark.parametrize(
    ("design", "count"),
    [
        (RankingDesign(name="swiss", group_size=10, rounds=40), 12),
        (RankingDesign(name="swiss", group_size=5, rounds=12), 30),
        (RankingDesign(name="random", group_size=10, rounds=20), 10),
        (RankingDesign(name="swiss", group_size=6, rounds=5), 60),
    ],
    ids=lambda one: f"{one.name}-{one.group_size}-{one.rounds}" if isinstance(one, RankingDesign) else None,
)
def test_a_judge_without_a_taste_for_slots_is_rarely_accused_of_one(
    design: RankingDesign, count: int, draws: int
) -> None:
    accused = 0
    for seed in range(draws):
        slots = Slots()
        for group in played(design, seed, count).groups:
            slots.add(group.places)
        accused += (slots.test().p or 1.0) < 0.05

    # More than 12 of 100 come in 1 of 700 times, with 5 that are expected.
    assert accused <= (12 if draws == 100 else at_most(draws, 0.05))


def simulated(design: RankingDesign, seed: int) -> tuple[float, float]:
    """Rank a thousand by a noisy judge; give Spearman's correlation with the truth, and the share of the top ten."""
    found = played(design, seed, COUNT)
    strengths = found.strengths()
    best, best_in_truth = _places(strengths)[:10], _places(found.quality)[:10]
    return statistics.correlation(_ranks(strengths), _ranks(found.quality)), len(set(best) & set(best_in_truth)) / 10


def _places(values: Sequence[float]) -> list[int]:
    return sorted(range(len(values)), key=lambda one: -values[one])


def _ranks(values: Sequence[float]) -> list[float]:
    ranks = [0.0] * len(values)
    for rank, one in enumerate(_places(values)):
        ranks[one] = float(rank)
    return ranks
