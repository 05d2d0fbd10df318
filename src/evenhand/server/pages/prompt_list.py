"""The list of prompts, page by page and searched by name, as several pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from evenhand.domain.prompt import Prompt
from evenhand.store.store import Store

PAGE: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptList:
    """A page of the prompts whose names contain ``q``: ``there`` are in all, ``before`` and ``after`` are addresses."""

    prompts: Sequence[Prompt]
    there: int
    q: str
    shown: str
    before: str | None
    after: str | None

    @classmethod
    def of(cls, store: Store, address: str, q: str, start: int) -> PromptList:
        """Return the page that begins there, of the list at an address."""
        everything = store.prompts.all()
        matching = [prompt for prompt in everything if q.casefold() in prompt.name.casefold()]
        start = min(max(start, 0), max(len(matching) - 1, 0)) // PAGE * PAGE

        def at(first: int) -> str:
            query = {name: value for name, value in (("q", q), ("start", first)) if value}
            return f"{address}?{urlencode(query)}" if query else address

        return cls(
            prompts=matching[start : start + PAGE],
            there=len(everything),
            q=q,
            shown=f"{start + 1:,} to {min(start + PAGE, len(matching)):,} of {len(matching):,}",
            before=at(start - PAGE) if start else None,
            after=at(start + PAGE) if start + PAGE < len(matching) else None,
        )
