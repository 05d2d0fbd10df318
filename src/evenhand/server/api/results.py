"""Results over HTTP: evaluations, comparisons, rankings and audits."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Depends, Path, Query, Request
from fastapi.responses import StreamingResponse
from pydantic import StringConstraints

from evenhand.domain.errors import ConfigError, IncomparableError, NotFoundError
from evenhand.domain.json_codec import case_to
from evenhand.domain.run import RunRecord
from evenhand.reports.comparison import AnyComparison
from evenhand.reports.json import case_row
from evenhand.server.api.bodies import Cursor, Limit, RunId, routes
from evenhand.server.api.profile_schemas import AuditShape, RankingShape
from evenhand.server.api.result_schemas import CaseShape, CasesPage, EvaluationShape
from evenhand.server.api.schemas import ComparisonShape, Page, SeveralShape, TargetsShape
from evenhand.server.dependencies import ProfileNumbersDep, ResultsDep, SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.problems import Problem
from evenhand.server.runs.baseline import (
    MOST_CHANGES,
    MOST_OTHERS,
    compare_in_background,
    compare_several_in_background,
)
from evenhand.server.runs.progress import with_actual_status
from evenhand.server.runs.results import (
    MEDIA,
    attachment,
    case_standings,
    cursor_offset,
    export_chunks,
    metadata_filter,
)
from evenhand.server.runs.summaries import SummaryCache
from evenhand.server.runs.views import MOST_SHOWN
from evenhand.store.listing import CaseFilter, CaseOrder, Filter, Order
from evenhand.store.results import case_result
from evenhand.store.store import Store

router = routes("evaluations")

_Names = Annotated[list[str] | None, Query(max_length=50)]
_Score = Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)]


def _filter(
    request: Request,
    *,
    verdict: Annotated[list[Literal["pass", "borderline", "fail"]] | None, Query(max_length=3)] = None,
    status: Annotated[list[Literal["scored", "not_evaluated", "error"]] | None, Query(max_length=3)] = None,
    evaluator: _Names = None,
    label: _Names = None,
    model: _Names = None,
    min_score: _Score = None,
    max_score: _Score = None,
    has_error: bool | None = None,
    retried: bool | None = None,
    text: Annotated[
        str | None,
        Query(
            max_length=200,
            description="Searched for in id, question, reference and answer of a case, and in a group's profiles.",
        ),
    ] = None,
    profile: Annotated[
        str | None, Query(max_length=200, description="The exact id of a profile; for a ranking, the groups it was in.")
    ] = None,
) -> Filter:
    return Filter(
        verdict=tuple(verdict or ()),
        status=tuple(status or ()),
        evaluator=tuple(evaluator or ()),
        label=tuple(label or ()),
        model=tuple(model or ()),
        min_score=min_score,
        max_score=max_score,
        has_error=has_error,
        retried=retried,
        text=text,
        profile=profile,
        metadata=metadata_filter(request.query_params.multi_items()),
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
    store: StoreDep,
    results: ResultsDep,
    condition: Annotated[Filter, Depends(_filter)],
    order: Annotated[Order, Depends(_order)],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """List the evaluations of a run, the last round of each; those without a value to sort by come last.

    `metadata.KEY=VALUE` leaves the cases that have this value in their metadata; `(none)` is no value.
    """
    return results.page(with_actual_status(store, store.runs.find(run)), condition, order, limit=limit, cursor=cursor)


@router.get(
    "/runs/{run}/evaluations/export",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {media: {"schema": {"type": "string"}} for media in ("text/csv", "application/jsonl")},
            "description": "One row or line per evaluation.",
        }
    },
)
def export_evaluations(
    run: RunId,
    *,
    store: StoreDep,
    results: ResultsDep,
    condition: Annotated[Filter, Depends(_filter)],
    order: Annotated[Order, Depends(_order)],
    form: Annotated[Literal["csv", "jsonl"], Query(alias="format")] = "csv",
) -> StreamingResponse:
    """Export all evaluations that match a filter, sorted and with full texts, as CSV or JSON lines."""
    record = with_actual_status(store, store.runs.find(run))
    lines = export_chunks(store, record, results.places(record, condition, order), form)
    return StreamingResponse(lines, media_type=MEDIA[form], headers=attachment(record, form))


def _case_filter(
    request: Request,
    *,
    verdict: Annotated[list[Literal["pass", "borderline", "fail"]] | None, Query(max_length=3)] = None,
    status: Annotated[list[Literal["scored", "not_evaluated", "error", "pending"]] | None, Query(max_length=4)] = None,
    evaluator: Annotated[
        list[str] | None, Query(max_length=50, description="Filter by what these evaluators found, not by whole cases.")
    ] = None,
    label: _Names = None,
    model: _Names = None,
    min_score: _Score = None,
    max_score: _Score = None,
    retried: bool | None = None,
    differ: Annotated[
        bool,
        Query(description="Only cases on which the targets or, if there is one, the evaluators came out differently."),
    ] = False,
    text: Annotated[
        str | None, Query(max_length=200, description="Searched for in id, question, reference, answer and reasons.")
    ] = None,
    profile: Annotated[str | None, Query(max_length=200, description="The exact id of a profile.")] = None,
) -> CaseFilter:
    return CaseFilter(
        standing=case_standings(verdict or (), status or ()),
        evaluator=tuple(evaluator or ()),
        label=tuple(label or ()),
        model=tuple(model or ()),
        min_score=min_score,
        max_score=max_score,
        retried=retried,
        differ=differ,
        text=text,
        profile=profile,
        metadata=metadata_filter(request.query_params.multi_items()),
    )


def _case_order(
    *, sort: Literal["position", "verdict", "score", "cost", "case_id"] = "position", descending: bool = False
) -> CaseOrder:
    return CaseOrder(by="standing" if sort == "verdict" else sort, descending=descending)


@router.get("/runs/{run}/cases", response_model=CasesPage)
def list_cases(
    run: RunId,
    *,
    store: StoreDep,
    results: ResultsDep,
    condition: Annotated[CaseFilter, Depends(_case_filter)],
    order: Annotated[CaseOrder, Depends(_case_order)],
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Any:
    """List the cases of a run, each with the answers of all targets and what the evaluators found.

    A case matches if the answer of one of its targets does; `matching` counts these answers. `metadata.KEY=VALUE`
    leaves the cases that have this value in their metadata; `(none)` is no value. Long texts are truncated.
    """
    record = with_actual_status(store, store.runs.find(run))
    return results.cases(record, condition, order, limit=limit, offset=cursor_offset(cursor), most_shown=MOST_SHOWN)


@router.get("/runs/{run}/cases/{case_id:path}", response_model=CaseShape)
def get_case(run: RunId, case_id: Annotated[str, Path(max_length=2000)], store: StoreDep) -> Any:
    """Return a case in full: question, answers, and all evaluations with prompts, raw replies and checks."""
    record = store.runs.find(run)
    result = case_result(store, record, case_id)
    if result is None:
        raise NotFoundError(f"run {record.id} has no case {case_id!r:.200}")
    return {"position": result.position, "case": case_to(result.case), **case_row(result)}


comparison_router = routes("comparisons")

_Run = Annotated[str, Query(max_length=200, description="The run's id, a unique prefix of it, last, or previous.")]
_OtherRun = Annotated[str, StringConstraints(max_length=200)]


@comparison_router.get("/compare", response_model=ComparisonShape | SeveralShape | TargetsShape)
def compare_two_runs(
    a: _Run,
    *,
    b: Annotated[
        tuple[_OtherRun, ...],
        Query(
            max_length=MOST_OTHERS,
            description="The run to compare with A; given several times, each is compared with A. Without it, the "
            "targets of A are compared with its first, or with that of `model_a`.",
        ),
    ] = (),
    store: StoreDep,
    settings: SettingsDep,
    summaries: SummaryCacheDep,
    evaluator: Annotated[
        str | None, Query(max_length=300, description="Compare by this evaluator rather than by whole cases.")
    ] = None,
    limit: Annotated[int, Query(ge=0, le=10_000, description="How many changed cases to list.")] = MOST_CHANGES,
    anyway: Annotated[
        bool, Query(description="Compare even if a run is not finished, or they were answered or judged differently.")
    ] = False,
    model_a: Annotated[
        str | None, Query(max_length=300, description="Which model to compare, if run A has several.")
    ] = None,
    model_b: Annotated[
        str | None, Query(max_length=300, description="Which model to compare, if run B has several.")
    ] = None,
) -> Any:
    """Compare run B with run A: the difference with its interval, a test, and the cases that changed.

    With several runs, there is a row for each, whose p value allows for how many there are; so there is for each target
    of a run that is given alone.
    """
    ours, *others = (with_actual_status(store, store.runs.find(name)) for name in (a, *b))
    comparison: AnyComparison
    try:
        if not others:
            seconds = settings.result_wait_seconds
            return _compared_targets(store, summaries, ours, seconds, models=(model_a, model_b), evaluator=evaluator)
        if len(others) > 1:
            comparison = compare_several_in_background(
                summaries,
                store,
                ours,
                others,
                seconds=settings.result_wait_seconds,
                evaluator=evaluator,
                anyway=anyway,
                models=(model_a, model_b),
            )
            return comparison.as_shown().as_dict()
        comparison = compare_in_background(
            summaries,
            store,
            (ours, others[0]),
            seconds=settings.result_wait_seconds,
            evaluator=evaluator,
            most_changes=limit,
            anyway=anyway,
            models=(model_a, model_b),
        )
    except TimeoutError:
        wait = {"retry-after": "5"}
        raise Problem(503, "Still comparing", "the runs are large; try again in a moment", headers=wait) from None
    except IncomparableError as error:
        advice = "to compare them anyway: anyway=true"
        raise IncomparableError(error.why, differing=error.differing, advice=advice) from None
    return comparison.as_shown().as_dict()


def _compared_targets(
    store: Store,
    summaries: SummaryCache,
    run: RunRecord,
    seconds: float,
    *,
    models: tuple[str | None, str | None],
    evaluator: str | None,
) -> dict[str, Any]:
    """Compare the targets of one run; refuse what asks for something else."""
    baseline, other = models
    if other is not None:
        raise ConfigError("model_b is for a run B: name it, even if it is the same, as in: a=last&b=last")
    compared = summaries.targets(store, run, seconds, baseline=baseline, evaluator=evaluator)
    if compared is None:
        raise ConfigError(f"run {run.id} has one target, and so nothing to compare; name a second run with b")
    return compared.as_dict()


profile_router = routes("profiles")


@profile_router.get("/runs/{run}/ranking", response_model=RankingShape)
def get_ranking(run: RunId, store: StoreDep, settings: SettingsDep, profile_numbers: ProfileNumbersDep) -> Any:
    """Return the ranking of a run, best first, with an interval for each rank; 409 if the run is not a ranking.

    While the run is in progress, the order may change.
    """
    record = with_actual_status(store, store.runs.find(run))
    try:
        ranks = profile_numbers.ranks(store, record, settings.result_wait_seconds)
    except TimeoutError:
        raise _not_yet() from None
    from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415 - brings much arithmetic along

    return {
        "run": record.id,
        "status": record.status.value,
        "ranking": {**design_of(record.definition).as_dict(), **ranks.numbers()},
        "profiles": [profile.as_dict() for profile in ranks.profiles],
    }


@profile_router.get("/runs/{run}/audit", response_model=AuditShape)
def get_audit(
    run: RunId,
    store: StoreDep,
    settings: SettingsDep,
    profile_numbers: ProfileNumbersDep,
    summaries: SummaryCacheDep,
) -> Any:
    """Return the results of an audit: effects with intervals, impact ratios, swaps, gates; 409 for other runs."""
    record = with_actual_status(store, store.runs.find(run))
    try:
        numbers = profile_numbers.audit(store, record, settings.result_wait_seconds)
        gates = (*summaries.of(store, record, settings.result_wait_seconds).gates, *numbers.gates)
    except TimeoutError:
        raise _not_yet() from None
    from evenhand.profiles.audit.sentences import NO_CERTIFICATE  # noqa: PLC0415 - brings much arithmetic along

    return {
        "run": record.id,
        "status": record.status.value,
        "audit": {**numbers.as_dict(), "notice": NO_CERTIFICATE},
        "gates": [gate.as_dict() for gate in gates],
    }


def _not_yet() -> Problem:
    wait = {"retry-after": "5"}
    return Problem(503, "Still computing", "the run is large; try again in a moment", headers=wait)
