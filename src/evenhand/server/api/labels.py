"""Labels by people over HTTP: draw cases, show the next one without the judge's view, keep what a person said."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Path, Query
from pydantic import Field

from evenhand.domain.errors import NotFoundError
from evenhand.domain.label import MOST_NOTE, MOST_RATER, MOST_SEED, answer_hash, answer_of, require_evaluator
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.labels.draw import MOST_SAMPLE, MOST_UNCERTAIN, make_draw
from evenhand.labels.file import reference_text
from evenhand.labels.queue import Queue, case_of, give_label, people_agreement
from evenhand.labels.undecided import undecided_queue
from evenhand.server.api.bodies import Body, RunId, routes
from evenhand.server.api.schemas import Shape
from evenhand.server.dependencies import StoreDep
from evenhand.store.results import case_result, evaluator_names
from evenhand.store.store import Store

router = routes("labels")

_MOST_NAME = 2000
_MOST_EVALUATORS = 1000
_CaseId = Annotated[str, Path(max_length=2000, description="The id of the case.")]
_Rater = Annotated[str, Query(min_length=1, max_length=MOST_RATER, description="Who labels.")]
_Evaluator = Annotated[
    str | None, Query(max_length=_MOST_NAME, description="An evaluator's name; the case as a whole if omitted.")
]


class LabelBody(Body):
    """What a person says of the answer of a case."""

    rater: Annotated[str, Field(min_length=1, max_length=MOST_RATER, description="Who labels.")]
    value: Annotated[
        Literal["pass", "fail"] | Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)],
        Field(description="pass, fail, or a score from 0 to 1."),
    ]
    note: Annotated[str, Field(max_length=MOST_NOTE)] = ""
    evaluator: Annotated[
        str | None, Field(max_length=_MOST_NAME, description="An evaluator's name; the case as a whole if omitted.")
    ] = None
    drawn: Annotated[bool, Field(description="Whether it is given for the draw, before the judge's view was seen.")] = (
        False
    )
    answer_hash: Annotated[
        str | None, Field(max_length=40, description="Of the answer that was read; another one is refused.")
    ] = None


class DrawBody(Body):
    """How many cases to draw; omitted fields are those of the draw before, or have their defaults."""

    sample: Annotated[int, Field(ge=1, le=MOST_SAMPLE, description="How many cases to draw.")]
    uncertain: Annotated[
        float | None,
        Field(ge=0, le=MOST_UNCERTAIN, allow_inf_nan=False, description="The share where the judge is unsure."),
    ] = None
    seed: Annotated[int | None, Field(ge=0, le=MOST_SEED)] = None
    evaluator: Annotated[str | None, Field(max_length=_MOST_NAME)] = None


class LabelShape(Shape):
    """A label by a person; ``p`` is the chance of its case to be drawn, null if it was not given for a draw."""

    case: str
    evaluator: str | None
    rater: str
    value: Literal["pass", "fail"] | float
    note: str
    answer_hash: str
    p: float | None
    at: float


class DrawShape(Shape):
    """A draw: how many of how many cases, with which seed, and what could not be drawn."""

    seed: int
    size: int
    uncertain: float
    evaluator: str | None
    eligible: int
    unsure: int
    left_out: dict[str, int]
    made: float


class AgreementShape(Shape):
    """How people agree on cases that several have labelled; ``alpha`` is Krippendorff's, null if it is undefined."""

    raters: list[str]
    cases: int
    pairs: int
    same: int
    alpha: float | None


class LabelsShape(Shape):
    """The labels of a run, its draws, and how people agree on the cases as a whole."""

    items: list[LabelShape]
    draws: list[DrawShape]
    agreement: AgreementShape


class QueuedCase(Shape):
    """A drawn case as a person is to see it, without anything that the judge said."""

    case: str
    position: int
    place: int
    p: float | None
    answer_hash: str
    input: str | None
    answer: str | None
    reference: str


class QueueShape(Shape):
    """How far a person is, and the next case; null once all are labelled. Without a draw, there is no seed."""

    seed: int | None
    size: int
    done: int
    next: QueuedCase | None


@router.get("/runs/{run}/labels", response_model=LabelsShape)
def list_labels(run: RunId, store: StoreDep) -> Any:
    """List the labels by people of a run: the last one of each person, case and evaluator."""
    record = store.runs.find(run)
    labels = store.labels.of(record)
    agreement = people_agreement([label for label in labels if label.evaluator is None])
    return {
        "items": [label.as_dict() for label in labels],
        "draws": [draw.as_dict() for draw in store.labels.draws(record)],
        "agreement": {
            "raters": agreement.raters,
            "cases": agreement.cases,
            "pairs": agreement.pairs,
            "same": agreement.same,
            "alpha": agreement.alpha,
        },
    }


@router.post("/runs/{run}/label-draws", response_model=DrawShape, status_code=201)
def draw_labels(run: RunId, body: DrawBody, store: StoreDep) -> Any:
    """Draw cases at random for people to label. A draw that has labels can be enlarged, and not be replaced."""
    draw = make_draw(
        store,
        store.runs.find(run),
        sample=body.sample,
        uncertain=body.uncertain,
        seed=body.seed,
        evaluator=body.evaluator,
    )
    return draw.as_dict()


@router.get("/runs/{run}/label-queue", response_model=QueueShape)
def next_case(
    run: RunId,
    store: StoreDep,
    *,
    rater: _Rater,
    evaluator: _Evaluator = None,
    after: Annotated[
        int | None, Query(ge=0, le=2**53 - 1, description="The position of a case that is skipped for now.")
    ] = None,
    undecided: Annotated[
        bool, Query(description="The cases that a cascade has left to people, instead of a draw.")
    ] = False,
) -> Any:
    """Return the next case of the draw that a person has not labelled, without anything that the judge said.

    With `undecided`, it is one that a cascade has left to people; its label is not `drawn`.
    """
    record = store.runs.find(run)
    found = undecided_queue if undecided else Queue.of
    queue = found(store, record, rater=rater, evaluator=evaluator)
    drawn = queue.next() if after is None else queue.after(after)
    shown = None
    if drawn is not None:
        result = case_of(store, record, drawn)
        answer = answer_of(result)
        shown = {
            "case": result.id,
            "position": result.position,
            "place": queue.draw.place(result.position),
            "p": None if undecided else drawn.p,
            "answer_hash": answer_hash(answer or ""),
            "input": result.case.question_text,
            "answer": answer,
            "reference": reference_text(result),
        }
    return {"seed": None if undecided else queue.draw.seed, "size": queue.size, "done": queue.done, "next": shown}


@router.put("/runs/{run}/labels/{case_id:path}", response_model=LabelShape)
def put_label(run: RunId, case_id: _CaseId, body: LabelBody, store: StoreDep) -> Any:
    """Keep what a person says of a case, in place of what they said before."""
    record = store.runs.find(run)
    result = _case(store, record, case_id)
    if body.evaluator is not None:
        require_evaluator(
            record, body.evaluator, evaluator_names(store, record, cases=record.cases, limit=_MOST_EVALUATORS)
        )
    label = give_label(
        store,
        record,
        result,
        rater=body.rater,
        value=body.value,
        note=body.note,
        evaluator=body.evaluator,
        from_draw=body.drawn,
        read=body.answer_hash,
    )
    return label.as_dict()


@router.delete("/runs/{run}/labels/{case_id:path}", status_code=204)
def delete_label(run: RunId, case_id: _CaseId, store: StoreDep, *, rater: _Rater, evaluator: _Evaluator = None) -> None:
    """Take back what a person said of a case."""
    record = store.runs.find(run)
    position = _case(store, record, case_id).position
    store.labels.withdraw(record, position=position, rater=rater, evaluator=evaluator)


def _case(store: Store, run: RunRecord, case_id: str) -> CaseResult:
    result = case_result(store, run, case_id)
    if result is None:
        raise NotFoundError(f"run {run.id} has no case {case_id!r:.200}")
    return result
