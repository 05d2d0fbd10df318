"""The columns of the table of results: which there are, and which of them somebody wants to see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse

from evenhand.domain.run import RunRecord
from evenhand.domain.stored import case_to
from evenhand.profiles.job import is_scoring, mode_of
from evenhand.reports.json import case_row
from evenhand.reports.json_text import strict_json
from evenhand.reports.phrases import NONE, cost_text, duration_text
from evenhand.reports.safe_text import plain
from evenhand.server.dependencies import ResultsDep, StoreDep
from evenhand.server.pages.base import as_json, page, verbatim
from evenhand.server.pages.case_view import ShownCase
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import found_run
from evenhand.server.problems import Problem
from evenhand.server.runs.profile_summaries import scale_of
from evenhand.server.runs.results import MEDIA, Kind, attachment, exported
from evenhand.server.runs.views import models_of
from evenhand.store.results import case_at
from evenhand.store.results_index import Filter, Order
from evenhand.store.store import Store

# What results_columns.js keeps, with dots between the names: the address tells others, this is for the next run.
COOKIE: Final = "evenhand-columns"
PARAMETER: Final = "column"
# How a group stands that a judge put in order; results_row.js has it too.
RANKED: Final = "ranked"
_GIST: Final = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column beside verdict, score and case; ``sort`` is what the list is then sorted by."""

    key: str
    heading: str
    about: str = ""
    sort: str | None = None
    is_number: bool = False


# Those with numbers first: runs.css knows them by their places.
COLUMNS: Final = (
    Column(key="asked", heading="Asked", about="How often the judge was asked", is_number=True),
    Column(key="seconds", heading="Latency", about="How long the judgment took", sort="seconds", is_number=True),
    Column(key="hits", heading="Hits", about="Hits and misses", is_number=True),
    Column(key="cost", heading="Cost", about="What the judgment cost", sort="cost", is_number=True),
    Column(key="sample", heading="Sample", is_number=True),
    Column(key="evaluator", heading="Evaluator", sort="evaluator"),
    Column(key="model", heading="Model", about="Which model answered", sort="model"),
    Column(key="question", heading="Input"),
    Column(key="answer", heading="Output"),
    Column(key="why", heading="Why", about="What the judge says, or which error there was"),
)
_KEYS: Final = tuple(column.key for column in COLUMNS)


def asked_for(request: Request) -> tuple[str, ...] | None:
    """Read from the address which columns are wanted; None where it does not say."""
    if PARAMETER not in request.query_params:
        return None
    wanted = [name for name in request.query_params.getlist(PARAMETER) if name]
    if unknown := [name for name in wanted if name not in _KEYS]:
        told = f"there is no column {unknown[0]!r:.40}; known are {', '.join(_KEYS)}"
        raise Problem(422, "Not valid", told, field=PARAMETER)
    return tuple(dict.fromkeys(wanted))


def kept(request: Request) -> tuple[str, ...] | None:
    """Return the columns that this browser was told to show; None where it was told nothing that we know."""
    said = request.cookies.get(COOKIE)
    if said is None:
        return None
    wanted = tuple(name for name in said.split(".") if name in _KEYS)
    return wanted if wanted or not said else None


def usual(run: RunRecord, evaluators: Sequence[str], models: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that tell something about a run; the judge of profiles finds no hits and misses."""
    told = {"cost": False, "sample": run.repeat > 1, "evaluator": len(evaluators) > 1, "model": len(models) > 1}
    told |= {"hits": mode_of(run.definition) is None, "question": not is_scoring(run.definition)}
    return tuple(key for key in _KEYS if told.get(key, True))


def shown(keys: Sequence[str]) -> list[Column]:
    """Return the columns in the order in which they stand in the table."""
    return [column for column in COLUMNS if column.key in keys]


def row_of(item: Mapping[str, Any], scale: int | None) -> dict[str, Any]:
    """Return a row, its score up to ``scale``; where that is None, it was ranked, and has no score.

    Texts are short here, so that the page is, and the table asks for longer ones as it is scrolled.
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
    """What the address of the table asks for; the form writes it, and so does results.js. Empty fields ask nothing.

    Scores in it are up to ``scale``, as the table shows them.
    """

    path: str
    said: Mapping[str, str]
    columns: tuple[str, ...] | None = None
    scale: int = 1

    @classmethod
    def of(cls, request: Request, run: RunRecord) -> ResultsQuery:
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
        return cls(request.url.path, said, asked_for(request), scale_of(run) or 1)

    @property
    def filter(self) -> Filter:
        """Return which evaluations are wanted."""
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
        """Return how they are sorted."""
        return Order(by=self.said.get("sort", "position"), descending=self.has("descending"))

    def has(self, name: str) -> bool:
        """Tell whether a box is ticked."""
        return self.said.get(name, "").lower() in _YES

    def address(self, **more: str) -> str:
        """Return the address of the same table with something changed; what is empty is left out."""
        changed = [(name, value) for name, value in (dict(self.said) | more).items() if value]
        if self.columns is not None:
            changed += [(PARAMETER, name) for name in self.columns or ("",)]
        return f"{self.path}?{urlencode(changed)}" if changed else self.path

    def file(self, ending: str) -> str:
        """Return the address of a file with what this table shows, on all of its pages."""
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
def show_results(request: Request, run_id: str, store: StoreDep, results: ResultsDep) -> Response:
    """Show the evaluations of a run: a page of them, filtered and sorted as the address says."""
    run = found_run(store, run_id)
    wanted = ResultsQuery.of(request, run)
    found = results.page(run, wanted.filter, wanted.order, limit=ON_A_PAGE, cursor=wanted.said.get("cursor"))
    evaluators, models = results.evaluators(run), models_of(run)
    chosen = kept(request) if wanted.columns is None else wanted.columns
    scale = scale_of(run)
    return page(
        request,
        "results.html",
        run=run,
        own=own(run),
        rows=[row_of(one, scale) for one in found["items"]],
        scale=scale,
        total=found["total"],
        next=found["next"],
        wanted=wanted,
        evaluators=evaluators,
        models=models,
        columns=shown(usual(run, evaluators, models) if chosen is None else chosen),
        known=COLUMNS,
        is_chosen=chosen is not None,
        allowed=_ALLOWED,
        is_filtered=not wanted.filter.is_empty,
    )


@router.get("/runs/{run_id}/results/export.{ending}")
def export(request: Request, run_id: str, ending: str, store: StoreDep, results: ResultsDep) -> Response:
    """Return what the table shows, on all of its pages, as a file."""
    run = found_run(store, run_id)
    wanted = ResultsQuery.of(request, run)
    if ending not in ("csv", "jsonl"):
        raise Problem(404, "Not found", f"evaluations are not written to .{ending:.20}; known: .csv, .jsonl")
    kind: Kind = "csv" if ending == "csv" else "jsonl"
    places = results.places(run, wanted.filter, wanted.order)
    lines = exported(store, run, places, kind)
    return StreamingResponse(lines, media_type=MEDIA[kind], headers=attachment(run, kind))


@router.get("/runs/{run_id}/results/{position}")
def one_case(request: Request, run_id: str, position: int, store: StoreDep) -> Response:
    """Show all about a case; the drawer takes what it shows from here."""
    run = found_run(store, run_id)
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
def case_json(run_id: str, position: int, store: StoreDep) -> Response:
    """Return all about a case to programs, and to those who copy it."""
    result = _case(store, found_run(store, run_id), position)
    told = {"position": position, "case": case_to(result.case), **case_row(result)}
    return Response(strict_json(told), media_type="application/json")


def _case(store: Store, run: RunRecord, position: int) -> Any:
    result = case_at(store, run, position) if 0 <= position < 2**53 else None
    if result is None:
        raise Problem(404, "Not found", f"run {run.id} has {run.cases:,} cases; they are counted from 0")
    return result
