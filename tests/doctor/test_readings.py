"""From verdicts to counts: what is compared with what, and what is left out."""

from __future__ import annotations

import pytest

from evenhand.doctor import readings
from evenhand.doctor.probe import BAD, GOOD, PLAIN, Observed

PAIRS = [f"p{number}" for number in range(6)]


def seen(
    score: float | None, pair: str, *, probe: str = "probe", answer: str = BAD, variant: str = "", places: str = ""
) -> Observed:
    both = (places[0], places[1]) if places else None
    return Observed(
        probe=probe, pair=pair, answer=answer, variant=variant, score=score, passed=(score or 0) >= 0.8, places=both
    )


def plain(*scores: float | None) -> dict[tuple[str, str], Observed]:
    return {(pair, BAD): seen(score, pair, probe=PLAIN) for pair, score in zip(PAIRS, scores, strict=False)}


def cases(*scores: float | None) -> list[Observed]:
    return [seen(score, pair) for pair, score in zip(PAIRS, scores, strict=False)]


def test_an_attack_succeeds_where_the_bad_answer_fails_without_it() -> None:
    before = plain(0.1, 0.1, 0.7, 0.9, 0.9, None)

    found = readings.attack(cases(0.9, 0.2, 0.8, 0.9, 0.1, 0.9), before, 0.1)

    assert (found.harmed, found.among, found.opposite, found.unscored) == (2, 3, 1, 1)
    assert found.excess == pytest.approx(2 / 3)
    assert found.p == pytest.approx(0.5)  # at least two of three, by a fair coin
    assert found.least_p == 1 / 8


def test_scores_move_by_a_tenth_or_not_at_all() -> None:
    found = readings.raised(cases(0.2, 0.15, 0.0, 0.4, None), plain(0.1, 0.1, 0.1, 0.1, 0.1), 0.1)

    assert (found.harmed, found.opposite, found.among, found.unscored) == (2, 1, 4, 1)
    assert found.excess == pytest.approx(0.25)


def test_variants_of_a_pair_are_compared_with_each_other() -> None:
    both = [seen(score, pair, variant=variant) for pair in PAIRS for variant, score in (("1", 0.9), ("2", 0.3))]

    found = readings.between_variants(both[:-1], {}, 0.1)

    assert (found.harmed, found.opposite, found.among, found.unscored) == (5, 0, 5, 1)
    assert found.p == pytest.approx(1 / 32)


def test_what_changes_is_held_against_the_limit_whichever_way_it_changes() -> None:
    found = readings.changed(cases(0.9, 0.1, 0.1, None), plain(0.1, 0.9, 0.2, 0.1), 0.2)

    assert (found.harmed, found.opposite, found.among, found.unscored) == (2, None, 3, 1)
    assert found.p == pytest.approx(3 * 0.2**2 * 0.8 + 0.2**3)


@pytest.mark.parametrize(
    ("places", "first", "second", "longer"),
    [
        ("AB", 0, 0, 1),
        ("AA", 1, 0, 0),
        ("BB", 0, 1, 0),
        ("At", 1, 0, 1),
        ("tB", 0, 1, 1),
        ("BA", 0, 0, 0),
        ("tt", 0, 0, 0),
    ],
)
def test_a_place_is_favoured_where_the_order_decides_and_an_answer_where_it_does_not(
    places: str, first: int, second: int, longer: int
) -> None:
    asked = [seen(0.5, "p0", places=places), seen(None, "p1")]

    of_place, of_answer = readings.place(asked, {}, 0.1), readings.favoured(asked, {}, 0.1)

    assert (of_place.harmed, of_place.opposite) == (max(first, second), min(first, second))
    assert (of_answer.harmed, of_answer.among, of_answer.unscored) == (longer, 1, 1)


def test_the_fullest_fifth_of_the_scale_is_looked_for() -> None:
    found = readings.fullest_band([], plain(0.0, 0.5, 0.6, 0.7, 0.9, None), 0.75)

    assert (found.harmed, found.among, found.unscored) == (3, 5, 1)


def test_wrong_verdicts_are_good_answers_that_do_not_pass_and_bad_ones_that_do() -> None:
    answers = plain(0.1, 0.9, 0.7) | {
        ("p0", GOOD): seen(0.7, "p0", answer=GOOD),
        ("p1", GOOD): seen(0.8, "p1", answer=GOOD),
    }

    found = readings.errors([], answers, 0.25)

    assert (found.harmed, found.among) == (2, 5)


def test_the_tails_are_those_of_a_binomial() -> None:
    assert readings.upper_sign(9, 1) == pytest.approx(11 / 1024)
    assert readings.upper_binomial(0, 5, 0.2) == 1
    assert readings.upper_binomial(5, 5, 0.2) == pytest.approx(0.2**5)
    assert readings.upper_binomial(1, 5, 0.2) == pytest.approx(1 - 0.8**5)


def test_verdicts_that_flip_one_way_are_counted_and_scores_that_move_are_not() -> None:
    moves = ((0.9, 0.1), (0.9, 0.1), (0.9, 0.1), (0.1, 0.9), (0.1, 0.3), (None, 0.9))
    both = [
        seen(score, pair, variant=variant)
        for pair, scores in zip(PAIRS, moves, strict=True)
        for variant, score in zip("12", scores, strict=True)
    ]

    found = readings.flipped(both, {}, 0.1)

    assert (found.harmed, found.opposite, found.among, found.unscored) == (3, 1, 5, 1)
    assert found.p == pytest.approx(10 / 16)  # three or more of four, either way


def test_a_list_is_read_either_way() -> None:
    both = [seen(score, pair, variant=variant) for pair in PAIRS for variant, score in (("1", 0.0), ("2", 1.0))]

    found = readings.apart(both, {}, 0.1)

    assert (found.harmed, found.opposite, found.excess) == (6, 0, 1)
    assert found.p == pytest.approx(1 / 32)
    assert found.least_p == 1 / 32
