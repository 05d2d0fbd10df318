"""Cases and evaluations of a run, as the API returns them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from evenhand.server.api.schemas import Page, Shape


class EvaluationShape(Shape):
    """An evaluation in a list; long texts are truncated, and complete in the case itself."""

    case_id: str
    position: int
    place: int
    sample: int
    round: int
    evaluator: str
    model: str | None
    status: Literal["scored", "not_evaluated", "error"]
    verdict: Literal["pass", "borderline", "fail"] | None
    score: float | None
    cost: float | None
    seconds: float
    retry_count: int
    hits: int
    misses: int
    error: str | None
    label: str | None = None
    reasoning: str
    question: str
    answer: str | None


class FindingShape(Shape):
    """What an evaluator found in a list of cases."""

    evaluator: str
    sample: int
    status: Literal["scored", "not_evaluated", "error"]
    verdict: Literal["pass", "borderline", "fail"] | None
    score: float | None
    label: str | None
    reasoning: str
    error: str | None


class AnswerShape(Shape):
    """What a target answered to a case, and what came of it; of several samples, the answer is that of the first."""

    position: int
    case_id: str
    model: str | None
    status: Literal["scored", "not_evaluated", "error", "pending"]
    verdict: Literal["pass", "borderline", "fail"] | None
    score: float | None
    answer: str | None
    error: str | None
    samples: int
    cost: float | None
    evaluations: list[FindingShape]


class CaseRowShape(Shape):
    """A case in a list, with an answer for each target; long texts are truncated, and complete in the case itself."""

    position: int
    case_id: str
    question: str
    reference: str | None
    metadata: dict[str, Any]
    answers: list[AnswerShape]


class CasesPage(Page[CaseRowShape]):
    """A page of a list of cases; ``total`` counts the cases that match, ``matching`` the answers of targets that do."""

    matching: int


class CaseShape(Shape):
    """A case in full: question, answers with attempts, and all evaluations with prompts, raw replies and checks."""

    case_id: str
    position: int
    status: str
    score: float | None
    verdict: str | None
    question: str | None
    answer: str | None
    context: str | list[str | dict[str, str]] | None = None
    case: dict[str, Any]
    answers: list[dict[str, Any]] = Field(default_factory=list)
    evaluations: list[dict[str, Any]]


class TriedShape(Shape):
    """What came of a try: answer, verdict and evaluations as those of a case, with cost and seconds.

    ``stopped`` is the reason if it did not come to an end.
    """

    status: str
    score: float | None
    verdict: str | None
    question: str | None
    answer: str | None
    answers: list[dict[str, Any]] = Field(default_factory=list)
    evaluations: list[dict[str, Any]]
    cost: float | None
    seconds: float
    stopped: str | None
