"""The loop in the background, and Ctrl-C at every moment of a call."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from evenhand.drive.background import BackgroundLoop


@pytest.fixture
def background() -> Iterator[BackgroundLoop]:
    made = BackgroundLoop()
    yield made
    made.close()


class Work:
    """A coroutine that never ends by itself, and notes how it ended."""

    def __init__(self) -> None:
        self.told: list[str] = []

    async def go(self) -> None:
        self.told.append("began")
        try:
            await asyncio.sleep(1000)
        finally:
            await asyncio.sleep(0.05)
            self.told.append("ended")


def interrupted(background: BackgroundLoop, monkeypatch: pytest.MonkeyPatch, *, first: bool) -> None:
    """Let Ctrl-C come while a coroutine is handed over to the loop: before it is, or straight after."""
    hand_over = background.loop.call_soon_threadsafe

    def pressed(callback: Callable[..., Any], *arguments: Any) -> None:
        monkeypatch.undo()
        if not first:
            hand_over(callback, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(background.loop, "call_soon_threadsafe", pressed)


def test_what_was_begun_when_ctrl_c_came_is_cancelled_and_may_end(
    background: BackgroundLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    interrupted(background, monkeypatch, first=False)

    with pytest.raises(KeyboardInterrupt):
        background.run(work.go(), patience=60)

    assert work.told in ([], ["began", "ended"])  # cancelled before its first step, or in the middle of it


def test_what_was_not_begun_when_ctrl_c_came_never_is(
    background: BackgroundLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    interrupted(background, monkeypatch, first=True)

    with pytest.raises(KeyboardInterrupt):
        background.run(work.go(), patience=60)

    assert work.told == []
    assert asyncio.all_tasks(background.loop) == set()


def test_an_error_reaches_the_caller_and_the_loop_goes_on(background: BackgroundLoop) -> None:
    async def fails() -> None:
        raise LookupError("no")

    async def works() -> str:
        return "yes"

    with pytest.raises(LookupError, match="no"):
        background.run(fails(), patience=60)

    assert background.run(works()) == "yes"
