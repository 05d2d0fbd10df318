"""What the API gives about runs: how they stand, what they took, their evaluations, and how two of them compare."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from evenhand.server.api.shapes import Shape


class IntervalShape(Shape):
    """An interval around an estimate."""

    low: float
    high: float
    method: str
    level: float


class SummaryShape(Shape):
    """The numbers of a run: of its cases, what it took, and of each evaluator."""

    n: int
    scored: int
    not_evaluated: int
    errors: int
    pending: int
    mean: float | None
    interval: IntervalShape | None
    cost: float | None
    calls: int
    retries: int


class RunShape(Shape):
    """A run; ``summary`` is null while nobody has counted it, ``baseline`` whether others are held against it."""

    id: str
    name: str
    status: Literal["planning", "running", "finished", "interrupted", "stopped"]
    reason: str
    prompt: dict[str, Any] | None
    models: list[str]
    judge: str | None
    baseline: bool
    cases: int
    repeat: int
    created: str
    finished: str | None
    summary: SummaryShape | None


class RunDetail(RunShape):
    """A run with what defines it and what its gates say."""

    definition: dict[str, Any]
    options: dict[str, Any]
    forked_from: str | None
    version: str
    gates: list[dict[str, Any]] | None


class ProgressShape(Shape):
    """How a run gets on; ``rate`` is in evaluations a second, ``eta`` in seconds.

    ``paused`` says which provider has stopped answering and is waited for; empty where none has.

    While another process works on it, what only that knows is null; so is a cost that nobody knows. Of a very large run
    that has ended, what it took is null until it is counted.
    """

    run: str
    status: str
    reason: str
    done: int
    total: int
    rate: float | None
    eta: float | None
    errors: int | None
    retries: int | None
    cost: float | None
    paused: str
    waiting: bool
    stopping: bool
    here: bool


class EstimateShape(Shape):
    """What a run would take; unknown costs are null."""

    cases: int
    repeat: int
    calls: dict[str, int]
    cached: int
    cost: dict[str, float] | None
    models: list[dict[str, Any]]
    rules: list[str]


class EvaluationShape(Shape):
    """An evaluation in a list; long texts are cut, and whole in the case itself."""

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
    reasoning: str
    question: str
    answer: str | None


class CaseShape(Shape):
    """A case in full: question, answers with attempts, and all evaluations with prompts, raw replies and checks."""

    case_id: str
    position: int
    status: str
    score: float | None
    verdict: str | None
    question: str | None
    answer: str | None
    case: dict[str, Any]
    answers: list[dict[str, Any]] = Field(default_factory=list)
    evaluations: list[dict[str, Any]]


class DifferenceShape(Shape):
    """What the scores of two runs have to say: how much more B scored, how sure that is, and by which test."""

    n: int
    mean_a: float | None
    mean_b: float | None
    difference: float | None
    interval: IntervalShape | None
    test: str | None
    p: float | None
    wins: int
    ties: int
    losses: int
    lacking: str | None


class ComparedShape(Shape):
    """The cases of both runs, or what one evaluator says of them; ``transitions`` counts from A's verdict to B's."""

    in_common: int
    only_a: int
    only_b: int
    scores: DifferenceShape
    transitions: dict[str, dict[str, int]]
    better: bool
    worse: bool


class ChangeShape(Shape):
    """A case that came out differently."""

    case_id: str
    score_a: float
    score_b: float
    standing_a: str
    standing_b: str
    difference: float


class ComparisonShape(Shape):
    """Run B against run A; ``changes`` are the largest of ``changed`` in all."""

    a: dict[str, Any]
    b: dict[str, Any]
    differing: list[str]
    notes: list[str]
    cases: ComparedShape
    evaluators: dict[str, ComparedShape]
    evaluator: str | None
    changed: int
    changes: list[ChangeShape]
