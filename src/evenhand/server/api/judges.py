"""What a judge would be sent, over HTTP: the very prompts, before anything is spent."""

from __future__ import annotations

from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError
from evenhand.server.api.bodies import JudgeBody
from evenhand.server.api.shapes import PreviewShape
from evenhand.server.api.shared import routes
from evenhand.server.previewing import Preview

router = routes("judges")


@router.post("/judges/preview", response_model=PreviewShape)
def preview_prompts(body: JudgeBody) -> Any:
    """Give the messages that a judge would be sent for a case; nothing is sent, and nothing is kept."""
    preview = Preview.of(body.model_dump())
    for field, told in preview.errors.items():
        raise FieldError(field, told) if field in JudgeBody.model_fields else ConfigError(told)
    asks = [{"messages": [{"role": one.role, "content": one.content} for one in ask.messages]} for ask in preview.asks]
    return {"asks": asks, "reply_schema": preview.schema, "why_none": None if preview.asks else preview.why_none}
