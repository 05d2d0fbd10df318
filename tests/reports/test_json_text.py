"""JSON that a model wrote, indented for people."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from evenhand.reports.html.json_text import indented, judged_text

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, max_size=4) | st.dictionaries(st.text(), VALUES, max_size=4))
def test_it_is_what_the_standard_library_would_indent(value: Any) -> None:
    lines = indented(json.dumps(value))

    assert lines is not None
    assert "\n".join(line.text for line in lines) == json.dumps(value, indent=2)


def test_every_token_stays_as_it_was_written() -> None:
    lines = indented('{"n":1.50,"e":1E3,"u":"\\u00e9", "n": [ ]}')

    assert lines is not None
    assert [line.text for line in lines] == ["{", '  "n": 1.50,', '  "e": 1E3,', '  "u": "\\u00e9",', '  "n": []', "}"]


def test_each_value_has_its_path() -> None:
    lines = indented('{"a b": [1, {"c": []}], "2": null}')

    assert lines is not None
    assert [line.path for line in lines] == [
        "$", '$["a b"]', '$["a b"][0]', '$["a b"][1]', '$["a b"][1].c', None, None, '$["2"]', None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text", ["", "plain", "12", '"text"', "{", '{"a": NaN}', "[" * 100 + "]" * 100, f"[{'1,' * 20_000}1]"]
)
def test_any_other_text_is_shown_as_it_is(text: str) -> None:
    assert indented(text) is None
    assert "<pre" in judged_text(text)


def test_errors_stand_below_the_values_they_are_about_and_are_text() -> None:
    shown = str(judged_text('{"n": "<b>"}', [("$.n", "<i> is not a number"), ("$.gone", "is missing")]))

    assert "<b>" not in shown
    assert "<i>" not in shown
    lines = shown.splitlines()
    assert "&lt;b&gt;" in lines[2]
    assert lines[3].strip() == '<mark class="fault">✗ &lt;i&gt; is not a number</mark>'
