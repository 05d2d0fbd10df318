"""The playground beside the editor of a prompt: tries it on an input, and keeps the input as a test case if wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, EvenhandError, NotFoundError
from evenhand.domain.prompt import FieldError, Prompt, TestCaseText
from evenhand.server.dependencies import PlaygroundDep, SettingsDep, StoreDep
from evenhand.server.pages.base import Form, Sent, page_routes
from evenhand.server.pages.prompts import draft_of, editor
from evenhand.server.pages.try_form import TryForm
from evenhand.server.problems import Problem
from evenhand.server.runs.playground import TryRequest
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.documents import CASE_FIELDS, prompt_dict, prompt_text, test_case_text

router = page_routes()


@router.post("/prompts/{prompt_id}/try")
async def try_prompt(
    request: Request,
    prompt_id: str,
    sent: Sent,
    *,
    store: StoreDep,
    settings: SettingsDep,
    playground: PlaygroundDep,
) -> Response:
    """Show what came of a try of the text in the editor, saved or not; or keep the input as a test case."""
    prompt = await run_in_threadpool(store.prompts.find, prompt_id)
    # Without JavaScript the form has no text of the editor, and the saved one is tried.
    draft = draft_of(sent, prompt.text) if sent.has("content") else prompt_dict(prompt.text)
    form = await run_in_threadpool(_form, store, settings, prompt, sent)
    status = 200
    try:
        if sent.text("action") == "keep":
            form = await run_in_threadpool(_kept, store, prompt, form)
        else:
            wanted = await run_in_threadpool(_wanted, store, prompt, draft, form)
            form = replace(form, tried=await playground.attempt(wanted, is_gone=request.is_disconnected))
    except FieldError as error:
        status, form = 422, replace(form, problem=f"{error.field.replace('_', ' ').capitalize()}: {error.told}")
    except ConfigError as error:
        status, form = 422, replace(form, problem=str(error))
    except (EvenhandError, Problem) as error:
        told = error if isinstance(error, Problem) else Problem.of(error)
        status, form = told.status, replace(form, problem=f"{told.title}: {told.detail}")
    return await run_in_threadpool(editor, request, prompt, draft, try_form=form, status=status)


def _form(store: Store, settings: ServerSettings, prompt: Prompt, sent: Form) -> TryForm:
    case = None
    if chosen := sent.text("case"):
        try:
            found = store.prompts.find_case(chosen)
            case = found.text if found.prompt_id == prompt.id else None
        except NotFoundError:  # it was deleted since; what was typed is there
            case = None
    return TryForm.of(store, settings, prompt).as_sent(sent, case)


def _text(form: TryForm) -> TestCaseText:
    return test_case_text({name: form.typed[name] or None for name in CASE_FIELDS} | {"input": form.typed["input"]})


def _wanted(store: Store, prompt: Prompt, draft: dict[str, Any], form: TryForm) -> TryRequest:
    store.require_writable()  # who may only read may not spend either
    return TryRequest(
        prompt=replace(prompt, text=prompt_text(draft)),
        text=_text(form),
        model=form.typed["model"],
        judge=form.typed["judge"],
    )


def _kept(store: Store, prompt: Prompt, form: TryForm) -> TryForm:
    """Keep the input as a test case, unless the prompt has it."""
    text = _text(form)

    def keep() -> tuple[str, bool]:
        for case in store.prompts.cases(prompt.id):
            if case.text == text:
                return case.id, True
        (made,) = store.prompts.add_cases(prompt.id, [text])
        return made.id, False

    kept, is_kept_already = store.atomically(keep, exclusive=True)
    return replace(form, kept=kept, is_kept_already=is_kept_already)
