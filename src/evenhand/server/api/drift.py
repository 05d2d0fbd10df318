"""Drift over HTTP: two runs on the same anchors."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query

from evenhand.domain.errors import IncomparableError
from evenhand.profiles.job import require_suite
from evenhand.server.api.bodies import routes
from evenhand.server.api.schemas import Shape
from evenhand.server.dependencies import StoreDep
from evenhand.server.runs.progress import with_actual_status
from evenhand.suites.drift import drift_of_runs

router = routes("comparisons")

_Run = Annotated[str, Query(max_length=200, description="The run's id, a unique prefix of it, last, or previous.")]


class DriftShape(Shape):
    """What the same anchors say of a judge then and now; what they do not support has the reason under `refused`."""

    then: str
    now: str
    name: str
    evaluator: str | None
    outcome: Literal["ok", "drifted", "undecided"]
    labelled: bool
    anchors: int
    left_out: dict[str, int]
    max_drop: float
    usual_flips: float
    chance: float | None
    change: dict[str, Any]
    agreement_then: dict[str, Any]
    agreement_now: dict[str, Any]
    flips: int
    flip_rate: dict[str, Any]
    flipped: list[dict[str, Any]]
    watch: dict[str, Any]
    judges: list[str]
    models_then: list[str]
    models_now: list[str]
    judged_then: float
    judged_now: float
    notes: list[str]


@router.get("/drift", response_model=DriftShape)
def get_drift(
    then: _Run,
    now: _Run,
    store: StoreDep,
    *,
    evaluator: Annotated[
        str | None, Query(max_length=2000, description="An evaluator's name; the cases as a whole if omitted.")
    ] = None,
    max_drop: Annotated[
        float | None,
        Query(gt=0, lt=1, description="By how much the agreement with people may fall; the suite's, or 0.05."),
    ] = None,
    anyway: Annotated[
        bool, Query(description="Compare what can be compared, even if answers or definitions have changed.")
    ] = False,
) -> Any:
    """Say whether the judge of two runs has changed, by the answers of the first that people labelled."""
    before, after = (with_actual_status(store, store.runs.find(name)) for name in (then, now))
    for run in (before, after):
        require_suite(run)
    try:
        report = drift_of_runs(store, before, after, evaluator=evaluator, max_drop=max_drop, anyway=anyway)
    except IncomparableError as error:
        advice = "to compare them anyway: anyway=true"
        raise IncomparableError(error.why, differing=error.differing, advice=advice) from None
    return report.as_dict()
