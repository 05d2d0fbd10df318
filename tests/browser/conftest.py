"""A real browser: Debian's Chromium, driven through pipes, which tells of everything that goes wrong in a page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
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
Complaints = Callable[[Page], list[tuple[str, str, str]]]
# The rules that look at colours; what others look at is the same in light and dark.
OF_COLOURS = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
DARK = "document.documentElement.dataset.theme &&= 'dark'"


# For a module and no longer: while Playwright runs, its event loop stands in the way of tests that start their own.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Start the browser."""
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("Chromium is not here")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


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


@pytest.fixture(scope="session")
def complaints() -> Complaints:
    """Return what axe has to complain of in a page that is light, and then in its dark colours: scheme, rule and place.

    Where a page has something that only those see who have it dark, all rules hold in the dark too.
    """

    def found(page: Page) -> list[tuple[str, str, str]]:
        light = Axe().run(page).response
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        page.evaluate(DARK)
        options: dict[str, Any] = {"resultTypes": ["violations"]}
        if not page.locator(".only-dark").count():
            options["runOnly"] = OF_COLOURS
        dark = Axe().run(page, options=options).response
        page.emulate_media(color_scheme="light", reduced_motion="reduce")
        return [
            (scheme, one["id"], one["nodes"][0]["html"])
            for scheme, response in (("light", light), ("dark", dark))
            for one in response["violations"]
        ]

    return found
