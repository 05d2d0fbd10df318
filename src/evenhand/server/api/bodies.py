"""What the API takes: JSON bodies, checked strictly, and the parameters that routes share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Annotated, Any, Final, Literal, TypeAlias

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError
from evenhand.domain.run import MOST_LABEL, MOST_TAGS
from evenhand.evaluators.asking import check_attempts
from evenhand.server.api.schemas import ProblemDetails
from evenhand.server.json_slices import LARGE_BYTES, parse_json
from evenhand.server.problems import WRITTEN, Problem
from evenhand.server.runs.requests import (
    LONGEST_NAME,
    MOST_AT_ONCE,
    MOST_MODELS,
    MOST_OUTAGE_SECONDS,
    MOST_REPEATS,
    RunRequest,
)
from evenhand.server.security import guard
from evenhand.workspace.documents import snake

# Not as a model, of which FastAPI would make a validator for each response of each route, and use none.
PROBLEM: Final = {
    "content": {"application/problem+json": {"schema": {"$ref": f"#/components/schemas/{ProblemDetails.__name__}"}}}
}
_ALWAYS: Final[dict[int | str, dict[str, Any]]] = {
    400: PROBLEM | {"description": "Malformed request."},
    401: PROBLEM | {"description": "The token is missing or wrong."},
    403: PROBLEM | {"description": "Cross-site request."},
    404: PROBLEM | {"description": "Not found."},
    405: PROBLEM | {"description": "Method not allowed; Allow names those that are."},
    409: PROBLEM | {"description": "Conflicts with the current state."},
    413: PROBLEM | {"description": "The body is too large."},
    415: PROBLEM | {"description": "Unsupported Content-Type; send application/json."},
    421: PROBLEM | {"description": "The Host header names another server."},
    422: PROBLEM | {"description": "Invalid request; errors names the fields."},
    429: PROBLEM | {"description": "Too many changes; Retry-After has the seconds to wait."},
    503: PROBLEM | {"description": "Busy, or the database is unavailable; Retry-After has the seconds to wait."},
}
# For the OpenAPI document only: the guard asks for it.
_TOKEN: Final = HTTPBearer(auto_error=False, scheme_name="token", description="EVENHAND_TOKEN, or .evenhand/token.")
# Ids and names are opaque, and never a path: whatever they hold is looked up, and nothing else.
PromptId = Annotated[str, Path(max_length=300, description="The prompt's id, or its name.")]
CaseId = Annotated[str, Path(max_length=300, description="The test case's id.")]
RunId = Annotated[str, Path(max_length=200, description="The run's id, a unique prefix of it, last, or previous.")]
Number = Annotated[int, Path(ge=1, le=2**53 - 1)]
Limit = Annotated[int, Query(ge=1, le=500, description="Page size.")]
Cursor = Annotated[str | None, Query(max_length=2000, description="The next of the previous page.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        min_length=1,
        max_length=200,
        description="Requests with the same key and body are executed once. Keys are kept for two days.",
    ),
]


def routes(tag: str, route_class: type[APIRoute] | None = None) -> APIRouter:
    """Make a router whose routes require the token, parse JSON strictly, and report problems in the same way."""
    return APIRouter(
        prefix="/api",
        route_class=route_class or JsonRoute,
        tags=[tag],
        responses=_ALWAYS,
        dependencies=[Depends(guard), Depends(_TOKEN)],
        generate_unique_id_function=lambda route: route.name,
    )


# No body has as many; what is beyond is not reported one by one.
MOST_FIELDS: Final = 64
MOST_CASES_AT_ONCE: Final = 10_000
MOST_PROMPTS_AT_ONCE: Final = 10_000
MOST_RUBRICS: Final = 200
_LARGEST: Final = 2**53 - 1
JSON: Final = "application/json"

_SCHEMA: Final = {"anyOf": [{"type": kind} for kind in ("string", "object", "boolean", "null")]}


def _require_schema(value: Any) -> Any:
    if value is None or isinstance(value, str | dict | bool):
        return value
    why = "it must be a JSON Schema: an object, a boolean, or text with one of these"
    raise PydanticCustomError("json_schema", why)


# Not a union, of which each part would report an error of its own, and 1 would count as true.
Schema: TypeAlias = Annotated[Any, AfterValidator(_require_schema), WithJsonSchema(_SCHEMA)]
OutageTimeout: TypeAlias = Annotated[
    float | None,
    Field(
        ge=0, le=MOST_OUTAGE_SECONDS, description="Seconds to wait for a provider that stops answering; 600 by default."
    ),
]
MaxConsecutiveErrors: TypeAlias = Annotated[
    int | None,
    Field(
        ge=0,
        le=_LARGEST,
        description="Stop when an evaluator has scored nothing and failed so often in a row in the same way; 20 by "
        "default, 0 never stops.",
    ),
]
Version = Annotated[
    int, Field(ge=1, le=_LARGEST, description="The version this edit is based on; 409 if there is a later one.")
]


class JsonRequest(Request):
    """A request whose JSON is parsed strictly; names at its top may also be written as ``evaluationMode``."""

    async def json(self) -> Any:
        """Read the body."""
        body = await self.body()
        fields = await asyncio.to_thread(parse_json, body) if len(body) > LARGE_BYTES else parse_json(body)
        if not isinstance(fields, dict):
            raise Problem(422, "Invalid request", "the body must be a JSON object")
        if len(fields) > MOST_FIELDS:
            raise Problem(
                422, "Invalid request", f"the body has {len(fields):,} fields; at most {MOST_FIELDS} are known"
            )
        named: dict[str, Any] = {}
        self.scope[WRITTEN] = written_names = {}
        for written, value in fields.items():
            if (name := snake(written)) in named:
                raise Problem(422, "Invalid request", "duplicate field, in both spellings", field=written)
            named[name] = value
            written_names[name] = written
        return named


class JsonRoute(APIRoute):
    """A route that requires the token before it reads a body, and parses that strictly."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        usual = super().get_route_handler()

        async def handler(request: Request) -> Response:
            await guard(request)
            return await usual(self.parser_of(request))

        return handler

    def parser_of(self, request: Request) -> Request:
        """Return the request in a form that parses its body; one whose Content-Type cannot be parsed is refused."""
        if self.body_field is not None:
            require_json(request)
        return JsonRequest(request.scope, request.receive)


def media_type(request: Request) -> str:
    """Return the Content-Type of a request without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def require_json(request: Request, *others: str) -> None:
    """Refuse a body whose Content-Type is not JSON; ``others`` would have been accepted too."""
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    kind = media_type(request)
    if has_body and kind != JSON and not kind.endswith("+json"):
        sent = f"not {kind!r:.80}" if kind else "which is missing"
        raise Problem(415, "Not JSON", f"send the body with Content-Type: {' or '.join((JSON, *others))}, {sent}")


class Body(BaseModel):
    """A request body; unknown fields are rejected."""

    model_config = ConfigDict(extra="forbid")

    def sent_fields(self) -> dict[str, Any]:
        """Return the fields that were sent, without defaults; their values are not copied."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class PromptBody(Body):
    """A prompt. ``content`` is the system message; ``expected_schema`` shapes what models generate."""

    name: str
    content: str | None = ""
    expected_schema: Schema = None
    evaluation_mode: Literal["llm", "schema"] | None = "llm"
    evaluation_criteria: str | None = None


class PromptEdit(PromptBody):
    """The new version of a prompt; fields that are omitted become empty."""

    version: Version


class TestCaseBody(Body):
    """A test case. ``evaluation_schema`` is for prompts in mode ``schema``, ``reference`` for those in ``llm``."""

    __test__ = False

    input: str
    evaluation_schema: Schema = None
    reference: str | None = None


class TestCaseEdit(TestCaseBody):
    """The new version of a test case."""

    version: Version


class CasesBody(Body):
    """Test cases as a text: a table whose first line names the columns, JSON lines, or a JSON list."""

    text: Annotated[str, Field(description="CSV or TSV with a heading, JSONL, or a JSON list of objects.")]
    format: Annotated[
        Literal["csv", "jsonl", "json"] | None, Field(description="By default, what the text begins like.")
    ] = None
    columns: Annotated[
        dict[str, str] | None,
        Field(
            max_length=MOST_FIELDS,
            description='The column of each field, such as {"input": "question"}; by default, what their names say. '
            "Columns that are not named are not imported.",
        ),
    ] = None
    skip_mistakes: Annotated[
        bool, Field(description="Leave rows with mistakes out; by default, nothing is added if there is one.")
    ] = False


class SchemaCheck(Body):
    """A schema, and optionally an output to check against it."""

    schema_: Annotated[Schema, Field(alias="schema")] = None
    output: Annotated[str | None, Field(description="What a model wrote; all of it must be JSON.")] = None
    purpose: Annotated[
        Literal["evaluate", "generate"],
        Field(description="To evaluate answers, or to shape them, which takes the schema of an object."),
    ] = "evaluate"


class JudgeBody(Body):
    """A judge and a case for it; omitted fields have their defaults."""

    mode: Literal["freeform", "rubric", "pairwise"] = "freeform"
    model: Annotated[
        str, Field(max_length=LONGEST_NAME, description="Its name; embedded models get shorter prompts.")
    ] = "judge"
    criteria: Annotated[str, Field(description="What a good answer does: the expected outcome.")] = ""
    rubrics: Annotated[list[str | dict[str, Any]], Field(max_length=MOST_RUBRICS)] = []
    rubric_mode: Literal["joint", "separate"] = "joint"
    evidence: bool = False
    template: str = ""
    scale: Annotated[str, Field(description="Such as 1-5.")] = ""
    score_from: Literal["auto", "text", "samples", "logprobs"] = "auto"
    question: str = ""
    answer: str = ""
    reference: str = ""


def _require_texts(value: Any) -> Any:
    """Refuse a list with anything but texts at the first of these: to say it of thousands would take long."""
    for number, item in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(item, str):
            raise ValueError(f"item {number + 1} must be text, not {type(item).__name__}")  # noqa: TRY004 - which pydantic takes
    return value


class AskingBody(Body):
    """What has a judge asked: how often for the same reply is said in one of two ways."""

    max_attempts: Annotated[
        int | None,
        Field(ge=1, le=_LARGEST, description="How many times to ask a judge for a usable reply; 3 by default."),
    ] = None
    max_retries: Annotated[
        int | None, Field(ge=0, le=_LARGEST, description="The same, without the first time; send one of the two.")
    ] = None

    @property
    def attempts(self) -> int | None:
        """How many times to ask; None where nothing was said."""
        if self.max_attempts is None and self.max_retries is None:
            return None
        try:
            return check_attempts(self.max_attempts, self.max_retries, where="judge")
        except ConfigError as error:
            raise FieldError("max_attempts", str(error)) from None


class RunBody(AskingBody):
    """A run of a prompt: every test case on every model, ``repeat`` times."""

    prompt: Annotated[str, Field(description="The prompt's id or name.")]
    version: Annotated[int | None, Field(ge=1, le=_LARGEST)] = None
    models: Annotated[list[str], Field(max_length=MOST_MODELS, description="Names, such as openai/gpt-5-mini.")] = []
    judge: Annotated[str | None, Field(description="A model's name; the server's default judge if omitted.")] = None
    test_cases: Annotated[
        list[str] | None,
        Field(max_length=MOST_CASES_AT_ONCE, description="Ids; all by default."),
        BeforeValidator(_require_texts),
    ] = None
    repeat: Annotated[int, Field(ge=1, le=MOST_REPEATS)] = 1
    concurrency: Annotated[int | None, Field(ge=1, le=MOST_AT_ONCE)] = None
    max_cost: Annotated[float | None, Field(ge=0, allow_inf_nan=False, description="Dollars.")] = None
    max_calls: Annotated[int | None, Field(ge=0, le=_LARGEST)] = None
    use_cache: bool = True
    outage_timeout: OutageTimeout = None
    max_consecutive_errors: MaxConsecutiveErrors = None
    label: Annotated[
        str | None, Field(max_length=MOST_LABEL, description="What to call the run, to tell it from others.")
    ] = None
    tags: Annotated[
        list[str], Field(max_length=MOST_TAGS, description="Tags of the run, by which lists are filtered.")
    ] = []
    batch: Annotated[
        bool, Field(description="Ask in batches, at half the price: OpenAI, Anthropic and Gemini answer within a day.")
    ] = False

    @property
    def run_request(self) -> RunRequest:
        """The run that is requested."""
        several = {
            "models": tuple(self.models),
            "tags": tuple(self.tags),
            "test_cases": None if self.test_cases is None else tuple(self.test_cases),
            "max_attempts": self.attempts,
        }
        return RunRequest(**(self.model_dump(exclude={*several, "max_retries"}) | several))


class TryBody(AskingBody):
    """A try of a prompt: an input, or a test case of the prompt, put to one model and judged. Nothing is kept."""

    input: str | None = None
    reference: str | None = None
    evaluation_schema: Schema = None
    test_case: Annotated[str | None, Field(max_length=300, description="The id of a test case, instead of input.")] = (
        None
    )
    model: Annotated[str, Field(description="A model's name, such as openai/gpt-5-mini.")]
    judge: Annotated[str | None, Field(description="A model's name; the server's default judge if omitted.")] = None


class RunChange(Body):
    """What can be changed of a run; what is left out stays as it is."""

    label: Annotated[
        str | None, Field(max_length=MOST_LABEL, description="What to call the run; null or empty for no label.")
    ] = None
    tags: Annotated[
        list[str] | None, Field(max_length=MOST_TAGS, description="All tags of the run; null or empty for none.")
    ] = None


class ResumeBody(Body):
    """How to resume a run; omitted fields have their defaults."""

    concurrency: Annotated[int | None, Field(ge=1, le=MOST_AT_ONCE)] = None
    max_cost: Annotated[float | None, Field(ge=0, allow_inf_nan=False)] = None
    max_calls: Annotated[int | None, Field(ge=0, le=_LARGEST)] = None
    retry_errors: bool = False
    batch: Annotated[
        bool | None,
        Field(description="False: read the pending batches of the run, and ask the rest one by one, at full price."),
    ] = None
    outage_timeout: OutageTimeout = None
    max_consecutive_errors: MaxConsecutiveErrors = None


class ImportBody(Body):
    """Prompts with their test cases, as exported."""

    format: str = "evenhand-prompts"
    format_version: int = 1
    # Each is checked when it is imported, in a thread.
    prompts: Annotated[
        list[Annotated[Any, WithJsonSchema({"type": "object", "additionalProperties": True})]],
        Field(max_length=MOST_PROMPTS_AT_ONCE),
    ]
