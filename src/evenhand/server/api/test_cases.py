"""Test cases of prompts over HTTP: list, create, edit and delete (SPEC-M1)."""

from __future__ import annotations

import itertools
from typing import Any

from evenhand.domain.errors import NotFoundError
from evenhand.domain.prompt import TestCase
from evenhand.server.api.bodies import TestCaseBody, TestCaseEdit
from evenhand.server.api.shapes import Page, TestCaseShape
from evenhand.server.api.shared import CaseId, Cursor, Limit, Opened, PromptId, routes
from evenhand.server.cursors import offset_in, offset_written
from evenhand.store.store import Store
from evenhand.workspace.documents import case_summary
from evenhand.workspace.texts import test_case_text

router = routes("test cases")


@router.get("/prompts/{prompt}/test-cases", response_model=Page[TestCaseShape])
def list_test_cases(prompt: PromptId, store: Opened, limit: Limit = 100, cursor: Cursor = None) -> Any:
    """List the test cases of a prompt in the order in which they were made."""
    found = store.prompts.find(prompt)
    first = offset_in(cursor)
    cases = list(itertools.islice(store.prompts.cases(found.id), first, first + limit + 1))
    more = offset_written(first + limit) if len(cases) > limit else None
    return {"items": [case_summary(case) for case in cases[:limit]], "total": found.test_cases, "next": more}


@router.post("/prompts/{prompt}/test-cases", response_model=TestCaseShape, status_code=201)
def create_test_case(prompt: PromptId, body: TestCaseBody, store: Opened) -> Any:
    """Keep a new test case of a prompt."""
    (made,) = store.prompts.add_cases(prompt, [test_case_text(body.given())])
    return case_summary(made)


@router.get("/prompts/{prompt}/test-cases/{test_case}", response_model=TestCaseShape)
def get_test_case(prompt: PromptId, test_case: CaseId, store: Opened) -> Any:
    """Give a test case."""
    return case_summary(_found(store, prompt, test_case))


@router.put("/prompts/{prompt}/test-cases/{test_case}", response_model=TestCaseShape)
def edit_test_case(prompt: PromptId, test_case: CaseId, body: TestCaseEdit, store: Opened) -> Any:
    """Write a test case anew; 409 if somebody else did so since the version that was seen."""
    fields = body.given()
    seen = fields.pop("version")
    known = _found(store, prompt, test_case)
    return case_summary(store.prompts.edit_case(known.id, test_case_text(fields), seen=seen))


@router.delete("/prompts/{prompt}/test-cases/{test_case}", status_code=204)
def delete_test_case(prompt: PromptId, test_case: CaseId, store: Opened) -> None:
    """Delete a test case; runs keep what they judged of it."""
    store.prompts.delete_case(_found(store, prompt, test_case).id)


def _found(store: Store, prompt: str, test_case: str) -> TestCase:
    """Find a test case where its address says that it is."""
    owner, known = store.prompts.find(prompt), store.prompts.find_case(test_case)
    if known.prompt_id != owner.id:
        raise NotFoundError(f"prompt {owner.name!r} has no test case {test_case!r:.200}")
    return known
