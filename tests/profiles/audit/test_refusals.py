"""Refusals by group: tested with Fisher's exact test, told in a sentence, and never passed over as no effect."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.observed import Observed
from evenhand.profiles.audit.refusals import refusals
from evenhand.profiles.audit.result import numbers_from
from evenhand.profiles.audit.sentences import overview, parts
from evenhand.reports.blocks import Grid

NURSES = {"name": ["Anna", "Ben"], "years": [2, 10], "night": ["no", "yes"], "city": ["Graz", "Linz"]}

DesignOf = Callable[..., AuditDesign]
ScoredBy = Callable[..., Any]


def refused(
    design: AuditDesign, scored_by: ScoredBy, failures: Callable[[Mapping[str, str]], int], calls: int = 3
) -> list[Observed]:
    """Score every profile with 5, but for the calls that are refused."""
    names = [factor.names for factor in design.factors]
    profiles = []
    for one in scored_by(design, lambda _: 5.0):
        levels = {factor.name: levels[at] for factor, levels, at in zip(design.factors, names, one.cell, strict=True)}
        failed = failures(levels)
        given = (5.0,) * (calls - failed)
        profiles.append(replace(one, scores=given, score=5.0 if given else None, failures=failed))
    return profiles


def test_sixteen_refusals_against_none_are_a_finding(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = refused(design, scored_by, lambda levels: 2 * (levels["name"] == "Ben"))

    numbers = numbers_from(design, profiles)
    told = list(overview(numbers))

    (found,) = numbers.refusals
    assert (found.level, found.refused, found.calls, found.other_refused, found.other_calls) == ("Ben", 16, 24, 0, 24)
    assert found.found
    assert found.p == pytest.approx(6.523461e-07)
    assert numbers.findings == (found,)
    assert (
        "The judge gave no score in 16 of 24 calls if name is Ben, and in 0 of 24 if it is Anna: this is more than "
        "chance explains (p < 0.001). The effects below include only profiles that were scored."
    ) in told
    assert any(line.startswith("Among the scores that the judge gave, no effect of a group was found") for line in told)
    assert not any(line.startswith("No effect") for line in told)


@pytest.mark.parametrize(
    ("gates", "met"),
    [
        ({"max_group_effect": 0.5, "decided_by": "interval"}, {"max_group_effect": True, "equal_refusals": False}),
        ({"max_unscored": 0}, {"equal_refusals": False}),
        ({"equal_refusals": True}, {"equal_refusals": False}),
        ({"max_group_effect": 0.5, "equal_refusals": False}, {"max_group_effect": True}),
        ({}, {}),
    ],
    ids=["with limits", "with a limit of every run", "alone", "switched off", "no gates"],
)
def test_unequal_refusals_miss_a_gate_of_every_audit_that_has_gates(
    design_of: DesignOf, scored_by: ScoredBy, gates: Mapping[str, Any], met: Mapping[str, bool]
) -> None:
    design = AuditDesign.stored(design_of(NURSES, ["name"], gates=gates).as_dict())
    profiles = refused(design, scored_by, lambda levels: 2 * (levels["name"] == "Ben"))

    found = numbers_from(design, profiles).gates

    assert {one.name: one.ok for one in found} == met


def test_the_gate_on_refusals_says_what_it_found(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"], gates={"equal_refusals": True})

    unequal, equal, none = (
        numbers_from(design, refused(design, scored_by, failures)).gates[0]
        for failures in (lambda levels: 2 * (levels["name"] == "Ben"), lambda _: 1, lambda _: 0)
    )

    assert (unequal.ok, equal.ok, none.ok) == (False, True, True)
    assert unequal.words == (
        "equal_refusals: no score in 16 of 24 calls if name is Ben, and in 0 of 24 if it is Anna: this is more than "
        "chance explains (p < 0.001)"
    )
    assert (unequal.wanted, unequal.as_dict()["decided_by"]) == (0.05, "test")
    assert "chance alone may explain this" in equal.words
    assert none.words == "equal_refusals: there are no refusals to compare"


def test_who_is_refused_is_not_selected(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"], select_at=4, gates={"min_impact_ratio": 0.8})

    def most(levels: Mapping[str, str]) -> int:
        return 0 if levels["name"] == "Anna" else 3 if levels["years"] == "2" and levels["night"] == "no" else 2

    numbers = numbers_from(design, refused(design, scored_by, most))

    anna, ben = numbers.impacts
    assert (anna.selected, anna.profiles, anna.rate) == (8, 8, 1.0)
    assert (ben.selected, ben.scored, ben.profiles, ben.refused, ben.calls) == (6, 6, 8, 18, 24)
    assert ben.rate == ben.ratio == pytest.approx(6 / 3 / 8)
    assert not numbers.gates[0].ok
    grid = next(part for part in parts(numbers) if isinstance(part, Grid) and "impact ratio" in part.headings)
    assert grid.rows[1][1] == "6 of 8"
    assert grid.rows[1][-1] == "below 0.80; 18 of 24 calls without a score"


def test_the_most_frequent_errors_are_told(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = refused(design, scored_by, lambda _: 1)
    kinds = ["timeout", *["refusal"] * 5, "empty", *["quota"] * 3, *["unparsable"] * 4, *["contract"] * 2]
    told = zip(profiles, kinds, strict=True)

    lines = overview(numbers_from(design, [replace(one, errors=(f"{kind}: {one.id}",)) for one, kind in told]))

    first = {kind: profiles[kinds.index(kind)].id for kind in kinds}
    assert (
        f"Errors by class: 5 × refusal ({first['refusal']}); 4 × unparsable ({first['unparsable']}); "
        f"3 × quota ({first['quota']}); 2 × contract ({first['contract']}); 2 × others."
    ) in list(lines)


def test_a_group_that_is_always_refused_is_a_finding(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10], "night": ["no", "yes"]}, ["name", "years"])

    of_name, of_years = refusals(design, refused(design, scored_by, lambda levels: 3 * (levels["name"] == "Ben")))

    assert (of_name.found, of_name.refused, of_name.calls) == (True, 12, 12)
    assert (of_years.found, of_years.p) == (False, 1.0)


def test_calls_that_are_refused_together_count_as_one(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10], "night": ["no", "yes"]}, ["name"])

    def two_profiles(levels: Mapping[str, str]) -> int:
        return 3 * (levels["name"] == "Ben" and levels["years"] == "2")

    profiles = refused(design, scored_by, two_profiles)
    (found,) = refusals(design, profiles)

    # Two of four profiles against none of four, and not six of twelve calls.
    assert found.together == 3.0
    assert found.p == pytest.approx(3 / 7)
    assert not found.found
    told = " ".join(overview(numbers_from(design, profiles)))
    assert "in 6 of 12 calls if name is Ben, and in 0 of 12 if it is Anna: chance alone may explain this" in told


def test_of_several_levels_each_is_held_against_the_others(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of({"name": ["Anna", "Ben", "Cem"], "years": [1, 2, 3, 4]}, ["name"])

    found = refusals(design, refused(design, scored_by, lambda levels: 2 * (levels["name"] == "Cem")))

    assert [(one.level, one.against, one.found) for one in found] == [
        ("Anna", None, False),
        ("Ben", None, False),
        ("Cem", None, True),
    ]
    assert (found[2].other_refused, found[2].other_calls) == (0, 24)
    assert found[2].p_holm == pytest.approx(3 * found[2].p)


def test_where_every_call_gave_a_score_there_is_nothing_to_test(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])

    assert refusals(design, refused(design, scored_by, lambda _: 0)) == ()


def test_profiles_that_are_still_to_be_scored_are_not_refused(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = refused(design, scored_by, lambda levels: 2 * (levels["name"] == "Ben"))
    waiting = [replace(one, scores=(), score=None, failures=0, pending=True) for one in profiles if one.cell[0] == 0]

    assert refusals(design, [*waiting, *(one for one in profiles if one.cell[0] == 1)]) == ()
