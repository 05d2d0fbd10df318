"""The models that runs may name, and the prompts that a judge would be sent, over HTTP."""

from __future__ import annotations

from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.prompt import FieldError
from evenhand.models.embedded.catalogue import MODELS, PREFIX
from evenhand.models.embedded.download import is_here
from evenhand.server.api.bodies import JudgeBody, routes
from evenhand.server.api.schemas import ModelsShape, PreviewShape
from evenhand.server.dependencies import SettingsDep
from evenhand.server.runs.preview import Preview
from evenhand.server.runs.requests import known_providers

router = routes("models")


@router.get("/models", response_model=ModelsShape)
def list_models(settings: SettingsDep) -> Any:
    """List the models that runs may use, and whether the key of each provider is set; keys are never returned."""
    return {
        "judge": settings.judge,
        "models": list(settings.models),
        "providers": [{"name": provider.name, "has_key": provider.has_key} for provider in known_providers()],
        "embedded": [
            {"name": f"{PREFIX}{model.name}", "title": model.title, "bytes": model.bytes, "here": is_here(model)}
            for model in MODELS.values()
        ],
    }


preview_router = routes("judges")


@preview_router.post("/judges/preview", response_model=PreviewShape)
def preview_prompts(body: JudgeBody) -> Any:
    """Return the messages that a judge would be sent for a case; nothing is sent or stored."""
    preview = Preview.of(body.model_dump())
    for field, message in preview.errors.items():
        raise FieldError(field, message) if field in JudgeBody.model_fields else ConfigError(message)
    asks = [
        {"messages": [{"role": message.role, "content": message.content} for message in ask.messages]}
        for ask in preview.asks
    ]
    return {"asks": asks, "reply_schema": preview.schema, "why_none": None if preview.asks else preview.why_none}
