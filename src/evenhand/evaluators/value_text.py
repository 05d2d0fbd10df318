"""How values are shown to people."""

from __future__ import annotations

import json
from typing import Final

from evenhand.domain.contract import storable

MOST_SHOWN: Final = 300


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
