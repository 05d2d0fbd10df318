"""A profile refuses to be wrong, and becomes a case."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand import ConfigError, Profile


def test_a_profile_becomes_a_case_with_its_text_as_the_answer() -> None:
    profile = Profile(id="anna", text="A nurse.", attributes={"city": "Graz"}, cluster="family")

    case = profile.case

    assert (case.id, case.candidate_answer, case.metadata, case.cluster) == (
        "anna", "A nurse.", {"city": "Graz"}, "family",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"id": "a", "text": ""}, "profile 'a': its text is empty"),
        ({"id": "a", "text": " \n\t"}, "its text is empty"),
        ({"id": "a", "text": None}, "text must be a string, not null"),
        ({"id": "a", "text": 7}, "text must be a string, not 7"),
        ({"id": "", "text": "x"}, "an id has 1 to 200 characters"),
        ({"id": "  ", "text": "x"}, "an id has 1 to 200 characters"),
        ({"id": "anna ", "text": "x"}, "profile 'anna ': an id has 1 to 200 characters"),
        ({"id": "\u00a0anna", "text": "x"}, "no space at either end"),
        ({"id": "x" * 201, "text": "x"}, "an id has 1 to 200 characters"),
        ({"id": "a\nb", "text": "x"}, "no control characters"),
        ({"id": 7, "text": "x"}, "id must be text or a whole number, not 7"),
        ({"id": "a", "text": "x", "attributes": ["city"]}, "attributes must be a mapping, not list"),
        ({"id": "a", "text": "x", "cluster": 3}, "cluster must be text or None, not 3"),
    ],
)
def test_a_profile_that_cannot_be_right_is_refused(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Profile(**given)

    assert told in str(raised.value)
