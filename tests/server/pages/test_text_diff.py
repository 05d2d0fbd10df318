"""What differs between two texts."""

from __future__ import annotations

from evenhand.reports.line_diff import MOST_LINES, changes, differences


def test_lines_far_from_a_difference_are_counted_and_not_shown() -> None:
    old = "\n".join(str(number) for number in range(20))

    lines = differences(old, old.replace("10", "ten"))

    assert [(line.kind, line.text) for line in lines] == [
        ("gap", "7 lines unchanged"),
        *(("same", str(number)) for number in (7, 8, 9)),
        ("removed", "10"),
        ("added", "ten"),
        *(("same", str(number)) for number in (11, 12, 13)),
        ("gap", "6 lines unchanged"),
    ]


def test_texts_that_differ_in_their_line_ends_alone_are_said_to() -> None:
    lines = differences("a\nb", "a\r\nb\n")

    assert [(line.kind, line.text) for line in lines] == [
        ("gap", "the lines are the same; only the line endings differ")
    ]


def test_very_long_texts_are_shown_one_after_the_other() -> None:
    old, new = "a\n" * MOST_LINES, "a\n" * MOST_LINES + "b"

    lines = differences(old, new)

    assert [line.kind for line in lines].count("removed") == MOST_LINES
    assert lines[-1].text == "b"


def test_only_fields_that_differ_are_listed_and_empty_is_the_same_as_absent() -> None:
    old, new = {"a": "1", "b": None, "c": "x"}, {"a": "2", "b": "", "c": "x"}

    found = changes(old, new, {"a": "A", "b": "B", "c": "C"})

    assert [label for label, _ in found] == ["A"]
