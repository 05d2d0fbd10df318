"""What the address of a list of results asks for: filter, order, page and columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from fastapi import Request

from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import SCORING, mode_of
from evenhand.server.problems import Problem
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.results import case_standings, metadata_filter
from evenhand.store.listing import CaseFilter, CaseOrder, Filter, Order

COLUMN: Final = "column"
LINES: Final = (2, 5, 12)
LONGEST_TEXT: Final = 200
VERDICTS: Final = ("pass", "borderline", "fail")
_STATUSES: Final = ("scored", "not_evaluated", "error")
_FLAGS: Final = ("has_error", "retried", "differ", "worse", "descending")
_YES: Final = ("1", "true", "yes", "on")
_MOST_PAGES: Final = 10**9


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A way to list results: its path below the run's, what it may be sorted by, and the statuses it knows."""

    name: str
    sorts: tuple[str, ...]
    statuses: tuple[str, ...]
    noun: str


CASES: Final = View(
    name="results",
    sorts=("position", "verdict", "score", "case_id", "cost"),
    statuses=(*_STATUSES, "pending"),
    noun="case",
)
EVALUATIONS: Final = View(
    name="evaluations",
    sorts=("position", "verdict", "score", "case_id", "evaluator", "model", "status", "cost", "seconds"),
    statuses=_STATUSES,
    noun="evaluation",
)
VIEWS: Final = (CASES, EVALUATIONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsQuery:
    """The query of a list, written by its form, its links and results.js. Empty fields have no effect.

    Its scores range from 0 to ``scale``, as in the list.
    """

    path: str
    view: View
    values: Mapping[str, str]
    columns: tuple[str, ...] | None = None
    scale: int = 1
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, request: Request, run: RunRecord, view: View, *, path: str) -> ResultsQuery:
        """Read the query of a request for a list at ``path``."""
        allowed = {"verdict": VERDICTS, "status": view.statuses, "sort": view.sorts}
        names = (
            *allowed,
            *_FLAGS,
            "evaluator",
            "label",
            "model",
            "min_score",
            "max_score",
            "text",
            "profile",
            "page",
            "lines",
        )
        asked = request.query_params
        values = {name: asked[name] for name in names if asked.get(name, "").strip()}
        for name, choices in allowed.items():
            if name in values and values[name] not in choices:
                raise _refused(f"it must be one of {', '.join(choices)}, not {values[name]!r:.60}", name)
        for name in ("text", "profile"):
            if len(values.get(name, "")) > LONGEST_TEXT:
                raise _refused(f"it must have at most {LONGEST_TEXT} characters", name)
        in_metadata = [(name, value) for name, value in asked.multi_items() if value.strip()]
        columns = tuple(asked.getlist(COLUMN)) if COLUMN in asked else None
        if mode_of(run.definition) == SCORING and "sort" not in values:  # whoever scores looks for the best first
            values |= {"sort": "score", "descending": "1"}
        return cls(
            path=path,
            view=view,
            values=values,
            columns=columns,
            scale=scale_of(run) or 1,
            metadata=metadata_filter(in_metadata),
        )

    @property
    def filter(self) -> Filter:
        """The filter of a list of evaluations."""
        verdict, status = self._names("verdict"), self._names("status")
        return Filter(
            verdict=verdict,
            # An error is recorded as a fail, but is not a verdict.
            status=("scored",) if verdict and not status else status,
            evaluator=self._names("evaluator"),
            label=self._names("label"),
            model=self._names("model"),
            min_score=self._score("min_score"),
            max_score=self._score("max_score"),
            has_error=True if self.has("has_error") else None,
            retried=True if self.has("retried") else None,
            text=self.values.get("text"),
            profile=self.values.get("profile"),
            metadata=self.metadata,
        )

    @property
    def case_filter(self) -> CaseFilter:
        """The filter of a list of cases."""
        return CaseFilter(
            standing=case_standings(self._names("verdict"), self._names("status")),
            evaluator=self._names("evaluator"),
            label=self._names("label"),
            model=self._names("model"),
            min_score=self._score("min_score"),
            max_score=self._score("max_score"),
            retried=True if self.has("retried") else None,
            differ=self.has("differ"),
            text=self.values.get("text"),
            profile=self.values.get("profile"),
            metadata=self.metadata,
        )

    @property
    def is_filtered(self) -> bool:
        """Whether it leaves anything out."""
        shown = {"sort", "descending", "page", "lines"}
        return bool(self.metadata) or any(name not in shown for name in self.values)

    @property
    def metadata_fields(self) -> list[tuple[str, str]]:
        """The fields of the filter by metadata, each with its value."""
        return [(f"metadata.{key}", value) for key, values in self.metadata for value in values]

    @property
    def order(self) -> Order:
        """The order of a list of evaluations."""
        return Order(by=self.values.get("sort", "position"), descending=self.has("descending"))

    @property
    def case_order(self) -> CaseOrder:
        """The order of a list of cases."""
        by = self.values.get("sort", "position")
        return CaseOrder(by="standing" if by == "verdict" else by, descending=self.has("descending"))

    @property
    def page(self) -> int:
        """Which page, the first being 1."""
        text = self.values.get("page", "1")
        if not (text.isascii() and text.isdecimal() and 1 <= int(text[:12]) <= _MOST_PAGES):
            raise _refused(f"{text!r:.40} is not the number of a page", "page")
        return int(text)

    @property
    def lines(self) -> int | None:
        """How many lines of each text are shown; None where the address does not say."""
        text = self.values.get("lines")
        if text is None:
            return None
        if text not in map(str, LINES):
            raise _refused(f"it must be one of {', '.join(map(str, LINES))}, not {text!r:.40}", "lines")
        return int(text)

    def has(self, name: str) -> bool:
        """Return whether a checkbox is set."""
        return self.values.get(name, "").lower() in _YES

    def address(self, **more: str) -> str:
        """Return the address of the same list with other parameters; empty ones are left out.

        Where anything but the page changes, the list begins at its first page.
        """
        first = {} if "page" in more else {"page": ""}
        changed = [(name, value) for name, value in (dict(self.values) | first | more).items() if value]
        changed += self.metadata_fields
        if self.columns is not None:
            changed += [(COLUMN, name) for name in self.columns or ("",)]
        return f"{self.path}?{urlencode(changed)}" if changed else self.path

    def with_metadata(self, key: str, value: str) -> str:
        """Return the address of the list with one more condition on the metadata of cases."""
        joint = "&" if "?" in (address := self.address()) else "?"
        return f"{address}{joint}{urlencode({f'metadata.{key}': value})}"

    def file(self, ending: str) -> str:
        """Return the address of a file with what this list shows, on all of its pages."""
        parameters = [(name, value) for name, value in self.values.items() if name not in ("page", "lines")]
        parameters += self.metadata_fields
        return f"{self.path}/export.{ending}" + (f"?{urlencode(parameters)}" if parameters else "")

    def _names(self, name: str) -> tuple[str, ...]:
        return (self.values[name],) if name in self.values else ()

    def _score(self, name: str) -> float | None:
        if name not in self.values:
            return None
        try:
            score = float(self.values[name]) / self.scale
        except ValueError:
            score = math.nan
        if not 0 <= score <= 1:
            raise _refused(f"{self.values[name]!r:.40} is not a score from 0 to {self.scale}", name)
        return score


def _refused(why: str, field: str) -> Problem:
    return Problem(422, "Invalid request", f"{field}: {why}", field=field)
