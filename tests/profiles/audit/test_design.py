"""Designs: what they take, and how they say what is wrong with them."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand import ConfigError
from evenhand.profiles.audit.design import MOST_PROFILES, AuditDesign

GOOD: dict[str, Any] = {
    "template": "{name}, {years} years a nurse.",
    "factors": {"name": ["Anna", "Ben"], "years": [2, 10]},
    "groups": ["name"],
    "criteria": "Experience",
}


def test_levels_are_a_list_or_a_mapping_of_names_to_texts() -> None:
    design = AuditDesign.of(GOOD | {"factors": {"name": {"woman": "Anna", "man": "Ben"}, "years": [2, 10]}})

    assert dict(design.factor("name").levels) == {"woman": "Anna", "man": "Ben"}
    assert dict(design.factor("years").levels) == {"2": "2", "10": "10"}


def test_what_is_stored_of_a_design_makes_the_same_design() -> None:
    gates = {"max_group_effect": 0.5, "max_unscored": "5%", "decided_by": "interval"}
    design = AuditDesign.of(GOOD | {"select_at": 6, "gates": gates, "seed": 7, "max_profiles": 99})

    assert AuditDesign.stored(design.as_dict()) == design


def test_what_is_usual_is_not_stored_so_that_older_designs_are_the_same() -> None:
    design = AuditDesign.of(GOOD | {"gates": {"max_group_effect": 0.5, "decided_by": "estimate"}})

    assert design.as_dict()["gates"] == {"max_group_effect": 0.5}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"templat": "x"}, "d.yaml: no key 'templat'; did you mean 'template'?"),
        ({"template": None}, "d.yaml: template is missing"),
        ({"criteria": " "}, "d.yaml: criteria is empty; say what profiles are scored by"),
        ({"factors": ["name"]}, "d.yaml: factors must be a mapping of names to lists of levels, not ['name']"),
        ({"factors": {"name": ["Anna"]}}, "d.yaml: factors.name has one level; a factor needs at least two"),
        ({"factors": {"name": []}}, "d.yaml: factors.name has no level; a factor needs at least two"),
        ({"factors": {"name": "Anna"}}, "d.yaml: factors.name must be a list of levels, or a mapping"),
        ({"factors": {"name": ["A", "A"]}}, "d.yaml: factors.name: duplicate level 'A'"),
        ({"factors": {"name": {"a": "A", "b": "A"}}}, "d.yaml: factors.name: two levels have the same text, 'A'"),
        ({"factors": {"name": [True, False]}}, "d.yaml: factors.name: a level is text or a number, not True"),
        ({"factors": {"first name": ["A", "B"]}}, "d.yaml: factors: 'first name' must be a name of letters"),
        ({"factors": {"name": list(range(51))}}, "d.yaml: factors.name has 51 levels; at most 50 are allowed"),
        ({"factors": {"name": ["A" * 201, "B"]}}, "d.yaml: factors.name: the name of a level has 1 to 200"),
        ({"groups": ["nam"]}, "d.yaml: groups: no factor is called 'nam'; did you mean 'name'?"),
        ({"groups": []}, "d.yaml: groups: name at least one factor that must not matter"),
        ({"groups": ["name", "name"]}, "d.yaml: groups: duplicate factor 'name'"),
        ({"groups": 3}, "d.yaml: groups must be a list of names of factors, not 3"),
        ({"template": "{name} {year}"}, "d.yaml: template uses 'year', which has no value here; did you mean 'years'?"),
        ({"template": "{name} {years!r}"}, "d.yaml: template has {years!r}; only {years} is filled in"),
        ({"template": "{name}"}, "d.yaml: template: it does not use {years}"),
        (
            {"template": "{name} {years"},
            "it does not use {years}, so this factor could make no difference; its braces do not match: write {years},",
        ),
        ({"profiles": "people.csv"}, "d.yaml: template: it does not use {profile}, so no base profile would be shown"),
        ({"criteria": ""}, "d.yaml: criteria is empty; say what profiles are scored by"),
        ({"profiles": "people.jsonl"}, "d.yaml: template: it does not use {profile}"),
        ({"repetitions": 0}, "d.yaml: repetitions is 0; it must be a whole number, from 1 to 1,000"),
        ({"seed": -1}, "d.yaml: seed is -1; it must be a whole number, from 0 to"),
        (
            {"max_profiles": 10**9},
            f"max_profiles is 1000000000; it must be a whole number, from 1 to {MOST_PROFILES:,}",
        ),
        ({"select_at": 11}, "d.yaml: select_at is 11; it must be a score above 0 and up to 10"),
        ({"gates": [1]}, "d.yaml: gates must be a mapping"),
        ({"gates": {"max_groups_effect": 1}}, "d.yaml: gates: no gate 'max_groups_effect'; did you mean"),
        ({"gates": {"max_group_effect": -1}}, "d.yaml: gates.max_group_effect is -1; it must be a number from 0 to 10"),
        ({"gates": {"min_impact_ratio": 0.8}}, "d.yaml: gates.min_impact_ratio: it needs select_at"),
        ({"gates": {"max_unscored": 1.5}}, "max_unscored is 1.5"),
        ({"gates": {"equal_refusals": 1}}, "d.yaml: gates.equal_refusals is 1; it must be true or false"),
        (
            {"gates": {"max_group_effect": 1, "decided_by": "intervall"}},
            "d.yaml: gates.decided_by is 'intervall'; it must be estimate or interval; did you mean 'interval'",
        ),
        ({"gates": {"max_group_effect": 1, "decided_by": True}}, "d.yaml: gates.decided_by is True; it must be"),
        ({"gates": {"decided_by": "interval"}}, "d.yaml: gates.decided_by: there is nothing to decide; add a limit"),
        ({"gates": {"decided_bye": "interval"}}, "d.yaml: gates: no gate 'decided_bye'; did you mean 'decided_by'"),
        ({"prices": {"a/b": 3}}, "d.yaml: prices: a/b"),
    ],
)
def test_a_mistake_is_told_with_the_path_of_its_key(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        AuditDesign.of(GOOD | changes, where="d.yaml")

    assert told in str(caught.value)


def test_a_factor_may_not_have_the_name_of_the_base_text() -> None:
    wrong = {"template": "{profile}", "factors": {"profile": ["A", "B"]}, "groups": ["profile"], "profiles": "p.csv"}

    with pytest.raises(ConfigError, match=r"factors\.profile: this name is reserved for the text of a base profile"):
        AuditDesign.of(GOOD | wrong)


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(ConfigError, match="a design is a mapping with template, factors, groups, criteria, not 3"):
        AuditDesign.of(3)
