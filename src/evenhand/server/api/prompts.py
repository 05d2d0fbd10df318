"""Prompts and their test cases over HTTP, one by one or all as a document (SPEC-M1, M2, M5, M6)."""

from __future__ import annotations

import itertools
import re
from typing import Annotated, Any, Final

import orjson
from fastapi import Query
from fastapi.responses import Response

from evenhand.domain.case import Case
from evenhand.domain.errors import NotFoundError
from evenhand.domain.evaluation import Status
from evenhand.domain.prompt import FieldError, TestCase
from evenhand.evaluators.schema.evaluator import SchemaEvaluator, is_empty
from evenhand.server.api.bodies import ImportBody, PromptBody, PromptEdit, SchemaCheck, TestCaseBody, TestCaseEdit
from evenhand.server.api.parameters import CaseId, Cursor, Key, Limit, Number, PromptId, routes
from evenhand.server.api.schemas import ImportShape, Listed, Page, PromptShape, SchemaVerdict, TestCaseShape
from evenhand.server.dependencies import StoreDep
from evenhand.server.runs.results import offset_in, offset_written
from evenhand.store.store import Store
from evenhand.workspace.documents import (
    case_summary,
    expected_schema_text,
    export_document,
    import_document,
    prompt_summary,
    prompt_text,
    schema_text,
    test_case_text,
)

router = routes("prompts")


@router.get("/prompts", response_model=Listed[PromptShape])
def list_prompts(store: StoreDep) -> Any:
    """List the prompts by name, each as it is now."""
    return {"items": [prompt_summary(prompt) for prompt in store.prompts.all()]}


@router.post("/prompts", response_model=PromptShape, status_code=201)
def create_prompt(body: PromptBody, store: StoreDep) -> Any:
    """Keep a new prompt; its name must be its own."""
    return prompt_summary(store.prompts.create(prompt_text(body.given())))


@router.get("/prompts/{prompt}", response_model=PromptShape)
def get_prompt(prompt: PromptId, store: StoreDep) -> Any:
    """Return a prompt as it is now."""
    return prompt_summary(store.prompts.find(prompt))


@router.put("/prompts/{prompt}", response_model=PromptShape)
def edit_prompt(prompt: PromptId, body: PromptEdit, store: StoreDep) -> Any:
    """Add a version to a prompt; 409 if somebody else did so since the version that was seen."""
    fields = body.given()
    seen = fields.pop("version")
    return prompt_summary(store.prompts.edit(store.prompts.find(prompt).id, prompt_text(fields), seen=seen))


@router.delete("/prompts/{prompt}", status_code=204)
def delete_prompt(prompt: PromptId, store: StoreDep) -> None:
    """Delete a prompt with its versions and test cases; its runs stay."""
    store.prompts.delete(prompt)


@router.get("/prompts/{prompt}/versions", response_model=Listed[PromptShape])
def list_versions(prompt: PromptId, store: StoreDep) -> Any:
    """List the versions of a prompt, the newest first."""
    found = store.prompts.versions(store.prompts.find(prompt).id)
    if not found:  # it was deleted between the two
        raise NotFoundError(f"no prompt {prompt!r:.200}")
    return {"items": [prompt_summary(one) for one in found]}


@router.get("/prompts/{prompt}/versions/{version}", response_model=PromptShape)
def get_version(prompt: PromptId, version: Number, store: StoreDep) -> Any:
    """Return a prompt as it was in some version."""
    return prompt_summary(store.prompts.find(prompt, version))


test_case_router = routes("test cases")


@test_case_router.get("/prompts/{prompt}/test-cases", response_model=Page[TestCaseShape])
def list_test_cases(prompt: PromptId, store: StoreDep, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the test cases of a prompt in the order in which they were made."""
    found = store.prompts.find(prompt)
    first = offset_in(cursor)
    cases = list(itertools.islice(store.prompts.cases(found.id), first, first + limit + 1))
    more = offset_written(first + limit) if len(cases) > limit else None
    return {"items": [case_summary(case) for case in cases[:limit]], "total": found.test_cases, "next": more}


@test_case_router.post("/prompts/{prompt}/test-cases", response_model=TestCaseShape, status_code=201)
def create_test_case(prompt: PromptId, body: TestCaseBody, store: StoreDep) -> Any:
    """Keep a new test case of a prompt."""
    (made,) = store.prompts.add_cases(prompt, [test_case_text(body.given())])
    return case_summary(made)


@test_case_router.get("/prompts/{prompt}/test-cases/{test_case}", response_model=TestCaseShape)
def get_test_case(prompt: PromptId, test_case: CaseId, store: StoreDep) -> Any:
    """Return a test case."""
    return case_summary(_found(store, prompt, test_case))


@test_case_router.put("/prompts/{prompt}/test-cases/{test_case}", response_model=TestCaseShape)
def edit_test_case(prompt: PromptId, test_case: CaseId, body: TestCaseEdit, store: StoreDep) -> Any:
    """Write a test case anew; 409 if somebody else did so since the version that was seen."""
    fields = body.given()
    seen = fields.pop("version")
    known = _found(store, prompt, test_case)
    return case_summary(store.prompts.edit_case(known.id, test_case_text(fields), seen=seen))


@test_case_router.delete("/prompts/{prompt}/test-cases/{test_case}", status_code=204)
def delete_test_case(prompt: PromptId, test_case: CaseId, store: StoreDep) -> None:
    """Delete a test case; runs keep what they judged of it."""
    store.prompts.delete_case(_found(store, prompt, test_case).id)


def _found(store: Store, prompt: str, test_case: str) -> TestCase:
    """Find a test case where its address says that it is."""
    owner, known = store.prompts.find(prompt), store.prompts.find_case(test_case)
    if known.prompt_id != owner.id:
        raise NotFoundError(f"prompt {owner.name!r} has no test case {test_case!r:.200}")
    return known


transfer_router = routes("import and export")


@transfer_router.get("/export", response_class=Response, responses={200: {"content": {"application/json": {}}}})
def export_prompts(
    store: StoreDep,
    prompt: Annotated[list[str] | None, Query(max_length=1000, description="Ids or names; all if left out.")] = None,
) -> Response:
    """Return prompts with their test cases as one document, to be kept or imported elsewhere."""
    document = orjson.dumps(export_document(store, prompt), option=orjson.OPT_INDENT_2)
    name = {"content-disposition": 'attachment; filename="prompts.json"'}
    return Response(document, media_type="application/json", headers=name)


@transfer_router.post("/import", response_model=ImportShape)
def import_prompts(
    body: ImportBody, store: StoreDep, key: Key = None, dry_run: Annotated[bool, Query()] = False
) -> Any:
    """Take prompts in, all or none; those whose names are there already are skipped. A dry run keeps nothing."""
    document = body.given()

    def take_in() -> str:
        return orjson.dumps(import_document(store, document, dry_run=dry_run).as_dict()).decode()

    outcome, _ = store.idempotency_keys.once(key, ["import", document, dry_run], take_in)
    return orjson.loads(outcome)


schema_router = routes("schemas")

_PLACE: Final = re.compile(r"\bline (\d+) column (\d+)")
_PATH: Final = re.compile(r"(\$[^\s:]*): ")


@schema_router.post("/check-schema", response_model=SchemaVerdict)
def check_schema(body: SchemaCheck) -> Any:
    """Tell whether a schema is one and, where an output is given, whether that satisfies it; nothing is kept."""
    return schema_verdict(body.schema_, body.output, to_generate=body.purpose == "generate")


def schema_verdict(schema: Any, output: str | None, *, to_generate: bool = False) -> dict[str, Any]:
    """Look at a schema and an output; no schema is none, and nothing is wrong with that."""
    verdict: dict[str, Any] = {"is_schema": False, "is_valid": None, "schema_errors": [], "output_errors": []}
    if is_empty(schema):
        return verdict
    try:
        (expected_schema_text if to_generate else schema_text)(schema, "schema")
    except FieldError as error:
        return verdict | {"schema_errors": [_told(error.told)]}
    verdict["is_schema"] = True
    if output is None:
        return verdict
    evaluation = SchemaEvaluator().evaluate(Case(candidate_answer=output, evaluation_schema=schema))
    if evaluation.status is not Status.SCORED:
        return verdict | {"output_errors": [_told(evaluation.error or evaluation.reasoning)]}
    found = [_told(f"{one['path']}: {one['message']}") for one in evaluation.details["errors"]]
    return verdict | {"is_valid": not found, "output_errors": found}


def _told(message: str) -> dict[str, Any]:
    """Take path, line and column out of a message."""
    path = _PATH.match(message)
    place = _PLACE.search(message)
    return {
        "path": None if path is None or place is not None else path[1],
        "message": message if path is None else message[path.end() :],
        "line": None if place is None else int(place[1]),
        "column": None if place is None else int(place[2]),
    }
