"""A batch is looked for by its key on all pages of a provider's list: one that is overlooked would be paid for twice."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from evenhand.models.batches.catalogue import batch_protocol_of
from evenhand.models.batches.server import BatchServer
from evenhand.models.resolve import resolve

NEW, OLD = 2_000_000_000, 1_000_000_000
PAGES: dict[str, list[dict[str, Any]]] = {
    "openai/gpt-4o-mini": [
        {"data": [{"id": "b1", "created_at": NEW, "metadata": {}}], "has_more": True},
        {"data": [{"id": "b2", "created_at": NEW, "metadata": {"evenhand": "our-key"}}], "has_more": True},
        {"data": [{"id": "b3", "created_at": OLD, "metadata": None}], "has_more": True},
    ],
    "gemini/gemini-2.5-flash": [
        {"operations": [{"name": "batches/b1", "metadata": {"displayName": "other"}}], "nextPageToken": "b1"},
        {"operations": [{"name": "batches/b2", "metadata": {"displayName": "our-key"}}], "nextPageToken": "b2"},
        {"operations": []},
    ],
}


class Listed(BatchServer):
    """A server whose list has several pages; ``ASKED`` are the addresses that were asked for."""

    async def get_json(self, url: str) -> Mapping[str, Any]:
        """Return the next page."""
        ASKED.append(url)
        return PAGES[self.model.name][len(ASKED) - 1]


ASKED: list[str] = []


@pytest.mark.parametrize("name", PAGES)
def test_a_batch_is_found_on_a_later_page_and_older_ones_are_not_looked_at(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("GEMINI_API_KEY", "g-none")
    model, protocol = batch_protocol_of(resolve(name))
    ASKED.clear()

    found = asyncio.run(protocol.find(Listed(model=model), "our-key", since=NEW, requests=3))

    assert [one.removeprefix("batches/") for one in found] == ["b2"]
    assert ["b1" in address for address in ASKED] == [False, True, False]
    assert len(ASKED) == 3
