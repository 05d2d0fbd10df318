"""Two texts side by side: which words only one of them has."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from evenhand.reports.word_diff import MOST_PIECES, Marked, pieces, word_diff


def shown(marked: tuple[Marked, ...]) -> str:
    """Write what is marked between brackets."""
    return "".join(f"[{part.text}]" if part.is_marked else part.text for part in marked)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is Rome, I think.", ["It", " ", "is", " ", "Rome", ",", " ", "I", " ", "think", "."]),
        ("two  lines\n\nhere", ["two", "  ", "lines", "\n\n", "here"]),
        ("巴黎是首都", ["巴", "黎", "是", "首", "都"]),
        ("東京タワー", ["東", "京", "タ", "ワ", "ー"]),
        ("ภาษา", ["ภ", "า", "ษ", "า"]),
        ("हिन्दी में", ["हिन्दी", " ", "में"]),
        ("cafe\u0301 noir", ["cafe\u0301", " ", "noir"]),
        ("👩‍👩‍👧👍🏽!", ["👩‍👩‍👧", "👍🏽", "!"]),
        ("", []),
    ],
)
def test_a_text_is_taken_apart_into_words_blanks_and_single_characters_of_scripts_without_blanks(
    text: str, expected: list[str]
) -> None:
    assert pieces(text) == expected


def test_only_the_words_that_differ_are_marked() -> None:
    diff = word_diff("The capital is Rome, I think.", "The capital is Paris, I think so.")

    assert shown(diff.before) == "The capital is [Rome], I think."
    assert shown(diff.after) == "The capital is [Paris], I think[ so]."
    assert diff.is_by_word


def test_blanks_alone_do_not_part_what_differs() -> None:
    diff = word_diff("so one two three go", "so four five six go")

    assert shown(diff.before) == "so [one two three] go"
    assert shown(diff.after) == "so [four five six] go"


def test_characters_are_marked_where_words_have_no_blanks_between_them() -> None:
    diff = word_diff("法国的首都是里昂。", "法国的首都是巴黎。")

    assert shown(diff.before) == "法国的首都是[里昂]。"
    assert shown(diff.after) == "法国的首都是[巴黎]。"


def test_equal_texts_have_nothing_marked_and_an_empty_one_nothing_at_all() -> None:
    same, added = word_diff("a b", "a b"), word_diff("", "a b")

    assert (shown(same.before), shown(same.after)) == ("a b", "a b")
    assert (added.before, shown(added.after)) == ((), "[a b]")


def test_nothing_of_the_texts_is_lost() -> None:
    before, after = "x  y\nz é 里昂 <b> end", "x y\nz e 巴黎 <i> the end"

    diff = word_diff(before, after)

    assert "".join(part.text for part in diff.before) == before
    assert "".join(part.text for part in diff.after) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("same start " + "a b c " * MOST_PIECES + "same end", "same start " + "c a d " * MOST_PIECES + "same end"),
        ("same start " + "a " * 1_000 + "same end", "same start " + "b;" * 1_000 + " same end"),
    ],
    ids=["too long", "too different"],
)
def test_what_would_take_too_long_is_marked_from_the_first_difference_to_the_last(before: str, after: str) -> None:
    diff = word_diff(before, after)

    assert not diff.is_by_word
    assert [part.is_marked for part in diff.before] == [False, True, False]
    assert diff.before[0].text.startswith("same start")
    assert diff.after[-1].text.endswith("same end")
    assert "".join(part.text for part in diff.after) == after


WORDS = st.lists(st.sampled_from(["a", "b", "cc", " ", "\n", "里", "!"]), max_size=14).map("".join)


@given(WORDS, WORDS)
def test_what_is_not_marked_is_the_same_in_both(before: str, after: str) -> None:
    diff = word_diff(before, after)

    unmarked = ["".join(part.text for part in side if not part.is_marked) for side in (diff.before, diff.after)]
    assert unmarked[0] == unmarked[1]
    assert "".join(part.text for part in diff.before) == before
    assert "".join(part.text for part in diff.after) == after
