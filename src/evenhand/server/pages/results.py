"""The pages of results: the table of a run's evaluations, and all about one case."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from evenhand.domain.run import RunRecord
from evenhand.domain.stored import case_to
from evenhand.reports.numbers import cost_text, duration_text
from evenhand.reports.rows import case_row
from evenhand.reports.strict import strict_json
from evenhand.server.api.shared import Opened
from evenhand.server.case_results import case_at
from evenhand.server.exporting import MEDIA, Kind, attachment, exported
from evenhand.server.filtering import Filter, Order
from evenhand.server.named_models import models_of
from evenhand.server.pages import results_columns
from evenhand.server.pages.results_case import ShownCase
from evenhand.server.pages.results_markup import as_json, verbatim
from evenhand.server.pages.results_run import own
from evenhand.server.pages.runs import found_run
from evenhand.server.problems import Problem
from evenhand.server.profile_runs import scale_of
from evenhand.server.rendering import page
from evenhand.server.results import Results
from evenhand.store.store import Store

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
class Wanted:
    """What the address of the table asks for; the form writes it, and so does results.js. Empty fields ask nothing.

    Scores in it are up to ``scale``, as the table shows them.
    """

    path: str
    said: Mapping[str, str]
    columns: tuple[str, ...] | None = None
    scale: int = 1

    @classmethod
    def of(cls, request: Request, run: RunRecord) -> Wanted:
        """Read the address."""
        names = (*_ALLOWED, *_FLAGS, "evaluator", "model", "min_score", "max_score", "text", "profile", "cursor")
        asked = request.query_params
        said = {name: asked[name] for name in names if asked.get(name, "").strip()}
        for name, known in _ALLOWED.items():
            if name in said and said[name] not in known:
                raise Problem(422, "Not valid", f"{said[name]!r:.60}; known are {', '.join(known)}", field=name)
        for name in ("text", "profile"):
            if len(said.get(name, "")) > LONGEST_TEXT:
                raise Problem(422, "Not valid", f"what is looked for has at most {LONGEST_TEXT} characters", field=name)
        return cls(request.url.path, said, results_columns.asked_for(request), scale_of(run) or 1)

    @property
    def filter(self) -> Filter:
        """Give which evaluations are wanted."""
        verdict, status = self._names("verdict"), self._names("status")
        return Filter(
            verdict=verdict,
            # An error is recorded as a fail, and is no verdict of anybody's.
            status=("scored",) if verdict and not status else status,
            evaluator=self._names("evaluator"),
            model=self._names("model"),
            min_score=self._score("min_score"),
            max_score=self._score("max_score"),
            has_error=True if self.has("has_error") else None,
            retried=True if self.has("retried") else None,
            text=self.said.get("text"),
            profile=self.said.get("profile"),
        )

    @property
    def order(self) -> Order:
        """Give how they are sorted."""
        return Order(by=self.said.get("sort", "position"), descending=self.has("descending"))

    def has(self, name: str) -> bool:
        """Tell whether a box is ticked."""
        return self.said.get(name, "").lower() in _YES

    def address(self, **more: str) -> str:
        """Give the address of the same table with something changed; what is empty is left out."""
        changed = [(name, value) for name, value in (dict(self.said) | more).items() if value]
        if self.columns is not None:
            changed += [(results_columns.PARAMETER, name) for name in self.columns or ("",)]
        return f"{self.path}?{urlencode(changed)}" if changed else self.path

    def file(self, ending: str) -> str:
        """Give the address of a file with what this table shows, on all of its pages."""
        said = {name: value for name, value in self.said.items() if name != "cursor"}
        return f"{self.path}/export.{ending}" + (f"?{urlencode(said)}" if said else "")

    def _names(self, name: str) -> tuple[str, ...]:
        return (self.said[name],) if name in self.said else ()

    def _score(self, name: str) -> float | None:
        if name not in self.said:
            return None
        try:
            score = float(self.said[name]) / self.scale
        except ValueError:
            score = math.nan
        if not 0 <= score <= 1:
            raise Problem(422, "Not valid", f"{self.said[name]!r:.40} is no score from 0 to {self.scale}", field=name)
        return score


@router.get("/runs/{run_id}/results")
def results(request: Request, run_id: str) -> Response:
    """Show the evaluations of a run: a page of them, filtered and sorted as the address says."""
    run = found_run(request, run_id)
    wanted = Wanted.of(request, run)
    found_in = cast("Results", request.app.state.results)
    found = found_in.page(run, wanted.filter, wanted.order, limit=ON_A_PAGE, cursor=wanted.said.get("cursor"))
    evaluators, models = found_in.evaluators(run), models_of(run)
    chosen = results_columns.kept(request) if wanted.columns is None else wanted.columns
    usual = results_columns.usual(run, evaluators, models)
    scale = scale_of(run)
    return page(
        request,
        "results.html",
        run=run,
        own=own(run),
        rows=[results_columns.row_of(one, scale) for one in found["items"]],
        scale=scale,
        total=found["total"],
        next=found["next"],
        wanted=wanted,
        evaluators=evaluators,
        models=models,
        columns=results_columns.shown(usual if chosen is None else chosen),
        known=results_columns.COLUMNS,
        is_chosen=chosen is not None,
        allowed=_ALLOWED,
        is_filtered=not wanted.filter.is_empty,
    )


@router.get("/runs/{run_id}/results/export.{ending}")
def export(request: Request, run_id: str, ending: str, store: Opened) -> Response:
    """Give what the table shows, on all of its pages, as a file."""
    run = found_run(request, run_id)
    wanted = Wanted.of(request, run)
    if ending not in ("csv", "jsonl"):
        raise Problem(404, "Not found", f"evaluations are not written to .{ending:.20}; known: .csv, .jsonl")
    kind: Kind = "csv" if ending == "csv" else "jsonl"
    places = cast("Results", request.app.state.results).places(run, wanted.filter, wanted.order)
    lines = exported(store, run, places, kind)
    return StreamingResponse(lines, media_type=MEDIA[kind], headers=attachment(run, kind))


@router.get("/runs/{run_id}/results/{position}")
def one_case(request: Request, run_id: str, position: int, store: Opened) -> Response:
    """Show all about a case; the drawer takes what it shows from here."""
    run = found_run(request, run_id)
    address = f"{own(run)}/results"
    shown = ShownCase(
        result=_case(store, run, position),
        json=f"{address}/{position}/json",
        results=address,
        scale=scale_of(run),
        before=f"{address}/{position - 1}" if position > 0 else None,
        after=f"{address}/{position + 1}" if position + 1 < run.cases else None,
    )
    return page(
        request,
        "case.html",
        run=run,
        shown=shown,
        back=address,
        verbatim=verbatim,
        as_json=as_json,
        duration=duration_text,
        cost=cost_text,
    )


@router.get("/runs/{run_id}/results/{position}/json")
def case_json(request: Request, run_id: str, position: int, store: Opened) -> Response:
    """Give all about a case to programs, and to those who copy it."""
    result = _case(store, found_run(request, run_id), position)
    told = {"position": position, "case": case_to(result.case), **case_row(result)}
    return Response(strict_json(told), media_type="application/json")


def _case(store: Store, run: RunRecord, position: int) -> Any:
    result = case_at(store, run, position) if 0 <= position < 2**53 else None
    if result is None:
        raise Problem(404, "Not found", f"run {run.id} has {run.cases:,} cases; they are counted from 0")
    return result
