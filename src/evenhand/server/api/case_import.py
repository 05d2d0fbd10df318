"""Test cases from a table over HTTP: as text within JSON, or the table itself as the body."""

from __future__ import annotations

from typing import Annotated, Any, Final

import orjson
from fastapi import Query, Request
from starlette.types import Receive, Scope

from evenhand.convert.case_import import add_cases, plan_cases
from evenhand.convert.case_table import Format, read_cases
from evenhand.domain.prompt import FieldError
from evenhand.server.api.bodies import (
    JSON,
    MOST_FIELDS,
    CasesBody,
    JsonRequest,
    JsonRoute,
    Key,
    PromptId,
    media_type,
    require_json,
    routes,
)
from evenhand.server.api.import_schemas import CasesImportShape
from evenhand.server.dependencies import StoreDep
from evenhand.server.problems import Problem

TABLES: Final[dict[str, Format]] = {
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "application/x-ndjson": "jsonl",
}


class TableRequest(JsonRequest):
    """A request whose body is a table, parsed as if it were the text of a JSON body."""

    def __init__(self, scope: Scope, receive: Receive, written_as: Format) -> None:
        # FastAPI parses a body, by the method below, only if it is declared as JSON.
        headers = [pair for pair in scope["headers"] if pair[0] != b"content-type"]
        super().__init__({**scope, "headers": [*headers, (b"content-type", JSON.encode())]}, receive)
        self._written_as = written_as

    async def json(self) -> Any:
        """Read the body."""
        body = await self.body()
        try:
            return {"text": body.decode("utf-8-sig"), "format": self._written_as}
        except UnicodeDecodeError as error:
            why = f"the table is not UTF-8 text: byte {error.start + 1:,} is invalid"
            raise Problem(422, "Invalid request", why) from None


class TableRoute(JsonRoute):
    """A route that takes a table as well as JSON."""

    def parser_of(self, request: Request) -> Request:
        """Return the request in a form that parses its body; one whose Content-Type cannot be parsed is refused."""
        written_as = TABLES.get(media_type(request))
        if written_as is not None:
            return TableRequest(request.scope, request.receive, written_as)
        require_json(request, *TABLES)
        return JsonRequest(request.scope, request.receive)


router = routes("test cases", TableRoute)

_AS_TABLE: Final = {"requestBody": {"content": {kind: {"schema": {"type": "string"}} for kind in TABLES}}}


@router.post("/prompts/{prompt}/test-cases/import", response_model=CasesImportShape, openapi_extra=_AS_TABLE)
def import_test_cases(
    prompt: PromptId,
    body: CasesBody,
    *,
    store: StoreDep,
    key: Key = None,
    dry_run: Annotated[bool, Query()] = False,
    column: Annotated[
        tuple[str, ...],
        Query(
            max_length=MOST_FIELDS,
            description="A field and its column, such as `input=question`, where the body is a table; it does what "
            "`columns` of a JSON body does.",
        ),
    ] = (),
    skip_mistakes: Annotated[
        bool, Query(description="Leave rows with mistakes out, as `skip_mistakes` of a JSON body does.")
    ] = False,
) -> Any:
    """Add test cases from CSV or JSONL, all or none; those that exist already are left out. A dry run adds nothing."""
    owner = store.prompts.find(prompt)
    columns = _columns(column) if column else body.columns
    if column and body.columns is not None:
        raise FieldError("column", "the body has columns already; leave one of them out")
    is_lenient = body.skip_mistakes or skip_mistakes
    table = read_cases(body.text.encode("utf-8", "surrogatepass"), written_as=body.format)
    if dry_run:
        return plan_cases(store, owner, table, columns).as_dict()

    def take_in() -> str:
        done = add_cases(store, owner, table, columns, skip_mistakes=is_lenient)
        return orjson.dumps(done.as_dict()).decode()

    asked = body.model_dump() | {"columns": columns, "skip_mistakes": is_lenient}
    outcome, _ = store.idempotency_keys.once(key, ["test cases", owner.id, asked], take_in)
    return orjson.loads(outcome)


def _columns(given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    for field, equals, column in pairs:
        if not (field and equals and column):
            told = f"{field}{equals}{column}"
            raise FieldError("column", f"{told!r:.80} must be a field and a column, such as input=question")
    return {field.strip(): column for field, _, column in pairs}
