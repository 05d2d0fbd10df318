"""The table of a run's evaluations, one row each, with the columns that somebody chose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response, StreamingResponse

from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import has_verdicts, is_scoring, mode_of
from evenhand.reports.html.judgment import outcome_of
from evenhand.reports.phrases import NONE, Standing, cost_text, duration_text
from evenhand.reports.safe_text import plain
from evenhand.server.dependencies import ResultsDep, StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.results_query import COLUMN, EVALUATIONS, ResultsQuery
from evenhand.server.pages.results_view import ListPage, list_page
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.progress import AT_WORK
from evenhand.server.runs.results import MEDIA, Kind, attachment, export_chunks
from evenhand.server.runs.views import models_of

# Written by results_columns.js, with dots between the names: the choice for the next run.
COOKIE: Final = "evenhand-columns"
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


def _checked_columns(asked: tuple[str, ...] | None) -> tuple[str, ...] | None:
    """Return the columns that the address asks for, or None."""
    if asked is None:
        return None
    names = [name for name in asked if name]
    if unknown := [name for name in names if name not in _KEYS]:
        message = f"no column {unknown[0]!r:.40}; available: {', '.join(_KEYS)}"
        raise Problem(422, "Invalid request", message, field=COLUMN)
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


def row_of(item: Mapping[str, Any], scale: int | None, *, has_verdicts: bool = True) -> dict[str, Any]:
    """Return a row with its score from 0 to ``scale``, which is None for groups of a ranking.

    Texts are short to keep the page small; the table loads longer ones while scrolling.
    """
    is_scored = item["status"] == "scored"
    standing = item["status"]
    if is_scored:
        standing = outcome_of(Standing(item["verdict"]), scale, has_verdicts=has_verdicts)
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


router = page_routes()

ON_A_PAGE: Final = 90


@router.get("/runs/{run_id}/evaluations")
def show_evaluations(request: Request, run_id: str, store: StoreDep, results: ResultsDep) -> Response:
    """Show the evaluations of a run: one page, filtered and sorted as the address says."""
    run = find_run(store, run_id)
    query = ResultsQuery.of(request, run, EVALUATIONS, path=f"{own(run)}/evaluations")
    asked_columns = _checked_columns(query.columns)
    evaluators, models, scale = results.evaluators(run), models_of(run), scale_of(run)
    chosen = columns_in_cookie(request) if asked_columns is None else asked_columns
    marked = has_verdicts(run.definition)

    def read(offset: int) -> ListPage:
        found = results.page(run, query.filter, query.order, limit=ON_A_PAGE, offset=offset)
        return ListPage(
            rows=[row_of(item, scale, has_verdicts=marked) for item in found["items"]], total=found["total"]
        )

    return list_page(
        request,
        "evaluations.html",
        run,
        query,
        read,
        on_a_page=ON_A_PAGE,
        is_live=run.status in AT_WORK,
        evaluators=evaluators,
        models=models,
        columns=columns_with(default_columns(run, evaluators, models) if chosen is None else chosen),
        all_columns=COLUMNS,
        is_chosen=chosen is not None,
    )


@router.get("/runs/{run_id}/evaluations/export.{ending}")
def export(request: Request, run_id: str, ending: str, store: StoreDep, results: ResultsDep) -> Response:
    """Export what the table shows, on all of its pages, as a file."""
    run = find_run(store, run_id)
    query = ResultsQuery.of(request, run, EVALUATIONS, path=f"{own(run)}/evaluations")
    if ending not in ("csv", "jsonl"):
        raise Problem(404, "Not found", f"no export format .{ending:.20}; available: .csv, .jsonl")
    kind: Kind = "csv" if ending == "csv" else "jsonl"
    places = results.places(run, query.filter, query.order)
    lines = export_chunks(store, run, places, kind)
    return StreamingResponse(lines, media_type=MEDIA[kind], headers=attachment(run, kind))
