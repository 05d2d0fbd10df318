"""The pages of test cases: those of a prompt, and the editor of one with the check of its schema."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Depends, Query, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConflictError, NotFoundError, RunNotFoundError
from evenhand.domain.prompt import EvaluationMode, FieldError, Prompt, TestCase, TestCaseText
from evenhand.evaluators.schema.evaluator import is_empty
from evenhand.reports.line_diff import Line, changes
from evenhand.reports.phrases import counted
from evenhand.server.api.prompts import schema_verdict
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import Form, Sent, as_typed, page_routes, see_other
from evenhand.server.pages.run_again import Again
from evenhand.server.pages.run_view import own
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.store.store import Store
from evenhand.workspace.documents import CASE_FIELDS, case_dict, test_case_text

router = page_routes()

PAGE: Final = 100
_LARGEST: Final = 2**53 - 1
LABELS: Final = {"input": "Input", "reference": "Reference", "evaluation_schema": "Evaluation Schema"}
_NOTICES: Final = {
    "created": "Test case saved.",
    "another": "Test case saved. Add the next one here.",
    "saved": "Saved.",
    "deleted": "Test case deleted; earlier runs keep their results for it.",
}
# The values of buttons other than the one that saves.
_CHECK: Final = "check"
_ANOTHER: Final = "another"


@router.get("/prompts/{prompt_id}/cases")
def list_cases(
    request: Request,
    store: StoreDep,
    prompt_id: str,
    *,
    start: int = 0,
    said: str = "",
    added: int | None = None,
    duplicates: int = 0,
    mistakes: int = 0,
) -> Response:
    """Show the test cases of a prompt, a hundred at a time."""
    prompt = store.prompts.find(prompt_id)
    start = min(max(start, 0), max(prompt.test_cases - 1, 0)) // PAGE * PAGE
    cases = list(itertools.islice(store.prompts.cases(prompt.id), start, start + PAGE))
    here = f"/prompts/{prompt.id}/cases"
    return page(
        request,
        "tests.html",
        prompt=prompt,
        again=Again.of(store, prompt.id),
        in_schema_mode=_in_schema_mode(prompt),
        cases=list(enumerate(cases, start=start + 1)),
        is_empty=is_empty,
        shown=f"{start + 1:,} to {start + len(cases):,} of {prompt.test_cases:,}",
        before=f"{here}?start={start - PAGE}" if start else None,
        after=f"{here}?start={start + PAGE}" if start + PAGE < prompt.test_cases else None,
        notice_text=_NOTICES.get(said) if added is None else _added(added, duplicates, mistakes),
    )


def _added(added: int, duplicates: int, mistakes: int) -> str:
    """Say what an import of test cases did."""
    left_out = [
        told
        for number, told in (
            (duplicates, f"{counted(duplicates, 'duplicate')} left out"),
            (mistakes, f"{counted(mistakes, 'row')} with mistakes left out"),
        )
        if number > 0
    ]
    return "; ".join([f"{counted(added, 'test case')} added", *left_out]) + "."


@router.get("/prompts/{prompt_id}/cases/new")
def new_case(request: Request, store: StoreDep, prompt_id: str, said: str = "") -> Response:
    """Show an empty editor."""
    return _editor(
        request, store.prompts.find(prompt_id), None, dict.fromkeys(CASE_FIELDS), notice_text=_NOTICES.get(said)
    )


@router.post("/prompts/{prompt_id}/cases/new")
def create_case(request: Request, store: StoreDep, prompt_id: str, sent: Sent) -> Response:
    """Create a test case, or show its errors, or only check its schema."""
    draft = _draft(sent, None)
    try:
        prompt = store.prompts.find(prompt_id)
    except NotFoundError:
        return _orphan(request, draft)
    if sent.text("action") == _CHECK:
        return _editor(request, prompt, None, draft, tried=sent.text("output"), checked=True)
    try:
        (made,) = store.prompts.add_cases(prompt.id, [test_case_text(draft)])
    except FieldError as error:
        return _editor(request, prompt, None, draft, errors={error.field: error.told}, status=422)
    if sent.text("action") == _ANOTHER:
        return see_other(f"/prompts/{prompt.id}/cases/new?said=another")
    return see_other(f"/cases/{made.id}?said=created")


@dataclass(frozen=True, slots=True)
class Origin:
    """The case of a run from which somebody came to its test case, to edit it; empty if they did not."""

    run: str = ""
    position: Annotated[int | None, Query(ge=0, le=_LARGEST)] = None

    @property
    def query(self) -> str:
        """What keeps it in an address."""
        return f"?{urlencode({'run': self.run, 'position': self.position})}" if self.run else ""

    def back(self, store: Store) -> str | None:
        """Return the address of the case, if its run is still there."""
        try:
            return f"{own(store.runs.find(self.run))}/results/{self.position or 0}" if self.run else None
        except RunNotFoundError:
            return None


From = Annotated[Origin, Depends()]


@router.get("/cases/{case_id}")
def show_case(request: Request, store: StoreDep, case_id: str, origin: From, said: str = "") -> Response:
    """Show the editor of a test case."""
    case = store.prompts.find_case(case_id)
    prompt = store.prompts.find(case.prompt_id)
    around = _around(store, prompt, origin)
    return _editor(request, prompt, case, case_dict(case), notice_text=_NOTICES.get(said), around=around)


@router.post("/cases/{case_id}")
def save_case(request: Request, store: StoreDep, case_id: str, origin: From, sent: Sent) -> Response:
    """Save a test case, or show its errors, or what somebody else has saved."""
    seen = sent.number("seen")
    try:
        case = store.prompts.find_case(case_id)
    except NotFoundError:
        return _gone(request, store, sent)
    prompt = store.prompts.find(case.prompt_id)
    draft = _draft(sent, case.text)
    show = functools.partial(_editor, request, prompt, around=_around(store, prompt, origin))
    if sent.text("action") == _CHECK:
        return show(case, draft, seen=seen, tried=sent.text("output"), checked=True)
    try:
        made = store.prompts.edit_case(case.id, test_case_text(draft), seen=seen)
    except FieldError as error:
        return show(case, draft, seen=seen, errors={error.field: error.told}, status=422)
    except ConflictError:
        case = store.prompts.find_case(case.id)
        return show(case, draft, theirs=changes(case_dict(case), draft, LABELS), status=409)
    return see_other(f"/cases/{made.id}{origin.query or '?'}{'&' if origin.query else ''}said=saved")


def _around(store: Store, prompt: Prompt, origin: Origin) -> dict[str, Any]:
    """Return where one came from, and the run that shows what an edit changes."""
    return {
        "back": origin.back(store),
        "coming_from": origin.query,
        "again": Again.of(store, prompt.id, origin.run),
    }


@router.get("/cases/{case_id}/delete")
def ask_to_delete(request: Request, store: StoreDep, case_id: str) -> Response:
    """Ask before a test case is deleted."""
    case = store.prompts.find_case(case_id)
    return page(request, "test_delete.html", case=case, prompt=store.prompts.find(case.prompt_id))


@router.post("/cases/{case_id}/delete")
def delete_case(store: StoreDep, case_id: str, sent: Sent) -> Response:
    """Delete a test case, unless it was changed since the confirmation was shown."""
    seen = sent.number("seen")

    def delete() -> TestCase:
        case = store.prompts.find_case(case_id)
        if case.version != seen:
            raise Problem(409, "Changed in the meantime", f"test case {case.id} is now at version {case.version}")
        store.prompts.delete_case(case.id)
        return case

    prompt_id = store.atomically(delete, exclusive=True).prompt_id
    return see_other(f"/prompts/{prompt_id}/cases?said=deleted")


def _editor(
    request: Request,
    prompt: Prompt,
    case: TestCase | None,
    draft: dict[str, Any],
    *,
    status: int = 200,
    seen: int | None = None,
    errors: dict[str, str] | None = None,
    theirs: list[tuple[str, list[Line]]] | None = None,
    tried: str = "",
    checked: bool = False,
    notice_text: str | None = None,
    around: Mapping[str, Any] | None = None,
) -> Response:
    return page(
        request,
        "test.html",
        status=status,
        prompt=prompt,
        case=case,
        in_schema_mode=_in_schema_mode(prompt),
        draft=draft,
        seen=seen or (case.version if case else 0),
        errors=errors or {},
        theirs=theirs,
        current=None if case is None else case_dict(case),
        labels=LABELS,
        tried=tried,
        check=schema_verdict(draft["evaluation_schema"], tried or None) if checked else None,
        notice_text=notice_text,
        **(around or {}),
    )


def _gone(request: Request, store: Store, sent: Form) -> Response:
    """Show the text of a test case that was deleted in the meantime, as a new one if its prompt still exists."""
    draft = _draft(sent, None)
    try:
        prompt = store.prompts.find(sent.text("prompt"))
    except NotFoundError:
        return _orphan(request, draft)
    notice = "The test case was deleted in the meantime. Your text is still here; saving it creates a new one."
    return _editor(request, prompt, None, draft, notice_text=notice, status=404)


def _orphan(request: Request, draft: dict[str, Any]) -> Response:
    texts = [(label, draft[name]) for name, label in LABELS.items() if draft[name]]
    return page(request, "test_orphan.html", status=404, texts=texts)


def _draft(sent: Form, kept: TestCaseText | None) -> dict[str, Any]:
    """Read the form. A field that it does not have, such as the schema in llm mode, keeps its value."""
    stored = {name: getattr(kept, name) if kept else None for name in CASE_FIELDS}
    draft = {name: as_typed(sent.text(name), stored[name]) if sent.has(name) else stored[name] for name in CASE_FIELDS}
    return draft | {"input": draft["input"] or ""}


def _in_schema_mode(prompt: Prompt) -> bool:
    return prompt.text.evaluation_mode is EvaluationMode.SCHEMA
