"""Several judges of the same answers, compared over HTTP."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import StringConstraints

from evenhand.domain.errors import IncomparableError
from evenhand.engine.judge_panel import MOST_JUDGES, compare_judges_of
from evenhand.profiles.job import require_suite
from evenhand.server.api.bodies import routes
from evenhand.server.api.schemas import Shape
from evenhand.server.dependencies import StoreDep
from evenhand.trust.judge_panel import MARGIN

router = routes("comparisons")


class JudgesShape(Shape):
    """Several judges of the same answers; what labels do not support is an object with the reason under `refused`."""

    judges: list[dict[str, Any]]
    pairs: list[dict[str, Any]]
    cases: int
    labelled: int
    margin: float
    best: str | dict[str, Any]
    cheapest: str | dict[str, Any]
    jury: dict[str, Any]
    notes: list[str]


@router.get("/judges/compare", response_model=JudgesShape)
def get_comparison(
    run: Annotated[
        tuple[Annotated[str, StringConstraints(max_length=200)], ...],
        Query(
            min_length=1,
            max_length=MOST_JUDGES,
            description="Runs that judged the same answers, one by one; or one run, whose evaluators are compared.",
        ),
    ],
    store: StoreDep,
    *,
    evaluator: Annotated[
        str | None, Query(max_length=2000, description="Compare this evaluator of the runs, not whole cases.")
    ] = None,
    margin: Annotated[
        float, Query(gt=0, lt=1, description="How far below the best judge a cheaper one may be.")
    ] = MARGIN,
    anyway: Annotated[bool, Query(description="Leave out cases whose answers differ.")] = False,
) -> Any:
    """Compare several judges of the same answers: how they agree, what they cost, and with labels who is right."""
    records = [store.runs.find(name) for name in run]
    for record in records:
        require_suite(record)
    try:
        found = compare_judges_of(store, records, evaluator=evaluator, margin=margin, anyway=anyway)
    except IncomparableError as error:
        advice = "to leave these cases out: anyway=true"
        raise IncomparableError(error.why, differing=error.differing, advice=advice) from None
    return found.as_dict()
