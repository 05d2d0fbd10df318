"""The list of prompts, page by page and searched by name, as several pages show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final
from urllib.parse import urlencode

from evenhand.domain.prompt import Prompt
from evenhand.server.problems import Problem
from evenhand.store.store import Store

PAGE: Final = 100
# They are in the address, which proxies cut off at 8 KB.
MOST_CHOSEN: Final = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptList:
    """A page of the prompts whose names contain ``q``: ``there`` are in all; what they say is read of this page alone.

    ``before`` and ``after`` are the addresses of other pages, which begin at ``starts``. ``chosen`` are the ids of
    those that were selected, here or on another page, and ``elsewhere`` are the ones that are not on this page.
    """

    prompts: Sequence[Prompt]
    there: int
    q: str
    shown: str
    before: str | None
    after: str | None
    starts: tuple[int | None, int | None]
    chosen: frozenset[str]
    elsewhere: Sequence[Prompt]

    @classmethod
    def of(cls, store: Store, address: str, q: str, start: int, chosen: Sequence[str] = ()) -> PromptList:
        """Return the page that begins there, of the list at an address."""
        if len(chosen) > MOST_CHOSEN:
            raise Problem(
                422,
                "Invalid request",
                f"{len(chosen):,} prompts are selected, and at most {MOST_CHOSEN} can be kept from page to page; "
                "select fewer, or export all",
                field="prompt",
            )
        everything = store.prompts.names()
        matching = [pair for pair in everything if q.casefold() in pair[1].casefold()]
        matching.sort(key=itemgetter(1))
        start = min(max(start, 0), max(len(matching) - 1, 0)) // PAGE * PAGE
        here = [key for key, _ in matching[start : start + PAGE]]

        def at(first: int | None) -> str | None:
            if first is None:
                return None
            query = {name: value for name, value in (("q", q), ("start", first)) if value}
            return f"{address}?{urlencode(query)}" if query else address

        starts = (start - PAGE if start else None, start + PAGE if start + PAGE < len(matching) else None)
        return cls(
            prompts=store.prompts.some(here),
            there=len(everything),
            q=q,
            shown=f"{start + 1:,} to {min(start + PAGE, len(matching)):,} of {len(matching):,}",
            before=at(starts[0]),
            after=at(starts[1]),
            starts=starts,
            chosen=frozenset(chosen),
            elsewhere=sorted(store.prompts.some([*{*chosen} - {*here}]), key=lambda prompt: prompt.name),
        )
