"""Putting what comes from outside into a prompt so that it stays data (SPEC-P6)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from evenhand.domain.case import Case

CONTEXT: Final = "context"
MARK_DIGITS: Final = 20
# A small model reads few tokens a second, and tokenizers make one of each digit: here a hexadecimal digit is one of
# sixteen letters, and there are no more of them than safety needs.
SHORT_MARK_DIGITS: Final = 16
_LETTERS: Final = str.maketrans("0123456789abcdef", "abcdefghijklmnop")


def sections(material: Mapping[str, str]) -> str:
    """Write texts one after the other, each between tags with a mark that none of them can contain.

    The mark is derived from all of the material, so equal material makes equal prompts, and a text that wanted to
    close its own section would have to contain a hash of itself.

    >>> print(sections({"question": "Why?"}))
    <question id="1df1f8a5cee431d30d53">
    Why?
    </question id="1df1f8a5cee431d30d53">
    """
    mark = _digest(material)[:MARK_DIGITS]
    return "\n\n".join([f'<{name} id="{mark}">\n{text}\n</{name} id="{mark}">' for name, text in material.items()])


def short_sections(material: Mapping[str, str]) -> str:
    """Write texts one after the other in few tokens, a line with the mark after each but the first, and no empty ones.

    Nothing stands before the first, so that cases which begin alike are read once; what follows it, a text can only
    pretend to be by containing a hash of itself.

    >>> print(short_sections({"Question": "Why?", "Reference": "", "Answer": "So."}))
    Question: Why?
    ipgmkajfijehbjhk
    Answer: So.
    ipgmkajfijehbjhk
    """
    mark = _digest(material)[:SHORT_MARK_DIGITS].translate(_LETTERS)
    return "".join([f"{name}: {text}\n{mark}\n" for name, text in material.items() if text]).removesuffix("\n")


def context_sections(case: Case) -> dict[str, str]:
    """Return the context of a case as material: a text whole, documents each by itself, so that none can end early."""
    if isinstance(case.context, str):
        return {CONTEXT: case.context}
    return {f"{CONTEXT}_{number}": document.numbered(number) for number, document in enumerate(case.documents, start=1)}


def _digest(material: Mapping[str, str]) -> str:
    # With its length before it, no text can pretend to be the beginning of the next one.
    whole = "".join([f"{name}:{len(text)}:{text}" for name, text in material.items()])
    return hashlib.sha256(whole.encode("utf-8", "surrogatepass")).hexdigest()
