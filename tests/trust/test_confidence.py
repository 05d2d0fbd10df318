"""How sure an evaluator is: by its own word, by the probabilities of items, or by the distance from the pass mark."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evenhand import Check, Evaluation, Verdict
from evenhand.domain.evaluation import Status
from evenhand.trust.confidence import confidence_of


def item(probability: float | None, *, met: bool) -> Check:
    return Check(id=f"{probability}", satisfied=met, probability=probability)


@pytest.mark.parametrize(
    ("details", "checks", "score", "expected"),
    [
        ({}, (), 0.9, 0.5),
        ({"confidence": 0.7}, (), 0.9, 0.7),
        ({"confidence": "high"}, (), 0.9, None),
        ({"confidence": None}, (), 0.9, None),
        ({"yes_from": 0.5}, (item(0.75, met=True),), 1.0, 0.5),
        ({"yes_from": 0.5}, (item(0.5, met=True),), 1.0, 0.0),
        # Of several items, the one that is least sure; by a cut that was measured for the model, on either side.
        ({"yes_from": 0.8}, (item(0.96, met=True), item(0.72, met=False)), 0.9, 0.1),
        # What does not come from probabilities says nothing of them.
        ({}, (item(0.75, met=True),), 1.0, 1.0),
        ({"yes_from": 0.5}, (item(0.75, met=True), item(None, met=True)), 1.0, 1.0),
        ({"yes_from": math.nan}, (item(0.75, met=True),), 1.0, 1.0),
        ({"confidence": 0.3, "yes_from": 0.5}, (item(0.75, met=True),), 1.0, 0.3),
    ],
)
def test_confidence_is_what_is_said_or_seen(
    details: dict[str, Any], checks: tuple[Check, ...], score: float, expected: float | None
) -> None:
    evaluation = Evaluation(
        evaluator="quality",
        type="llm_judge",
        status=Status.SCORED,
        score=score,
        verdict=Verdict.PASS,
        checks=checks,
        details=details,
    )

    assert confidence_of(evaluation, pass_mark=0.8) == (None if expected is None else pytest.approx(expected))
