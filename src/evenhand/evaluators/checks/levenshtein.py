"""How far apart two texts are: the number of characters to insert, delete or replace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.errors import ContractError
from evenhand.evaluators.checks.check import NO_ANSWER, NO_REFERENCE, Finding, Found, GradedCheck, quoted, require_text

# Two texts of 30,000 characters, or one of 1,000 and one of 900,000: well under a second.
_MOST_PAIRS: Final = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Levenshtein(GradedCheck):
    """Scores how alike the answer and ``value`` are: 1 less the edits between them over the longer length.

    >>> from evenhand import Case
    >>> Levenshtein(value="sitting").evaluate(Case(candidate_answer="sitting!")).score
    0.875
    """

    type: ClassVar[str] = "levenshtein"

    value: str | None = None

    def __post_init__(self) -> None:
        GradedCheck.__post_init__(self)
        require_text(self.where, self.value)

    def look(self, case: Case) -> Steps[Finding]:
        """Count the edits."""
        yield from ()
        answer, expected = case.candidate_answer, case.reference_answer if self.value is None else self.value
        if answer is None:
            return NO_ANSWER
        if expected is None:
            return NO_REFERENCE
        if not is_feasible(answer, expected):
            sizes = f"{len(answer)} and {len(expected)} characters"
            raise ContractError(f"the texts have {sizes}, which is too much to compare", kind="too_long")
        score = similarity(answer, expected)
        sentence = f"The answer is {score:.1%} like {quoted(expected)}: {quoted(answer)}."
        return Found(score=score, hits=(sentence,)) if self.is_enough(score) else Found(score=score, misses=(sentence,))


def is_feasible(left: str, right: str) -> bool:
    """Return whether two texts are short enough to be compared in reasonable time."""
    return (len(left) + 100) * (len(right) + 100) <= _MOST_PAIRS


def distance(left: str, right: str) -> int:
    """Return the Levenshtein distance.

    >>> distance("kitten", "sitting")
    3

    One column of the usual table is kept as two big integers, whose bits say where it rises and falls, so that a whole
    column is computed at once (Myers 1999, in Hyyrö's form for the distance of whole texts).
    """
    left, right = _without_common_ends(left, right)
    long, short = (left, right) if len(left) >= len(right) else (right, left)
    if not short:
        return len(long)
    places = _places(set(short), long)
    everywhere = (1 << len(long)) - 1
    last = 1 << len(long) - 1
    rises, falls = everywhere, 0
    edits = len(long)
    for character in short:
        same = places[character]
        diagonal = (((same & rises) + rises) ^ rises | same | falls) & everywhere
        right_rises = falls | everywhere ^ (diagonal | rises)
        right_falls = diagonal & rises
        if right_rises & last:
            edits += 1
        elif right_falls & last:
            edits -= 1
        right_rises = (right_rises << 1 | 1) & everywhere
        rises = (right_falls << 1 & everywhere) | everywhere ^ (diagonal | right_rises)
        falls = right_rises & diagonal
    return edits


def similarity(left: str, right: str) -> float:
    """Return 1 for equal texts, 0 for texts with nothing in common: 1 less the distance over the longer length."""
    longest = max(len(left), len(right))
    return 1.0 if not longest else 1 - distance(left, right) / longest


def _places(characters: set[str], text: str) -> dict[str, int]:
    """Return, for each character, the places where it occurs in the text, as the bits of an integer."""
    marks = {character: bytearray(len(text) // 8 + 1) for character in characters}
    for position, character in enumerate(text):
        if character in marks:
            marks[character][position >> 3] |= 1 << (position & 7)
    return {character: int.from_bytes(mark, "little") for character, mark in marks.items()}


def _without_common_ends(left: str, right: str) -> tuple[str, str]:
    start = 0
    limit = min(len(left), len(right))
    while start < limit and left[start] == right[start]:
        start += 1
    end = 0
    while end < limit - start and left[-1 - end] == right[-1 - end]:
        end += 1
    return left[start : len(left) - end], right[start : len(right) - end]
