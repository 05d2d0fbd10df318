"""A store in memory, and a prompt with three test cases in it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.store.store import Store, open_store
from evenhand.workspace.prompt_run import Trial


@pytest.fixture
def store() -> Iterator[Store]:
    found = open_store("sqlite://")
    yield found
    found.close()


@pytest.fixture
def trial(store: Store, models: Any) -> Trial:
    prompt = store.prompts.create(PromptText(name="p"))
    store.prompts.add_cases(prompt.id, [TestCaseText(input=f"Question {number}") for number in range(3)])
    return Trial(prompt=prompt, models=["vllm/a"])
