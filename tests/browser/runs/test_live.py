"""Runs in a real browser while they are under way: started, watched, cancelled, resumed, and followed by keys."""

from __future__ import annotations

import re
import threading

import httpx
import pytest
from playwright.sync_api import expect
from tests.browser.axe import faults
from tests.browser.runs.site import TOKEN, WHOLE_RUN_MS, Site, Visit, cases, wait_for_keys, wait_for_script

from evenhand.engine.run import Progress
from evenhand.server.runs import live_runs, manager

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: live runs"), pytest.mark.timeout(600)]


# The playground


@pytest.mark.long
def test_a_text_is_tried_by_keyboard_alone_before_it_is_saved_and_its_input_kept(
    visit: Visit, site: Site, verdicts: threading.Semaphore
) -> None:
    page = visit("/prompts/new", reduced_motion="reduce")
    page.get_by_label("Name").fill("Tried")
    page.get_by_role("button", name="Create prompt").click()
    page.get_by_label("Evaluation criteria").fill("Names 30 days")

    page.get_by_label("Input", exact=True).fill("Can I send them back?")
    page.get_by_label("Model", exact=True).fill("ollama/one")
    wait_for_keys(page)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Stop").click()
    expect(page.get_by_role("alert")).to_have_text("Stopped.")
    verdicts.release(100)
    page.get_by_label("Judge", exact=True).focus()
    page.keyboard.press("Control+Enter")
    expect(page.locator(".tried .judgment")).to_contain_text("Because.")
    assert faults(page) == []
    page.get_by_role("button", name="Keep as test case").press("Enter")
    expect(page.locator("[data-kept]")).to_contain_text("Kept as test case")
    expect(page.locator(".tried")).to_contain_text("Within 30 days.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved as a new version")

    expect(page.get_by_label("Model", exact=True)).to_have_value("ollama/one")
    page.get_by_label("Test case", exact=True).select_option("Can I send them back?")
    expect(page.get_by_label("Input", exact=True)).to_have_value("Can I send them back?")
    page.get_by_label("Input", exact=True).press("End")
    page.keyboard.type("!")
    expect(page.get_by_label("Test case", exact=True)).to_have_value("")


# A run


def test_a_run_is_started_watched_to_its_end_and_looked_into(
    visit: Visit, site: Site, verdicts: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Progress, "seconds", 2.0)  # however long it takes here
    verdicts.release(5)
    page = visit(f"/runs/new?prompt={site.prompt}")

    page.get_by_label("Models").fill("ollama/one\nollama/two")
    page.get_by_label("Concurrency").fill("2")
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_role("heading", name="Estimate")).to_be_visible()
    expect(page.get_by_label("Models")).to_have_value("ollama/one\nollama/two")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text("Live: this page updates by itself.")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.locator("[data-live=title]")).to_have_text("5 of 24 evaluations")
    expect(page.locator("[data-live=rate]")).to_have_text("2.5 per second")
    verdicts.release(19)
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=WHOLE_RUN_MS)
    expect(page.get_by_role("heading", name="By model")).to_be_visible()
    page.get_by_role("link", name="Results", exact=True).click()
    wait_for_script(page)
    cases(page).first.click()
    expect(page.get_by_role("dialog").locator(".material")).to_contain_text("Within 30 days.")


def test_a_run_is_cancelled_and_resumed(visit: Visit, site: Site, verdicts: threading.Semaphore) -> None:
    verdicts.release(5)
    page = visit(f"/runs/new?prompt={site.prompt}")
    page.get_by_label("Models").fill("ollama/three")
    page.get_by_label("Concurrency").fill("1")
    page.get_by_label("Repeats").fill("3")

    page.get_by_role("button", name="Start").click()
    expect(page.locator("[data-live=title]")).to_have_text("5 of 36 evaluations")
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-live=title]")).to_have_text("5 of 36 evaluations, stopping")
    verdicts.release(1)  # what is under way may end
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    expect(page.get_by_text("Not finished (interrupted)")).to_be_visible()
    page.get_by_role("button", name="Resume").click()

    expect(page.get_by_text("Live: this page updates by itself.")).to_be_visible()
    verdicts.release(30)
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=WHOLE_RUN_MS)


def test_where_too_many_watch_the_page_asks_by_itself(
    visit: Visit, site: Site, verdicts: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(f"/runs/new?prompt={site.prompt}", may_be_refused=True)
    monkeypatch.setattr(manager, "MOST_STREAMS", 0)
    page.get_by_label("Models").fill("ollama/four")
    page.get_by_label("Concurrency").fill("1")

    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text("Live: this page updates by itself.")).to_be_visible()
    verdicts.release(12)
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=WHOLE_RUN_MS)


def test_results_of_a_run_in_progress_grow_as_they_come(
    visit: Visit, site: Site, verdicts: threading.Semaphore
) -> None:
    page = visit(f"/runs/new?prompt={site.prompt}")
    page.get_by_label("Models").fill("ollama/five")
    page.get_by_label("Concurrency").fill("1")
    verdicts.release(2)
    page.get_by_role("button", name="Start").click()
    expect(page.locator("[data-live=title]")).to_have_text("2 of 12 evaluations")
    page.get_by_role("link", name="Results", exact=True).click()
    wait_for_script(page)

    expect(page.locator("#listing .badge.pass")).to_have_count(2)
    page.evaluate("window.stays = true")
    verdicts.release(10)

    expect(page.locator("#listing .badge.pass")).to_have_count(12, timeout=WHOLE_RUN_MS)
    assert page.evaluate("window.stays") is True


@pytest.mark.long
def test_keys_lead_from_a_case_to_its_test_case_to_the_next_run_and_to_the_comparison(
    visit: Visit, verdicts: threading.Semaphore
) -> None:
    verdicts.release(100)
    page = visit("/prompts/new")
    page.get_by_label("Name").fill("Around")
    page.get_by_label("Evaluation criteria").fill("Names 30 days")
    page.get_by_role("button", name="Create prompt").click()
    page.get_by_label("Input", exact=True).fill("Can I?")
    page.get_by_label("Model", exact=True).fill("ollama/six")
    wait_for_keys(page)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Keep as test case").click()
    page.locator("[data-kept] a").wait_for()
    page.get_by_role("link", name="Run", exact=True).click()
    page.get_by_label("Models").fill("ollama/six")
    page.get_by_role("button", name="Start").click()
    expect(page.locator(".status")).to_have_text("finished", timeout=WHOLE_RUN_MS)
    page.get_by_role("link", name="Results", exact=True).click()
    wait_for_script(page)
    cases(page).first.click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Can I?")).to_be_visible()

    page.keyboard.press("e")
    page.get_by_label("Input").fill("Can I send them back?")
    wait_for_keys(page)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_have_text("Saved.")
    wait_for_keys(page)
    page.keyboard.press("Shift+R")
    expect(page.locator(".status")).to_have_text("finished", timeout=WHOLE_RUN_MS)
    wait_for_keys(page)
    page.keyboard.press("c")

    expect(page).to_have_url(re.compile(r"/compare\?a=.+&b=.+"))
    expect(page.get_by_role("main")).to_contain_text("Around v1")


# Lists of runs


def start_run(site: Site, model: str) -> str:
    """Start a run as a program would."""
    asked = {"prompt": site.prompt, "models": [model], "concurrency": 1}
    started = httpx.post(f"{site.address}/api/runs", json=asked, headers={"authorization": f"Bearer {TOKEN}"})
    return str(started.raise_for_status().json()["id"])


def test_lists_of_runs_are_live_and_a_filter_holds_when_a_run_ends(
    visit: Visit, site: Site, verdicts: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_runs, "HEARTBEAT_SECONDS", 0.5)  # a page that looked a moment ago looks at the next
    verdicts.release(5)
    home, page = visit("/"), visit("/runs?text=running")
    for one in (home, page):
        one.evaluate("window.stays = true")

    run = start_run(site, "ollama/six")

    for one in (home, page):
        expect(one.locator(f"[data-run='{run}'] [data-live=title]")).to_have_text("5 of 12 evaluations")
        expect(one.locator(f"[data-run='{run}'] [data-live=pass]")).to_have_text("5")
        expect(one.get_by_text("Live: this page updates by itself.")).to_be_visible()
    home.locator(f"a[href='/runs/{run}']").focus()
    verdicts.release(7)
    expect(page.get_by_role("heading", name="No matches")).to_be_visible(timeout=WHOLE_RUN_MS)
    expect(home.locator(f"tbody a[href='/runs/{run}']")).to_be_focused()
    expect(home.locator("[data-run]")).to_have_count(0)
    for one in (home, page):
        expect(one.locator("[data-live-note]")).to_have_count(0)
        assert one.evaluate("window.stays") is True


def test_a_run_that_begins_is_said_to_be_live_before_anything_more_is_heard(
    visit: Visit, site: Site, verdicts: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_runs, "HEARTBEAT_SECONDS", 0.5)
    page = visit("/")

    with monkeypatch.context() as silent:
        silent.setattr(live_runs, "HEARTBEAT_SECONDS", 600.0)
        run = start_run(site, "ollama/eight")
        expect(page.locator(f"[data-run='{run}'] [data-live=title]")).to_have_text("0 of 12 evaluations")
        expect(page.locator("[data-live-note]")).to_have_text("Live: this page updates by itself.")

    verdicts.release(12)
    expect(page.locator("[data-run]")).to_have_count(0, timeout=WHOLE_RUN_MS)


def test_a_page_says_when_it_has_heard_nothing_for_long_and_when_it_is_offline(
    visit: Visit, site: Site, verdicts: threading.Semaphore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_runs, "WATCH_SECONDS", 600.0)
    run = start_run(site, "ollama/seven")
    page = visit("/judges", may_be_refused=True)
    page.clock.install(time=0)
    page.clock.pause_at(1000)  # a busy machine may take longer for a page than a page waits for news
    note = page.locator("[data-live-note]")

    for address in (f"/runs/{run}", f"/runs/{run}/results", "/runs"):
        page.goto(site.address + address)
        expect(note).to_have_text("Live: this page updates by itself.")
        page.clock.fast_forward(20_000)
        expect(note).to_have_text(re.compile(r"Last heard \d\d s ago; what is shown may be out of date\."))
    page.context.set_offline(True)
    expect(note).to_have_text("This device is offline; the page goes on when it is back.")
    page.context.set_offline(False)
    monkeypatch.setattr(live_runs, "WATCH_SECONDS", manager.WATCH_SECONDS)
    verdicts.release(12)
    page.goto(f"{site.address}/runs/{run}")
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=WHOLE_RUN_MS)
