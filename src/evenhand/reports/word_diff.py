"""Two texts side by side, word by word: what is only in the one, and what is only in the other."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, NamedTuple

# Work grows with the pieces times the edits. Beyond these, all from the first difference to the last is marked: of two
# texts that have so little in common, single words that both have say nothing.
MOST_PIECES: Final = 3_000
MOST_EDITS: Final = 250

# Scripts that are written without blanks between words: each character stands for itself. Kana, CJK, Thai, Lao,
# Burmese, Khmer, Yi, and what is wide or rare of them.
_WITHOUT_BLANKS: Final = (
    (0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x30FF), (0x31F0, 0xA4CF), (0xF900, 0xFAFF),
    (0xFF66, 0xFF9F), (0x1B000, 0x1B16F), (0x20000, 0x3FFFF),
)  # fmt: skip
_JOINER: Final = "\u200d"
_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
# Two of them are a flag.
_FLAG_LETTERS: Final = range(0x1F1E6, 0x1F200)


class _Kind(Enum):
    WORD = auto()
    BLANK = auto()
    SINGLE = auto()
    # Belongs to the character before it: an accent, a vowel sign, what joins emoji.
    ATTACHED = auto()


class Marked(NamedTuple):
    """A part of a text; it is marked where the other text does not have it."""

    text: str
    is_marked: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class WordDiff:
    """Two texts in parts; without ``is_by_word``, all between the first and the last difference is one part."""

    before: tuple[Marked, ...]
    after: tuple[Marked, ...]
    is_by_word: bool = True


def word_diff(before: str, after: str) -> WordDiff:
    """Compare two texts word by word.

    >>> diff = word_diff("It is Rome.", "It is Paris.")
    >>> [part.text for part in diff.before if part.is_marked], [part.text for part in diff.after if part.is_marked]
    (['Rome'], ['Paris'])
    """
    old, new = pieces(before), pieces(after)
    start = _in_common(old, new)
    end = _in_common(old[start:][::-1], new[start:][::-1])
    middle_old, middle_new = old[start : len(old) - end], new[start : len(new) - end]
    is_short = len(middle_old) + len(middle_new) <= MOST_PIECES
    matches = _matches(middle_old, middle_new) if is_short else None
    kept = list(_without_lone_blanks(matches or (), middle_old))
    return WordDiff(
        before=_parts(old, start, end, {place for place, _ in kept}),
        after=_parts(new, start, end, {place for _, place in kept}),
        is_by_word=matches is not None,
    )


def pieces(text: str) -> list[str]:
    """Take a text apart into words, blanks and signs; of scripts without blanks, into characters.

    >>> pieces("Yes, 巴黎")
    ['Yes', ',', ' ', '巴', '黎']
    """
    starts: list[int] = []
    last: _Kind | None = None
    is_joined = False
    for place, character in enumerate(text):
        kind = _kind(character)
        is_continued = is_joined or kind is _Kind.ATTACHED or (kind is last and kind is not _Kind.SINGLE)
        if not starts or not is_continued:
            starts.append(place)
            last = _Kind.SINGLE if kind is _Kind.ATTACHED else kind
        is_joined = character == _JOINER and last is _Kind.SINGLE
    return [text[low:high] for low, high in itertools.pairwise([*starts, len(text)])] if starts else []


@functools.lru_cache(4096)
def _kind(character: str) -> _Kind:
    if character.isspace():
        return _Kind.BLANK
    code, category = ord(character), unicodedata.category(character)
    if category[0] == "M" or category == "Cf" or code in _SKIN_TONES:
        return _Kind.ATTACHED
    if any(low <= code <= high for low, high in _WITHOUT_BLANKS):
        return _Kind.SINGLE
    is_word = category[0] in "LN" or character == "_" or code in _FLAG_LETTERS
    return _Kind.WORD if is_word else _Kind.SINGLE


def _in_common(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many pieces two lists begin with in common."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))


def _matches(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return the places of the pieces that both keep in a shortest list of edits (Myers); None where that is long."""
    trace = _furthest(old, new)
    if trace is None:
        return None
    matches: list[tuple[int, int]] = []
    x, y = len(old), len(new)
    for edits in range(len(trace) - 1, -1, -1):
        diagonal = x - y
        if edits == 0:
            former_x = after_edit = 0
        else:
            is_added = _is_added(trace[edits - 1], diagonal, edits)
            former = diagonal + 1 if is_added else diagonal - 1
            former_x = trace[edits - 1][former]
            after_edit = former_x if is_added else former_x + 1
            y = former_x - former
        matches += ((place, place - diagonal) for place in range(x - 1, after_edit - 1, -1))
        x = former_x
    return matches[::-1]


def _furthest(old: Sequence[str], new: Sequence[str]) -> list[dict[int, int]] | None:
    """Return how far each number of edits reaches on each diagonal, up to the number that reaches the end."""
    reached = {1: 0}
    trace: list[dict[int, int]] = []
    for edits in range(min(len(old) + len(new), MOST_EDITS) + 1):
        now: dict[int, int] = {}
        for diagonal in range(-edits, edits + 1, 2):
            x = reached[diagonal + 1] if _is_added(reached, diagonal, edits) else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < len(old) and y < len(new) and old[x] == new[y]:
                x, y = x + 1, y + 1
            now[diagonal] = x
            if x >= len(old) and y >= len(new):
                return [*trace, now]
        trace.append(now)
        reached = now
    return None


def _is_added(reached: Mapping[int, int], diagonal: int, edits: int) -> bool:
    """Return whether a diagonal is reached furthest by a piece that only the new text has."""
    return diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])


def _without_lone_blanks(matches: Sequence[tuple[int, int]], old: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Let go of blanks between two differences: to read, one long difference is better than ten short ones."""
    by_run = itertools.groupby(enumerate(matches), key=lambda item: (item[1][0] - item[0], item[1][1] - item[0]))
    for _, group in by_run:
        run = [match for _, match in group]
        if not all(old[place].isspace() for place, _ in run):
            yield from run


def _parts(text: Sequence[str], start: int, end: int, kept: Set[int]) -> tuple[Marked, ...]:
    """Put pieces together: marked are those between ``start`` and ``end`` whose places there are not kept."""
    last = len(text) - end
    marks = (start <= place < last and place - start not in kept for place in range(len(text)))
    grouped = itertools.groupby(zip(text, marks, strict=True), key=lambda pair: pair[1])
    return tuple(Marked("".join(piece for piece, _ in group), is_marked) for is_marked, group in grouped)
