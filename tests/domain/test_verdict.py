"""Scores to verdicts (SPEC-E3)."""

import math

import pytest

from evenhand import ConfigError, Thresholds, Verdict


@pytest.mark.parametrize(
    ("score", "verdict"),
    [
        (1.0, Verdict.PASS),
        (0.8, Verdict.PASS),
        (0.1 + 0.7, Verdict.PASS),
        (0.7999, Verdict.BORDERLINE),
        (0.6, Verdict.BORDERLINE),
        (0.5999, Verdict.FAIL),
        (0.0, Verdict.FAIL),
    ],
)
def test_the_default_thresholds_are_080_and_060(score: float, verdict: Verdict) -> None:
    assert Thresholds().verdict(score) is verdict


def test_thresholds_can_be_set_by_a_mapping() -> None:
    thresholds = Thresholds.of({"pass": 0.9, "borderline": 0.5})

    assert [thresholds.verdict(score) for score in (0.9, 0.89, 0.5, 0.49)] == [
        "pass",
        "borderline",
        "borderline",
        "fail",
    ]


def test_a_pass_mark_below_the_usual_borderline_moves_it_down() -> None:
    assert Thresholds.of({"pass": 0.5}) == Thresholds(pass_at=0.5, borderline_at=0.5)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pass": 0.5, "borderline": 0.6}, "borderline 0.6 and pass 0.5 must keep to 0 <= borderline <= pass <= 1"),
        ({"pass": math.nan}, "pass is nan; it must be a number from 0 to 1"),
        ({"pass": True}, "pass is True; it must be a number"),
        ({"pass": "0.8"}, "pass is '0.8'; it must be a number"),
        ({"pass": 1.5}, "must keep to 0 <= borderline <= pass <= 1"),
        ({"passing": 0.5}, "no threshold 'passing'; did you mean 'pass'?"),
        (0.8, "thresholds must be a mapping"),
    ],
)
def test_thresholds_that_make_no_sense_are_refused(given: object, message: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Thresholds.of(given)  # type: ignore[arg-type]  # what users write in files

    assert message in str(refused.value)
