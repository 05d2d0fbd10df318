"""`evenhand cache`: show and clear."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow


def test_the_cache_is_shown_and_cleared_by_model(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    empty = command("cache")
    suite(3, judge=provider)
    command("run", "suite.yaml")

    shown, told = command("cache"), command("cache", "show", "--json").json
    unasked = command("cache", "clear")
    others = command("cache", "clear", "--model", "openai/other", "--yes")
    cleared = command("cache", "clear", "--yes")

    assert empty.out == "the cache is empty\n"
    assert re.fullmatch(r" +3 replies +[\d,]+ characters  since .* UTC  openai/gpt-4o-mini\n", shown.out)
    assert [(one["model"], one["replies"]) for one in told] == [("openai/gpt-4o-mini", 3)]
    assert (unasked.code, "Delete 3 cached replies?" in unasked.err) == (2, True)
    assert others.err == "there is nothing to delete\n"
    assert cleared.err == "deleted 3 cached replies\n"
    assert command("run", "suite.yaml").code == 0
    assert len(provider.asked) == 6
