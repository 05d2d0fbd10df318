"""The page of judges: the exact prompts that a judge would be sent."""

from __future__ import annotations

import json
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.case import Case
from evenhand.domain.message import Message
from evenhand.server.dependencies import SettingsDep, StoreDep
from evenhand.server.pages.base import Form, Sent, page_routes
from evenhand.server.rendering import page
from evenhand.server.runs.preview import SCORES, Preview

router = page_routes()

MOST_SHOWN: Final = 8
_EXAMPLE: Final = {
    "mode": "freeform",
    "model": "openai/gpt-5-mini",
    "criteria": "Says that an order can be returned within 30 days, and that shipping is not refunded.",
    "rubrics": "Says that returns are possible within 30 days\nSays that shipping is not refunded\nIs polite",
    "template": "",
    "scale": "",
    "score_from": "auto",
    "rubric_mode": "joint",
    "evidence": "",
    "question": "Can I send my shoes back?",
    "answer": "Yes, within 30 days of delivery. We refund the price, but not the shipping.",
    "reference": "",
}


@router.get("/judges")
def show_judges(request: Request, store: StoreDep, settings: SettingsDep, case: str = "") -> Response:
    """Show what a judge would be sent: for an example, or for a test case of a prompt."""
    draft = dict(_EXAMPLE)
    if settings.judge:
        draft["model"] = settings.judge
    if case:
        test_case = store.prompts.find_case(case)
        text = store.prompts.find(test_case.prompt_id).text
        asked = (Message("system", text.content), Message("user", test_case.text.input))
        draft |= {
            "criteria": text.criteria or "",
            "question": Case(input_messages=asked).question_text or "",
            "reference": test_case.text.reference or "",
            "answer": "(the model's answer)",
        }
    return _page(request, draft)


@router.post("/judges")
def preview_judge(request: Request, sent: Sent) -> Response:
    """Show what a judge would be sent with the settings of the form; nothing is sent or stored."""
    return _page(request, _draft(sent))


def _page(request: Request, draft: dict[str, str]) -> Response:
    preview = Preview.of(draft)
    return page(
        request,
        "judges.html",
        status=422 if preview.errors else 200,
        draft=draft,
        preview=preview,
        shown=preview.asks[:MOST_SHOWN],
        schema=None if preview.schema is None else json.dumps(preview.schema, indent=2, ensure_ascii=False),
        scores=SCORES,
    )


def _draft(sent: Form) -> dict[str, str]:
    fields = {name: sent.text(name) if sent.has(name) else usual for name, usual in _EXAMPLE.items()}
    return fields | {"evidence": sent.text("evidence")}  # an unchecked box is not sent
