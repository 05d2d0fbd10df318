"""What the API gives: the shape of each answer, for the OpenAPI document and for programs that rely on it."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

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
    """A prompt in one of its versions; times are seconds since 1970."""

    id: str
    version: int
    latest_version: int
    name: str
    content: str
    expected_schema: str | None
    evaluation_mode: Literal["llm", "schema"]
    evaluation_criteria: str | None
    test_cases: int
    created: float
    edited: float


class TestCaseShape(Shape):
    """A test case."""

    __test__ = False

    id: str
    prompt_id: str
    version: int
    input: str
    evaluation_schema: str | None
    reference: str | None
    created: float
    edited: float


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
    """A run; ``summary`` is null while nobody has counted it."""

    id: str
    name: str
    status: Literal["planning", "running", "finished", "interrupted", "stopped"]
    reason: str
    prompt: dict[str, Any] | None
    models: list[str]
    judge: str | None
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
    """How a run gets on; ``eta`` is in seconds. What only the process at work on it knows may be null."""

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
    answers: list[dict[str, Any]] = []
    evaluations: list[dict[str, Any]]


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
