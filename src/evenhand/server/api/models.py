"""The models that runs may name: providers, those that run in the server, and the server's own choice."""

from __future__ import annotations

from typing import Any

from evenhand.models.embedded.catalogue import MODELS, PREFIX
from evenhand.models.embedded.pulling import is_here
from evenhand.server.api.shapes import ModelsShape
from evenhand.server.api.shared import Settings, routes
from evenhand.server.providers import known_providers

router = routes("models")


@router.get("/models", response_model=ModelsShape)
def list_models(settings: Settings) -> Any:
    """List the models that runs may name, and tell whether the key of each provider is set, but never a key."""
    return {
        "judge": settings.judge,
        "models": list(settings.models),
        "providers": [{"name": one.name, "has_key": one.has_key} for one in known_providers()],
        "embedded": [
            {"name": f"{PREFIX}{model.name}", "title": model.title, "bytes": model.bytes, "here": is_here(model)}
            for model in MODELS.values()
        ],
    }
