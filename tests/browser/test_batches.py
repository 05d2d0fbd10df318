"""Runs in batches in a real browser: what a run waits for is seen, cancelled, and gone on with."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import uvicorn
from bench.loopback_batches import BatchProvider
from playwright.sync_api import Browser, Page, expect
from tests.browser.axe import complaints

from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.domain.secret import Secret
from evenhand.engine import batch_submission
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.store import open_store

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: batches"), pytest.mark.timeout(600)]

MODEL = "openai/gpt-4o-mini"
WHOLE_RUN_MS = 90_000


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[BatchProvider]:
    """Start a provider that stands for OpenAI, ends no batch yet, and is often asked how far it is."""
    made = BatchProvider()
    made.finished.clear()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{made.port}/v1")
    monkeypatch.setattr(batch_submission, "_FIRST_LOOK", 0.1)
    monkeypatch.setattr(batch_submission, "_LAST_LOOK", 0.1)
    yield made
    made.close()


@pytest.fixture
def page(
    browser: Browser, provider: BatchProvider, tmp_path: Path, empty_database: Callable[[Path], str]
) -> Iterator[Page]:
    """Open the form of a run with three test cases; anything on the console is a failure."""
    db = empty_database(tmp_path / "evenhand.db")
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    settings = ServerSettings(db=db, token=Secret("a-token-of-the-tests"), port=port, judge=MODEL)
    server = uvicorn.Server(uvicorn.Config(make_app(settings), log_level="error"))
    store = open_store(db)
    prompt = store.prompts.create(PromptText(name="Capitals", content="Answer.", evaluation_criteria="Names the city"))
    store.prompts.add_cases(prompt.id, [TestCaseText(input=f"Capital {number}?") for number in range(3)])
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    serving.start()
    trouble: list[str] = []
    context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    opened = context.new_page()
    opened.on("console", lambda said: trouble.append(said.text))
    opened.on("pageerror", lambda error: trouble.append(str(error)))
    opened.goto(f"http://127.0.0.1:{port}/runs/new?prompt={prompt.id}")
    yield opened
    context.close()
    server.should_exit = True
    serving.join(20)
    store.close()
    listening.close()
    assert trouble == []


def start(page: Page) -> None:
    """Start a run in batches, and wait until it waits for the first."""
    page.get_by_label("Models").fill(MODEL)
    page.get_by_label("Ask in batches, at half the price").check()
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_text("Batches save $")).to_be_visible()
    expect(page.get_by_label("Ask in batches, at half the price")).to_be_checked()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("[data-live=batches]")).to_contain_text("Waiting for 1 batch with 3 requests")
    expect(page.locator("[data-live=title]")).to_contain_text("0 of 3 evaluations, waiting for 1 batch")


@pytest.mark.long
def test_a_run_that_waits_for_batches_is_cancelled_and_goes_on_with_the_same_batches(
    page: Page, provider: BatchProvider
) -> None:
    start(page)
    assert complaints(page) == []
    page.get_by_role("button", name="Cancel", exact=True).click()

    expect(page.get_by_role("heading", name="1 batch to be read")).to_be_visible()
    expect(page.get_by_role("row", name="batch_0")).to_contain_text("submitted")
    assert complaints(page) == []
    page.get_by_role("button", name="Resume", exact=True).click()
    provider.finished.set()

    expect(page.locator(".headline")).to_contain_text("mean 0.", timeout=WHOLE_RUN_MS)
    expect(page.get_by_role("heading", name="to be read")).to_have_count(0)
    assert [len(batch.requests) for batch in provider.batches] == [3, 3]
    assert (set(provider.asked.values()), provider.single) == ({1}, [])


def test_cancelled_batches_end_at_the_provider_and_the_rest_is_asked_one_by_one(
    page: Page, provider: BatchProvider
) -> None:
    start(page)
    page.get_by_role("button", name="Cancel batches").click()

    expect(page.get_by_text("Not finished (interrupted)")).to_be_visible()
    while not provider.batches[0].is_cancelled:  # the page may know that the run has stopped before the provider does
        page.wait_for_timeout(20)
    assert complaints(page) == []
    page.get_by_role("button", name="Resume one by one").click()

    expect(page.locator(".headline")).to_contain_text("mean 0.", timeout=WHOLE_RUN_MS)
    assert (len(provider.batches), len(provider.single)) == (1, 6)
