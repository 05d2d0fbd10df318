"""How far a judge's own noise moves a run: golden figures, refusals, and what must always hold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import given, strategies as st

from evenhand.stats.judge_noise import JudgeNoise, gate_flip, judge_noise
from evenhand.stats.refusal import Refused

Golden: TypeAlias = Callable[[str, str], list[Any]]


def test_the_noise_of_a_judge_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("repeats.json", "judge_noise")

    found = judge_noise(case["scores"])

    assert isinstance(found, JudgeNoise)
    assert found.within == pytest.approx(case["within_sd"], abs=1e-6)
    assert found.icc == pytest.approx(case["icc1"], abs=1e-6)
    assert found.of_mean(6) == pytest.approx(case["sd_of_the_mean_on_a_rerun"], abs=1e-6)
    assert found.of_mean(6, 3) == pytest.approx(case["sd_of_the_mean_on_a_rerun_of_3"], abs=1e-6)


def test_how_often_a_gate_flips_is_the_golden_figure(golden: Golden) -> None:
    for case in golden("repeats.json", "gate_flip"):
        chances = [1.0] * case["sure"] + [case["chance_of_pass"]] * case["unsure"]

        found = gate_flip(chances, case["passes_needed"])

        assert found.passes == pytest.approx(case["gate_passes"], abs=1e-6)
        assert found.disagree == pytest.approx(case["two_runs_disagree"], abs=1e-6)


def test_single_scores_say_nothing() -> None:
    assert judge_noise([[0.5], [0.7]]) == Refused("no case has two scores or more")
    assert judge_noise([]) == Refused("no case has two scores or more")


def test_one_case_shows_noise_but_no_share_of_it() -> None:
    found = judge_noise([[0.4, 0.6], [0.9]])

    assert isinstance(found, JudgeNoise)
    assert found.within == pytest.approx(math.sqrt(0.02))
    assert isinstance(found.icc, Refused)


def test_scores_that_are_all_equal_have_no_variance_to_share() -> None:
    found = judge_noise([[0.8, 0.1 + 0.7], [0.8, 0.8]])

    assert isinstance(found, JudgeNoise)
    assert found.icc == Refused("all scores are equal")


@pytest.mark.parametrize(
    "wrong", [lambda: gate_flip([1.5], 1), lambda: JudgeNoise(cases=1, within=0.1, icc=1).of_mean(0)]
)
def test_what_no_judge_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


@given(st.lists(st.sampled_from((0.0, 0.25, 0.5, 0.9, 1.0)), max_size=8), st.integers(-1, 9))
def test_the_chance_of_a_gate_is_the_sum_over_all_that_can_happen(chances: list[float], needed: int) -> None:
    summed = math.fsum(
        math.prod(chance if passed else 1 - chance for chance, passed in zip(chances, outcome, strict=True))
        for outcome in itertools.product((True, False), repeat=len(chances))
        if sum(outcome) >= needed
    )

    assert gate_flip(chances, needed).passes == pytest.approx(summed, abs=1e-12)


def test_many_unsure_cases_are_no_trouble() -> None:
    found = gate_flip([place % 4 / 4 for place in range(20_000)], 7_500)

    assert found.passes == pytest.approx(0.5, abs=0.01)
