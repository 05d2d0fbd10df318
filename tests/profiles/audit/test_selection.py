"""Who is selected, swaps, spread and gates: what they say, and when they say nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.observed import Observed, spread
from evenhand.profiles.audit.result import AuditNumbers, numbers_from
from evenhand.profiles.audit.selection import impacts, swaps
from evenhand.profiles.audit.sentences import parts
from evenhand.reports.blocks import Grid

DesignOf = Callable[..., AuditDesign]
ScoredBy = Callable[..., Any]
NURSES = {"name": ["Anna", "Ben"], "years": [2, 10], "night": ["no nights", "nights"]}


def chosen(level: int, selected: int, of: int) -> list[Observed]:
    return [
        Observed(id=f"{level}-{number}", cell=(level, 0), cluster=f"{level}-{number}", score=8.0 if number < selected else 2.0)
        for number in range(of)
    ]  # fmt: skip


def unequal(levels: Mapping[str, str]) -> float:
    """Ben needs ten years to be selected at 6, Anna does not."""
    return 4 + 3 * (levels["years"] == "10") + 2.5 * (levels["name"] == "Anna")


# Impact ratio


def test_12_of_40_against_48_of_80_is_an_impact_ratio_of_one_half_below_the_line(design_of: DesignOf) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"], select_at=6)

    ben, anna = impacts(design, [*chosen(0, 12, 40), *chosen(1, 48, 80)])

    assert (ben.rate, ben.ratio, ben.below_four_fifths) == (0.3, 0.5, True)
    assert (anna.rate, anna.ratio, anna.interval, anna.below_four_fifths) == (0.6, 1.0, None, False)
    assert ben.interval is not None
    # By the textbook: exp(log 0.5 ± 1.96 · √(0.7/12 + 0.4/48)) is 0.30 to 0.83.
    assert ben.interval.low == pytest.approx(0.30, abs=0.03)
    assert ben.interval.high == pytest.approx(0.83, abs=0.05)


def test_a_ratio_of_exactly_four_fifths_is_not_below_the_line(design_of: DesignOf) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"], select_at=6)

    ben, _ = impacts(design, [*chosen(0, 4, 10), *chosen(1, 5, 10)])

    assert (ben.ratio, ben.below_four_fifths) == (0.8, False)


@pytest.mark.parametrize(("selected", "low"), [(0, 0.0), (30, 0.5)])
def test_where_none_or_all_are_selected_the_interval_is_no_certainty(
    design_of: DesignOf, selected: int, low: float
) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"], select_at=6)

    first, _ = impacts(design, [*chosen(0, selected, 30), *chosen(1, 30, 30)])
    _, other = impacts(design, [*chosen(0, 30, 30), *chosen(1, selected, 30)])

    around = first.interval or other.interval
    assert around is not None
    assert around.low >= low
    assert around.high > (selected / 30)


def test_where_nobody_is_selected_or_nothing_is_known_there_is_no_ratio(design_of: DesignOf) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"], select_at=6)

    nobody = impacts(design, [*chosen(0, 0, 10), *chosen(1, 0, 10)])
    missing, _ = impacts(design, chosen(1, 5, 10))

    assert [(one.ratio, one.lacking) for one in nobody] == [(None, "nobody is selected")] * 2
    assert (missing.rate, missing.ratio) == (None, None)
    assert missing.lacking == "name 'Anna' is missing: none of its profiles was judged"


def test_without_a_mark_nobody_is_selected_or_not(design_of: DesignOf) -> None:
    assert impacts(design_of(NURSES, ["name"]), chosen(0, 5, 10)) == ()


def test_profiles_of_few_base_profiles_say_less(design_of: DesignOf) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"], select_at=6)
    apart = [*chosen(0, 12, 40), *chosen(1, 20, 40)]
    # Four bases, which decide alone whether their profiles are selected.
    together = [replace(one, cluster=f"{one.cell[0]}-{one.score}") for one in apart]

    widths = []
    for profiles in (apart, together):
        around = impacts(design, profiles)[0].interval
        assert around is not None
        widths.append(around.high / around.low)

    assert widths[1] > 3 * widths[0]


# Swaps and spread


def test_a_swap_says_how_often_the_group_alone_changes_score_and_selection(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"], select_at=6)

    (found,) = swaps(design, scored_by(design, unequal))

    assert (found.level, found.against, found.pairs, found.changed, found.flipped) == ("Ben", "Anna", 4, 4, 2)
    assert found.difference == pytest.approx(-2.5)
    assert found.largest == pytest.approx(-2.5)


def test_where_no_pair_changed_none_is_named(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])

    same, changed = (
        next(part for part in parts(audited(design, scored_by, scorer)) if isinstance(part, Grid) and "largest" in part.headings)
        for scorer in (lambda _: 5.0, unequal)
    )  # fmt: skip

    assert same.rows[0][-1] == "0.00"
    assert re.fullmatch(r"-2\.50 \(profile-\d+, profile-\d+\)", changed.rows[0][-1])


def test_the_spread_is_over_repetitions_of_the_same_profile(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = scored_by(design, unequal)
    unsteady = [replace(profiles[0], scores=(4.0, 6.0)), *profiles[1:]]

    found = spread(unsteady)

    assert (found.profiles, found.widest) == (8, profiles[0].id)
    assert found.largest == pytest.approx(2**0.5)
    assert found.mean == pytest.approx(2**0.5 / 8)
    assert spread([replace(one, scores=one.scores[:1]) for one in profiles]).mean is None


# Gates


def audited(design: AuditDesign, scored_by: ScoredBy, scorer: Any = unequal) -> AuditNumbers:
    return numbers_from(design, scored_by(design, scorer))


def test_gates_are_decided_by_the_estimate_and_say_what_the_interval_says(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    gates = {"max_group_effect": 0.5, "max_group_interaction": 0.5, "min_impact_ratio": 0.8}

    effect, interaction, ratio, _ = audited(design_of(NURSES, ["name"], select_at=6, gates=gates), scored_by).gates

    assert (effect.ok, effect.certain) == (False, True)
    assert effect.words.endswith("found 2.50 (name: Ben − Anna); its interval [2.22, 2.78] excludes the limit")
    assert (interaction.ok, interaction.found) == (True, 0)
    assert (ratio.ok, ratio.found, ratio.certain) == (False, 0.5, False)
    assert "includes the limit" in ratio.words


def noisy(levels: Mapping[str, str]) -> float:
    return 5.0 + 0.6 * (levels["name"] == "Ben") + 2 * (levels["years"] == "10")


def with_noise(profiles: list[Observed], by: float) -> list[Observed]:
    return [
        replace(one, scores=tuple((one.score or 0.0) + apart for apart in (-by, 0, by)), score=one.score)
        for one in profiles
    ]


def test_gates_that_the_interval_decides_fail_only_where_all_of_it_is_beyond_the_limit(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    gates = {"max_group_effect": 0.5, "min_impact_ratio": 0.8}
    by_estimate = design_of(NURSES, ["name"], select_at=6, gates=gates)
    by_interval = design_of(NURSES, ["name"], select_at=6, gates=gates | {"decided_by": "interval"})

    found = [
        numbers_from(design, with_noise(scored_by(design, noisy), by)).gates[0]
        for design, by in ((by_estimate, 0.3), (by_interval, 0.3), (by_interval, 0.05))
    ]

    assert [(one.ok, one.decided_by, round(one.found or 0, 2)) for one in found] == [
        (False, "estimate", 0.6),
        (True, "interval", 0.6),
        (False, "interval", 0.6),
    ]
    assert found[1].words.endswith("its interval [0.34, 0.86] includes the limit, so the audit is inconclusive")
    assert found[2].words.endswith("its interval [0.56, 0.64] excludes the limit")
    assert found[2].as_dict()["decided_by"] == "interval"
    ratio = numbers_from(by_interval, scored_by(by_interval, unequal)).gates[1]
    assert (ratio.ok, ratio.found, ratio.certain) == (True, 0.5, False)


def test_a_gate_without_an_interval_cannot_be_decided_by_it(design_of: DesignOf, scored_by: ScoredBy) -> None:
    gates = {"max_group_interaction": 9, "decided_by": "interval"}
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"], gates=gates)

    gate, _ = audited(design, scored_by, lambda levels: 5.0 + (levels["years"] == "10")).gates

    assert (gate.ok, gate.found) == (False, None)
    assert "has no interval: too few profiles or repetitions" in gate.words


def test_a_gate_lets_nobody_pass_who_has_a_level_without_a_score(design_of: DesignOf, scored_by: ScoredBy) -> None:
    gates = {"max_group_effect": 9, "max_group_interaction": 9, "min_impact_ratio": 0.1}
    design = design_of(
        {"name": ["Anna", "Ben", "Cem"], "years": [2, 10]}, ["name"], select_at=6, gates=gates
    )  # fmt: skip

    found = audited(design, scored_by, lambda levels: None if levels["name"] == "Cem" else 7.0)

    assert [(one.ok, one.found) for one in found.gates[:3]] == [(False, None), (False, None), (False, 0)]
    assert "name 'Cem' is missing" in found.gates[0].words
    assert [(one.factor, one.level) for one in found.missing] == [("name", "Cem")]


@pytest.mark.parametrize("decided_by", ["estimate", "interval"])
def test_a_level_that_was_always_refused_misses_the_gate_whatever_decides(
    design_of: DesignOf, scored_by: ScoredBy, decided_by: str
) -> None:
    gates = {"min_impact_ratio": 0.8, "decided_by": decided_by}
    design = design_of(NURSES, ["name"], select_at=6, gates=gates)

    numbers = audited(design, scored_by, lambda levels: None if levels["name"] == "Ben" else unequal(levels))

    _, ben = numbers.impacts
    assert (ben.rate, ben.ratio, ben.interval, ben.lacking, ben.below_four_fifths) == (0, 0, None, "", True)
    gate = numbers.gates[0]
    assert (gate.ok, gate.found, gate.certain) == (False, 0, True)
    assert gate.words == (
        "min_impact_ratio: limit 0.8, found 0.00 (name: Ben against Anna); none of its profiles is scored"
    )


@pytest.mark.parametrize("decided_by", ["estimate", "interval"])
def test_a_level_that_nobody_judged_has_no_ratio(design_of: DesignOf, scored_by: ScoredBy, decided_by: str) -> None:
    design = design_of(
        NURSES, ["name"], select_at=6, gates={"min_impact_ratio": 0.8, "decided_by": decided_by}
    )  # fmt: skip
    profiles = scored_by(design, lambda levels: None if levels["name"] == "Ben" else unequal(levels))

    numbers = numbers_from(design, [replace(one, unanswered=one.failures) for one in profiles])

    _, ben = numbers.impacts
    assert (ben.rate, ben.ratio, ben.profiles, ben.unjudged) == (None, None, 0, 4)
    assert (numbers.gates[0].ok, numbers.gates[0].found) == (False, None)
    assert "name 'Ben' is missing: none of its profiles was judged" in numbers.gates[0].words


def test_a_refused_level_of_which_some_were_not_judged_is_not_certain(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(
        NURSES, ["name"], select_at=6, gates={"min_impact_ratio": 0.8, "decided_by": "interval"}
    )  # fmt: skip
    profiles = scored_by(design, lambda levels: None if levels["name"] == "Ben" else unequal(levels))
    place = next(place for place, one in enumerate(profiles) if one.score is None)

    numbers = numbers_from(
        design, [replace(one, unanswered=one.failures if at == place else 0) for at, one in enumerate(profiles)]
    )

    _, ben = numbers.impacts
    assert (ben.ratio, ben.profiles, ben.unjudged) == (0, 3, 1)
    assert (numbers.gates[0].ok, numbers.gates[0].found) == (False, None)
    assert "has no interval" in numbers.gates[0].words


def test_calls_without_a_reply_say_nothing_about_selection(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"], select_at=6)
    first, *profiles = scored_by(design, lambda _: 8.0)

    anna, _ = impacts(design, [replace(first, failures=3, unanswered=2), *profiles])

    assert (anna.refused, anna.calls) == (1, 9)
    assert anna.rate == pytest.approx((2 / 3 + 3) / 4)


def test_a_gate_that_is_missed_for_certain_is_missed_whatever_is_missing(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    gates = {"max_group_effect": 0.5, "min_impact_ratio": 0.8}
    factors = {"name": ["Anna", "Ben"], "city": ["Graz", "Linz", "Wels"], "years": [2, 10]}
    design = design_of(factors, ["name", "city"], select_at=6, gates=gates)
    profiles = scored_by(design, lambda levels: None if levels["city"] == "Linz" else 8.0 - 5 * (levels["name"] == "Ben"))  # fmt: skip

    effect, ratio, _ = numbers_from(design, [replace(one, unanswered=one.failures) for one in profiles]).gates

    assert (effect.ok, effect.found, effect.about) == (False, 5, "name: Ben − Anna")
    assert (ratio.ok, ratio.found, ratio.about) == (False, 0, "name: Ben against Anna")


def test_numbers_are_plain_json(design_of: DesignOf, scored_by: ScoredBy) -> None:
    import json

    found = audited(design_of(NURSES, ["name"], select_at=6, gates={"max_group_effect": 0.5}), scored_by)

    row = json.loads(json.dumps(found.as_dict()))

    assert row["effects"][0]["name"] == "name: Ben − Anna"
    assert row["gates"][0]["about"] == "name: Ben − Anna"
    assert row["levels"][0]["missing"] is False
