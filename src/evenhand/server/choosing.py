"""Which models the users of a server may name: those of registered providers, and never an address or a file (REL-W6).

What the one who starts the server names with ``--judge`` and ``--model`` may be anything: that is the server's own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from evenhand import registry
from evenhand.domain.errors import did_you_mean
from evenhand.domain.prompt import FieldError
from evenhand.server.settings import ServerSettings

LONGEST_NAME: Final = 200
EMBEDDED: Final = "embedded"
# Providers whose models are files.
OF_FILES: Final = ("recorded",)


def require_offered(name: str, settings: ServerSettings, field: str) -> str:
    """Give the name of a model back if users may ask for it; ``field`` is where they wrote it."""
    if name in (settings.judge, *settings.models):
        return name
    if len(name) > LONGEST_NAME or not name.isprintable():
        raise FieldError(field, f"a model's name has at most {LONGEST_NAME} characters, all of which can be printed")
    provider, *rest = re.split("[/:]", name.strip(), maxsplit=1)
    known = [one for one in registry.points(registry.MODELS) if one not in OF_FILES]
    if provider == EMBEDDED:
        from evenhand.models.embedded.catalogue import MODELS  # noqa: PLC0415 - few ask for it

        if rest and rest[0] not in MODELS:
            raise FieldError(field, f"no embedded model {rest[0]!r:.80}{did_you_mean(rest[0], MODELS)}")
    elif not rest:
        raise FieldError(field, f"{name!r:.80} names no provider; write one before it, such as openai/gpt-5-mini")
    elif provider not in known:
        raise FieldError(field, f"no provider {provider!r:.80}{did_you_mean(provider, known)}")
    return name


def require_all_offered(definition: Mapping[str, Any], settings: ServerSettings) -> None:
    """Refuse the definition of a run that names a model which users may not name."""
    target = definition.get("target")
    models = target.get("models", ()) if isinstance(target, Mapping) else ()
    for field, names in (("models", models), ("judge", [definition.get("judge")])):
        for name in names:
            if isinstance(name, str):
                require_offered(name, settings, field)
