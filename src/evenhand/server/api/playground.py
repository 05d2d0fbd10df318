"""Trying a prompt on one input over HTTP: the answer and its judgment are returned, and nothing is kept."""

from __future__ import annotations

from typing import Any, Final

from fastapi import Request
from fastapi.concurrency import run_in_threadpool

from evenhand.domain.errors import NotFoundError
from evenhand.domain.prompt import FieldError, TestCaseText
from evenhand.server.api.bodies import PROBLEM, PromptId, TryBody, routes
from evenhand.server.api.result_schemas import TriedShape
from evenhand.server.dependencies import PlaygroundDep, StoreDep
from evenhand.server.runs.playground import TryRequest
from evenhand.store.store import Store
from evenhand.workspace.documents import CASE_FIELDS, test_case_text

router = routes("prompts")

_LATE: Final = PROBLEM | {"description": "No answer in time."}


@router.post("/prompts/{prompt}/try", response_model=TriedShape, responses={504: _LATE})
async def try_prompt(
    request: Request, prompt: PromptId, body: TryBody, *, store: StoreDep, playground: PlaygroundDep
) -> Any:
    """Put one input, or one test case, to a model and judge the answer. Nothing is kept; whoever hangs up stops it."""
    wanted = await run_in_threadpool(_wanted, store, prompt, body)
    return (await playground.attempt(wanted, is_gone=request.is_disconnected)).as_dict()


def _wanted(store: Store, prompt: str, body: TryBody) -> TryRequest:
    store.require_writable()  # who may only read may not spend either
    found = store.prompts.find(prompt)
    text = _text(store, found.id, body)
    return TryRequest(prompt=found, text=text, model=body.model, judge=body.judge, max_attempts=body.attempts)


def _text(store: Store, prompt_id: str, body: TryBody) -> TestCaseText:
    given = {name: value for name, value in body.sent_fields().items() if name in CASE_FIELDS}
    if body.test_case is None:
        return test_case_text(given)
    if given:
        raise FieldError("test_case", f"it is given together with {', '.join(given)}; give one or the other")
    case = store.prompts.find_case(body.test_case)
    if case.prompt_id != prompt_id:
        raise NotFoundError(f"the prompt has no test case {body.test_case!r:.200}")
    return case.text
