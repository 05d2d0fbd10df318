"""Who meets whom: everybody takes part, nobody alone, early and late in turn, and the same lots fall each time."""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from evenhand import ConfigError
from evenhand.profiles.ranking.borders import borders
from evenhand.profiles.ranking.design import RankingDesign, SoFar


def so_far(strengths: list[float], **others: object) -> SoFar:
    count = len(strengths)
    known: dict[str, object] = {"shown": [0.0] * count, "ranked": [0] * count, "met": {}}
    return SoFar(strengths=strengths, **(known | others))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["swiss", "random", "staged"])
@pytest.mark.parametrize("group_size", [2, 3, 5, 10])
@pytest.mark.parametrize("count", [2, 3, 4, 7, 11, 20, 101])
def test_in_each_round_everybody_is_in_one_group_and_nobody_alone(name: str, group_size: int, count: int) -> None:
    design = RankingDesign(name=name, group_size=group_size, rounds=4)

    for number in range(4):
        groups = design.groups(number, SoFar.nothing(count))
        sizes = [len(group) for group in groups]
        seen = Counter(itertools.chain(*groups))
        resting = count - len(seen)
        odd = count % 2 if group_size == 2 else 0

        assert sorted(seen.values())[-2:] == ([1, 2] if odd and number == 0 else [1, 1])
        assert min(sizes) >= 2
        assert max(sizes) <= group_size
        assert resting == (odd if number else 0)
        assert len(groups) == design.group_counts(count)[number]


def test_stages_are_those_of_the_table() -> None:
    """Three rounds with everybody, then two each with the best 320, 160 and 80 (and 40): 206 and 420 groups."""
    assert RankingDesign(name="staged", group_size=20).taking_part(1000) == [1000] * 3 + [320, 320, 160, 160, 80, 80]
    assert sum(RankingDesign(name="staged", group_size=20).group_counts(1000)) == 206
    assert sum(RankingDesign(name="staged", group_size=10).group_counts(1000)) == 420


def test_the_last_stage_leaves_room_around_the_top() -> None:
    assert min(RankingDesign(name="staged", top=100).taking_part(10_000)) == 200
    assert RankingDesign(name="staged", top=10).taking_part(50) == [50] * 3


def test_later_stages_are_made_of_the_best() -> None:
    strengths = [float(number) for number in range(200)]
    design = RankingDesign(name="staged", group_size=5)
    assert design.taking_part(200)[-1] == 20

    last = design.groups(len(design.taking_part(200)) - 1, so_far(strengths))

    assert sorted(itertools.chain(*last)) == list(range(180, 200))


def test_equals_meet_in_a_swiss_round_and_neighbours_are_not_parted_for_ever() -> None:
    strengths = [float(-number) for number in range(20)]
    design = RankingDesign(name="swiss", group_size=5)

    third, fourth = (design.groups(number, so_far(strengths)) for number in (2, 3))

    assert [sorted(group) for group in fourth] == [list(range(start, start + 5)) for start in (0, 5, 10, 15)]
    assert any({4, 5} <= set(group) for group in third)


def test_the_first_two_swiss_rounds_are_by_lot_so_that_the_second_tests_what_the_first_said() -> None:
    strengths = [float(-number) for number in range(20)]
    design = RankingDesign(name="swiss", group_size=5)

    second = design.groups(1, so_far(strengths))

    assert [design.is_by_lot(number) for number in range(4)] == [True, True, False, False]
    assert [sorted(group) for group in second] != [list(range(start, start + 5)) for start in (0, 5, 10, 15)]


def test_of_pairs_the_first_and_the_last_round_are_by_lot_so_that_the_last_tests_all_others() -> None:
    assert [RankingDesign(group_size=2).is_by_lot(number) for number in range(5)] == [True, False, False, False, True]
    assert RankingDesign(group_size=2, rounds=1).is_by_lot(0)
    assert RankingDesign(group_size=2, rounds=2).is_by_lot(1)


def test_whoever_is_out_takes_no_further_part() -> None:
    design = RankingDesign(name="swiss", group_size=5)

    for number in range(5):
        groups = design.groups(number, replace(so_far([0.0] * 12), out={3, 7}))
        assert sorted(member for group in groups for member in group) == [0, 1, 2, 4, 5, 6, 8, 9, 10, 11]


def test_whoever_was_shown_in_the_first_half_is_shown_in_the_second() -> None:
    design = RankingDesign(name="random", group_size=4)

    (group,) = design.groups(1, so_far([0.0] * 4, shown=[0.5, -0.5, 0.2, -0.2], ranked=[1] * 4))

    assert (set(group[:2]), set(group[2:])) == ({1, 3}, {0, 2})


def test_whoever_was_shown_at_an_end_is_there_again_no_more_often_than_by_chance() -> None:
    again = 0
    for seed in range(200):
        design = RankingDesign(name="random", group_size=10, seed=seed)
        shown = [0.5 - slot / 9 for slot in range(10)]
        (group,) = design.groups(1, so_far([0.0] * 10, shown=shown, ranked=[1] * 10))
        again += (group[0] == 9) + (group[-1] == 0)

    assert 50 <= again <= 110  # of 400, one in five: the half is known, and the place in it is not


def test_over_each_two_rounds_everybody_is_shown_early_and_late_alike() -> None:
    design = RankingDesign(name="random", group_size=10, rounds=20)
    shown, halves = [0.0] * 10, [0] * 10
    for number in range(20):
        (group,) = design.groups(number, so_far([0.0] * 10, shown=shown, ranked=[number] * 10))
        for slot, member in enumerate(group):
            shown[member] = 0.5 - slot / 9
            halves[member] += 1 if slot < 5 else -1

    assert halves == [0] * 10


def test_every_other_order_is_by_lot_whatever_was_before() -> None:
    design = RankingDesign(name="random", group_size=5, rounds=40)

    orders = {tuple(design.groups(number, so_far([0.0] * 5, ranked=[number] * 5))[0]) for number in range(0, 40, 2)}

    assert len(orders) > 12


def test_pairs_meet_whom_they_have_not_met() -> None:
    design = RankingDesign(group_size=2, rounds=5)
    met: dict[int, dict[int, int]] = {}
    for number in range(5):
        for one, other in design.groups(number, so_far([3.0, 2.0, 1.0, 0.0, -1.0, -2.0], met=met)):
            met.setdefault(one, {})[other] = met.get(one, {}).get(other, 0) + 1
            met.setdefault(other, {})[one] = met.get(other, {}).get(one, 0) + 1

    assert sum(len(others) for others in met.values()) // 2 >= 12  # of 15 pairs that there are


def test_of_an_odd_number_nobody_rests_in_the_first_round_and_whoever_had_two_pairs_rests_in_the_second() -> None:
    design = RankingDesign(group_size=2)

    first = design.groups(0, SoFar.nothing(5))
    pairs = Counter(itertools.chain(*first))
    second = design.groups(1, so_far([0.0] * 5, ranked=[pairs[member] for member in range(5)]))

    assert sorted(pairs.values()) == [1, 1, 1, 1, 2]
    assert all(one != other for one, other in first)
    assert pairs.most_common(1)[0][0] not in itertools.chain(*second)


def test_of_an_odd_number_whoever_was_ranked_most_rests() -> None:
    pairs = RankingDesign(group_size=2).groups(1, so_far([0.0] * 5, ranked=[1, 1, 2, 1, 1]))

    assert 2 not in itertools.chain(*pairs)


def test_the_same_seed_draws_the_same_lots_and_another_does_not() -> None:
    once, again, other = (RankingDesign(group_size=5, seed=seed).groups(0, SoFar.nothing(50)) for seed in (1, 1, 2))

    assert once == again != other


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"name": "swis"}, "design is 'swis'; did you mean 'swiss'"),
        ({"group_size": 1}, "group_size is 1; it must be a whole number from 2 to 26"),
        ({"group_size": 27}, "group_size is 27; it must be a whole number from 2 to 26"),
        ({"group_size": True}, "group_size is True"),
        (
            {"rounds": 100_000},
            "rounds is 100,000; it must be 1,000 or less: after so many, further ones change nothing",
        ),
        ({"rounds": 0}, "rounds is 0; it must be a whole number, 1 or more"),
        ({"top": 0}, "top is 0; it must be a whole number, 1 or more"),
        ({"seed": "x"}, "seed is 'x'; it must be a whole number, 0 or more"),
        ({"seed": -1}, "seed is -1; it must be a whole number, 0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, object], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        RankingDesign(**options)  # type: ignore[arg-type]


def test_a_design_survives_being_written_down() -> None:
    design = RankingDesign(name="staged", group_size=7, rounds=2, top=5, seed=9)

    assert RankingDesign.from_dict(design.as_dict()) == design


def test_a_swiss_round_ends_its_groups_where_neighbours_have_met() -> None:
    strengths = [float(-number) for number in range(20)]
    design = RankingDesign(name="swiss", group_size=5)
    # Those before and after 3, 8, 12 and 15 have met, and no other neighbours.
    together = [np.arange(20), np.arange(20)]
    for number, first in enumerate((2, 7, 11, 14)):
        together[number % 2][first : first + 2] = 100 + number

    last = design.groups(4, so_far(strengths, together=together))

    assert [min(group) for group in last] == [0, 3, 8, 12, 15]


def test_those_who_met_in_the_first_round_by_lot_do_not_meet_in_the_second() -> None:
    design = RankingDesign(name="swiss", group_size=10)
    first = design.groups(0, SoFar.nothing(100))
    met = np.zeros(100, dtype=np.int32)
    for number, group in enumerate(first):
        met[list(group)] = number

    second = design.groups(1, so_far([0.0] * 100, together=[met]))

    assert all(len({int(met[member]) for member in group}) == 10 for group in second)


def test_after_the_last_round_one_more_group_settles_what_is_open() -> None:
    swiss, is_open = RankingDesign(name="swiss", group_size=5), np.zeros((100, 100), dtype=np.bool_)
    for a, b in ((3, 4), (50, 51)):
        is_open[a, b] = is_open[b, a] = True

    def last(design: RankingDesign, **known: object) -> list[list[int]]:
        return [sorted(group) for group in design.groups(design.rounds or 0, so_far([0.0] * 100, **known))]

    assert last(swiss, open=is_open) == [[3, 4, 50, 51]]
    assert last(swiss, open=is_open, out={51}) == [[3, 4, 50]]
    assert last(swiss) == []  # the judge contradicted itself
    assert last(RankingDesign(name="random", group_size=5), open=is_open) == []
    assert last(RankingDesign(name="swiss", group_size=3), open=is_open) == []  # one group is not enough
    assert last(swiss, open=np.zeros((100, 100), dtype=np.bool_)) == []


@given(st.integers(3, 9), st.integers(10, 60), st.integers(0, 10**6))
def test_of_all_divisions_into_groups_the_best_is_found(most: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    strengths = -np.sort(chance.normal(size=count)).round(4)
    together = [chance.integers(-1, count // 2, size=count) for _ in range(2)]
    groups = min(-(-count // most) + int(chance.integers(0, 2)), count // 2)
    parted = [
        sum(
            bool(all(group[a] != group[b] or group[a] < 0 for group in together))
            * (0.1 if is_linked(a, b, together) else 1.0)
            / (1 + math.exp(strengths[a] - strengths[b]))
            for a, b in itertools.product(range(max(0, place - most), place), range(place, min(count, place + most)))
            if b - a < most
        )
        for place in range(count + 1)
    ]

    def cost(end: int, size: int) -> float:
        return parted[end] + 1e-3 * ((size - count / groups) / most) ** 2

    @functools.cache
    def least(end: int, number: int) -> float:
        if not number or abs(end - round(number * count / groups)) > most:
            return 0.0 if number == end == 0 else math.inf
        return min((least(end - size, number - 1) + cost(end, size) for size in range(2, most + 1)), default=math.inf)

    found = borders(strengths, together, groups=groups, most=most)
    sizes = [end - begin for begin, end in itertools.pairwise(found)]

    assert (len(sizes), sum(sizes), min(sizes) >= 2, max(sizes) <= most) == (groups, count, True, True)
    assert sum(map(cost, found[1:], sizes)) == pytest.approx(least(count, groups), abs=1e-3)


def is_linked(a: int, b: int, together: Sequence[Any]) -> bool:
    """Whether those between two lead from one to the other, each having met the next."""
    reached = {a}
    for later in range(a + 1, b + 1):
        if any(group[later] >= 0 and group[later] == group[one] for one in reached for group in together):
            reached.add(later)
    return b in reached
