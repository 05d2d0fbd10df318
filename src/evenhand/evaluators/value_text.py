"""How values, and places in them, are shown to people."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Final

from evenhand.domain.contract import storable

MOST_SHOWN: Final = 300

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


def shortened(text: str, most: int = MOST_SHOWN) -> str:
    """Leave out the middle of a long text.

    >>> shortened("abcdefghij", most=4)
    'ab … ij'
    """
    half = most // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def shown(value: object, most: int = 80) -> str:
    """Show a JSON value on one line, and no more of it than helps."""
    return shortened(storable(json.dumps(value, ensure_ascii=False, default=str)), most)
