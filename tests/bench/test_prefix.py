"""Most of what a judge is told about a case was said before the case comes, so that providers can keep it."""

from __future__ import annotations

from bench import prefix
from evenhand import Case


def test_at_least_three_fifths_of_the_prompts_of_the_rubric_suite_are_a_common_prefix() -> None:
    (_, measured, goal), *others = prefix.rows()

    assert goal == "60 % or more"
    assert int(measured.rstrip("%")) >= 60
    assert len(others) == 3


def test_only_what_an_earlier_prompt_begins_with_is_common() -> None:
    cases = [Case(question="Why?", candidate_answer=answer, expected_outcome="Says why") for answer in ("A", "A", "B")]

    alike, other = prefix.share(cases[:2]), prefix.share(cases[1:])

    assert alike == 1.0
    assert 0.5 < other < 0.9
