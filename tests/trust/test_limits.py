"""What a suite may demand of its judge."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.errors import ConfigError
from evenhand.domain.summary import Interval, Rate
from evenhand.stats.refusal import Refused
from evenhand.trust.limits import TrustLimits


def test_the_lower_end_must_reach_the_limit_and_a_refused_number_never_does() -> None:
    limits = TrustLimits.of({"labels": "labels.csv", "min_agreement_low": 0.7, "min_kappa_low": 0.4})
    rate = Rate(value=0.9, interval=Interval(low=0.7, high=0.95, method="wilson"))

    met, missed = limits.check({"agreement": rate, "kappa": Refused("3 labels")})

    assert (met.ok, met.found) == (True, 0.7)
    assert (missed.ok, missed.words) == (False, "min_kappa_low: wanted at least 0.4, found 3 labels")
    assert (limits.labels, limits.evaluator) == ("labels.csv", None)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([], "trust must be a mapping"),
        ({"min_kapa_low": 0.4}, "did you mean 'min_kappa_low'"),
        ({"min_kappa_low": "high"}, "a number from -1 to 1"),
        ({"min_sensitivity_low": 70}, "a number from 0 to 1"),
        ({"min_sensitivity_low": True}, "a number from 0 to 1"),
        ({"labels": 3}, "labels is 3; it must be text"),
    ],
)
def test_what_cannot_be_a_limit_is_refused(given: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        TrustLimits.of(given)
