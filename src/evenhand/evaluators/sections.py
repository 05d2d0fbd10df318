"""Putting what comes from outside into a prompt so that it stays data (SPEC-P6)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

MARK_DIGITS: Final = 20


def sections(material: Mapping[str, str]) -> str:
    """Write texts one after the other, each between tags with a mark that none of them can contain.

    The mark is derived from all of the material, so equal material makes equal prompts, and a text that wanted to
    close its own section would have to contain a hash of itself.

    >>> print(sections({"question": "Why?"}))
    <question id="1df1f8a5cee431d30d53">
    Why?
    </question id="1df1f8a5cee431d30d53">
    """
    # With its length before it, no text can pretend to be the beginning of the next one.
    whole = "".join([f"{name}:{len(text)}:{text}" for name, text in material.items()])
    mark = hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]
    return "\n\n".join([f'<{name} id="{mark}">\n{text}\n</{name} id="{mark}">' for name, text in material.items()])
