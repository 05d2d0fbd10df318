"""The pages of results: the table of a run's evaluations with its columns, and one case."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from evenhand.domain.json_codec import case_to
from evenhand.domain.run import RunRecord
from evenhand.profiles.job import is_scoring, mode_of
from evenhand.profiles.ranking.group_view import case_view
from evenhand.reports.html.case import RANKED
from evenhand.reports.json import case_row
from evenhand.reports.phrases import NONE, cost_text, duration_text
from evenhand.reports.safe_text import plain, strict_json
from evenhand.server.dependencies import ResultsDep, StoreDep
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.results import MEDIA, Kind, attachment, export_chunks, metadata_filter
from evenhand.server.runs.views import models_of
from evenhand.store.results import case_at
from evenhand.store.results_index import Filter, Order
from evenhand.store.store import Store

# Written by results_columns.js, with dots between the names: the choice for the next run.
COOKIE: Final = "evenhand-columns"
PARAMETER: Final = "column"
_GIST: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column besides verdict, score and case; ``sort`` is the key to sort the list by."""

    key: str
    heading: str
    about: str = ""
    sort: str | None = None
    is_number: bool = False


# Numbers first: runs.css addresses them by position.
COLUMNS: Final = (
    Column(key="asked", heading="Asked", about="How many times the judge was asked", is_number=True),
    Column(key="seconds", heading="Latency", about="How long the evaluation took", sort="seconds", is_number=True),
    Column(key="hits", heading="Hits", about="Hits and misses", is_number=True),
    Column(key="cost", heading="Cost", about="What the evaluation cost", sort="cost", is_number=True),
    Column(key="sample", heading="Sample", is_number=True),
    Column(key="evaluator", heading="Evaluator", sort="evaluator"),
    Column(key="model", heading="Model", about="Which model answered", sort="model"),
    Column(key="question", heading="Input"),
    Column(key="answer", heading="Output"),
    Column(key="why", heading="Reasoning", about="The judge's reasoning, or the error"),
)
_KEYS: Final = tuple(column.key for column in COLUMNS)


def columns_in_query(request: Request) -> tuple[str, ...] | None:
    """Return the columns that the address asks for, or None."""
    if PARAMETER not in request.query_params:
        return None
    names = [name for name in request.query_params.getlist(PARAMETER) if name]
    if unknown := [name for name in names if name not in _KEYS]:
        message = f"no column {unknown[0]!r:.40}; available: {', '.join(_KEYS)}"
        raise Problem(422, "Invalid request", message, field=PARAMETER)
    return tuple(dict.fromkeys(names))


def columns_in_cookie(request: Request) -> tuple[str, ...] | None:
    """Return the columns that this browser remembers, or None."""
    cookie = request.cookies.get(COOKIE)
    if cookie is None:
        return None
    names = tuple(name for name in cookie.split(".") if name in _KEYS)
    return names if names or not cookie else None


def default_columns(run: RunRecord, evaluators: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that are useful for a run; scorings of profiles have no hits and misses."""
    useful = {"cost": False, "sample": run.repeat > 1, "evaluator": len(evaluators) > 1, "model": len(models) > 1}
    useful |= {"hits": mode_of(run.definition) is None, "question": not is_scoring(run.definition)}
    return tuple(key for key in _KEYS if useful.get(key, True))


def columns_with(keys: Sequence[str]) -> list[Column]:
    """Return columns by their keys, in the order of the table."""
    return [column for column in COLUMNS if column.key in keys]


def row_of(item: Mapping[str, Any], scale: int | None) -> dict[str, Any]:
    """Return a row with its score from 0 to ``scale``, which is None for groups of a ranking.

    Texts are short to keep the page small; the table loads longer ones while scrolling.
    """
    is_scored = item["status"] == "scored"
    standing = item["status"] if not is_scored else item["verdict"] if scale else RANKED
    why = item["error"] if item["status"] == "error" else item["reasoning"]
    return {
        "standing": standing,
        "score": f"{item['score'] * scale:.2f}" if is_scored and scale else NONE,
        "case": item["case_id"],
        "position": item["position"],
        "asked": item["retry_count"] + 1,
        "seconds": duration_text(item["seconds"]),
        "hits": f"{item['hits']} / {item['misses']}",
        "cost": cost_text(item["cost"]),
        "sample": item["sample"] + 1,
        "evaluator": item["evaluator"],
        "model": item["model"] or "",
        "question": plain(item["question"], _GIST),
        "answer": plain(item["answer"] or "", _GIST),
        "why": plain(why or "", _GIST),
    }


router = APIRouter()

ON_A_PAGE: Final = 90
LONGEST_TEXT: Final = 200
_ALLOWED: Final = {
    "verdict": ("pass", "borderline", "fail"),
    "status": ("scored", "not_evaluated", "error"),
    "sort": ("position", "verdict", "score", "case_id", "evaluator", "model", "status", "cost", "seconds"),
}
_FLAGS: Final = ("has_error", "retried", "descending")
_YES: Final = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class ResultsQuery:
    """The query of the table, written by the form and by results.js. Empty fields have no effect.

    Its scores range from 0 to ``scale``, as in the table.
    """

    path: str
    values: Mapping[str, str]
    columns: tuple[str, ...] | None = None
    scale: int = 1
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @classmethod
    def of(cls, request: Request, run: RunRecord) -> ResultsQuery:
        """Read the query of a request."""
        names = (
            *_ALLOWED,
            *_FLAGS,
            "evaluator",
            "label",
            "model",
            "min_score",
            "max_score",
            "text",
            "profile",
            "cursor",
        )
        asked = request.query_params
        values = {name: asked[name] for name in names if asked.get(name, "").strip()}
        for name, allowed in _ALLOWED.items():
            if name in values and values[name] not in allowed:
                raise Problem(
                    422,
                    "Invalid request",
                    f"it must be one of {', '.join(allowed)}, not {values[name]!r:.60}",
                    field=name,
                )
        for name in ("text", "profile"):
            if len(values.get(name, "")) > LONGEST_TEXT:
                raise Problem(422, "Invalid request", f"it must have at most {LONGEST_TEXT} characters", field=name)
        in_metadata = [(name, value) for name, value in asked.multi_items() if value.strip()]
        metadata = metadata_filter(in_metadata)
        return cls(request.url.path, values, columns_in_query(request), scale_of(run) or 1, metadata)

    @property
    def filter(self) -> Filter:
        """The filter."""
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
    def metadata_fields(self) -> list[tuple[str, str]]:
        """The fields of the filter by metadata, each with its value."""
        return [(f"metadata.{key}", value) for key, values in self.metadata for value in values]

    @property
    def order(self) -> Order:
        """The order."""
        return Order(by=self.values.get("sort", "position"), descending=self.has("descending"))

    def has(self, name: str) -> bool:
        """Return whether a checkbox is set."""
        return self.values.get(name, "").lower() in _YES

    def address(self, **more: str) -> str:
        """Return the address of the same table with other parameters; empty ones are left out."""
        changed = [(name, value) for name, value in (dict(self.values) | more).items() if value]
        changed += self.metadata_fields
        if self.columns is not None:
            changed += [(PARAMETER, name) for name in self.columns or ("",)]
        return f"{self.path}?{urlencode(changed)}" if changed else self.path

    def file(self, ending: str) -> str:
        """Return the address of a file with what this table shows, on all of its pages."""
        parameters = [(name, value) for name, value in self.values.items() if name != "cursor"]
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
            raise Problem(
                422, "Invalid request", f"{self.values[name]!r:.40} is not a score from 0 to {self.scale}", field=name
            )
        return score


@router.get("/runs/{run_id}/results")
def show_results(request: Request, run_id: str, store: StoreDep, results: ResultsDep) -> Response:
    """Show the evaluations of a run: one page, filtered and sorted as the address says."""
    run = find_run(store, run_id)
    query = ResultsQuery.of(request, run)
    results_page = results.page(run, query.filter, query.order, limit=ON_A_PAGE, cursor=query.values.get("cursor"))
    evaluators, models = results.evaluators(run), models_of(run)
    chosen = columns_in_cookie(request) if query.columns is None else query.columns
    scale = scale_of(run)
    return page(
        request,
        "results.html",
        run=run,
        own=own(run),
        rows=[row_of(item, scale) for item in results_page["items"]],
        scale=scale,
        total=results_page["total"],
        next=results_page["next"],
        query=query,
        evaluators=evaluators,
        labels=_labels_in(run),
        models=models,
        columns=columns_with(default_columns(run, evaluators, models) if chosen is None else chosen),
        all_columns=COLUMNS,
        is_chosen=chosen is not None,
        allowed=_ALLOWED,
        is_filtered=not query.filter.is_empty,
    )


def _labels_in(run: RunRecord) -> list[str]:
    """Return the labels that the judges of a run may give, as its definition has them."""
    evaluators = run.definition.get("evaluators")
    choices = [each.get("choices") for each in evaluators if isinstance(each, Mapping)] if evaluators else []
    return list(dict.fromkeys(label for labels in choices if isinstance(labels, Mapping) for label in labels))


@router.get("/runs/{run_id}/results/export.{ending}")
def export(request: Request, run_id: str, ending: str, store: StoreDep, results: ResultsDep) -> Response:
    """Export what the table shows, on all of its pages, as a file."""
    run = find_run(store, run_id)
    query = ResultsQuery.of(request, run)
    if ending not in ("csv", "jsonl"):
        raise Problem(404, "Not found", f"no export format .{ending:.20}; available: .csv, .jsonl")
    kind: Kind = "csv" if ending == "csv" else "jsonl"
    places = results.places(run, query.filter, query.order)
    lines = export_chunks(store, run, places, kind)
    return StreamingResponse(lines, media_type=MEDIA[kind], headers=attachment(run, kind))


@router.get("/runs/{run_id}/results/{position}")
def one_case(request: Request, run_id: str, position: int, store: StoreDep) -> Response:
    """Show a case in full; the drawer takes its content from here."""
    run = find_run(store, run_id)
    address = f"{own(run)}/results"
    result = _case(store, run, position)
    return page(
        request,
        "case.html",
        run=run,
        view=case_view(result, run),
        results=address,
        json=f"{address}/{position}/json",
        before=f"{address}/{position - 1}" if position > 0 else None,
        after=f"{address}/{position + 1}" if position + 1 < run.cases else None,
    )


@router.get("/runs/{run_id}/results/{position}/json")
def case_json(run_id: str, position: int, store: StoreDep) -> Response:
    """Return a case in full as JSON."""
    result = _case(store, find_run(store, run_id), position)
    details = {"position": position, "case": case_to(result.case), **case_row(result)}
    return Response(strict_json(details), media_type="application/json")


def _case(store: Store, run: RunRecord, position: int) -> Any:
    result = case_at(store, run, position) if 0 <= position < 2**53 else None
    if result is None:
        raise Problem(404, "Not found", f"run {run.id} has {run.cases:,} cases; positions start at 0")
    return result
