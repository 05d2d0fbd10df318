"""An estimate of a run over profiles speaks of them, and of nothing that they do not have."""

from __future__ import annotations

import pytest

from evenhand.engine.estimate import Estimate


@pytest.mark.parametrize(("noun", "first"), [("profile", "25 profiles, "), ("group", "25 groups, ")])
def test_it_counts_profiles_or_groups_and_has_no_rules_about_cases(noun: str, first: str) -> None:
    told = Estimate(cases=25, repeat=1, noun=noun).text()

    assert told.startswith(first)
    assert "rubric" not in told
    assert "reference answer" not in told
    assert "Tokens are estimated" in told
