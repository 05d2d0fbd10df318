"""Runs, results and comparisons in a real browser: live, by keyboard, without JavaScript, and with hostile texts."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Browser, Dialog, Page, expect

from evenhand import Case, Scripted, evaluate
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.domain.secret import Secret
from evenhand.server import desk
from evenhand.server.app import make_app
from evenhand.server.lineage import pin
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store, open_store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser")]

HOSTILE: list[str] = [
    said
    for said in json.loads(
        (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
    )
    if "\ud800" not in said
]
JUDGE = {"type": "llm_judge", "name": "quality"}
GOOD, FAIR, BAD = 0.95, 0.7, 0.2
Visit = Callable[..., Page]


class Model(BaseHTTPRequestHandler):
    """A model that speaks as Ollama does: it answers slowly enough to be watched, and judges all alike."""

    seconds: ClassVar[float] = 0.15

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        time.sleep(self.seconds)
        said = reply(GOOD) if asked.get("format") else "Within 30 days."
        done = {"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 5}
        body = json.dumps({"message": {"role": "assistant", "content": said}, **done}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Keep silent."""


@dataclass(frozen=True, slots=True)
class Site:
    """The server, and what its store was filled with."""

    address: str
    model: str
    prompt: str
    many: str
    changed: str
    hostile: tuple[str, str]
    hostile_prompt: str


def reply(score: float, said: str = "Because.") -> str:
    return json.dumps({"score": score, "hits": [said], "misses": [said], "reasoning": said})


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def judged(db: str, scores: list[float | str], name: str = "capitals", **more: Any) -> str:
    cases = [
        Case(id=f"case-{n:03}", question=f"Capital {n}?", candidate_answer="Paris", expected_outcome="x", **more)
        for n in range(len(scores))
    ]
    replies = [said for one in scores for said in ([one] * 3 if isinstance(one, str) else [reply(one)])]
    return evaluate(cases, JUDGE, judge=Scripted(replies), store=db, name=name, concurrency=1).id


def judged_hostile(db: str, scores: tuple[float, float]) -> str:
    """Judge cases with a hostile text in every field there is."""
    everything = "\n".join(HOSTILE)
    cases = [
        Case(
            id=f"{n} {said}".replace("\0", ""), question=said, candidate_answer=said, reference_answer=said,
            expected_outcome=said, metadata={said: said, "model": said}, cluster=said, output_messages=[("assistant", said)],
        )
        for n, said in enumerate(HOSTILE)
    ]  # fmt: skip
    names = [everything.replace("\0", ""), "second"]
    replies = [text for said in HOSTILE for text in (said, reply(scores[0], said), reply(scores[1], said))]
    evaluators = [{**JUDGE, "name": name} for name in names]
    return evaluate(cases, evaluators, judge=Scripted(replies), store=db, name=everything, concurrency=1).id


def pinned(store: Store, run: str) -> str:
    pin(store, store.runs.find(run))
    return run


def filled(store: Store, db: str, *, address: str, model: str) -> Site:
    prompt = store.prompts.create(PromptText(name="Refunds", content="Be kind.", evaluation_criteria="Names 30 days"))
    store.prompts.add_cases(prompt.id, [TestCaseText(input=f"Question {n}?") for n in range(12)])
    bad = store.prompts.create(PromptText(name=HOSTILE[0], content=HOSTILE[1], evaluation_criteria=HOSTILE[2]))
    store.prompts.add_cases(bad.id, [TestCaseText(input=said.replace("\0", "")) for said in HOSTILE])
    scores = [(GOOD, FAIR, BAD)[n % 3] for n in range(290)]
    many = pinned(store, judged(db, [*scores, "no verdict"]))
    return Site(
        address=address,
        model=model,
        prompt=prompt.id,
        many=many,
        changed=judged(db, [*scores[1:], GOOD, GOOD]),
        hostile=(pinned(store, judged_hostile(db, (GOOD, BAD))), judged_hostile(db, (BAD, GOOD))),
        hostile_prompt=bad.id,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a server over a store with runs, and a model for it to ask."""
    db = str(tmp_path_factory.mktemp("site") / "evenhand.db")
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    port = free_port()
    settings = ServerSettings(db=db, token=Secret("a-token-of-the-tests"), port=port, judge="ollama/judge")
    server = uvicorn.Server(uvicorn.Config(make_app(settings), host="127.0.0.1", port=port, log_level="error"))
    threads = [threading.Thread(target=one, daemon=True) for one in (model.serve_forever, server.run)]
    for thread in threads:
        thread.start()
    store = open_store(db)
    yield filled(store, db, address=f"http://127.0.0.1:{port}", model=f"http://127.0.0.1:{model.server_port}")
    store.close()
    server.should_exit = True
    threads[1].join(20)
    model.shutdown()
    model.server_close()


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
        page.set_default_timeout(10_000)
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


def rows(page: Page) -> list[str]:
    return page.locator("#results tbody th a").all_text_contents()


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.querySelector('th a')?.textContent ?? document.activeElement.id"))


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


# A run


def test_a_run_is_started_watched_to_its_end_and_looked_into(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/new?prompt={site.prompt}")

    page.get_by_label("Models").fill("ollama/one\nollama/two")
    page.get_by_label("At once").fill("2")
    page.get_by_role("button", name="Estimate").click()
    expect(page.get_by_role("heading", name="What it would take")).to_be_visible()
    expect(page.get_by_label("Models")).to_have_value("ollama/one\nollama/two")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text("Live: this page follows the run.")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_visible()
    expect(page.locator("[data-live=title]")).to_have_text(re.compile("^[3-9] of 24 evaluations"))
    assert page.locator("[data-live=rate]").inner_text().endswith("a second")
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=30_000)
    expect(page.get_by_role("heading", name="By model")).to_be_visible()
    page.get_by_role("link", name="Results", exact=True).click()
    page.locator("#results tbody th a").first.click()
    expect(page.get_by_role("dialog").locator(".panel-answer")).to_contain_text("Within 30 days.")


def test_a_run_is_cancelled_and_resumed(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/new?prompt={site.prompt}")
    page.get_by_label("Models").fill("ollama/three")
    page.get_by_label("At once").fill("1")
    page.get_by_label("Repeats").fill("3")

    page.get_by_role("button", name="Start").click()
    expect(page.locator("[data-live=title]")).to_have_text(re.compile("^[1-9] of 36 evaluations"))
    page.get_by_role("button", name="Cancel").click()
    expect(page.get_by_role("button", name="Resume")).to_be_visible(timeout=20_000)
    expect(page.get_by_text("Not finished (interrupted)")).to_be_visible()
    page.get_by_role("button", name="Resume").click()

    expect(page.get_by_text("Live: this page follows the run.")).to_be_visible()
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=40_000)


def test_where_too_many_watch_the_page_asks_by_itself(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(f"/runs/new?prompt={site.prompt}", may_be_refused=True)
    monkeypatch.setattr(desk, "MOST_STREAMS", 0)
    page.get_by_label("Models").fill("ollama/four")
    page.get_by_label("At once").fill("1")

    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text("Live: this page follows the run.")).to_be_visible()
    expect(page.locator(".headline")).to_contain_text("mean 0.95", timeout=30_000)


# The table


def test_results_are_filtered_and_opened_by_keyboard_alone(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")

    press(page, "/")
    page.keyboard.type("capital 1")
    expect(page.get_by_role("status")).to_have_text("111 evaluations match")
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?text=capital+1")
    press(page, *["Tab"] * 12)
    while focused(page) != "case-001":
        press(page, "Tab")
    press(page, "ArrowDown", "ArrowDown")
    assert focused(page) == "case-011"
    press(page, "Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="case-011")).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="case-012")).to_be_visible()
    press(page, "k", "k")
    expect(drawer.get_by_role("heading", name="case-010")).to_be_visible()
    press(page, "Escape")
    expect(drawer).to_be_hidden()
    assert focused(page) == "case-010"
    press(page, "PageDown", "PageUp", "Home", "?")

    expect(page.locator("#keys")).to_be_visible()


def test_a_long_table_draws_what_can_be_seen_and_asks_for_more(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    expect(page.get_by_role("grid")).to_have_attribute("aria-rowcount", "292")

    page.locator("#results tbody tr").nth(1).focus()
    press(page, "End")
    assert focused(page) == "case-089"
    for _ in range(4):
        page.locator("#scroll").evaluate("one => one.scrollTo(0, one.scrollHeight)")
        page.wait_for_timeout(400)

    expect(page.get_by_role("link", name="case-290")).to_be_visible()
    assert len(rows(page)) < 80
    expect(page.locator("#results tbody tr").nth(-2)).to_have_attribute("aria-rowindex", "292")
    press(page, "End")
    assert focused(page) == "case-290"
    expect(page.get_by_role("link", name="case-290")).to_be_visible()
    press(page, "Home")
    assert focused(page) == "case-000"


def test_the_view_is_kept_in_the_address(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")

    page.get_by_label("Verdict").select_option("fail")
    expect(page.get_by_role("status")).to_have_text("96 evaluations match")
    page.get_by_role("link", name="Case", exact=True).click()
    page.get_by_role("link", name="Case", exact=True).click()
    expect(page.locator("#results tbody th a").first).to_have_text("case-287")
    page.locator("#results tbody th a").nth(1).click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="case-284")).to_be_visible()
    page.reload()

    expect(page.get_by_role("dialog").get_by_role("heading", name="case-284")).to_be_visible()
    expect(page.locator("#results tbody th a").first).to_have_text("case-287")
    assert "verdict=fail&sort=case_id&descending=1&open=284" in page.url
    expect(page.get_by_role("columnheader", name="Case")).to_have_attribute("aria-sort", "descending")


def test_a_filter_that_makes_no_sense_is_told_so(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")

    page.get_by_label("Verdict").select_option("pass")
    page.get_by_label("Status").select_option("not_evaluated")

    expect(page.get_by_role("status")).to_have_text("Nothing matches")
    assert rows(page) == []


def test_everything_can_be_done_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", java_script_enabled=False)

    assert len(rows(page)) == 90
    page.get_by_role("link", name="Next").click()
    assert rows(page)[0] == "case-090"
    page.get_by_label("Verdict").select_option("borderline")
    page.get_by_role("button", name="Filter").click()
    assert rows(page)[:2] == ["case-001", "case-004"]
    page.get_by_role("link", name="case-004").click()
    expect(page.get_by_text("≈ borderline").first).to_be_visible()
    expect(page.locator(".panel-raw")).to_be_hidden()
    page.get_by_text("Raw response").click()
    expect(page.locator(".panel-raw")).to_contain_text('"score": 0.7')
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", name="case-005")).to_be_visible()
    page.goto(f"{site.address}/runs/{site.many}")

    expect(page.get_by_text("1 judge error")).to_be_visible()


def headings(page: Page) -> list[str]:
    return page.locator("#results thead th:visible").all_inner_texts()


def test_columns_are_chosen_and_kept_for_the_next_run(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results?verdict=fail")
    always = ["Verdict", "Score", "Case"]
    assert headings(page) == [*always, "Asked", "Latency", "Hits", "Input", "Output", "Why"]

    page.get_by_text("Columns", exact=True).first.click()
    for name in ("Asked", "Hits", "Input", "Output"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.get_by_role("checkbox", name="Cost").check()
    press(page, "Escape")

    expect(page).to_have_url(re.compile(r"\?verdict=fail&column=seconds&column=cost&column=why$"))
    assert headings(page) == [*always, "Latency", "Cost", "Why"]
    page.locator("#scroll").evaluate("one => one.scrollTo(0, one.scrollHeight)")
    page.get_by_label("Verdict").select_option("pass")
    expect(page.get_by_role("status")).to_have_text("97 evaluations match")
    expect(page).to_have_url(re.compile(r"\?verdict=pass&column=seconds&column=cost&column=why$"))
    assert page.locator("#results tbody tr").nth(1).locator("td").nth(2).inner_text().endswith(" s")
    page.goto(f"{site.address}/runs/{site.changed}/results")
    assert headings(page) == [*always, "Latency", "Cost", "Why"]


def test_columns_are_chosen_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", java_script_enabled=False)

    page.get_by_text("Columns", exact=True).first.click()
    for name in ("Asked", "Latency", "Hits", "Input", "Output"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.get_by_role("button", name="Show these").click()

    assert headings(page) == ["Verdict", "Score", "Case", "Why"]


def test_the_file_has_what_the_filter_shows(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")

    page.get_by_label("Verdict").select_option("fail")
    page.get_by_label("Text").fill("capital 1")
    expect(page.get_by_role("status")).to_have_text("36 evaluations match")
    with page.expect_download() as loading:
        page.get_by_role("link", name="JSONL").click()
    lines = [json.loads(line) for line in Path(loading.value.path()).read_text(encoding="utf-8").splitlines()]

    assert len(lines) == 36
    assert {one["verdict"] for one in lines} == {"fail"}


def test_on_a_narrow_screen_verdict_score_and_case_stay_in_sight(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", viewport={"width": 400, "height": 800})

    def ends() -> list[float]:
        cells = page.locator("#results tbody tr:not(.spacer)").nth(0).locator(":scope > :is(td, th)")
        return [cells.nth(n).evaluate("one => one.getBoundingClientRect().right") for n in range(3)]

    assert headings(page) == ["Verdict", "Score", "Case"]
    assert max(ends()) <= 400
    page.goto(f"{page.url}?column=question&column=answer&column=why")
    page.locator("#scroll").evaluate("one => one.scrollTo(400, 0)")

    assert max(ends()) <= 320
    expect(page.locator("#results tbody th a").first).to_be_in_viewport()


def test_a_case_is_copied_as_json(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results/3", permissions=["clipboard-read", "clipboard-write"])

    page.get_by_role("button", name="Copy as JSON").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()

    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["case_id"] == "case-003"


# All pages


def addresses(site: Site) -> list[str]:
    return [
        "/runs",
        f"/runs/new?prompt={site.prompt}",
        f"/runs/{site.many}",
        f"/runs/{site.many}/results",
        f"/runs/{site.many}/results?open=290",
        f"/runs/{site.changed}",
        f"/runs/{site.many}/results/1",
        f"/runs/{site.many}/delete",
        f"/compare?a={site.many}&b={site.changed}",
        f"/compare?a={site.many}&b={site.hostile[0]}",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_stands_in_anybodys_way(visit: Visit, site: Site, scheme: str) -> None:
    page = visit("/runs", color_scheme=scheme)
    found = {}

    for address in addresses(site):
        page.goto(site.address + address)
        page.wait_for_timeout(300)
        page.locator("details.menu").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        found[address] = [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]]

    assert found == {address: [] for address in addresses(site)}


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_page(visit: Visit, site: Site, width: int) -> None:
    page = visit("/runs", viewport={"width": width, "height": 800})

    for address in addresses(site):
        page.goto(site.address + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_hostile_texts_run_nothing_on_any_page(visit: Visit, site: Site) -> None:
    first, second = site.hostile
    page = visit("/runs")

    for address in [
        "/runs", "/runs/new", f"/runs/new?prompt={site.hostile_prompt}", f"/runs/{first}", f"/runs/{first}/delete",
        f"/runs/{second}", f"/runs?prompt={site.hostile_prompt}", f"/compare?a={first}&b={second}&way=worse", f"/compare?a={first}&b={site.many}",
        f"/runs/{first}/results?text=%3Cscript%3E", *(f"/runs/{first}/results/{n}" for n in range(0, len(HOSTILE), 4)),
    ]:  # fmt: skip
        page.goto(site.address + address)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
        assert page.evaluate("window.ran") is None, address
        assert page.evaluate("document.images.length + frames.length + document.embeds.length") == 0, address

    page.goto(f"{site.address}/runs/{first}/results")
    page.locator("#results tbody tr").nth(1).focus()
    press(page, "Enter")
    for number in range(len(HOSTILE)):
        expect(page.locator("#drawer h1")).to_contain_text(f"{number} ")
        assert page.evaluate("window.ran") is None
        press(page, "j")
    assert page.evaluate("document.images.length + frames.length") == 0
