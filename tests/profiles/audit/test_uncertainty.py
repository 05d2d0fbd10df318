"""Which error decides: the judge's own noise, or how profiles differ; and what a judge that repeats itself shows."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.effects import Effect, Effects, effects_of
from evenhand.profiles.audit.observed import Observed
from evenhand.profiles.audit.result import numbers_from
from evenhand.profiles.audit.sentences import overview, parts
from evenhand.reports.blocks import as_text

NURSES = {"name": ["Anna", "Ben"], "years": [2, 10], "night": ["no nights", "nights"]}

DesignOf = Callable[..., AuditDesign]
ScoredBy = Callable[..., Any]


def of_name(found: Effects) -> Effect:
    return next(one for one in found.effects if one.name == "name: Ben − Anna")


def repeated(profiles: list[Observed], *deviations: float) -> list[Observed]:
    """Let the scores of each profile differ in the same way around its mean."""
    return [replace(one, scores=tuple((one.score or 0.0) + apart for apart in deviations)) for one in profiles]


def by_merit(levels: Mapping[str, str]) -> float:
    return 5.0 + 2 * (levels["years"] == "10") + 0.7 * (levels["name"] == "Ben")


def uneven(by: float) -> Callable[[Mapping[str, str]], float]:
    """Score by merit, and each text for reasons of its own: up by so much, or down."""
    signs = itertools.cycle([1, -1, -1, 1, 1, 1, -1, -1])
    return lambda levels: by_merit(levels) + by * next(signs)


def test_where_profiles_differ_by_no_more_than_noise_the_replicate_error_decides(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])

    effect = of_name(effects_of(design, repeated(scored_by(design, uneven(0.3)), -0.5, 0, 0.5)))

    assert effect.decided_by == "replicates"
    assert effect.replicate is not None
    assert effect.clustered is not None
    # Of 24 scores whose variance is 0.25: 2 · 0.5 / √24, with two degrees of freedom for each of eight profiles.
    assert effect.replicate.error == pytest.approx(2 * 0.5 / 24**0.5)
    assert effect.replicate.df == 16
    assert (effect.error, effect.df, effect.interval) == (
        effect.replicate.error,
        effect.replicate.df,
        effect.replicate.interval,
    )
    assert effect.clustered.df == 4


def test_where_profiles_differ_by_more_than_noise_the_clustered_error_decides(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])

    effect = of_name(effects_of(design, repeated(scored_by(design, uneven(1.0)), -0.1, 0, 0.1)))

    assert effect.decided_by == "clusters"
    assert effect.replicate is not None
    # Against its own noise the judge treats these profiles differently, but it does so whoever they are about.
    assert effect.replicate.p < 0.001
    assert not effect.found


def test_a_judge_that_repeats_itself_is_held_against_the_clustered_error(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])
    profiles = scored_by(design, uneven(0.5))

    effect = of_name(effects_of(design, profiles))

    assert (effect.decided_by, effect.replicate) == ("clusters", None)
    assert effect.error is not None
    assert effect.error > 0.2
    told = as_text(parts(numbers_from(design, profiles)))
    assert "The judge gave the same score every time, so repetitions show no noise" in told.replace("\n  ", " ")


def test_scores_in_whole_points_are_known_no_better_than_their_rounding(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    small = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"])
    large = design_of(NURSES, ["name"])

    # Two of two pairs differ by a point: two of two coins would fall alike half of the time.
    by_chance = of_name(effects_of(small, scored_by(small, lambda levels: 7.0 + (levels["name"] == "Ben"))))
    planted = of_name(effects_of(large, scored_by(large, lambda levels: 7.0 - 3 * (levels["name"] == "Ben"))))

    assert by_chance.error == pytest.approx((4 * 0.5**2 / 12) ** 0.5)
    assert not by_chance.found
    assert planted.found


def test_a_single_repetition_leaves_the_clustered_error(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = [replace(one, scores=one.scores[:1]) for one in scored_by(design, uneven(0.3))]

    effect = of_name(effects_of(design, profiles))

    assert (effect.decided_by, effect.replicate) == ("clusters", None)
    assert "No profile was scored twice, so it is unknown how consistent the judge is." in list(
        overview(numbers_from(design, profiles))
    )


def test_a_design_with_as_many_effects_as_profiles_has_intervals_from_repetitions(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of({"name": ["Anna", "Ben"], "years": [2, 10]}, ["name"])
    profiles = repeated(scored_by(design, lambda levels: 5.0 + 3 * (levels["name"] == "Ben")), -0.2, 0, 0.2)

    found = effects_of(design, profiles)

    crossed = next(one for one in found.effects if one.kind == "interaction")
    assert (crossed.clustered, crossed.decided_by, crossed.found) == (None, "replicates", False)
    assert crossed.interval is not None


def test_an_effect_that_only_noise_speaks_for_is_said_to_be_about_these_profiles(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])
    profiles = repeated(scored_by(design, uneven(0.25)), -0.4, 0, 0.4)

    effect = of_name(effects_of(design, profiles))
    told = " ".join(overview(numbers_from(design, profiles)))

    assert (effect.found, effect.generalises) == (True, False)
    assert "Changing name from Anna to Ben raises the score by 0.70 points [0.35, 1.05]" in told
    assert "on these profiles; other profiles may not show it" in told


def test_an_effect_that_both_errors_show_is_said_to_hold_for_others(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = repeated(scored_by(design, uneven(0.02)), -0.1, 0, 0.1)

    effect = of_name(effects_of(design, profiles))

    assert (effect.decided_by, effect.found, effect.generalises) == ("replicates", True, True)
    assert "on these profiles and on others like them" in " ".join(overview(numbers_from(design, profiles)))


def test_a_change_between_two_audits_has_the_noise_of_both(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    once = repeated(scored_by(design, uneven(0.3)), -0.5, 0, 0.5)
    twice = [replace(one, other_scores=one.scores) for one in once]

    errors = [of_name(effects_of(design, profiles)).replicate for profiles in (once, twice)]

    assert errors[0] is not None
    assert errors[1] is not None
    assert errors[1].error == pytest.approx(2**0.5 * errors[0].error)
    assert errors[1].df == 32


def test_a_profile_of_which_one_score_is_left_borrows_the_noise_of_the_others(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])
    profiles = repeated(scored_by(design, by_merit), -0.5, 0, 0.5)
    profiles[0] = replace(profiles[0], scores=(profiles[0].score or 0.0,), failures=2)

    replicate = of_name(effects_of(design, profiles)).replicate

    assert replicate is not None
    assert replicate.error == pytest.approx((7 / 16 * 0.25 / 3 + 1 / 16 * 0.25) ** 0.5)
    assert replicate.df <= 14


def test_noise_in_few_profiles_has_few_degrees_of_freedom(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    profiles = scored_by(design, by_merit)
    profiles[0] = replace(profiles[0], scores=(5.0, 5.5, 6.0))

    replicate = of_name(effects_of(design, profiles)).replicate

    assert replicate is not None
    assert replicate.df == 2


def test_offsets_are_told_as_shares_of_a_merit(design_of: DesignOf, scored_by: ScoredBy) -> None:
    design = design_of(NURSES, ["name"])
    chance = random.Random(8)

    def biased(levels: Mapping[str, str]) -> float:
        return 5 - 0.5 * (levels["name"] == "Ben") + 2 * (levels["years"] == "10") + chance.gauss(0, 0.01)

    told = as_text(parts(numbers_from(design, repeated(scored_by(design, biased), -0.05, 0, 0.05))), width=400)

    assert "Changing name from Anna to Ben lowers the score by 25 % [" in told
    assert "] of what changing years from 2 to 10 adds." in told
    assert "weighs as much" not in told


def test_an_interaction_is_told_as_what_a_change_is_worth_in_two_groups(
    design_of: DesignOf, scored_by: ScoredBy
) -> None:
    design = design_of(NURSES, ["name"])

    def unequal(levels: Mapping[str, str]) -> float:
        return 5.0 + (2 if levels["name"] == "Anna" else 0.5) * (levels["years"] == "10")

    told = list(overview(numbers_from(design, repeated(scored_by(design, unequal), -0.05, 0, 0.05))))

    assert any(
        line.startswith("Changing years from 2 to 10 is worth 1.50 points [")
        and "] less if name is Ben than if it is Anna; " in line
        for line in told
    )
