"""The models that runs may name: providers, those that run in the server, and the server's own choice."""

from __future__ import annotations

from typing import Any

from evenhand import registry
from evenhand.models.embedded.catalogue import MODELS, PREFIX
from evenhand.models.embedded.pulling import is_here
from evenhand.models.environment import variable
from evenhand.models.providers import Provider
from evenhand.server.api.shapes import ModelsShape
from evenhand.server.api.shared import Settings, routes
from evenhand.server.choosing import EMBEDDED, OF_FILES

router = routes("models")


@router.get("/models", response_model=ModelsShape)
def list_models(settings: Settings) -> Any:
    """List the models that runs may name, and tell whether the key of each provider is set, but never a key."""
    points = {name: point for name, point in registry.points(registry.MODELS).items() if name not in OF_FILES}
    return {
        "judge": settings.judge,
        "models": list(settings.models),
        "providers": [
            {"name": name, "has_key": _has_key(point.load())} for name, point in points.items() if name != EMBEDDED
        ],
        "embedded": [
            {"name": f"{PREFIX}{model.name}", "title": model.title, "bytes": model.bytes, "here": is_here(model)}
            for model in MODELS.values()
        ],
    }


def _has_key(provider: Any) -> bool | None:
    """Tell whether a provider's key is set; None where it needs none, or nobody can tell."""
    if not isinstance(provider, Provider) or not provider.needs_key:
        return None
    return variable(*provider.key_variables) is not None
