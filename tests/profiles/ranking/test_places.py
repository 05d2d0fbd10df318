"""The places of a ranking: made when they are looked at, and like a tuple of them."""

from __future__ import annotations

import numpy as np

from evenhand import RankedProfile
from evenhand.profiles.ranking.result import Places

PLACES = Places(
    ids=["best", "next", "alone", "unseen"],
    ranks=np.array([1, 2, 3]),
    best=np.array([1, 1, 0]),
    worst=np.array([2, 3, 0]),
    tiers=np.array([1, 1, 0]),
    strengths=np.array([1.0, 0.5, -1.5]),
    groups=np.array([3, 2, 1, 0]),
    failures=np.array([0, 0, 0, 2]),
    rates={1: {"win_rate": 0.5}},
    attributes={3: {"town": "Ghent"}},
)


def test_a_place_has_what_its_columns_say() -> None:
    first, second, third, last = PLACES

    assert first == RankedProfile(id="best", rank=1, interval=(1, 2), tier=1, strength=1.0, groups=3)
    assert second == RankedProfile(id="next", rank=2, interval=(1, 3), tier=1, strength=0.5, groups=2, win_rate=0.5)
    assert third == RankedProfile(id="alone", rank=3, strength=-1.5, groups=1)
    assert last == RankedProfile(id="unseen", failures=2, attributes={"town": "Ghent"})


def test_places_are_counted_and_cut_as_those_of_a_tuple_are() -> None:
    everybody = tuple(PLACES)

    assert (len(PLACES), PLACES[-1], PLACES[1:3]) == (4, everybody[3], everybody[1:3])
    assert (PLACES[7:], PLACES[::-1]) == ((), everybody[::-1])
    assert everybody[0] in PLACES


def test_numbers_of_the_whole_come_from_the_columns() -> None:
    assert (PLACES.order, PLACES.without_rank) == (("best", "next", "alone"), ("unseen",))
    assert (PLACES.last_rank, PLACES.last_tier) == (3, 1)
    assert (PLACES.in_tier(1), PLACES.in_tier(None), PLACES.in_tier(2)) == (2, 1, 0)
