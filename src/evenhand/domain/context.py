"""The context of a case: what its answer was to be based on, such as retrieved documents."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from evenhand.domain.errors import ConfigError, did_you_mean

_KEYS: Final = ("id", "text")
# How other libraries call the text of a document.
_OTHER_TEXTS: Final = frozenset({"content", "document", "page_content", "passage", "body"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDocument:
    """A document of a context, and its id where it has one."""

    text: str
    id: str | None = None

    def numbered(self, number: int) -> str:
        """Write the document as a judge reads it: its number and its id in a line of their own, then the text.

        >>> print(ContextDocument(id="faq", text="Returns: 30 days.").numbered(2))
        [2] "faq"
        Returns: 30 days.
        """
        identity = "" if self.id is None else f" {json.dumps(self.id, ensure_ascii=False)}"
        return f"[{number}]{identity}\n{self.text}"


# What users may write for a context.
ContextLike: TypeAlias = str | Sequence[str | Mapping[str, Any] | ContextDocument]


def context_from(context: object) -> str | tuple[ContextDocument, ...] | None:
    """Return a context, settled: a text, or documents; None where there is no text in it."""
    if isinstance(context, str):
        return context if context.strip() else None
    if isinstance(context, (Mapping, bytes)) or not isinstance(context, Sequence):
        raise ConfigError(f"context must be text or a list of documents, not {_kind(context)}")
    documents = tuple(_document(document, number) for number, document in enumerate(context, 1))
    return documents if any(document.text.strip() for document in documents) else None


def retrieved_context(context: object) -> str | tuple[ContextDocument, ...]:
    """Return a context that came with an answer, settled: an empty one says that there was none."""
    return context_from(context) or ()


def documents_of(context: str | Sequence[ContextDocument] | None) -> tuple[ContextDocument, ...]:
    """Return a settled context as documents; a text is one without an id."""
    if isinstance(context, str):
        return (ContextDocument(text=context),)
    return tuple(context or ())


def context_to(context: ContextLike) -> str | list[str | dict[str, str]]:
    """Return a context as plain JSON values."""
    settled = context_from(context)
    if settled is None or isinstance(settled, str):
        return settled or ""
    return [
        document.text if document.id is None else {"id": document.id, "text": document.text} for document in settled
    ]


def _document(document: object, number: int) -> ContextDocument:
    if isinstance(document, ContextDocument):
        return document
    if isinstance(document, str):
        return ContextDocument(text=document)
    where = f"context: document {number}"
    if not isinstance(document, Mapping):
        raise ConfigError(f"{where} must be text, or a mapping with text and id, not {_kind(document)}")
    for key in document:
        if key not in _KEYS:
            near = "; did you mean 'text'?" if key in _OTHER_TEXTS else did_you_mean(str(key)[:80], _KEYS)
            raise ConfigError(f"{where}: no key {key!r:.80}{near}")
    text, identity = document.get("text"), document.get("id")
    if not isinstance(text, str):
        raise ConfigError(f"{where}: text must be text, not {_kind(text)}")
    if identity is not None and not isinstance(identity, str):
        raise ConfigError(f"{where}: id must be text, not {identity!r:.80}; write it in quotes")
    return ContextDocument(text=text, id=identity)


def _kind(value: object) -> str:
    return "nothing" if value is None else f"{type(value).__name__}: {value!r:.80}"
