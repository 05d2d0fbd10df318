"""What the API returns: the schema of each response, for the OpenAPI document and for programs."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ConfigDict

Item = TypeVar("Item")


class Shape(BaseModel):
    """A response."""

    model_config = ConfigDict(extra="allow")


class FieldProblem(Shape):
    """An error in a field."""

    field: str
    detail: str


class ProblemDetails(Shape):
    """Problem details (RFC 9457)."""

    type: str
    status: int
    title: str
    detail: str = ""
    errors: list[FieldProblem] = []


class Listed(BaseModel, Generic[Item]):
    """A complete list."""

    items: list[Item]


class Page(BaseModel, Generic[Item]):
    """A page of a list; ``next`` is the ``cursor`` of the next page, null at the end."""

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


class SchemaProblem(Shape):
    """An error in a schema or an output: a path into it, or a line and a column of its text."""

    path: str | None
    message: str
    line: int | None
    column: int | None


class SchemaVerdict(Shape):
    """Whether a schema is valid, and whether an output matches it; null if that could not be checked."""

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
    """What a judge would be sent; ``reply_schema`` is the schema of its reply, null if that is a single token.

    If the judge would not be asked at all, ``why_none`` is the reason.
    """

    asks: list[AskShape]
    reply_schema: dict[str, Any] | None
    why_none: str | None


class ProviderShape(Shape):
    """A provider of models, and whether its key is set; the key itself is never returned."""

    name: str
    has_key: bool | None


class EmbeddedShape(Shape):
    """A model that runs in the server, and whether its file has been downloaded."""

    name: str
    title: str
    bytes: int
    here: bool


class ModelsShape(Shape):
    """The models that runs may use."""

    judge: str | None
    models: list[str]
    providers: list[ProviderShape]
    embedded: list[EmbeddedShape]


class Health(Shape):
    """The status of the server."""

    status: str
    version: str


class IntervalShape(Shape):
    """An interval around an estimate."""

    low: float
    high: float
    method: str
    level: float


class CorrectedShape(Shape):
    """A number that people would give to all cases; ``method`` is how it was found."""

    value: float
    interval: IntervalShape
    method: str
    labels: int
    worth: float | None
    note: str | None


class CorrectedNumbersShape(Shape):
    """What people would say of all judged cases, by labels on some; what they do not support is null, with a reason."""

    judged: int
    labels: int
    raters: list[str]
    basis: Literal["drawn", "unequal", "not_drawn"]
    pass_rate: CorrectedShape | None
    pass_rate_problem: str
    mean: CorrectedShape | None
    mean_problem: str


class SummaryShape(Shape):
    """The summary of a run: its cases, its effort, and each evaluator; ``corrected`` where people have labelled it."""

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
    corrected: CorrectedNumbersShape | None = None


class RunShape(Shape):
    """A run; ``summary`` is null until it is computed, ``baseline`` is whether later runs are compared with it."""

    id: str
    name: str
    label: str
    tags: list[str]
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
    """A run with its definition and the outcome of its gates."""

    definition: dict[str, Any]
    options: dict[str, Any]
    forked_from: str | None
    version: str
    gates: list[dict[str, Any]] | None


class DifferenceShape(Shape):
    """How the scores of two runs differ: B minus A, its interval, and a test."""

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
    """A comparison of whole cases or of one evaluator; ``transitions`` counts from A's verdict to B's.

    It is null for profiles that were scored without a pass mark: these neither pass nor fail.
    """

    in_common: int
    only_a: int
    only_b: int
    scores: DifferenceShape
    transitions: dict[str, dict[str, int]] | None
    better: bool
    worse: bool


class ChangeShape(Shape):
    """A case whose outcome changed; profiles that were scored without a pass mark have no standings."""

    case_id: str
    score_a: float
    score_b: float
    standing_a: str | None
    standing_b: str | None
    difference: float


class SettingChangeShape(Shape):
    """A setting that differs between A and B; null is one that is not set."""

    name: str
    before: Any
    after: Any


class CaseCountShape(Shape):
    """How many cases are of some kind, and the ids of the first ones."""

    count: int
    first: list[str]


class RunDifferencesShape(Shape):
    """What differs between A and B; the cases by kind: ``only_a``, ``only_b`` and ``edited``."""

    settings: list[SettingChangeShape]
    cases: dict[Literal["only_a", "only_b", "edited"], CaseCountShape]


class ComparisonShape(Shape):
    """Run B compared with run A; ``changes`` has the largest of all ``changed`` cases."""

    a: dict[str, Any]
    b: dict[str, Any]
    differing: list[str]
    notes: list[str]
    differences: RunDifferencesShape
    cases: ComparedShape
    evaluators: dict[str, ComparedShape]
    evaluator: str | None
    changed: int
    changes: list[ChangeShape]


class SeveralShape(Shape):
    """Several runs compared with run A, by their ids; ``refused`` says of some why they are not."""

    a: dict[str, Any]
    runs: dict[str, dict[str, Any]]
    baseline: str
    evaluator: str | None
    others: dict[str, ComparedShape]
    refused: dict[str, str]
    notes: dict[str, list[str]]
    differences: dict[str, RunDifferencesShape]


class TookShape(Shape):
    """What the answers of a target took: dollars in all, and mean seconds; null is unknown."""

    answers: int
    cost: float | None
    priced: int
    latency: float | None
    timed: int


class TargetsShape(Shape):
    """The targets of a run, each compared with one of them, by their names; ``took`` has that one too."""

    baseline: str
    evaluator: str | None
    others: dict[str, ComparedShape]
    took: dict[str, TookShape]
