"""Prompts and their test cases over HTTP, one by one or all as a document (SPEC-M1, M2, M5, M6)."""

from __future__ import annotations

import itertools
from operator import itemgetter
from typing import Annotated, Any, Final

import orjson
from fastapi import Header, Path, Query
from fastapi.responses import JSONResponse, Response

from evenhand.domain.case import Case
from evenhand.domain.errors import ContractError, NotFoundError
from evenhand.domain.evaluation import Status
from evenhand.domain.prompt import FieldError, TestCase
from evenhand.evaluators.reading import parse_strict
from evenhand.evaluators.schema.compiled import InvalidSchemaError
from evenhand.evaluators.schema.evaluator import SchemaEvaluator, is_empty
from evenhand.server.api.bodies import (
    CaseId,
    Cursor,
    ImportBody,
    Key,
    Limit,
    Number,
    PromptBody,
    PromptEdit,
    PromptId,
    SchemaCheck,
    TestCaseBody,
    TestCaseEdit,
    routes,
)
from evenhand.server.api.import_schemas import ImportJobShape, ImportShape
from evenhand.server.api.schemas import (
    Listed,
    Page,
    PromptShape,
    SchemaVerdict,
    TestCaseShape,
)
from evenhand.server.dependencies import ImportJobsDep, StoreDep
from evenhand.server.runs.results import cursor_offset, offset_cursor
from evenhand.store.store import Store
from evenhand.workspace.documents import (
    case_summary,
    expected_schema_text,
    export_document,
    prompt_summary,
    prompt_text,
    schema_text,
    test_case_text,
)
from evenhand.workspace.prompt_import import Imported, ImportObserver, import_document

router = routes("prompts")


@router.get("/prompts", response_model=Page[PromptShape])
def list_prompts(store: StoreDep, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the prompts by name, each in its latest version."""
    ids = [key for key, _ in sorted(store.prompts.names(), key=itemgetter(1))]
    first = cursor_offset(cursor)
    more = offset_cursor(first + limit) if first + limit < len(ids) else None
    return {
        "items": [prompt_summary(prompt) for prompt in store.prompts.some(ids[first : first + limit])],
        "total": len(ids),
        "next": more,
    }


@router.post("/prompts", response_model=PromptShape, status_code=201)
def create_prompt(body: PromptBody, store: StoreDep) -> Any:
    """Create a prompt; its name must be unique."""
    return prompt_summary(store.prompts.create(prompt_text(body.sent_fields())))


@router.get("/prompts/{prompt}", response_model=PromptShape)
def get_prompt(prompt: PromptId, store: StoreDep) -> Any:
    """Return a prompt in its latest version."""
    return prompt_summary(store.prompts.find(prompt))


@router.put("/prompts/{prompt}", response_model=PromptShape)
def edit_prompt(prompt: PromptId, body: PromptEdit, store: StoreDep) -> Any:
    """Add a version to a prompt; 409 if there is a later version than the one this edit is based on."""
    fields = body.sent_fields()
    seen = fields.pop("version")
    return prompt_summary(store.prompts.edit(store.prompts.find(prompt).id, prompt_text(fields), seen=seen))


@router.delete("/prompts/{prompt}", status_code=204)
def delete_prompt(prompt: PromptId, store: StoreDep) -> None:
    """Delete a prompt with its versions and test cases; its runs are kept."""
    store.prompts.delete(prompt)


@router.get("/prompts/{prompt}/versions", response_model=Listed[PromptShape])
def list_versions(prompt: PromptId, store: StoreDep) -> Any:
    """List the versions of a prompt, the newest first."""
    versions = store.prompts.versions(store.prompts.find(prompt).id)
    if not versions:  # it was deleted between the two
        raise NotFoundError(f"no prompt {prompt!r:.200}")
    return {"items": [prompt_summary(version) for version in versions]}


@router.get("/prompts/{prompt}/versions/{version}", response_model=PromptShape)
def get_version(prompt: PromptId, version: Number, store: StoreDep) -> Any:
    """Return one version of a prompt."""
    return prompt_summary(store.prompts.find(prompt, version))


test_case_router = routes("test cases")


@test_case_router.get("/prompts/{prompt}/test-cases", response_model=Page[TestCaseShape])
def list_test_cases(prompt: PromptId, store: StoreDep, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the test cases of a prompt in the order in which they were created."""
    owner = store.prompts.find(prompt)
    first = cursor_offset(cursor)
    cases = list(itertools.islice(store.prompts.cases(owner.id), first, first + limit + 1))
    more = offset_cursor(first + limit) if len(cases) > limit else None
    return {"items": [case_summary(case) for case in cases[:limit]], "total": owner.test_cases, "next": more}


@test_case_router.post("/prompts/{prompt}/test-cases", response_model=TestCaseShape, status_code=201)
def create_test_case(prompt: PromptId, body: TestCaseBody, store: StoreDep) -> Any:
    """Create a test case of a prompt."""
    (made,) = store.prompts.add_cases(prompt, [test_case_text(body.sent_fields())])
    return case_summary(made)


@test_case_router.get("/prompts/{prompt}/test-cases/{test_case}", response_model=TestCaseShape)
def get_test_case(prompt: PromptId, test_case: CaseId, store: StoreDep) -> Any:
    """Return a test case."""
    return case_summary(_find_test_case(store, prompt, test_case))


@test_case_router.put("/prompts/{prompt}/test-cases/{test_case}", response_model=TestCaseShape)
def edit_test_case(prompt: PromptId, test_case: CaseId, body: TestCaseEdit, store: StoreDep) -> Any:
    """Replace a test case; 409 if there is a later version than the one this edit is based on."""
    fields = body.sent_fields()
    seen = fields.pop("version")
    case = _find_test_case(store, prompt, test_case)
    return case_summary(store.prompts.edit_case(case.id, test_case_text(fields), seen=seen))


@test_case_router.delete("/prompts/{prompt}/test-cases/{test_case}", status_code=204)
def delete_test_case(prompt: PromptId, test_case: CaseId, store: StoreDep) -> None:
    """Delete a test case; earlier runs keep their results for it."""
    store.prompts.delete_case(_find_test_case(store, prompt, test_case).id)


def _find_test_case(store: Store, prompt: str, test_case: str) -> TestCase:
    """Find a test case of a prompt."""
    owner, case = store.prompts.find(prompt), store.prompts.find_case(test_case)
    if case.prompt_id != owner.id:
        raise NotFoundError(f"prompt {owner.name!r} has no test case {test_case!r:.200}")
    return case


transfer_router = routes("import and export")


@transfer_router.get("/export", response_class=Response, responses={200: {"content": {"application/json": {}}}})
def export_prompts(
    store: StoreDep,
    prompt: Annotated[list[str] | None, Query(max_length=1000, description="Ids or names; all by default.")] = None,
) -> Response:
    """Return prompts with their test cases as one document, for a backup or to import elsewhere."""
    document = orjson.dumps(export_document(store, prompt), option=orjson.OPT_INDENT_2)
    name = {"content-disposition": 'attachment; filename="prompts.json"'}
    return Response(document, media_type="application/json", headers=name)


_ASYNC: Final = "respond-async"


@transfer_router.post(
    "/import",
    response_model=ImportShape,
    responses={202: {"model": ImportJobShape, "description": "Accepted; Location has the address of its progress."}},
)
def import_prompts(
    body: ImportBody,
    *,
    store: StoreDep,
    jobs: ImportJobsDep,
    key: Key = None,
    dry_run: Annotated[bool, Query()] = False,
    update: Annotated[
        bool, Query(description="Update prompts whose names exist: a new version, and the test cases they lack.")
    ] = False,
    prefer: Annotated[
        str | None, Header(max_length=200, description=f"With {_ASYNC}, the response is 202, before it is done.")
    ] = None,
) -> Any:
    """Import prompts, all or none; those whose names exist are skipped, or updated. A dry run stores nothing."""
    document = body.sent_fields()

    def import_all(observer: ImportObserver | None = None) -> Imported:
        def take_in() -> str:
            imported = import_document(store, document, dry_run=dry_run, update=update, observer=observer)
            return orjson.dumps(imported.as_dict()).decode()

        asked = ["import", document, dry_run, *(["update"] if update else [])]
        outcome, _ = store.idempotency_keys.once(key, asked, take_in)
        return Imported.of(orjson.loads(outcome))

    if prefer is None or _ASYNC not in [word.strip().lower() for word in prefer.split(",")]:
        return import_all().as_dict()
    job = jobs.start(import_all)
    headers = {"location": f"/api/imports/{job.id}", "preference-applied": _ASYNC}
    return JSONResponse(job.as_dict(), status_code=202, headers=headers)


@transfer_router.get("/imports/{import_id}", response_model=ImportJobShape)
async def get_import(
    import_id: Annotated[str, Path(max_length=100, description="The id of the import.")], jobs: ImportJobsDep
) -> Any:
    """Return the progress of an import and, when it has ended, what it did or why it did nothing."""
    if (job := jobs.find(import_id)) is None:
        raise NotFoundError(f"no import {import_id!r}; the last few are known, until the server is restarted")
    return job.as_dict()


schema_router = routes("schemas")


@schema_router.post("/check-schema", response_model=SchemaVerdict)
def check_schema(body: SchemaCheck) -> Any:
    """Check whether a schema is valid and, if there is an output, whether that matches it. Nothing is stored."""
    return schema_verdict(body.schema_, body.output, to_generate=body.purpose == "generate")


def schema_verdict(schema: Any, output: str | None, *, to_generate: bool = False) -> dict[str, Any]:
    """Check a schema and an output; an empty schema is none, which is no error."""
    verdict: dict[str, Any] = {"is_schema": False, "is_valid": None, "schema_errors": [], "output_errors": []}
    if is_empty(schema):
        return verdict
    try:
        (expected_schema_text if to_generate else schema_text)(schema, "schema")
    except FieldError as error:
        return verdict | {"schema_errors": [_schema_error(error)]}
    verdict["is_schema"] = True
    if output is None:
        return verdict
    evaluation = SchemaEvaluator().evaluate(Case(candidate_answer=output, evaluation_schema=schema))
    if evaluation.status is not Status.SCORED:
        return verdict | {"output_errors": [_error_shape(evaluation.error or evaluation.reasoning)]}
    place = _place_in(output)
    errors = [_error_shape(error["message"], error["path"], place) for error in evaluation.details["errors"]]
    return verdict | {"is_valid": not errors, "output_errors": errors}


def _schema_error(error: FieldError) -> dict[str, Any]:
    cause = error.__cause__
    if isinstance(cause, InvalidSchemaError):
        return _error_shape(cause.detail, cause.path, cause.place)
    return _error_shape(error.told)


def _place_in(output: str) -> tuple[int, int] | None:
    """Return the line and the column at which an output is not JSON."""
    try:
        parse_strict(output)
    except ContractError as error:
        return error.place
    return None


def _error_shape(message: str, path: str | None = None, place: tuple[int, int] | None = None) -> dict[str, Any]:
    line, column = place or (None, None)
    return {"path": path if place is None else None, "message": message, "line": line, "column": column}
