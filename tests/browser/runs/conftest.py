"""The server with runs, and tabs in which its pages are opened."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page
from tests.browser.runs.site import Model, Site, Visit, serving


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a server over a store with runs, and a model for it to ask."""
    with serving(str(tmp_path_factory.mktemp("site") / "evenhand.db")) as started:
        yield started


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Semaphore]:
    """Let the model judge as often as this is released, so that a run stands still where it is looked at."""
    allowed = threading.Semaphore(0)
    monkeypatch.setattr(Model, "verdicts", allowed, raising=False)
    yield allowed
    allowed.release(1_000)


@pytest.fixture
def visit(browser: Browser, site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[Visit]:
    """Open pages; anything on the console, any dialog, and any request to another host is a failure."""
    monkeypatch.setenv("OLLAMA_HOST", site.model)
    trouble: list[str] = []
    contexts = []

    def told_of_dialog(dialog: Dialog) -> None:
        trouble.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def opened(address: str, *, may_be_refused: bool = False, **options: Any) -> Page:
        context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
        contexts.append(context)
        page = context.new_page()
        if not may_be_refused:  # Chromium tells of the status
            page.on("console", lambda said: trouble.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
        page.on("dialog", told_of_dialog)
        page.on("request", lambda sent: None if sent.url.startswith(site.address) else trouble.append(sent.url))
        page.goto(site.address + address)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert trouble == []
