"""Words of the glossary on a page, as buttons that open their explanations without a script.

A template writes ``{{ word("Pass rate") }}``; a word that is in the glossary becomes a button, and any other stays
text. ``{{ explained("borderline", "error") }}`` lists some words for the numbers around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from markupsafe import Markup

from evenhand.reports.html.markup import tag
from evenhand.server.glossary import WORDS
from evenhand.server.word import Word

_BY_NAME: Final = {name.lower(): word for word in WORDS for name in (word.label, *word.others)}
_used: ContextVar[dict[str, Word] | None] = ContextVar("used", default=None)


@contextmanager
def collected() -> Iterator[None]:
    """Collect the words that are used while a page is rendered, so that each is explained once on it."""
    before = _used.set({})
    try:
        yield
    finally:
        _used.reset(before)


def word(text: str, *, has_title: bool = True) -> str:
    """Return a text as a button that explains it, if it is a word of the glossary; else as it is."""
    found, used = _BY_NAME.get(str(text).lower()), _used.get()
    if found is None or used is None:
        return text
    used[found.id] = found
    return found.button(text, has_title=has_title)


def explained(*names: str) -> Markup:
    """Return a line of words that explain the numbers around it."""
    return tag("p", "What it means:", *(word(name, has_title=False) for name in names), class_="words")


def explanations() -> Markup:
    """Return the explanations of all words that were used on a page so far."""
    return Markup("").join(found.explanation for found in (_used.get() or {}).values())
