"""Plain words in YAML mean what people see, or are refused."""

from __future__ import annotations

import math

import pytest

from evenhand.suites.yaml_scalars import SurpriseError, meaning


@pytest.mark.parametrize("text", ["", "~", "null", "Null", "NULL"])
def test_nothing_is_none(text: str) -> None:
    assert meaning(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("true", True), ("True", True), ("TRUE", True), ("false", False), ("False", False), ("FALSE", False)],
)
def test_true_and_false_are_flags(text: str, value: bool) -> None:
    assert meaning(text) is value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("7", 7),
        ("-7", -7),
        ("+7", 7),
        ("9223372036854775807", 9223372036854775807),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-0.0", -0.0),
        ("1e3", 1000.0),
        ("1E3", 1000.0),
        ("1.5e-3", 0.0015),
        ("01.5", 1.5),
    ],
)
def test_numbers_are_numbers(text: str, value: float) -> None:
    found = meaning(text)

    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "Paris", "No.", "no way", "nope", "yess", "y", "n", "tRUE", "nULL", "nan", "inf", "NaN", "Infinity",
        "2024-05-01", "2024-05-01T10:00:00Z", "1.2.3", "1-5", "0-10", "75%", "3 apples", "+49 30 1234", "-", "--", ".",
        "..", "...", "+", "1e", "e3", "1:75", "12:", "0xZZ", "0o8", "1,000", "=", "<", "~x", "²", "１２", "٣",
    ],
)  # fmt: skip
def test_anything_else_is_text(text: str) -> None:
    assert meaning(text) == text


@pytest.mark.parametrize("text", ["no", "No", "NO", "nO", "off", "Off", "OFF"])
def test_a_no_must_say_whether_it_is_false(text: str) -> None:
    with pytest.raises(SurpriseError, match=f"^{text} is false to some .*; write false, or put it in quotes$"):
        meaning(text)


@pytest.mark.parametrize("text", ["yes", "Yes", "YES", "yEs", "on", "On", "ON"])
def test_a_yes_must_say_whether_it_is_true(text: str) -> None:
    with pytest.raises(SurpriseError, match=f"^{text} is true to some .*; write true, or put it in quotes$"):
        meaning(text)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1:30", "base 60"),
        ("-1:30", "base 60"),
        ("01:30", "base 60"),
        ("1:30:59", "base 60"),
        ("1:30.5", "base 60"),
        ("010", "base 8"),
        ("00", "base 8"),
        ("-007", "base 8"),
        ("089", "base 8"),
        ("0x1F", "plain digits"),
        ("0o17", "plain digits"),
        ("0b11", "plain digits"),
        ("1_000", "plain digits"),
        ("1_000.5", "plain digits"),
        (".nan", "not a finite number"),
        (".NaN", "not a finite number"),
        (".inf", "not a finite number"),
        ("-.INF", "not a finite number"),
        ("+.inf", "not a finite number"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("9223372036854775808", "too large"),
        ("9" * 999, "too large"),
    ],
)
def test_what_readers_disagree_about_is_refused(text: str, why: str) -> None:
    with pytest.raises(SurpriseError, match=why):
        meaning(text)


def test_digits_without_end_are_text() -> None:
    assert meaning("9" * 5000) == "9" * 5000


def test_what_is_read_as_a_number_is_finite() -> None:
    assert math.isfinite(float(str(meaning("1e308"))))
