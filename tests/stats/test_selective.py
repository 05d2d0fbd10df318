"""From which confidence on the judge decides alone: the golden case, refusals, and whether the promise holds."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from evenhand.stats.refusal import Refused
from evenhand.stats.selective import Accepted, Alone, accepted, alone_from

Golden: TypeAlias = Callable[[str, str], list[Any]]


def test_the_confidence_is_the_golden_one(golden: Golden) -> None:
    (case,) = golden("selective.json", "fixed_sequence")

    found = alone_from([Accepted(*row) for row in case["rows"]], errors=case["eps"], chance=case["delta"])

    assert isinstance(found, Alone)
    assert found.confidence == case["chosen"]
    assert len(found.tested) == len(case["tested"])
    for tested, expected in zip(found.tested, case["tested"], strict=True):
        assert tested == pytest.approx([expected[name] for name in ("confidence", "accepted", "errors", "p")], abs=1e-6)


def test_where_the_first_test_is_not_passed_the_judge_never_decides_alone() -> None:
    rows = [Accepted(0.9, 10, 2), Accepted(0.5, 1000, 10)]

    assert alone_from(rows, errors=0.1) == Refused(
        "the judge never decides alone: at the highest confidence there were 2 errors in 10 cases"
    )
    assert isinstance(alone_from([], errors=0.1), Refused)
    assert isinstance(alone_from([Accepted(0.9, 0, 0)], errors=0.1), Refused)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: alone_from([], errors=0),
        lambda: alone_from([], errors=0.1, chance=1),
        lambda: alone_from([Accepted(0.9, 3, 4)], errors=0.1),
        lambda: accepted([0.5], [], (0.5,)),
    ],
)
def test_what_no_data_can_be_is_an_error(wrong: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match="got"):
        wrong()


@pytest.mark.slow
def test_the_judge_errs_more_often_than_promised_as_rarely_as_promised() -> None:
    chance = random.Random(20261117)
    steps = (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5)
    broken = 0

    for _ in range(400):
        # A case of confidence c is judged right with the chance c: those from c on, with (1 + c) / 2.
        sure = [chance.uniform(0.5, 1) for _ in range(200)]
        found = alone_from(accepted(sure, [chance.random() > c for c in sure], steps), errors=0.15)
        broken += isinstance(found, Alone) and 1 - (1 + found.confidence) / 2 > 0.15

    assert broken / 400 <= 0.12
