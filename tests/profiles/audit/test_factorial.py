"""The profiles of a design: all combinations, or a fraction that says what it cannot tell apart."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from evenhand import ConfigError
from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.factorial import Factorial, aliases, fraction
from evenhand.profiles.audit.job import audit_job

DesignOf = Callable[..., AuditDesign]
TWO = {"name": ["Anna", "Ben"], "years": [2, 10]}


def test_a_full_factorial_design_has_every_combination_once(design_of: DesignOf) -> None:
    design = design_of({"name": ["Anna", "Ben", "Cem"], "years": [2, 10], "night": ["no", "a few"]}, ["name"])

    profiles = list(Factorial.of(design).profiles())

    assert [one.id for one in profiles] == [f"profile-{number:03}" for number in range(1, 13)]
    assert len({tuple(one.attributes.values()) for one in profiles}) == 12
    assert {one.cluster for one in profiles} == {None}


def test_the_judge_sees_the_filled_template_and_levels_are_attributes(design_of: DesignOf) -> None:
    design = design_of({"name": {"woman": "Anna {years}", "man": "Ben"}, "years": [2, 10]}, ["name"])

    profiles = {tuple(one.attributes.values()): one.text for one in Factorial.of(design).profiles()}

    assert profiles["man", "10"] == "name Ben, years 10"
    assert profiles["woman", "2"] == "name Anna {years}, years 2"


def test_the_order_depends_on_the_seed_and_on_nothing_else(design_of: DesignOf) -> None:
    factors = {name: ["low", "high"] for name in "abcde"}

    orders = [[one.text for one in Factorial.of(design_of(factors, ["a"], seed=seed)).profiles()] for seed in (1, 1, 2)]

    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2])


def test_every_base_profile_is_shown_with_every_combination(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,text\nx,A nurse.\ny,A cook.\n")
    design = AuditDesign.of({"template": "{name}: {profile}", "factors": {"name": ["Anna", "Ben"]}, "groups": ["name"],
                        "criteria": "Experience", "profiles": "people.csv"})  # fmt: skip

    profiles = list(Factorial.of(design, tmp_path).profiles())

    assert sorted((one.cluster, one.text) for one in profiles) == [
        ("x", "Anna: A nurse."), ("x", "Ben: A nurse."), ("y", "Anna: A cook."), ("y", "Ben: A cook."),
    ]  # fmt: skip


def test_more_base_profiles_than_the_budget_are_refused(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("id,text\n" + "".join(f"{number},A nurse.\n" for number in range(5)))
    design = AuditDesign.of({"template": "{name}: {profile}", "factors": {"name": ["Anna", "Ben"]}, "groups": ["name"],
                        "criteria": "Experience", "profiles": "people.csv", "max_profiles": 4})  # fmt: skip

    with pytest.raises(
        ConfigError, match=r"profiles: people\.csv has more than 4 profiles, the limit set by max_profiles"
    ):
        Factorial.of(design, tmp_path)


def test_a_billion_combinations_are_counted_and_not_listed(design_of: DesignOf) -> None:
    design = design_of({f"f{number}": ["low", "high"] for number in range(30)}, ["f0"])

    planned = audit_job(design)

    assert design.cells == 2**30
    assert (len(planned.factorial), planned.factorial.is_whole) == (512, False)
    assert "512 of" in planned.plan()[0]
    assert "1,073,741,824 combinations of levels, since max_profiles is 512" in planned.plan()[0]


def test_a_budget_too_small_to_tell_factors_apart_is_refused(design_of: DesignOf) -> None:
    design = design_of({f"f{number}": ["low", "high"] for number in range(30)}, ["f0"], max_profiles=16)

    with pytest.raises(ConfigError, match=r"max_profiles allows 16 of 1,073,741,824 .* takes at least 31"):
        Factorial.of(design)


@pytest.mark.parametrize(("sizes", "most"), [([2] * 7, 8), ([2] * 6, 40), ([3, 4, 2, 5, 2], 60), ([3] * 4, 9), ([3, 3, 2], 17)])  # fmt: skip
def test_a_fraction_is_within_its_budget_has_no_cell_twice_and_all_levels(sizes: list[int], most: int) -> None:
    cells = fraction(sizes, most, seed=1)

    assert len(cells) <= most
    assert len(set(cells)) == len(cells)
    for place, size in enumerate(sizes):
        counts = Counter(cell[place] for cell in cells)
        assert sorted(counts) == list(range(size))
        assert max(counts.values()) - min(counts.values()) <= 1
    assert fraction(sizes, most, seed=1) == cells


def test_nine_cells_of_four_factors_with_three_levels_are_orthogonal() -> None:
    cells = fraction([3] * 4, 9, seed=1)

    for one, other in itertools.combinations(range(4), 2):
        assert len({(cell[one], cell[other]) for cell in cells}) == 9


def test_a_half_of_five_factors_mixes_no_main_effect_and_no_pair() -> None:
    assert aliases("abcde", [2] * 5, fraction([2] * 5, 16, seed=1), [0]) == ()


def test_a_half_of_four_factors_says_which_pairs_it_cannot_tell_apart() -> None:
    found = aliases("abcd", [2] * 4, fraction([2] * 4, 8, seed=1), [0])

    assert [one.words for one in found] == [
        "a × b cannot be told apart from c × d",
        "a × c cannot be told apart from b × d",
        "a × d cannot be told apart from b × c",
    ]


def test_the_smallest_fraction_mixes_main_effects_with_pairs_and_says_so() -> None:
    found = aliases(["experience", "age", "city"], [2] * 3, fraction([2] * 3, 4, seed=1), [0])

    assert "experience cannot be told apart from age × city" in [one.words for one in found]


def test_a_full_factorial_design_mixes_nothing() -> None:
    cells = list(itertools.product(range(2), range(3), range(2)))

    assert aliases("abc", [2, 3, 2], cells, [0]) == ()
