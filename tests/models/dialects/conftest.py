"""Asks, as evaluators make them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.message import Message
from evenhand.models.replay import Scripted

MESSAGES = (Message("system", "Be strict."), Message("user", "2 + 2?"))


@pytest.fixture
def ask() -> Callable[..., Ask]:
    """Make an ask; its fields can be given."""

    def make(**fields: Any) -> Ask:
        return Ask(**{"messages": MESSAGES, "judge": Scripted([]), **fields})

    return make
