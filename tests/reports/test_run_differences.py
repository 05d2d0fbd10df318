"""What differs between two runs, as lines: values side by side, texts by their words."""

from __future__ import annotations

from typing import Any

import pytest

from evenhand.domain.run_differences import CaseCount, RunDifferences, SettingChange
from evenhand.reports.html.comparison import DifferencesView
from evenhand.reports.run_differences import SAME, difference_lines

LONG = "You answer questions on returns for a shoe shop.\nBe brief and polite."


def lines(name: str, before: Any, after: Any) -> tuple[str, ...]:
    return difference_lines(RunDifferences(settings=(SettingChange(name=name, before=before, after=after),)))


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (3, 4, "Name: 3 → 4"),
        (["x/a"], ["x/a", "x/b"], "Name: x/a → x/a, x/b"),
        (None, False, "Name: not set → false"),
        ("", "a", 'Name: "" → a'),
        (LONG, f"{LONG}\nNever promise.", "Name: added “Never promise.”"),
        (LONG, LONG.replace("polite", "kind"), "Name: removed “polite”; added “kind”"),
        (None, LONG, "Name: only in B, “You answer questions on returns for a shoe shop. Be brief a…”"),
        (LONG, LONG.replace("\n", " \n"), "Name: only blanks, or the end of a very long text"),
    ],
)
def test_a_setting_is_a_line(before: Any, after: Any, line: str) -> None:
    assert lines("Name", before, after) == (line,)


def test_of_many_differences_in_a_text_the_first_are_told_and_the_others_counted() -> None:
    words = [f"word{number}" for number in range(20)]
    other = [f"other{number}" if number % 2 else word for number, word in enumerate(words)]

    (line,) = lines("Prompt", " ".join(words), " ".join(other))

    assert line.startswith("Prompt: removed “word1”, “word3”, “word5” and 7 more; added “other1”, ")


def test_nothing_that_differs_is_said_too() -> None:
    view = DifferencesView.of(RunDifferences())

    assert difference_lines(RunDifferences()) == (SAME,)
    assert (view.same, view.settings, view.cases) == (SAME, (), ())


def test_cases_are_counted_and_the_first_named() -> None:
    found = RunDifferences(only_a=CaseCount(count=1, first=("a",)), edited=CaseCount(count=9, first=("b", "c")))

    assert difference_lines(found) == ("1 case only in A: a", "9 cases edited between A and B: b, c …")


def test_in_html_the_words_that_differ_are_marked_and_a_side_without_text_says_so() -> None:
    texts = SettingChange(name="System prompt", before=LONG, after=LONG.replace("polite", "kind"))
    alone = SettingChange(name="System prompt", before=None, after=LONG)

    marked, added = DifferencesView.of(RunDifferences(settings=(texts, alone))).settings

    assert "<del>polite</del>" in marked.texts[0]
    assert "<ins>kind</ins>" in marked.texts[1]
    assert added.notes == ("Not set in A.",)
