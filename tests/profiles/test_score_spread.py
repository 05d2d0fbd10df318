"""How scores spread: median, standard deviation and histogram from counts, and who shares the first place."""

from __future__ import annotations

import random
import statistics

import pytest

from evenhand.profiles.score_spread import MOST_NAMED, ScoreSpread


def test_numbers_from_counts_are_those_of_all_scores() -> None:
    chance = random.Random(7)
    scores = [chance.choice([0, 2.5, 4, 7, 7.5, 9, 10]) for _ in range(1_000)]

    found = ScoreSpread.of((f"p{number}", score) for number, score in enumerate(scores))

    assert found.n == sum(found.histogram) == 1_000
    assert found.median == statistics.median(scores)
    assert found.standard_deviation == pytest.approx(statistics.stdev(scores))
    assert (found.lowest, found.highest, found.at_top) == (0, 10, scores.count(10))
    assert [found.histogram[place] for place in (0, 5, 8, 14, 15, 18, 19)] == [
        scores.count(score) for score in (0, 2.5, 4, 7, 7.5, 9, 10)
    ]


@pytest.mark.parametrize(
    ("scores", "median", "deviation"),
    [([], None, None), ([4], 4, None), ([4, 5], 4.5, 0.5**0.5), ([1, 1, 9], 1, 4.6188)],
)
def test_few_scores_have_what_they_can_have(scores: list[float], median: float, deviation: float) -> None:
    found = ScoreSpread.of((str(number), score) for number, score in enumerate(scores))

    assert found.median == median
    assert found.standard_deviation == (deviation and pytest.approx(deviation, abs=1e-4))
    assert len(list(found.sentences())) == (0 if len(scores) < 2 else 1)


def test_who_shares_the_first_place_is_named() -> None:
    found = ScoreSpread.of([("cleo", 9.0), ("ben", 4.0), ("anna", 9.0), ("dora", 9.0)])

    assert list(found.sentences()) == [
        "median 9.00, standard deviation 2.50, from 4.00 to 9.00",
        "3 profiles share the top score of 9.00: anna, cleo and dora",
    ]


def test_means_that_are_equal_but_for_their_last_digits_are_a_tie() -> None:
    found = ScoreSpread.of([("a", 0.1 + 0.2), ("b", 0.3)])

    assert (found.at_top, found.top) == (2, ("a", "b"))


def test_of_many_who_share_the_first_place_some_are_named_and_the_others_counted() -> None:
    found = ScoreSpread.of((f"p{number:03}", 5.0) for number in reversed(range(1_234)))

    assert found.top == tuple(f"p{number:03}" for number in range(MOST_NAMED))
    assert list(found.sentences())[1].endswith("p008, p009 and 1,224 more")


def test_a_histogram_in_text_has_a_bar_for_each_point_and_even_one_profile_is_seen() -> None:
    found = ScoreSpread.of([*((str(number), 7.5) for number in range(2_000)), ("top", 10.0)])

    bars = list(found.bars())

    assert len(bars) == 10
    assert (bars[0], bars[2]) == (" 9–10      1  █", f"  7–8  2,000  {'█' * 40}")
    assert bars[1] == "  8–9      0"
