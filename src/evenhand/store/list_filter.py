"""What lists of evaluations and of cases can be filtered and sorted by."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from hashlib import blake2b
from typing import Any, Final

# How evaluations and cases came out, from the worst; what has no verdict comes last, however a list is sorted.
STANDINGS: Final = {"error": 0, "fail": 1, "borderline": 2, "pass": 3, "not_evaluated": 4, "pending": 5}
# Values and labels repeat.
_MOST_KNOWN: Final = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which evaluations a list shows; None and () are any. ``text`` is searched for in case, answer and reason.

    ``profile`` is the id of a profile: its evaluations, or those of the groups in which it was ranked. ``metadata`` has
    keys of the metadata of cases, each with the values of which a case has to have one, as slices name them.
    """

    verdict: tuple[str, ...] = ()
    status: tuple[str, ...] = ()
    evaluator: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    min_score: float | None = None
    max_score: float | None = None
    has_error: bool | None = None
    retried: bool | None = None
    text: str | None = None
    profile: str | None = None
    label: tuple[str, ...] = ()
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it leaves nothing out."""
        return all(getattr(self, field.name) in ((), None, "") for field in fields(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a list of evaluations is sorted; those without a value to sort by come last."""

    by: str = "position"
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseFilter:
    """Which rows a list of cases shows; None, False and () are any. A row matches if one of its cases does.

    In a run of several targets, a row is a test case, and has a case for each target; otherwise it is a case. With a
    ``model``, only the cases count that these targets answered. With an ``evaluator``, ``standing``, scores,
    ``retried`` and ``label`` are those of one and the same evaluation by one of these evaluators, and not of the
    case.

    ``differ`` leaves the rows whose targets came out with different standings; where there is one target, those whose
    evaluators did. ``positions`` are those of the only cases that count. The rest is as in ``Filter``.
    """

    standing: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    evaluator: tuple[str, ...] = ()
    min_score: float | None = None
    max_score: float | None = None
    retried: bool | None = None
    differ: bool = False
    text: str | None = None
    profile: str | None = None
    label: tuple[str, ...] = ()
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()
    positions: tuple[int, ...] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it leaves nothing out."""
        others = [field.name for field in fields(self) if field.name not in ("differ", "positions")]
        return not self.differ and self.positions is None and all(getattr(self, n) in ((), None, "") for n in others)


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseOrder:
    """How a list of cases is sorted: by position, standing, score, case_id, cost or seconds.

    Of the cases of a row that match, the lowest value counts when ascending, the highest when descending; rows without
    a value come last.
    """

    by: str = "position"
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePage:
    """A page of a list of cases: rows with the value that each is sorted by, how many rows match, and how many cases.

    ``matching`` counts each target's case of a row that matches, as the numbers of a summary do.
    """

    rows: list[tuple[Any, int]]
    total: int
    matching: int


@functools.lru_cache(_MOST_KNOWN)
def hashed(text: str) -> int:
    """Return a number that stands for a text, which may be long or have letters that no database takes.

    >>> hashed("de") == hashed("de") != hashed("fr")
    True
    """
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big", signed=True)
