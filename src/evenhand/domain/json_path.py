"""Places in JSON values, as they are shown to people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from evenhand.domain.contract import storable

_PLAIN_KEY = re.compile(r"\$?[^\W\d]\w*")


def path_text(steps: Iterable[str | int]) -> str:
    """Write a path as people do.

    >>> path_text(["items", 2, "unit price"])
    '$.items[2]["unit price"]'
    """
    return "$" + "".join(map(step_text, steps))


def step_text(step: str | int) -> str:
    """Write one step of a path."""
    if isinstance(step, str) and _PLAIN_KEY.fullmatch(step):
        return f".{step}"
    return f"[{storable(json.dumps(step, ensure_ascii=False))}]"
