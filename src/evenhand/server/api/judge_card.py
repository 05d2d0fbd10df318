"""The judge card of a run over HTTP."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query

from evenhand.engine.judge_card import card_of
from evenhand.server.api.bodies import RunId, routes
from evenhand.server.api.schemas import Shape
from evenhand.server.dependencies import StoreDep

router = routes("labels")


class JudgeCardShape(Shape):
    """What labels by people say of a run's judge; what they do not support is an object with the reason: `refused`."""

    run: str
    name: str
    evaluator: str | None
    definition: dict[str, Any] | None
    pass_mark: float
    judged: int
    left_out: dict[str, int]
    judge_passes: int
    judge_rate: dict[str, Any]
    judge_mean: float | None
    basis: Literal["none", "drawn", "unequal", "not_drawn"]
    scores: bool
    labels: dict[str, Any]
    counts: dict[str, int]
    agreement: dict[str, Any]
    kappa: dict[str, Any]
    sensitivity: dict[str, Any]
    specificity: dict[str, Any]
    bias: dict[str, Any]
    auc: float | dict[str, Any]
    score_difference: dict[str, Any]
    labels_only: dict[str, Any]
    corrected: dict[str, Any]
    corrected_mean: dict[str, Any]
    proposed_mark: dict[str, Any]
    sure: dict[str, Any]
    alone: dict[str, Any]
    people: dict[str, Any]
    raters: list[dict[str, Any]]
    curve: list[dict[str, Any]]
    differences: list[dict[str, Any]]
    differing: int
    limits: list[dict[str, Any]]
    notes: list[str]
    next_step: str
    anchors: dict[str, Any] | None


@router.get("/runs/{run}/card", response_model=JudgeCardShape)
def get_card(
    run: RunId,
    store: StoreDep,
    *,
    evaluator: Annotated[
        str | None, Query(max_length=2000, description="An evaluator's name; the case as a whole if omitted.")
    ] = None,
) -> Any:
    """Return the judge card of a run: how far its judge can be trusted, by the labels of people."""
    return card_of(store, store.runs.find(run), evaluator=evaluator).as_dict()
