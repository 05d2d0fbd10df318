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
