"""The evaluations of a run over HTTP: filtered, sorted and page by page, and each case in full."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from fastapi import Depends, Path, Query, Request
from fastapi.responses import StreamingResponse

from evenhand.domain.errors import NotFoundError
from evenhand.domain.stored import case_to
from evenhand.reports.rows import case_row
from evenhand.server.api.run_shapes import CaseShape, EvaluationShape
from evenhand.server.api.shapes import Page
from evenhand.server.api.shared import Cursor, Limit, Opened, RunId, routes
from evenhand.server.case_results import case_result
from evenhand.server.exporting import MEDIA, attachment, exported
from evenhand.server.filtering import Filter, Order
from evenhand.server.progress import as_it_is
from evenhand.server.results import Results

router = routes("evaluations")

_Names = Annotated[list[str] | None, Query(max_length=50)]
_Score = Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)]


def _results(request: Request) -> Results:
    return cast("Results", request.app.state.results)


def _filter(
    *,
    verdict: Annotated[list[Literal["pass", "borderline", "fail"]] | None, Query(max_length=3)] = None,
    status: Annotated[list[Literal["scored", "not_evaluated", "error"]] | None, Query(max_length=3)] = None,
    evaluator: _Names = None,
    model: _Names = None,
    min_score: _Score = None,
    max_score: _Score = None,
    has_error: bool | None = None,
    retried: bool | None = None,
    text: Annotated[
        str | None,
        Query(
            max_length=200,
            description="Looked for in the case's id, question, reference and answer, and in the profiles of a group.",
        ),
    ] = None,
    profile: Annotated[
        str | None, Query(max_length=200, description="The exact id of a profile; of a ranking, the groups it was in.")
    ] = None,
) -> Filter:
    return Filter(
        verdict=tuple(verdict or ()),
        status=tuple(status or ()),
        evaluator=tuple(evaluator or ()),
        model=tuple(model or ()),
        min_score=min_score,
        max_score=max_score,
        has_error=has_error,
        retried=retried,
        text=text,
        profile=profile,
    )


def _order(
    *,
    sort: Literal[
        "position", "score", "cost", "seconds", "evaluator", "verdict", "status", "model", "case_id"
    ] = "position",
    descending: bool = False,
) -> Order:
    return Order(by=sort, descending=descending)


@router.get("/runs/{run}/evaluations", response_model=Page[EvaluationShape])
def list_evaluations(
    run: RunId,
    *,
    store: Opened,
    results: Annotated[Results, Depends(_results)],
    wanted: Annotated[Filter, Depends(_filter)],
    order: Annotated[Order, Depends(_order)],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """List the evaluations of a run, the last round of each; what an order does not apply to comes last."""
    return results.page(as_it_is(store, store.runs.find(run)), wanted, order, limit=limit, cursor=cursor)


@router.get(
    "/runs/{run}/evaluations/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {media: {"schema": {"type": "string"}} for media in ("text/csv", "application/jsonl")},
            "description": "A row or a line for each evaluation.",
        }
    },
)
def export_evaluations(
    run: RunId,
    *,
    store: Opened,
    results: Annotated[Results, Depends(_results)],
    wanted: Annotated[Filter, Depends(_filter)],
    order: Annotated[Order, Depends(_order)],
    form: Annotated[Literal["csv", "jsonl"], Query(alias="format")] = "csv",
) -> StreamingResponse:
    """Give all evaluations that a filter leaves, in their order and with whole texts, as CSV or JSON lines."""
    found = as_it_is(store, store.runs.find(run))
    lines = exported(store, found, results.places(found, wanted, order), form)
    return StreamingResponse(lines, media_type=MEDIA[form], headers=attachment(found, form))


@router.get("/runs/{run}/cases/{case_id:path}", response_model=CaseShape)
def get_case(run: RunId, case_id: Annotated[str, Path(max_length=2000)], store: Opened) -> Any:
    """Give a case in full: its question and answers, and all evaluations with prompts, raw replies and checks."""
    found = store.runs.find(run)
    result = case_result(store, found, case_id)
    if result is None:
        raise NotFoundError(f"run {found.id} has no case {case_id!r:.200}")
    return {"position": result.position, "case": case_to(result.case), **case_row(result)}
