"""Simulated judges: what a ranking says of one that shuffles, that is weak, that goes by the slot, or that refuses.

A judge adds Gumbel noise to slope × quality, quality being normal; without a slope it shuffles. In the comments stands
what was found before rankings knew what they do not know.

All of it takes minutes and is in the sweep; a sample of each is among the long tests. The samples share their rankings,
so one worker has them all. Whether a judge is told from chance takes no intervals, and is in ``test_told_from_chance``,
with more draws.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import pytest
from tests.by_chance import at_least, at_most, of_mean

from evenhand import RankedProfiles, rank
from evenhand.profiles.ranking.sentences import headline

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]
ALL = pytest.mark.sweep
SAMPLE = pytest.mark.group("sampled rankings")
PAIRS = {"group_size": 2, "rounds": 5}
# Where samples begin to count, so that they share rankings.
FIRST = 700

SHOWN = re.compile(r'<(?:profile_([A-Z])|answer_[ab]) id="\w+">\nworth (\S+)')


@dataclass(kw_only=True)
class Judge:
    """A noisy judge, of groups and of pairs."""

    seed: int
    slope: float
    bias: float = 0.0
    ends: float = 0.0
    refused: frozenset[str] = frozenset()
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(f"judge {self.seed}")

    def __call__(self, messages: Any) -> str:
        shown = SHOWN.findall(messages[-1]["content"])
        if any(worth in self.refused for _, worth in shown):
            return "I cannot help with that."
        last = len(shown) - 1
        worths = [
            self.slope * float(worth)
            - math.log(-math.log(self.chance.random()))
            + self.bias * (0.5 - slot / last)
            + self.ends * (slot in (0, last))
            for slot, (_, worth) in enumerate(shown)
        ]
        order = sorted(range(len(shown)), key=lambda slot: -worths[slot])
        if not shown[0][0]:
            return json.dumps({"reasoning": "", "winner": "AB"[order[0]]})
        return json.dumps({"reasoning": "", "order": [shown[slot][0] for slot in order]})


def people(seed: int, count: int) -> dict[str, str]:
    """The texts of profiles by id, which say how good each is."""
    chance = random.Random(f"profiles {seed}")
    return {f"p{number}": f"worth {chance.gauss(0, 1):.6f}" for number in range(count)}


@lru_cache(maxsize=64)  # of the sample, so many are shared
def ranked(seed: int, count: int, slope: float, *, bias: float = 0.0, **options: Any) -> RankedProfiles:
    profiles = [{"id": name, "text": text} for name, text in people(seed, count).items()]
    judge = Judge(seed=seed, slope=slope, bias=bias)
    return rank(profiles, criteria="Worth", judge=judge, seed=seed, store=None, **options)


def true_ranks(seed: int, count: int) -> dict[str, int]:
    texts = people(seed, count)
    order = sorted(texts, key=lambda name: -float(texts[name].split()[1]))
    return {name: place for place, name in enumerate(order, 1)}


def every(*rows: Any) -> list[Any]:
    """Return rows of a test that belong to the sweep."""
    return [pytest.param(*row, marks=ALL) for row in rows]


def sample(*row: Any) -> Any:
    """Return a row of a test, with few draws."""
    return pytest.param(*row, marks=SAMPLE)


def share(found: Sequence[bool]) -> float:
    return sum(found) / len(found)


@pytest.mark.parametrize(("count", "runs", "options"), [
    sample(20, 5, {}), sample(20, 5, {"group_size": 2}),
    *every((100, 25, {}), (20, 60, {}), (100, 15, {"design": "random"}), (20, 60, {"group_size": 2})),
], ids=str)  # fmt: skip
def test_a_judge_that_shuffles_gets_no_leaderboard(count: int, runs: int, options: dict[str, Any]) -> None:
    """Before: two tiers in 99 % of runs, and "agrees with 71 to 75 %"."""
    found = [ranked(seed, count, 0.0, **options) for seed in range(100, 100 + runs)]

    # One in forty is said to beat chance; of so few runs, more than this come in one of a hundred times.
    assert sum(bool(one.agreement.beats_chance) for one in found) <= (2 + runs // 30 if runs > 5 else 1)
    assert all(one.tiers == 0 for one in found if not one.agreement.beats_chance)
    shares = [one.agreement.share or 0 for one in found]
    assert abs(sum(shares) / len(shares) - 0.5) <= (0.02 if runs > 5 else of_mean(shares))
    one = next(one for one in found if not one.agreement.beats_chance and not one.position_bias.found)
    assert one.report().splitlines()[2].startswith("no order: the judge's choices cannot be distinguished from chance")
    assert "no ranks and no tiers: no order was found" in one.report()


@pytest.mark.sweep
@pytest.mark.parametrize(("count", "runs", "options"), [
    (10, 60, {}), (50, 40, {"design": "random"}), (50, 40, {"design": "staged"}),
])  # fmt: skip
def test_a_judge_that_shuffles_but_for_both_ends_gets_no_leaderboard(
    count: int, runs: int, options: dict[str, Any]
) -> None:
    """Before: 11, 13 and 17 % did, since who had been at an end was there again in the next round."""
    boards = 0
    for seed in range(2300, 2300 + runs):
        profiles = [{"id": name, "text": text} for name, text in people(seed, count).items()]
        judge = Judge(seed=seed, slope=0.0, ends=3.0)
        found = rank(profiles, criteria="Worth", judge=judge, seed=seed, store=None, **options)
        boards += bool(found.agreement.beats_chance)

    assert boards <= 2 + runs // 30  # one in forty is expected


@pytest.mark.sweep
@pytest.mark.parametrize(
    ("options", "least"),
    [({"group_size": 2, "rounds": 8}, 0.85), ({"group_size": 2}, 0.7), ({"group_size": 4, "rounds": 5}, 0.55)],
    ids=str,
)
def test_swiss_rounds_of_small_groups_tell_a_judge_from_one_that_shuffles(
    options: dict[str, Any], least: float
) -> None:
    """Before: in 62 % of runs with eight rounds of pairs, in 38 % with five, and in 49 % with groups of four."""
    found = [ranked(seed, 20, 2.0, **options) for seed in range(2400, 2440)]

    assert share([bool(one.agreement.beats_chance) for one in found]) >= least


@pytest.mark.sweep
@pytest.mark.parametrize("count", [12, 20])
def test_a_judge_without_noise_is_told_from_chance_in_few_rounds_of_pairs(count: int) -> None:
    """Before: in 65 and 55 % of runs, since each round was predicted from the first or could not be predicted."""
    found = [ranked(seed, count, 1e9, group_size=2).agreement for seed in range(20)]

    assert share([bool(one.beats_chance) for one in found]) >= {12: 0.7, 20: 0.9}[count]
    assert sum(one.share or 0 for one in found) / len(found) >= 0.85  # 0.67 before


@pytest.mark.sweep
def test_a_judge_without_noise_gets_the_order_in_which_the_profiles_are() -> None:
    """Before, in half of the runs: in the others, some neighbours had never met."""
    exact = []
    for seed in range(700, 712):
        found, true = ranked(seed, 100, 1e9), true_ranks(seed, 100)
        exact.append(all(one.rank == true[one.id] for one in found))
    assert all(exact)


@pytest.mark.sweep
@pytest.mark.parametrize(("count", "runs", "least", "options"), [
    (100, 12, 1.0, {}),
    (20, 40, 0.85, {}),
    (100, 8, 1.0, {"design": "random"}),
    (100, 8, 1.0, {"design": "staged"}),
])  # fmt: skip
def test_a_judge_that_is_right_of_most_is_told_from_one_that_shuffles(
    count: int, runs: int, least: float, options: dict[str, Any]
) -> None:
    found = [ranked(seed, count, 2.0, **options) for seed in range(300, 300 + runs)]

    assert share([bool(one.agreement.beats_chance) for one in found]) >= least
    shares = [one.agreement.share or 0 for one in found]
    assert 0.68 <= sum(shares) / len(shares) <= 0.80
    assert (
        share([one.agreement.interval is not None and one.agreement.interval.low > 0.5 for one in found]) >= least - 0.2
    )


@pytest.mark.parametrize(("runs", "least"), [sample(3, at_least(3, 39 / 40)), *every((10, 8))])
def test_a_judge_that_goes_by_the_slot_gets_no_leaderboard_either(runs: int, least: int) -> None:
    found = [ranked(seed, 60, 0.0, bias=12.0) for seed in range(runs)]

    assert [one.position_bias.found for one in found] == [True] * runs
    told = [one for one in found if not one.agreement.beats_chance]
    assert len(told) >= least
    assert all("the judge goes by the position in which a profile is shown" in headline(one.ranks) for one in told)


@pytest.mark.parametrize(
    ("count", "runs", "slope", "options"),
    [
        sample(100, 3, 2.0, {}),
        sample(100, 2, 0.5, {"design": "random"}),
        sample(100, 3, 0.5, {"design": "staged"}),
        sample(20, 8, 2.0, {}),
        sample(60, 3, 6.0, PAIRS),
        *every(
            (100, 8, 0.5, {}),
            (100, 8, 2.0, {}),
            (100, 5, 6.0, {}),
            (100, 10, 0.5, {"design": "random"}),
            (100, 8, 2.0, {"design": "random"}),
            (100, 8, 0.5, {"design": "staged"}),
            (100, 8, 2.0, {"design": "staged"}),
            (20, 40, 0.5, {}),
            (20, 30, 2.0, {}),
            (12, 20, 2.0, {"group_size": 2, "rounds": 11}),
            (60, 6, 0.5, PAIRS),
            (60, 6, 6.0, PAIRS),
        ),
    ],
    ids=str,
)
def test_intervals_hold_the_true_rank_as_often_as_they_say(
    count: int, runs: int, slope: float, options: dict[str, Any]
) -> None:
    """Before: swiss .96, random .919, staged .913, slope 0.5 .861. The goal is .93; few runs vary by some hundredths.

    A run of 100 varies by .015 around .975, one of 20 by .035: three and eight are below .915 once in a hundred times at
    the most.
    """
    covered = []
    for seed in range(700, 700 + runs):
        truth = true_ranks(seed, count)
        for one in ranked(seed, count, slope, **options):
            assert one.interval is not None
            covered.append(one.interval[0] <= truth[one.id] <= one.interval[1])

    assert share(covered) >= 0.915


@pytest.mark.parametrize(
    ("count", "runs", "bias", "least"),
    [sample(20, 8, 1.0, at_least(8, 0.5) / 8), *every((20, 40, 1.0, 0.4), (100, 30, 0.5, 0.5))],
)
def test_what_is_said_of_the_position_is_what_its_interval_says(
    count: int, runs: int, bias: float, least: float
) -> None:
    """Before: a bias of 1.0 was found in 2 % with 20 profiles; with 100 and 0.5, the sentence contradicted the term."""
    found = [ranked(seed, count, 2.0, bias=bias).position_bias for seed in range(900, 900 + runs)]

    intervals = [one.interval or (0.0, 0.0) for one in found]
    held = share([low <= bias <= high for low, high in intervals])
    assert held >= (0.85 if runs > 8 else at_least(runs, 0.95) / runs)
    assert share([one.found for one in found]) >= least
    assert [one.found for one in found] == [not low <= 0 <= high for low, high in intervals]


@pytest.mark.parametrize(
    ("count", "runs", "slope", "options"),
    [
        sample(60, 5, 6.0, {}),
        sample(60, 5, 2.0, PAIRS),
        *every((60, 16, 2.0, {}), (60, 16, 6.0, {}), (60, 16, 2.0, PAIRS), (20, 30, 2.0, {"group_size": 4})),
    ],
    ids=str,
)
def test_a_strong_position_bias_is_estimated_as_strong_as_it_is(
    count: int, runs: int, slope: float, options: dict[str, Any]
) -> None:
    """Before: the intervals had the truth in .75, .62, .58 and .84 of runs, and the estimates were up to .4 below it."""
    found = [ranked(seed, count, slope, bias=2.0, **options).position_bias for seed in range(2900, 2900 + runs)]

    fewer = 0.0 if runs > 5 else of_mean([one.advantage or 0 for one in found]) / 2
    assert 1.75 - fewer <= sum(one.advantage or 0 for one in found) / runs <= 2.35 + fewer
    held = share([one.interval is not None and one.interval[0] <= 2.0 <= one.interval[1] for one in found])
    assert held >= (0.85 if runs > 5 else at_least(runs, 0.95) / runs)


@pytest.mark.parametrize(("first", "runs", "most"), [sample(FIRST, 8, at_most(8, 0.05) / 8), *every((1100, 60, 0.12))])
def test_a_judge_without_a_taste_for_slots_is_rarely_said_to_have_one(first: int, runs: int, most: float) -> None:
    found = [ranked(seed, 20, 2.0).position_bias.found for seed in range(first, first + runs)]

    assert share(found) <= most


@pytest.mark.parametrize(
    ("count", "runs", "group_size"),
    [sample(100, 2, 10), sample(8, 2, 10), sample(20, 2, 2), *every((100, 12, 10), (8, 20, 10), (20, 12, 2))],
)
def test_one_refused_profile_takes_no_other_out(count: int, runs: int, group_size: int) -> None:
    """Before: with 100, three innocent ones ended without a rank, at least one in 87 % of runs; with 8, all did."""
    for seed in range(1300, 1300 + runs):
        texts = people(seed, count)
        culprit = f"p{seed % count}"
        judge = Judge(seed=seed, slope=2.0, refused=frozenset({texts[culprit].split()[1]}))
        profiles = [{"id": name, "text": text} for name, text in texts.items()]

        found = rank(
            profiles, criteria="Worth", judge=judge, seed=seed, group_size=group_size, max_attempts=1, store=None
        )

        assert found.ranks.profiles.without_rank == found.ranks.refused == (culprit,)


@pytest.mark.parametrize(
    ("count", "runs", "group_size", "culprits"),
    [
        sample(100, 2, 20, 5),
        sample(10, 2, 10, 2),
        sample(3, 2, 10, 1),
        *every((100, 12, 20, 5), (10, 30, 10, 2), (3, 20, 10, 1)),
    ],
)
def test_several_refused_profiles_take_no_other_out(count: int, runs: int, group_size: int, culprits: int) -> None:
    """Before: with 5 of 100 in groups of 20, innocent ones had no rank in 6 of 30 runs."""
    for seed in range(2600, 2600 + runs):
        texts = people(seed, count)
        refused = random.Random(seed).sample(sorted(texts), culprits)
        judge = Judge(seed=seed, slope=2.0, refused=frozenset(texts[name].split()[1] for name in refused))
        profiles = [{"id": name, "text": text} for name, text in texts.items()]

        found = rank(
            profiles, criteria="Worth", judge=judge, seed=seed, group_size=group_size, max_attempts=1, store=None
        )

        assert set(found.ranks.profiles.without_rank) == set(found.ranks.refused) == set(refused)


@pytest.mark.parametrize(("runs", "most"), [sample(8, at_most(8, 1 / 20)), *every((20, 6))])
def test_pairs_that_fail_by_chance_hardly_blame_anybody(runs: int, most: int) -> None:
    """Before: .85 of 20 profiles were blamed in a run; now it is one in twenty runs."""
    blamed = 0
    for seed in range(2700, 2700 + runs):
        judge, chance = Judge(seed=seed, slope=2.0), random.Random(seed)

        def flaky(messages: Any, judge: Judge = judge, chance: random.Random = chance) -> str:
            return "" if chance.random() < 0.05 else judge(messages)

        profiles = [{"id": name, "text": text} for name, text in people(seed, 20).items()]
        found = rank(profiles, criteria="Worth", judge=flaky, seed=seed, group_size=2, max_attempts=1, store=None)
        blamed += len(found.ranks.refused)

    assert blamed <= most


@pytest.mark.parametrize(("first", "runs"), [sample(FIRST, 3), *every((1500, 12))])
def test_all_of_a_tier_precede_those_two_tiers_on(first: int, runs: int) -> None:
    """Before: neighbours across the border of two tiers were in the right order 54 times out of 100."""
    in_order, tiers = [], []
    for seed in range(first, first + runs):
        truth = true_ranks(seed, 100)
        found = ranked(seed, 100, 2.0)
        tiers.append(found.tiers)
        places = [(one.tier or 0, truth[one.id]) for one in found]
        in_order += [a < b for tier, a in places for other, b in places if other >= tier + 2]

    assert min(tiers) >= 3
    assert share(in_order) >= 0.95


@pytest.mark.parametrize(
    ("many", "few", "most"),
    [
        sample(range(FIRST, FIRST + 3), range(FIRST, FIRST + 8), at_most(11, 0.05) / 11),
        *every((range(1700, 1712), range(1720, 1740), 0.13)),
    ],
    ids=str,
)
def test_a_judge_with_one_order_and_noise_has_no_cycles(many: range, few: range, most: float) -> None:
    """Before: 95 of 100 profiles were in one."""
    found = [ranked(seed, 100, 2.0) for seed in many] + [ranked(seed, 20, 2.0) for seed in few]

    assert share([bool(one.cycles) for one in found]) <= most


@pytest.mark.parametrize(
    ("slope", "runs", "most"),
    [sample(2.0, 4, at_most(4, 0.05) / 4), *every(*((slope, 15, 0.14) for slope in (0.5, 2.0, 6.0)))],
)
def test_a_judge_that_repeats_its_noise_in_both_orders_has_no_cycles(slope: float, runs: int, most: float) -> None:
    """Before: in 20 to 59 of 60 runs."""
    cycles = []
    for seed in range(2500, 2500 + runs):
        noise: dict[frozenset[str], float] = {}
        chance = random.Random(seed)

        def judge(messages: Any, noise: dict[frozenset[str], float] = noise, chance: random.Random = chance) -> str:
            (_, a), (_, b) = SHOWN.findall(messages[-1]["content"])
            added = noise.setdefault(frozenset((a, b)), math.log(1 / chance.random() - 1))
            lead = slope * (float(a) - float(b)) + (added if float(a) > float(b) else -added)
            return json.dumps({"reasoning": "", "winner": "A" if lead > 0 else "B"})

        profiles = [{"id": name, "text": text} for name, text in people(seed, 20).items()]
        found = rank(profiles, criteria="Worth", judge=judge, seed=seed, group_size=2, rounds=8, store=None)
        cycles.append(bool(found.cycles))

    assert share(cycles) <= most


def test_a_judge_that_goes_round_in_circles_has_cycles() -> None:
    """Each of 15 is preferred to the seven that follow it in a circle, nine times out of ten."""
    chance = random.Random(5)

    def judge(messages: Any) -> str:
        (_, a), (_, b) = SHOWN.findall(messages[-1]["content"])
        follows = (int(b) - int(a)) % 15 <= 7
        return json.dumps({"reasoning": "", "winner": "A" if follows == (chance.random() < 0.9) else "B"})

    profiles = [{"id": f"p{number}", "text": f"worth {number}"} for number in range(15)]
    found = rank(profiles, criteria="Worth", judge=judge, group_size=2, rounds=14, design="random", store=None)

    assert len(found.cycles) == 5
    assert found.ranks.in_cycles == 15


@pytest.mark.parametrize(("runs", "most"), [sample(5, at_most(5, 0.05) / 5), *every((15, 0.2))])
def test_lengths_that_do_not_matter_leave_win_rates_as_they_are(runs: int, most: float) -> None:
    """Before: 100 % became 76 %."""
    adjusted = []
    for seed in range(1900, 1900 + runs):
        chance = random.Random(seed)
        texts = {name: f"{text}\n{'x' * chance.randint(20, 2000)}" for name, text in people(seed, 16).items()}
        profiles = [{"id": name, "text": text} for name, text in texts.items()]
        judge = Judge(seed=seed, slope=3.0)
        found = rank(profiles, criteria="Worth", judge=judge, seed=seed, group_size=2, rounds=8, store=None)
        assert found.length is not None
        rates = [(one.win_rate, one.win_rate_without_length) for one in found]
        adjusted.append(any(without is not None for _, without in rates))
        for rate, without in rates:
            assert (without is None) or (rate is not None and abs(without - rate) < 0.25)

    assert share(adjusted) <= most  # of 0.05 that are expected


@pytest.mark.sweep  # beside it: test_length.py
def test_what_length_changes_is_estimated_as_it_is() -> None:
    """Before: 80 % of it, and intervals held the truth in 82 % of runs."""
    shares, covered = [], []
    for seed in range(3000, 3020):
        chance = random.Random(seed)
        texts = {}
        for number in range(40):
            doublings = chance.gauss(0, 1)
            text = f"worth {chance.gauss(0, 1) + doublings / 2:.6f}\n"
            texts[f"p{number}"] = text + "x" * round(200 * 2**doublings - len(text))
        profiles = [{"id": name, "text": text} for name, text in texts.items()]
        length = rank(profiles, criteria="Worth", judge=Judge(seed=seed, slope=6.0), seed=seed, store=None).length
        assert length is not None
        shares.append(length.doubling / 3)
        covered.append(length.interval[0] <= 3 <= length.interval[1])

    assert 0.85 <= sum(shares) / len(shares) <= 1.2
    assert share(covered) >= 0.85


def test_few_profiles_or_equal_lengths_say_nothing_of_length() -> None:
    few, alike = ranked(1, 8, 2.0, group_size=2), ranked(1, 30, 2.0)

    for found in (few, alike):
        assert found.length is None
        assert all(one.win_rate_without_length is None for one in found)
        assert "length: cannot tell; that takes 10 or more profiles of clearly different lengths" in found.report()


@pytest.mark.parametrize(
    ("runs", "slope", "options"),
    [
        sample(4, 6.0, {}),
        sample(4, 6.0, PAIRS),
        *every(
            (16, 2.0, {}),
            (16, 6.0, {}),
            (16, 0.5, PAIRS),
            (16, 2.0, PAIRS),
            (16, 6.0, PAIRS),
            (16, 2.0, {"group_size": 2, "rounds": 20}),
        ),
    ],
    ids=str,
)
def test_a_unit_of_strength_is_about_one_in_truth(runs: int, slope: float, options: dict[str, Any]) -> None:
    """Before: 1.3 with the defaults, and 3.4 in pairs; then 1.2, 1.3, .7, 1.3, 1.5 and 1.1 in these."""
    ratios = []
    for seed in range(2100, 2100 + runs):  # single ones vary by a third; with a slope of 6, by a sixth
        strengths = {one.id: one.strength or 0.0 for one in ranked(seed, 60, slope, **options)}
        ratios.append(true_for_shown(people(seed, 60), slope, strengths))

    assert 0.85 <= sum(ratios) / len(ratios) <= 1.35


@pytest.mark.parametrize("runs", [sample(3), *every((12,))])
def test_outliers_leave_strengths_and_intervals_as_they_should_be(runs: int) -> None:
    """Before: true differences were 1.4 times those shown, since a normal prior is narrow for the furthest."""
    ratios, covered = [], []
    for seed in range(2800, 2800 + runs):
        chance = random.Random(seed)
        worths = [chance.gauss(0, 1) / math.sqrt(sum(chance.gauss(0, 1) ** 2 for _ in range(3)) / 3) for _ in range(60)]
        texts = {f"p{number}": f"worth {worth / math.sqrt(3):.6f}" for number, worth in enumerate(worths)}
        profiles = [{"id": name, "text": text} for name, text in texts.items()]
        found = rank(profiles, criteria="Worth", judge=Judge(seed=seed, slope=4.0), seed=seed, store=None)
        ratios.append(true_for_shown(texts, 4.0, {one.id: one.strength or 0.0 for one in found}))
        order = sorted(texts, key=lambda name: -float(texts[name].split()[1]))
        for place, name in enumerate(order, 1):
            best, worst = found[name].interval or (0, 0)
            covered.append(best <= place <= worst)

    assert 0.85 <= sum(ratios) / len(ratios) <= 1.3
    assert share(covered) >= 0.915


def true_for_shown(texts: dict[str, str], slope: float, strengths: dict[str, float]) -> float:
    """Return by how much two profiles differ in truth where a unit is shown."""
    worths = {name: float(text.split()[1]) for name, text in texts.items()}
    mean = sum(worths.values()) / len(worths)
    together = sum(slope * (worths[name] - mean) * strength for name, strength in strengths.items())
    return together / sum(strength**2 for strength in strengths.values())
