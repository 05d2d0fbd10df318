"""The pages of prompts: the list, the editor, their versions, and what differs between two."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import Query, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConflictError, NotFoundError
from evenhand.domain.prompt import EvaluationMode, FieldError, Prompt, PromptText
from evenhand.reports.line_diff import Line, changes
from evenhand.server.dependencies import SettingsDep, StoreDep
from evenhand.server.pages.base import Form, Sent, as_typed, page_routes, see_other
from evenhand.server.pages.prompt_list import PromptList
from evenhand.server.pages.run_again import Again
from evenhand.server.pages.try_form import TryForm
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.workspace.documents import PROMPT_FIELDS, prompt_dict, prompt_text

router = page_routes()

LABELS: Final = {
    "name": "Name",
    "content": "System prompt",
    "evaluation_mode": "Evaluation mode",
    "evaluation_criteria": "Evaluation criteria",
    "expected_schema": "Expected schema",
}
_NOTICES: Final = {
    "created": "Prompt saved. Now add test cases and run it.",
    "saved": "Saved as a new version.",
    "same": "No changes, so there is no new version.",
    "deleted": "Prompt deleted; its runs are kept.",
}


@router.get("/prompts")
def list_prompts(request: Request, store: StoreDep, q: str = "", start: int = 0, said: str = "") -> Response:
    """Show the prompts, or those whose names contain a text."""
    listed = PromptList.of(store, "/prompts", q, start)
    return page(request, "prompts.html", listed=listed, notice_text=_NOTICES.get(said))


@router.get("/prompts/new")
def new_prompt(request: Request) -> Response:
    """Show an empty editor."""
    return editor(request, None, _blank())


@router.post("/prompts/new")
def create_prompt(request: Request, store: StoreDep, sent: Sent) -> Response:
    """Create a prompt, or show its errors."""
    draft = draft_of(sent, None)
    try:
        made = store.prompts.create(prompt_text(draft))
    except FieldError as error:
        return editor(request, None, draft, errors={error.field: error.told}, status=422)
    except ConflictError as error:
        return editor(request, None, draft, errors={"name": str(error)}, status=409)
    return see_other(f"/prompts/{made.id}?said=created")


@router.get("/prompts/{prompt_id}")
def show_prompt(
    request: Request,
    store: StoreDep,
    settings: SettingsDep,
    *,
    prompt_id: str,
    version: int | None = None,
    said: str = "",
    tried: Annotated[str, Query(alias="try")] = "",
) -> Response:
    """Show the editor of a prompt, with the text of its latest or of an older version; ``try`` is a test case."""
    prompt = store.prompts.find(prompt_id)
    text = prompt.text if version is None else store.prompts.find(prompt_id, version).text
    older = version if version is not None and version != prompt.latest else None
    return editor(
        request,
        prompt,
        prompt_dict(text),
        try_form=TryForm.of(store, settings, prompt, case_id=tried),
        again=Again.of(store, prompt.id),
        older=older,
        notice_text=_NOTICES.get(said),
    )


@router.post("/prompts/{prompt_id}")
def save_prompt(request: Request, store: StoreDep, prompt_id: str, sent: Sent) -> Response:
    """Add a version, or show its errors, or what somebody else has saved; the text is never lost."""
    seen = sent.number("seen")
    try:
        prompt = store.prompts.find(prompt_id)
    except NotFoundError:
        notice = "The prompt was deleted in the meantime. Your text is still here; saving it creates a new prompt."
        return editor(request, None, draft_of(sent, None), notice_text=notice, status=404)
    # A field can only be unchanged compared with the version that was edited.
    draft = draft_of(sent, prompt.text if prompt.latest == seen else None)
    try:
        made = store.prompts.edit(prompt.id, prompt_text(draft), seen=seen)
    except FieldError as error:
        return editor(request, prompt, draft, seen=seen, errors={error.field: error.told}, status=422)
    except ConflictError as error:
        prompt = store.prompts.find(prompt.id)
        if prompt.latest == seen:
            return editor(request, prompt, draft, errors={"name": str(error)}, status=409)
        return editor(request, prompt, draft, theirs=changes(prompt_dict(prompt.text), draft, LABELS), status=409)
    return see_other(f"/prompts/{made.id}?said={'same' if made.latest == seen else 'saved'}")


@router.get("/prompts/{prompt_id}/delete")
def ask_to_delete(request: Request, store: StoreDep, prompt_id: str) -> Response:
    """Ask before a prompt is deleted."""
    return page(request, "prompt_delete.html", prompt=store.prompts.find(prompt_id))


@router.post("/prompts/{prompt_id}/delete")
def delete_prompt(store: StoreDep, prompt_id: str, sent: Sent) -> Response:
    """Delete a prompt, unless it was changed since the confirmation was shown."""
    seen = sent.number("seen")

    def delete() -> None:
        prompt = store.prompts.find(prompt_id)
        if prompt.latest != seen:
            raise Problem(409, "Changed in the meantime", f"prompt {prompt.name!r} is now at version {prompt.latest}")
        store.prompts.delete(prompt.id)

    store.atomically(delete, exclusive=True)
    return see_other("/prompts?said=deleted")


@router.get("/prompts/{prompt_id}/versions")
def show_versions(
    request: Request, store: StoreDep, prompt_id: str, a: int | None = None, b: int | None = None
) -> Response:
    """Show the versions of a prompt, and what differs between two of them."""
    prompt = store.prompts.find(prompt_id)
    versions = store.prompts.versions(prompt.id)
    newer = store.prompts.find(prompt.id, prompt.latest if b is None else b)
    older = store.prompts.find(prompt.id, max(newer.version - 1, 1) if a is None else a)
    return page(
        request,
        "prompt_versions.html",
        prompt=prompt,
        versions=versions,
        a=older.version,
        b=newer.version,
        differing=changes(prompt_dict(older.text), prompt_dict(newer.text), LABELS),
    )


def editor(
    request: Request,
    prompt: Prompt | None,
    draft: dict[str, Any],
    *,
    try_form: TryForm | None = None,
    again: Again | None = None,
    status: int = 200,
    seen: int | None = None,
    errors: dict[str, str] | None = None,
    theirs: list[tuple[str, list[Line]]] | None = None,
    older: int | None = None,
    notice_text: str | None = None,
) -> Response:
    """Show the editor, with a playground beside it where the prompt is stored."""
    return page(
        request,
        "prompt.html",
        status=status,
        prompt=prompt,
        draft=draft,
        seen=seen or (prompt.latest if prompt else 0),
        errors=errors or {},
        theirs=theirs,
        current=None if prompt is None else prompt_dict(prompt.text),
        labels=LABELS,
        older=older,
        notice_text=notice_text,
        try_form=try_form,
        again=again,
    )


def _blank() -> dict[str, Any]:
    return prompt_dict(PromptText(name="?")) | {"name": ""}


def draft_of(sent: Form, kept: PromptText | None) -> dict[str, Any]:
    """Return what the form of the editor has; the fields of both modes are kept."""
    stored = prompt_dict(kept) if kept is not None else dict.fromkeys(PROMPT_FIELDS)
    draft = {name: as_typed(sent.text(name), stored[name]) for name in PROMPT_FIELDS}
    return draft | {
        "name": sent.text("name"),
        "content": draft["content"] or "",
        "evaluation_mode": sent.text("evaluation_mode") or EvaluationMode.LLM.value,
    }
