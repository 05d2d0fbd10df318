"""A store with prompts, and a model that says what it is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenhand.store.store import Store, open_store


@pytest.fixture
def store() -> Iterator[Store]:
    store = open_store("sqlite://")
    yield store
    store.close()
