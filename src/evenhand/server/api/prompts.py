"""Prompts over HTTP: list, create, edit, delete, and look at versions (SPEC-M1, M2)."""

from __future__ import annotations

from typing import Any

from evenhand.domain.errors import NotFoundError
from evenhand.server.api.bodies import PromptBody, PromptEdit
from evenhand.server.api.shapes import Listed, PromptShape
from evenhand.server.api.shared import Number, Opened, PromptId, routes
from evenhand.workspace.documents import prompt_summary
from evenhand.workspace.texts import prompt_text

router = routes("prompts")


@router.get("/prompts", response_model=Listed[PromptShape])
def list_prompts(store: Opened) -> Any:
    """List the prompts by name, each as it is now."""
    return {"items": [prompt_summary(prompt) for prompt in store.prompts.all()]}


@router.post("/prompts", response_model=PromptShape, status_code=201)
def create_prompt(body: PromptBody, store: Opened) -> Any:
    """Keep a new prompt; its name must be its own."""
    return prompt_summary(store.prompts.create(prompt_text(body.given())))


@router.get("/prompts/{prompt}", response_model=PromptShape)
def get_prompt(prompt: PromptId, store: Opened) -> Any:
    """Give a prompt as it is now."""
    return prompt_summary(store.prompts.find(prompt))


@router.put("/prompts/{prompt}", response_model=PromptShape)
def edit_prompt(prompt: PromptId, body: PromptEdit, store: Opened) -> Any:
    """Add a version to a prompt; 409 if somebody else did so since the version that was seen."""
    fields = body.given()
    seen = fields.pop("version")
    return prompt_summary(store.prompts.edit(store.prompts.find(prompt).id, prompt_text(fields), seen=seen))


@router.delete("/prompts/{prompt}", status_code=204)
def delete_prompt(prompt: PromptId, store: Opened) -> None:
    """Delete a prompt with its versions and test cases; its runs stay."""
    store.prompts.delete(prompt)


@router.get("/prompts/{prompt}/versions", response_model=Listed[PromptShape])
def list_versions(prompt: PromptId, store: Opened) -> Any:
    """List the versions of a prompt, the newest first."""
    found = store.prompts.versions(store.prompts.find(prompt).id)
    if not found:  # it was deleted between the two
        raise NotFoundError(f"no prompt {prompt!r:.200}")
    return {"items": [prompt_summary(one) for one in found]}


@router.get("/prompts/{prompt}/versions/{version}", response_model=PromptShape)
def get_version(prompt: PromptId, version: Number, store: Opened) -> Any:
    """Give a prompt as it was in some version."""
    return prompt_summary(store.prompts.find(prompt, version))
