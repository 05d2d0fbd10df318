"""The split, and the choice of a candidate: what is chosen without a look, and how often luck is adopted."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from tests.by_chance import at_least, at_most

from evenhand.tuner.choice import CURRENT, CrossValidation, Judged, change
from evenhand.tuner.labelled import Labelled
from evenhand.tuner.result import is_beyond_chance
from evenhand.tuner.split import Placed, split

WAYS = ("examples", "instructions", "both")
FOLDS = 5


def cases_of(count: int, *, right: float, chance: random.Random, held_out: float = 0.4) -> list[Labelled]:
    """Make labelled cases, half of which people pass, and a judge that is right with a probability."""
    people = [number % 2 == 0 for number in range(count)]
    parts = split([Placed(str(n), passes) for n, passes in enumerate(people)], held_out=held_out, folds=FOLDS, seed=1)
    return [
        Labelled(
            id=str(number), position=number, passes=passes, fold=fold, score=0.5,
            judge=passes if chance.random() < right else not passes,
        )
        for number, (passes, fold) in enumerate(zip(people, parts, strict=True))
    ]  # fmt: skip


def verdicts_of(cases: list[Labelled], *, right: float, kept: float, chance: random.Random) -> dict[Judged, bool]:
    """Make verdicts of candidates: ``kept`` of them those of the current prompt, the others right at random."""
    pairs = [(), *((fold,) for fold in range(FOLDS)), *((a, b) for a in range(FOLDS) for b in range(a + 1, FOLDS))]
    found: dict[Judged, bool] = {}
    for way in WAYS:
        for without in pairs:
            for case in cases:
                if case.fold in without or not without:
                    own = case.passes if chance.random() < right else not case.passes
                    found[Judged(way, without, case.id)] = case.judge if chance.random() < kept else own
    return found


@pytest.mark.parametrize(("count", "size", "held_out"), [(40, 1, 0.4), (101, 3, 0.2), (300, 7, 0.5)])
def test_a_split_keeps_groups_together_and_shares_passes_and_fails(count: int, size: int, held_out: float) -> None:
    cases = [Placed(str(number // size), number % 3 == 0) for number in range(count)]

    parts = split(cases, held_out=held_out, folds=FOLDS, seed=7)

    assert parts == split(cases, held_out=held_out, folds=FOLDS, seed=7)
    assert parts != split(cases, held_out=held_out, folds=FOLDS, seed=8)
    assert len({(case.group, part) for case, part in zip(cases, parts, strict=True)}) == len({c.group for c in cases})
    assert abs(parts.count(None) - held_out * count) <= 2 * size
    for passes in (True, False):
        shares = Counter(part for case, part in zip(cases, parts, strict=True) if case.passes is passes)
        folds = [shares[fold] for fold in range(FOLDS)]
        assert max(folds) - min(folds) <= 2 * size


def test_a_way_is_chosen_for_a_fold_without_looking_at_it() -> None:
    chance = random.Random(3)
    cases = cases_of(100, right=0.6, chance=chance)
    verdicts = verdicts_of(cases, right=0.6, kept=0.5, chance=chance)
    before = CrossValidation(cases, verdicts, WAYS, FOLDS)
    # Whatever is said of fold 0, and by whatever was judged without it alone, the choice for it stays.
    changed = {
        judged: not verdict if cases[int(judged.case)].fold == 0 or judged.without == (0,) else verdict
        for judged, verdict in verdicts.items()
    }

    assert CrossValidation(cases, changed, WAYS, FOLDS).by_fold[0] == before.by_fold[0]


def test_where_nothing_is_better_the_current_prompt_stays() -> None:
    chance = random.Random(1)
    cases = cases_of(80, right=0.8, chance=chance)
    found = CrossValidation(cases, verdicts_of(cases, right=0.8, kept=1.0, chance=chance), WAYS, FOLDS)

    assert (set(found.by_fold), found.best, found.helps) == ({CURRENT}, "examples", False)


def test_a_change_must_be_clearer_after_earlier_looks() -> None:
    cases = [Labelled(id=str(n), position=n, passes=True, judge=n >= 7, score=0.5) for n in range(30)]

    found = change(cases, lambda _: True)

    assert (found.wins, found.losses, round(found.p or 0, 4)) == (7, 0, 0.0156)
    assert [is_beyond_chance(found, looks) for looks in (0, 1, 2, 3)] == [True, True, True, False]


def adopted(count: int, *, right: float, candidate: float, kept: float, chance: random.Random) -> bool:
    cases = cases_of(count, right=right, chance=chance)
    verdicts = verdicts_of(cases, right=candidate, kept=kept, chance=chance)
    found = CrossValidation(cases, verdicts, WAYS, FOLDS)
    way = found.best
    if way is None or not found.helps:
        return False
    held_out = [case for case in cases if case.fold is None]
    return change(held_out, lambda case: verdicts.get(Judged(way, (), case.id))).better


@pytest.mark.long
@pytest.mark.parametrize("runs", [pytest.param(60, id="sample"), pytest.param(300, id="all", marks=pytest.mark.sweep)])
@pytest.mark.parametrize("count", [40, 100, 250])
@pytest.mark.parametrize("kept", [0.0, 0.7])
def test_useless_candidates_are_rarely_adopted(count: int, kept: float, runs: int) -> None:
    chance = random.Random(f"{count} {kept}")

    often = sum(adopted(count, right=0.75, candidate=0.75, kept=kept, chance=chance) for _ in range(runs))

    assert often <= (0.05 * runs if runs == 300 else at_most(runs, 0.05))


@pytest.mark.long
@pytest.mark.parametrize("runs", [pytest.param(25, id="sample"), pytest.param(100, id="all", marks=pytest.mark.sweep)])
def test_useful_candidates_are_adopted(runs: int) -> None:
    chance = random.Random(5)

    often = sum(adopted(250, right=0.7, candidate=0.9, kept=0.0, chance=chance) for _ in range(runs))

    assert often >= (80 if runs == 100 else at_least(runs, 0.8))
