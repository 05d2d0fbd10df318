"""How many cases of a run are read at once: more of small ones, so that a server is asked less often."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

# How many cases are read at first, and at least.
PAGE: Final = 64
_MOST_CASES: Final = 512
# A page that takes more characters than this is not followed by a larger one.
_MOST_CHARACTERS: Final = 1_000_000
# What a row takes beside its content.
_OF_A_ROW: Final = 500


class PageSize:
    """Grows while pages are small, and shrinks as soon as one is not.

    >>> size = PageSize()
    >>> for _ in range(2):
    ...     size.adapt([("short",)] * size.cases, content=0)
    >>> size.cases
    256
    >>> size.adapt([("long " * 10_000,)] * size.cases, content=0)
    >>> size.cases
    64
    """

    __slots__ = ("cases",)

    def __init__(self) -> None:
        self.cases = PAGE

    def adapt(self, *rows: Iterable[Sequence[Any]], content: int = -2) -> None:
        """Take in the rows of a page, each with its content in that place; a number stands where none was read."""
        taken = 0
        for row in (row for some in rows for row in some):
            text = row[content]
            taken += _OF_A_ROW + (len(text) if isinstance(text, str) else 0)
        if 2 * taken <= _MOST_CHARACTERS:
            self.cases = min(2 * self.cases, _MOST_CASES)
        elif taken > _MOST_CHARACTERS:
            self.cases = max(self.cases * _MOST_CHARACTERS // taken, PAGE)
