"""The cases that a cascade has left to people: nobody has drawn them, so their labels stand for no others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from evenhand.domain.errors import NotFoundError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.label import Draw, DrawnCase, answer_hash, answer_of
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.evaluators.cascade import CASCADE, PEOPLE
from evenhand.labels.queue import Queue
from evenhand.store.store import Store

# It is in the queue for sure, and for no seed.
_SURE: Final = 1.0


def undecided(results: Iterable[CaseResult], evaluator: str | None = None) -> Draw:
    """Return the cases that are left to people, by one evaluator or any, in the order of the suite.

    They are put like a draw, which they are not: whoever labels them must say so.
    """
    cases = tuple(
        DrawnCase(case=result.id, position=result.position, p=_SURE, answer=answer_hash(answer))
        for result in results
        if (answer := answer_of(result)) is not None
        and any(
            is_left(judgment.evaluation)
            for judgment in result.judgments
            if evaluator in (None, judgment.evaluation.evaluator)
        )
    )
    return Draw(seed=0, uncertain=0.0, evaluator=evaluator, eligible=len(cases), unsure=len(cases), cases=cases)


def is_left(evaluation: Evaluation) -> bool:
    """Return whether an evaluation was left to people."""
    way = evaluation.details.get(CASCADE)
    return isinstance(way, dict) and way.get("left_to") == PEOPLE


def undecided_queue(
    store: Store, run: RunRecord, *, rater: str, evaluator: str | None = None, draw: Draw | None = None
) -> Queue:
    """Return the queue of a person with the cases that are left to people; ``draw``, where these are known already."""
    cases = draw or undecided(store.results(run), evaluator)
    if not cases.size:
        raise NotFoundError(f"run {run.id} has left no case to people; a cascade with then: people does")
    labels = store.labels.of(run, rater=rater, evaluator=evaluator)
    return Queue(
        draw=cases,
        labels=tuple(label for label in labels if not label.is_drawn and cases.at(label.position) is not None),
    )
