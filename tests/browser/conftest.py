"""A real browser: Debian's Chromium, driven through pipes, which tells of everything that goes wrong in a page."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, expect, sync_playwright

NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
# Whatever the policy of a page forbids is told here, also where the console keeps silent.
TELL_OF_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => console.error(`forbidden: ${event.violatedDirective}`));
"""
# For what is expected of a page, on a machine that has other things to do; actions wait as long by themselves.
PATIENCE_MS = 30_000

Open = Callable[..., Page]


@pytest.fixture(scope="session")
def _started() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """Start the browser, once for all tests of a worker, and put the event loop of Playwright aside.

    The loop counts as running in this thread for as long as Playwright does, and would stand in the way of tests that
    start their own.
    """
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is not here")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield started, loop
        asyncio._set_running_loop(loop)
        started.close()


@pytest.fixture
def browser(_started: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    """Lend the browser: nothing that a test opened in it is there for the next."""
    started, loop = _started
    asyncio._set_running_loop(loop)
    yield started
    for context in started.contexts:
        context.close()
    asyncio._set_running_loop(None)


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open files in tabs of their own; anything on the console, any dialog and any request elsewhere is a failure."""
    trouble: list[str] = []
    contexts = []

    def told_of_dialog(dialog: Dialog) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def opened(path: Path, hash_: str = "", **options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        context.add_init_script(TELL_OF_VIOLATIONS)
        page = context.new_page()
        address = path.as_uri()
        page.on("console", lambda said: trouble.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", told_of_dialog)
        page.on("request", lambda sent: None if sent.url.partition("#")[0] == address else trouble.append(sent.url))
        page.goto(address + hash_)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []
