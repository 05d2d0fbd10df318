"""How a run is decided early, as it is stored."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.early_decision import GateDecision, UntilDecided
from evenhand.domain.errors import ConfigError


def test_what_is_stored_is_read_back() -> None:
    gate = GateDecision(name="quality", limit=0.8, outcome="fail", after=57, certain=False)
    for decided in (
        UntilDecided(seed=7),
        UntilDecided(seed=7, alpha=0.01, known=(3, 5), gates=(gate, GateDecision(name="other", limit=0.5))),
    ):
        assert UntilDecided.parse(decided.as_dict()) == decided


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"seed": None}, "seed is None; it must be a whole number"),
        ({"seed": 1.5}, "seed is 1.5; it must be a whole number"),
        ({"seed": True}, "seed is True; it must be a whole number"),
        ({"known": [1, "2"]}, "it must be a list of positions"),
        ({"known": 3}, "it must be a list of positions"),
        ({"gates": {}}, "gates is {}; it must be a list"),
        ({"gates": [{"name": "quality"}]}, "each must have name, limit and outcome"),
        ({"alpha": 0}, "alpha is 0; it must be a number between 0 and 1"),
        ({"alpha": 1}, "alpha is 1; it must be a number between 0 and 1"),
        ({"alpha": "0.05"}, "it must be a number between 0 and 1"),
    ],
)
def test_what_cannot_have_been_stored_is_refused(changed: dict[str, Any], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        UntilDecided.parse({"alpha": 0.05, "seed": 7, **changed})


def test_what_is_no_object_is_refused() -> None:
    with pytest.raises(ConfigError, match="it must be an object"):
        UntilDecided.parse([7])
