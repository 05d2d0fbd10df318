"""Texts next to each other with what differs marked: of long ones, the part where they begin to differ."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from evenhand.reports.html.markup import join, tag
from evenhand.reports.html.verbatim import in_lines
from evenhand.reports.phrases import counted
from evenhand.reports.word_diff import Marked, word_diff

NOT_BY_WORD: Final = "The texts have too little in common to mark single words: all that differs is marked."


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSides:
    """Texts as they are shown; without ``is_by_word``, all from the first difference to the last is marked."""

    shown: tuple[Markup, ...]
    is_by_word: bool = True

    @classmethod
    def of(cls, texts: Sequence[str], most: int) -> TextSides:
        """Mark what differs in at most so many characters of each text."""
        windows = _Windows.of(texts, most)
        contents, is_by_word = _marked(windows.texts)
        shown = tuple(windows.shown(content, place) for place, content in enumerate(contents))
        return cls(shown=shown, is_by_word=is_by_word)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Windows:
    """The part of some texts that is shown: of long ones, from shortly before they begin to differ."""

    start: int
    texts: tuple[str, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[str], most: int) -> _Windows:
        same = sum(1 for _ in itertools.takewhile(lambda letters: len(set(letters)) == 1, zip(*texts, strict=False)))
        is_late = any(len(text) > most for text in texts) and same > most // 2 and len(set(texts)) > 1
        start = same - most // 4 if is_late else 0
        return cls(
            start=start, texts=tuple(text[start : start + most] for text in texts), lengths=tuple(map(len, texts))
        )

    def shown(self, content: Markup, place: int) -> Markup:
        """Show a text with what was left out of it."""
        after = self.lengths[place] - self.start - len(self.texts[place])
        before_note = f"… {counted(self.start, 'character')} left out, the same in all …\n" if self.start else None
        after_note = f"\n… {counted(after, 'character')} left out …" if after > 0 else None
        parts = (
            tag("span", before_note, class_="quiet") if before_note else None,
            content,
            tag("span", after_note, class_="quiet") if after_note else None,
        )
        return in_lines(join(*parts), self.texts[place])


def _marked(texts: Sequence[str]) -> tuple[list[Markup], bool]:
    """Mark what differs: in two texts, what only one has; in others, what the first does not have."""
    if len(texts) == 2:
        diff = word_diff(texts[0], texts[1])
        return [_elements(diff.before, "del"), _elements(diff.after, "ins")], diff.is_by_word
    diffs = [word_diff(texts[0], text) for text in texts[1:]]
    return [join(texts[0]), *(_elements(diff.after, "ins") for diff in diffs)], all(diff.is_by_word for diff in diffs)


def _elements(parts: Sequence[Marked], name: str) -> Markup:
    return join(*_each(parts, name))


def _each(parts: Sequence[Marked], name: str) -> Iterator[str]:
    for part in parts:
        yield tag(name, part.text) if part.is_marked else part.text
