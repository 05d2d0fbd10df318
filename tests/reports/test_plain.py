"""Model text in front of people (REL-S4)."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, strategies as st

from evenhand.reports.safe_text import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;new title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPdevice\x1b\\after", "after"),
        ("\x9b2Jcleared", "cleared"),
        ("\x9d0;title\x9cafter", "after"),
        ("\x1bcreset", "reset"),
        ("\x1b\x1b[0m[31m", "[31m"),
        ("unended \x1b]0;title", "unended 0;title"),
        ("a\nb\r\nc\td\u2028e\x85f", "a b c d e f"),
        ("over\rwritten\b\b\b\x00\x7f", "over written"),
        ("\u202eright to left\u2066 \u200e\u061c", "right to left"),
        ("zero\u200bwidth\ufeff\u2060 tag\U000e0041", "zerowidth tag"),
        ("half \ud800 a pair", "half a pair"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻 naïve", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻 naïve"),
    ],
)  # fmt: skip
def test_what_a_text_says_is_shown_and_what_it_does_is_not(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_long_text_is_cut() -> None:
    assert plain("x" * 1000, 10) == "x" * 9 + "…"
    assert plain("x" * 1000, None) == "x" * 1000


@pytest.mark.parametrize("piece", ["\x9d", "\x1b]", "\x1b[0", "\x90", "\x1b", "\x9b;", "\x1b\\"])
def test_a_text_of_nothing_but_beginnings_is_worked_through_at_once(piece: str) -> None:
    assert len(plain(piece * 200_000, 5)) <= 5  # minutes, were the work quadratic


@given(st.text() | st.text(alphabet="\x1b\x9b\x9d\x07[]0;m\n\u202e\\"))
def test_nothing_is_left_that_a_terminal_obeys(text: str) -> None:
    shown = plain(text, None)

    left = {unicodedata.category(one) for one in shown if one not in "\u200c\u200d"}
    assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}
