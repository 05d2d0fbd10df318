"""Which evaluations of a run are wanted, and in which order: what a list is asked for, and how SQL says it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

# What a list may be sorted by beside the columns that are texts.
_NUMBERS: Final = ("score", "cost", "seconds")
_KEYS: Final = {"model": "c.model", "case_id": "c.id"}
_VERDICTS: Final = "CASE e.verdict WHEN 'fail' THEN 0 WHEN 'borderline' THEN 1 WHEN 'pass' THEN 2 END"


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which evaluations are wanted; None is any. ``text`` is looked for in case and answer.

    ``profile`` is the id of a profile: then those of it are wanted, or those of the groups in which it was ranked.
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

    @property
    def is_empty(self) -> bool:
        """Whether all are wanted."""
        return all(getattr(self, one.name) in ((), None, "") for one in fields(self))

    def conditions(self) -> tuple[list[str], list[Any]]:
        """Write it as conditions with their values: all but text and profile, which stand elsewhere."""
        parts, values = list[str](), list[Any]()
        for column, several in (
            ("e.verdict", self.verdict),
            ("e.status", self.status),
            ("e.evaluator", self.evaluator),
            ("c.model", self.model),
        ):
            if several:
                parts.append(f"{column} IN ({', '.join('?' * len(several))})")
                values += several
        for condition, value in (("e.score >= ?", self.min_score), ("e.score <= ?", self.max_score)):
            if value is not None:
                parts.append(condition)
                values.append(value)
        if self.has_error is not None:
            parts.append(f"e.status {'=' if self.has_error else '<>'} 'error'")
        if self.retried is not None:
            parts.append("e.retried" if self.retried else "NOT e.retried")
        return parts, values


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How a list is sorted; evaluations that do not have what it is sorted by come last."""

    by: str = "position"
    descending: bool = False

    @property
    def key(self) -> str:
        """Write what is sorted by; what stands for nothing comes last."""
        if self.by in _NUMBERS:
            return f"COALESCE(e.{self.by}, {'-1e300' if self.descending else '1e300'})"
        if self.by == "verdict":
            return f"COALESCE({_VERDICTS}, {-1 if self.descending else 9})"
        if self.by == "position":
            return "e.position"
        return f"COALESCE({_KEYS.get(self.by, f'e.{self.by}')}, '')"


def joined(wanted: Filter, order: Order) -> str:
    """Write where the cases are joined, which most lists do not need."""
    needs = wanted.model or order.by in _KEYS
    return "JOIN cases c ON c.run = e.run AND c.position = e.position" if needs else ""
