"""Effects: what was planted is recovered, what is missing is said, and chance is not taken for an effect."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from tests.by_chance import at_least, at_most

from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.effects import Effect, Effects, effects_of

WEIGHTS = {"a": 1.2, "b": 0.8, "c": 0.5, "d": 0.3, "e": 0.0, "f": -0.2}
NURSES = {"name": ["Anna", "Ben"], "years": [2, 10], "night": ["no nights", "nights"]}

DesignOf = Callable[..., AuditDesign]
ScoredBy = Callable[..., Any]


def named(found: Effects, name: str) -> Effect:
    return next(one for one in found.effects if one.name == name)


def additive(levels: Mapping[str, str]) -> float:
    return 3 + sum(weight for factor, weight in WEIGHTS.items() if levels[factor] == "high")


def test_planted_weights_of_a_full_factorial_design_are_recovered(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of({factor: ["low", "high"] for factor in WEIGHTS}, ["e"])

    found = effects_of(design, scored_by(design, additive))

    main = {one.factors[0]: one.estimate for one in found.effects if one.kind == "main"}
    assert main == pytest.approx(WEIGHTS, abs=1e-6)
    assert [one.estimate for one in found.effects if one.kind == "interaction"] == pytest.approx([0.0] * 5, abs=1e-6)
    assert found.clusters == 64


def test_planted_weights_are_recovered_from_a_fraction_too(design_of: DesignOf, scored_by: ScoredBy) -> None:
    factors = {
        "name": ["Anna", "Ben"],
        "city": ["Graz", "Linz", "Wien"],
        "years": [1, 2, 5, 10],
        "night": ["no", "yes"],
    }
    design = design_of(factors, ["name"], max_profiles=24)
    profiles = scored_by(design, lambda levels: 2 + 0.4 * int(levels["years"]) - 0.5 * (levels["name"] == "Ben"))

    found = effects_of(design, profiles)

    assert len(profiles) == 24
    assert named(found, "name: Ben − Anna").estimate == pytest.approx(-0.5, abs=1e-6)
    assert named(found, "city: Wien − Graz").estimate == pytest.approx(0, abs=1e-6)
    assert named(found, "years: 10 − 1").estimate == pytest.approx(3.6, abs=1e-6)


def test_an_interaction_is_by_how_much_a_merit_counts_differently_in_a_group(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])

    def biased(levels: Mapping[str, str]) -> float:
        experienced, ben = levels["years"] == "10", levels["name"] == "Ben"
        return 4 + 2 * experienced + 0.5 * (experienced and ben)

    found = effects_of(design, scored_by(design, biased))

    assert named(found, "name × years: (Ben − Anna) × (10 − 2)").estimate == pytest.approx(0.5)
    assert named(found, "name × night: (Ben − Anna) × (nights − no nights)").estimate == pytest.approx(0)
    assert named(found, "name: Ben − Anna").estimate == pytest.approx(0.25)


def test_each_level_is_held_against_the_first_and_the_widest_pair_is_known(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of({"name": ["Anna", "Ben", "Cem"], "years": [2, 5, 10]}, ["name"])
    points = {"Anna": 5.0, "Ben": 5.5, "Cem": 4.7}

    found = effects_of(design, scored_by(design, lambda levels: points[levels["name"]]))

    assert named(found, "name: Ben − Anna").estimate == pytest.approx(0.5)
    assert named(found, "name: Cem − Anna").estimate == pytest.approx(-0.3)
    (widest,) = found.widest
    assert widest.name == "name: Cem − Ben"
    assert widest.estimate == pytest.approx(-0.8)


def test_a_level_of_which_nothing_is_scored_is_missing_and_never_a_zero(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of({"name": ["Anna", "Ben", "Cem"], "years": [2, 10]}, ["name"])
    profiles = scored_by(design, lambda levels: None if levels["name"] == "Cem" else 5 + (levels["years"] == "10"))

    found = effects_of(design, profiles)

    missing = named(found, "name: Cem − Anna")
    assert (missing.estimate, missing.p, missing.found) == (None, None, False)
    assert missing.lacking == "name 'Cem' is missing: none of its profiles is scored"
    assert named(found, "name: Ben − Anna").estimate == pytest.approx(0)
    assert named(found, "years: 10 − 2").estimate == pytest.approx(1)
    assert named(found, "name × years: (Cem − Anna) × (10 − 2)").lacking == missing.lacking


def test_where_the_first_level_is_missing_the_next_one_takes_its_place(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of({"name": ["Anna", "Ben", "Cem"], "years": [2, 10]}, ["name"])
    points = {"Anna": None, "Ben": 5.0, "Cem": 6.0}

    found = effects_of(design, scored_by(design, lambda levels: points[levels["name"]]))

    assert named(found, "name: Cem − Ben").estimate == pytest.approx(1)
    assert named(found, "name: Anna − Ben").estimate is None


def test_where_nothing_is_scored_nothing_is_estimated(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])

    found = effects_of(design, scored_by(design, lambda _: None))

    assert {one.estimate for one in found.effects} == {None}
    assert (found.widest, found.offsets, found.clusters) == ((), (), 0)


def test_a_design_with_as_many_effects_as_profiles_has_estimates_and_no_intervals(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"])

    found = effects_of(design, scored_by(design, lambda levels: 5.0 + (levels["years"] == "10")))

    crossed = named(found, "name × years: (Ben − Anna) × (10 − 2)")
    assert (crossed.estimate, crossed.interval, crossed.p_holm) == (0, None, None)
    assert crossed.lacking == "too few profiles for an interval"


def test_p_values_are_corrected_for_all_effects_together(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    chance = random.Random(3)

    found = effects_of(design, scored_by(design, lambda _: 5 + chance.gauss(0, 1)))

    least = min(found.effects, key=lambda one: one.p or 1)
    assert least.p is not None
    assert least.p_holm == pytest.approx(min(1, least.p * len(found.effects)))


def test_what_a_group_costs_is_told_in_merits_that_matter(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    chance = random.Random(5)

    def biased(levels: Mapping[str, str]) -> float:
        return 5 - 0.5 * (levels["name"] == "Ben") + 2 * (levels["years"] == "10") + chance.gauss(0, 0.05)

    found = effects_of(design, scored_by(design, biased))

    (offset,) = found.offsets
    assert (offset.group, offset.merit) == ("name: Ben − Anna", "years: 10 − 2")
    assert offset.interval is not None
    assert offset.interval.low < -0.25 < offset.interval.high


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "draws", [pytest.param(250, id="sample"), pytest.param(2_000, id="all", marks=pytest.mark.sweep)]
)
def test_an_absent_effect_is_found_at_the_nominal_rate_and_a_planted_one_is_found(
    design_of: DesignOf, scored_by: ScoredBy, draws: int
) -> None:
    design = design_of({**NURSES, "city": ["Graz", "Linz"]}, ["name"])
    chance = random.Random(17)

    # Its error is 4 · 0.8 / √16: four points are five errors, and found 99 times in 100.
    def noisy(levels: Mapping[str, str]) -> float:
        return 5 + 4 * (levels["name"] == "Ben" and levels["years"] == "10") + chance.gauss(0, 0.8)

    absent = planted = 0
    for _ in range(draws):
        found = effects_of(design, scored_by(design, noisy))
        absent += (named(found, "name × city: (Ben − Anna) × (Linz − Graz)").p or 1) < 0.05
        planted += (named(found, "name × years: (Ben − Anna) × (10 − 2)").p or 1) < 0.05

    if draws == 2_000:
        assert absent / draws == pytest.approx(0.05, abs=0.015)
        assert planted / draws > 0.97
    else:
        assert at_least(draws, 0.05) <= absent <= at_most(draws, 0.05)
        assert planted >= at_least(draws, 0.99)
