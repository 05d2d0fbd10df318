"""Schemas for a small model: with bounds, without which it may write the same line until its room is used up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

LONGEST_TEXT: Final = 400
MOST_TEXTS: Final = 4


def bounded(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Give one of our own schemas with a limit on each text and list; the servers of others would refuse those.

    >>> bounded({"type": "array", "items": {"type": "string"}})
    {'type': 'array', 'items': {'type': 'string', 'maxLength': 400}, 'maxItems': 4}
    """
    made = {key: _inner(value) for key, value in schema.items()}
    if made.get("type") == "string" and "enum" not in made:
        made["maxLength"] = LONGEST_TEXT
    elif made.get("type") == "array":
        # A list of findings has one for each id; any other is one of short texts.
        ids = _ids_in(made.get("items", {}))
        made |= {"minItems": len(ids), "maxItems": len(ids)} if ids else {"maxItems": MOST_TEXTS}
    return made


def _inner(value: object) -> Any:
    if isinstance(value, Mapping):
        return bounded(value)
    return [_inner(one) for one in value] if isinstance(value, list) else value


def _ids_in(items: Mapping[str, Any]) -> list[str]:
    kinds = items.get("anyOf", [items])
    return [key for kind in kinds for key in kind.get("properties", {}).get("id", {}).get("enum", ())]
