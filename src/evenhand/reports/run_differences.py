"""What differs between two runs, in lines for people; long texts by the words that only one of them has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from evenhand.domain.run_differences import CaseCount, RunDifferences, SettingChange
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import plain, strict_json
from evenhand.reports.word_diff import Marked, word_diff

SAME: Final = "Settings and cases are the same."
NOT_SET: Final = "not set"
_NAME: Final = 80
_VALUE: Final = 80
_ID: Final = 60
# How many differences of a text a line has, and how much of each.
_MOST_PARTS: Final = 3
_PART: Final = 60
# What is longer, or has several lines, is compared word by word.
_LONG: Final = 80
# How much of a text is compared for a line.
_MOST_COMPARED: Final = 20_000


def value_text(value: Any) -> str:
    """Write the value of a setting.

    >>> value_text(["openai/gpt-5", "ollama/qwen2.5:7b"]), value_text(None), value_text(0.5), value_text(True)
    ('openai/gpt-5, ollama/qwen2.5:7b', 'not set', '0.5', 'true')
    """
    match value:
        case None:
            return NOT_SET
        case str():
            return value or '""'
        case [_, *_]:
            return ", ".join(map(value_text, value))
    return strict_json(value)


def is_text(setting: SettingChange) -> bool:
    """Return whether a setting is a text to read, whose words are compared, rather than a value."""
    values = (setting.before, setting.after)
    if not all(isinstance(value, str) or value is None for value in values):
        return False
    return any(value and (len(value) > _LONG or "\n" in value) for value in values)


def difference_lines(differences: RunDifferences) -> tuple[str, ...]:
    """Return what differs, a line for each setting and each kind of case; one that says so where nothing does."""
    return (*map(_setting_line, differences.settings), *case_lines(differences)) or (SAME,)


def case_lines(differences: RunDifferences) -> Iterator[str]:
    """Yield how the cases differ, if they do.

    >>> list(case_lines(RunDifferences(only_a=CaseCount(count=7, first=("a", "b")))))
    ['7 cases only in A: a, b …']
    """
    ways = (
        (differences.only_a, "only in A"),
        (differences.only_b, "only in B"),
        (differences.edited, "edited between A and B"),
    )
    for cases, way in ways:
        if cases.count:
            yield f"{counted(cases.count, 'case')} {way}: {_ids(cases)}"


def _ids(cases: CaseCount) -> str:
    names = ", ".join(plain(name, _ID) for name in cases.first)
    return names if len(cases.first) == cases.count else f"{names} …"


def _setting_line(setting: SettingChange) -> str:
    name = plain(setting.name, _NAME)
    if not is_text(setting):
        return f"{name}: {plain(value_text(setting.before), _VALUE)} → {plain(value_text(setting.after), _VALUE)}"
    if setting.before is None or setting.after is None:
        only, side = (setting.before, "A") if setting.after is None else (setting.after, "B")
        return f"{name}: only in {side}, {_quoted(only)}"
    diff = word_diff(setting.before[:_MOST_COMPARED], setting.after[:_MOST_COMPARED])
    parts = [
        f"{word} {words}"
        for word, words in (("removed", _marked(diff.before)), ("added", _marked(diff.after)))
        if words
    ]
    return f"{name}: {'; '.join(parts) or 'only blanks, or the end of a very long text'}"


def _marked(parts: Sequence[Marked]) -> str:
    marked = [part.text for part in parts if part.is_marked and part.text.strip()]
    more = f" and {len(marked) - _MOST_PARTS:,} more" if len(marked) > _MOST_PARTS else ""
    return ", ".join(map(_quoted, marked[:_MOST_PARTS])) + more


def _quoted(text: str) -> str:
    return f"“{plain(text, _PART)}”"
