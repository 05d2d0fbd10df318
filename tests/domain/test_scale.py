"""Raw scores to numbers from 0 to 1 (SPEC-E4, E5)."""

import math
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand import ConfigError
from evenhand.domain.errors import ContractError
from evenhand.domain.scale import UNIT, Binary, Choices, Range, read_number, scale_of, unit_of

NOT_NUMBERS: list[Any] = [
    None,
    True,
    False,
    "high",
    "NaN",
    "inf",
    "0.8 of 1",
    "",
    "0x1",
    "1e9999",
    [],
    {},
    math.nan,
    math.inf,
    -math.inf,
    10**400,
]


@pytest.mark.parametrize("value", NOT_NUMBERS)
@pytest.mark.parametrize("scale", [UNIT, Range(low=0, high=10), Choices(values=(0.0, 0.5, 1.0))])
def test_what_is_no_finite_number_breaks_the_contract(scale: Any, value: object) -> None:
    with pytest.raises(ContractError):
        scale.read(value)


def test_a_quoted_number_is_taken_and_flagged() -> None:
    assert UNIT.read("0.8") == (0.8, ("coerced",))
    assert Choices(values=(0.5, 1)).read(" 0.5 ") == (0.5, ("coerced",))


@pytest.mark.parametrize(("value", "score"), [(1.7, 1.0), (-3, 0.0), (98989, 1.0)])
def test_freeform_scores_are_clamped_and_flagged(value: float, score: float) -> None:
    raw, flags = UNIT.read(value)

    assert (raw, UNIT.unit(raw), flags) == (value, score, ("clamped",))


@pytest.mark.parametrize("value", [15, -2, 10.001])
def test_other_ranges_reject_what_lies_outside(value: float) -> None:
    with pytest.raises(ContractError, match="must be a number from 0 to 10"):
        Range(low=0, high=10).read(value)


@pytest.mark.parametrize("value", [0, 1, "true", 0.5, None])
def test_a_boolean_must_be_one(value: object) -> None:
    with pytest.raises(ContractError, match="must be true or false"):
        Binary().read(value)


def test_a_choice_is_the_listed_number_itself() -> None:
    chosen, _ = Choices(values=(0.0, 0.5, 1.0)).read(1)

    assert chosen == 1.0
    assert isinstance(chosen, float)
    with pytest.raises(ContractError, match=r"exactly one of 0.0, 0.5, 1.0, not 0.51"):
        Choices(values=(0.0, 0.5, 1.0)).read(0.51)


@pytest.mark.parametrize(
    ("scale", "raw", "unit"),
    [
        ("0-10", 7, 0.7),
        ("1-5", 4, 0.75),
        ("1 to 5", 1, 0.0),
        ("boolean", True, 1.0),
        ([0.0, 0.5, 1.0], 0.5, 0.5),
        ([1, 2, 3, 4, 5], 4, 0.75),
        (None, 0.3, 0.3),
    ],
)
def test_every_scale_is_turned_into_zero_to_one(scale: Any, raw: Any, unit: float) -> None:
    assert scale_of(scale).unit(raw) == pytest.approx(unit)


@pytest.mark.parametrize("given", ["0..", "10-0", "nonsense", 7, [], [1, 1], [True], [math.nan]])
def test_scales_that_make_no_sense_are_refused(given: Any) -> None:
    with pytest.raises(ConfigError):
        scale_of(given)


@given(st.floats(allow_nan=True, allow_infinity=True) | st.integers() | st.booleans() | st.text())
def test_whatever_a_judge_gives_the_unit_score_is_finite_and_in_range(value: object) -> None:
    for scale in (UNIT, Range(low=1, high=5), Choices(values=(1, 3, 9)), Binary()):
        try:
            raw, _ = scale.read(value)
        except ContractError:
            continue
        assert 0.0 <= scale.unit(raw) <= 1.0


@pytest.mark.parametrize("text", ["0\x1f", "\x1c0.0", " 0 ", "\u20030"])
def test_a_quoted_number_may_have_any_space_around_it(text: str) -> None:
    assert read_number(text) == (0.0, ("coerced",))


@pytest.mark.parametrize(
    ("number", "numbers", "unit"),
    [
        (0.25, (0.25, 1.0), 0.25),
        (0.25, (0.0, 0.25), 0.25),
        (1.0, (0.25, 1.0), 1.0),
        (0.5, (-0.5, 1.0), 2 / 3),
        (2.0, (1.0, 3.0), 0.5),
        (3.0, (3.0, 3.0), 1.0),
    ],
)
def test_numbers_from_zero_to_one_stay_as_they_are_and_others_are_placed_between_the_ends(
    number: float, numbers: tuple[float, ...], unit: float
) -> None:
    assert unit_of(number, numbers) == pytest.approx(unit)
