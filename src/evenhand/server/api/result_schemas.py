"""Cases and evaluations of a run, and runs over time, as the API returns them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from evenhand.server.api.schemas import IntervalShape, Page, Shape


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


class TrendPointShape(Shape):
    """A finished run of a trend; its numbers are null if it is large and nobody has opened it yet."""

    run: str
    name: str
    label: str
    created: str
    prompt_version: int | None
    judge: str | None
    target: str | None
    n: int
    scored: int | None
    pass_rate: float | None
    pass_rate_interval: IntervalShape | None
    mean: float | None
    interval: IntervalShape | None
    changed: list[Literal["prompt", "judge", "target", "cases"]]


class TrendShape(Shape):
    """Finished runs of a prompt or a suite, the newest first; ``unfinished`` ones are left out."""

    items: list[TrendPointShape]
    total: int
    unfinished: int
    next: str | None
