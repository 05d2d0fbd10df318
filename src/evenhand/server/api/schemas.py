"""What the API returns: the schema of each response, for the OpenAPI document and for programs."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field

Item = TypeVar("Item")


class Shape(BaseModel):
    """An answer."""

    model_config = ConfigDict(extra="allow")


class FieldProblem(Shape):
    """What is wrong with a field."""

    field: str
    detail: str


class ProblemDetails(Shape):
    """What went wrong (RFC 9457)."""

    type: str
    status: int
    title: str
    detail: str = ""
    errors: list[FieldProblem] = []


class Listed(BaseModel, Generic[Item]):
    """A list in whole."""

    items: list[Item]


class Page(BaseModel, Generic[Item]):
    """A part of a list; ``next`` is the ``cursor`` for the part after it, null at the end."""

    items: list[Item]
    total: int
    next: str | None = None


class PromptShape(Shape):
    """A prompt in one of its versions; times are written as ISO 8601."""

    id: str
    version: int
    latest_version: int
    name: str
    content: str
    expected_schema: str | None
    evaluation_mode: Literal["llm", "schema"]
    evaluation_criteria: str | None
    test_cases: int
    created: str
    edited: str


class TestCaseShape(Shape):
    """A test case."""

    __test__ = False

    id: str
    prompt_id: str
    version: int
    input: str
    evaluation_schema: str | None
    reference: str | None
    created: str
    edited: str


class ImportShape(Shape):
    """What an import did, or would do: names of new prompts, and of those that were there already."""

    created: list[str]
    skipped: list[str]
    test_cases: int
    dry_run: bool


class SchemaProblem(Shape):
    """Where a schema or an output is wrong: a path into it, or a line and a column of its text."""

    path: str | None
    message: str
    line: int | None
    column: int | None


class SchemaVerdict(Shape):
    """Whether a schema is one, and whether an output satisfies it; null where nobody can tell."""

    is_schema: bool
    is_valid: bool | None
    schema_errors: list[SchemaProblem]
    output_errors: list[SchemaProblem]


class MessageShape(Shape):
    """A message as it would be sent."""

    role: str
    content: str


class AskShape(Shape):
    """A request to a judge."""

    messages: list[MessageShape]


class PreviewShape(Shape):
    """What a judge would be sent; ``reply_schema`` is what its reply is held to, null where that is one token.

    Where it would not be asked at all, ``why_none`` says why.
    """

    asks: list[AskShape]
    reply_schema: dict[str, Any] | None
    why_none: str | None


class ProviderShape(Shape):
    """A provider of models, and whether its key is set; the key itself is told to nobody."""

    name: str
    has_key: bool | None


class EmbeddedShape(Shape):
    """A model that runs in the server, and whether its file is here."""

    name: str
    title: str
    bytes: int
    here: bool


class ModelsShape(Shape):
    """The models that runs may name."""

    judge: str | None
    models: list[str]
    providers: list[ProviderShape]
    embedded: list[EmbeddedShape]


class Health(Shape):
    """The server is there."""

    status: str
    version: str


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
