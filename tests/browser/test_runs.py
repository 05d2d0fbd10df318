"""Runs, results and comparisons in a real browser: live, by keyboard, without JavaScript, and with hostile texts."""

from __future__ import annotations

import itertools
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import quote

import httpx
import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]  # it has no types
from playwright.sync_api import Browser, Dialog, Locator, Page, Route, expect

from evenhand import Case, Contains, Scripted, evaluate
from evenhand.domain.label import LabelValue
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.domain.secret import Secret
from evenhand.engine.run import Progress
from evenhand.labels.draw import make_draw
from evenhand.labels.queue import case_of, give_label
from evenhand.server.app import make_app
from evenhand.server.pages import evaluations, results, run_list
from evenhand.server.runs import live_runs, manager
from evenhand.server.runs.baseline import pin
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store, open_store

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("browser"), pytest.mark.timeout(600)]

HOSTILE: list[str] = [
    said
    for said in json.loads(
        (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
    )
    if "\ud800" not in said
]
# Those that may be the name of a target.
HOSTILE_NAMES = [said for said in HOSTILE if said.isprintable() and said.strip() and len(said) <= 80]
LONG = "x" * 300
JUDGE = {"type": "llm_judge", "name": "quality"}
GOOD, FAIR, BAD = 0.95, 0.7, 0.2
WHOLE_RUN_MS = 90_000
TOKEN = "a-token-of-the-tests"
Visit = Callable[..., Page]
Complaints = Callable[[Page], list[tuple[str, str, str]]]


class Model(BaseHTTPRequestHandler):
    """A model that speaks as Ollama does: it judges all alike, and no more of them than it is allowed to."""

    verdicts: ClassVar[threading.Semaphore]
    numbers: ClassVar = itertools.count()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = f"Within 30 days. {next(self.numbers)}"  # never twice the same, which would be judged from the cache
        if asked.get("format"):
            self.verdicts.acquire()
            said = reply(GOOD)
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
    targets: str
    hostile: tuple[str, str]
    hostile_targets: str
    hostile_prompt: str


def reply(score: float, said: str = "Because.") -> str:
    return json.dumps({"score": score, "hits": [said], "misses": [said], "reasoning": said})


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
    options: dict[str, Any] = {"store": db, "name": everything, "label": HOSTILE[0]}
    return evaluate(cases, evaluators, judge=Scripted(replies), concurrency=1, **options).id


def plain(case: Case) -> str:
    return f"It is {case.question}"


def repeated(case: Case) -> str:
    return f"It is {case.question}, {case.question}, I think"


def answered_by_targets(db: str, cases: dict[str, str], names: list[str]) -> str:
    """Have targets with these names answer the question of each case, every second in more words."""
    functions = itertools.cycle((plain, repeated))
    targets = [{"name": name, "python": f"{__name__}:{next(functions).__name__}"} for name in names]
    return evaluate(
        [Case(id=name, question=question) for name, question in cases.items()],
        Contains(value="I think", name=names[0]),
        target=targets,
        store=db,
        name=names[0],
    ).id


def labelled(store: Store, run: str) -> str:
    """Let two people pass every second case of a draw."""
    record = store.runs.find(run)
    for number, drawn in enumerate(make_draw(store, record, sample=60, seed=7).cases):
        result = case_of(store, record, drawn)
        for rater in ("Ann", "<b>Bob"):
            value: LabelValue = "fail" if number % 2 else "pass"
            give_label(store, record, result, rater=rater, value=value, from_draw=True)
    return run


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
        changed=labelled(store, judged(db, [*scores[1:], GOOD, GOOD])),
        targets=answered_by_targets(db, {"France": "Paris", "Italy": "Rome", LONG: LONG}, ["short", "long", LONG[:80]]),
        hostile=(pinned(store, labelled(store, judged_hostile(db, (GOOD, BAD)))), judged_hostile(db, (BAD, GOOD))),
        hostile_targets=answered_by_targets(db, {HOSTILE[0]: "\n".join(HOSTILE)}, HOSTILE_NAMES),
        hostile_prompt=bad.id,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Start a server over a store with runs, and a model for it to ask."""
    db = str(tmp_path_factory.mktemp("site") / "evenhand.db")
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    settings = ServerSettings(db=db, token=Secret(TOKEN), port=port, judge="ollama/judge")
    server = uvicorn.Server(uvicorn.Config(make_app(settings), log_level="error"))
    store = open_store(db)
    known = filled(store, db, address=f"http://127.0.0.1:{port}", model=f"http://127.0.0.1:{model.server_port}")
    answering = threading.Thread(target=model.serve_forever, daemon=True)
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    answering.start()
    serving.start()
    yield known
    store.close()
    server.should_exit = True
    serving.join(20)
    listening.close()
    model.shutdown()
    model.server_close()


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


def cases(page: Page) -> Locator:
    """Find the titles of the rows, of either view."""
    return page.locator("#listing tbody th > a:first-child")


def focused(page: Page) -> Locator:
    """Return the case of the row that has the focus."""
    return page.locator("#listing tbody tr:focus th > a:first-child")


def headings(page: Page) -> Locator:
    return page.locator("#listing thead th:visible")


def wait_for_script(page: Page) -> None:
    """Wait until the list is more than a page of links: before, a click leads to another page."""
    expect(page.locator("#listing tbody tr[tabindex='0']")).to_have_count(1)


def wait_for_keys(page: Page) -> None:
    """Wait until keys are listened to: before, they are lost."""
    page.wait_for_load_state()  # by then all scripts have run
    expect(page.get_by_role("button", name="Theme")).to_be_visible()


def arrive(page: Page, address: str) -> None:
    """Go to a page, and wait for all that comes after it."""
    page.goto(address)
    if "open=" in address:
        expect(page.get_by_role("dialog")).to_be_visible()


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


# The playground


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
    assert Axe().run(page).violations_count == 0
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


def test_moments_are_in_the_zone_and_language_of_who_reads(visit: Visit, site: Site) -> None:
    moment = "2026-01-02T23:30:00.000Z"
    page = visit("/runs", timezone_id="Asia/Tokyo", locale="de-DE")
    plain = visit("/runs", java_script_enabled=False)

    expect(page.locator("time[title$=UTC]")).to_have_count(page.locator("time").count())
    page.evaluate(
        "moment => { document.querySelector('time').outerHTML = `<time datetime=${moment}>x UTC</time>`; }", moment
    )

    expect(page.locator(f"time[datetime='{moment}']")).to_have_text("03.01.2026, 08:30")
    expect(page.locator(f"time[datetime='{moment}']")).to_have_attribute("title", "x UTC")
    expect(plain.locator("time").first).to_have_text(re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d UTC$"))


@pytest.mark.parametrize("has_script", [True, False], ids=["script", "no-script"])
def test_a_word_is_explained_by_keyboard_and_by_touch(visit: Visit, site: Site, has_script: bool) -> None:
    page = visit(
        f"/runs/{site.many}", java_script_enabled=has_script, has_touch=True, viewport={"width": 390, "height": 800}
    )
    button = page.locator("button.word", has_text="borderline").first
    explanation = page.locator("#word-borderline")

    button.press("Enter")
    expect(explanation).to_be_visible()
    expect(explanation).to_contain_text("reaches the borderline threshold")
    page.keyboard.press("Tab")
    expect(explanation.get_by_role("link")).to_be_focused()
    box = explanation.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.keyboard.press("Escape")
    expect(explanation).to_be_hidden()
    button.tap()
    explanation.get_by_role("link").tap()
    expect(page).to_have_url(f"{site.address}/help/results#verdicts")


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


def start_run(site: Site, model: str) -> str:
    """Start a run as a program would."""
    asked = {"prompt": site.prompt, "models": [model], "concurrency": 1}
    started = httpx.post(f"{site.address}/api/runs", json=asked, headers={"authorization": f"Bearer {TOKEN}"})
    return str(started.raise_for_status().json()["id"])


def test_lists_of_runs_are_live_and_a_filter_holds_when_a_run_ends(
    visit: Visit, site: Site, verdicts: threading.Semaphore
) -> None:
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


# The table


def test_results_are_filtered_and_opened_by_keyboard_alone(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    press(page, "/")
    page.keyboard.type("capital 1")
    expect(page.get_by_role("status")).to_have_text("111 cases match")
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?text=capital+1")
    press(page, "ArrowDown")
    expect(focused(page)).to_have_text("Capital 1?")
    press(page, "ArrowDown", "ArrowDown")
    expect(focused(page)).to_have_text("Capital 11?")
    press(page, "Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer.get_by_role("heading", name="Capital 11?")).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Capital 12?")).to_be_visible()
    press(page, "k")
    expect(drawer.get_by_role("heading", name="Capital 11?")).to_be_visible()
    press(page, "k")
    expect(drawer.get_by_role("heading", name="Capital 10?")).to_be_visible()
    press(page, "Escape")
    expect(drawer).to_be_hidden()
    expect(focused(page)).to_have_text("Capital 10?")
    press(page, "PageDown", "PageUp", "?")

    expect(page.locator("#shortcuts")).to_be_visible()


def test_keys_lead_from_page_to_page_and_end_is_the_end(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    cases(page).nth(29).locator("xpath=ancestor::tr").focus()
    press(page, "j")
    expect(focused(page)).to_have_text("Capital 30?")
    expect(page.get_by_label("Pages")).to_contain_text("31 to 60 of 291")
    press(page, "k")
    expect(focused(page)).to_have_text("Capital 29?")
    press(page, "End")
    expect(focused(page)).to_have_text("Capital 290?")
    expect(page).to_have_url(re.compile(r"page=10$"))
    press(page, "Home")
    expect(focused(page)).to_have_text("Capital 0?")
    page.go_back()
    expect(cases(page).last).to_have_text("Capital 290?")


def test_a_link_to_a_case_far_down_opens_it_and_j_goes_on_from_there(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results?open=200")
    drawer = page.get_by_role("dialog")

    expect(drawer.get_by_role("heading", name="Capital 200?")).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Capital 201?")).to_be_visible()
    expect(page).to_have_url(re.compile("open=201"))


def test_back_closes_what_enter_opened(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results?verdict=fail")
    wait_for_script(page)

    cases(page).nth(1).locator("xpath=ancestor::tr").focus()
    press(page, "Enter")
    drawer = page.get_by_role("dialog")
    expect(drawer).to_be_visible()
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Capital 8?")).to_be_visible()
    page.go_back()

    expect(drawer).to_be_hidden()
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?verdict=fail")
    page.go_forward()
    expect(drawer.get_by_role("heading", name="Capital 8?")).to_be_visible()


def test_the_view_is_kept_in_the_address(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    page.get_by_label("Verdict").select_option("fail")
    expect(page.get_by_role("status")).to_have_text("96 cases match")
    page.get_by_role("link", name="Case", exact=True).click()
    expect(page.get_by_role("columnheader", name="Case")).to_have_attribute("aria-sort", "ascending")
    page.get_by_role("link", name="Case", exact=True).click()
    expect(cases(page).first).to_have_text("Capital 287?")
    cases(page).nth(1).click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Capital 284?")).to_be_visible()
    page.reload()

    expect(page.get_by_role("dialog").get_by_role("heading", name="Capital 284?")).to_be_visible()
    expect(cases(page).first).to_have_text("Capital 287?")
    expect(page).to_have_url(
        re.compile("verdict=fail&sort=case_id&descending=1&open=284|sort=case_id.*verdict=fail.*open=284")
    )
    expect(page.get_by_role("columnheader", name="Case")).to_have_attribute("aria-sort", "descending")


def test_what_is_chosen_before_the_script_is_there_counts(visit: Visit, site: Site) -> None:
    page = visit("/runs")

    def late(route: Route) -> None:
        page.get_by_label("Verdict").select_option("fail")
        route.continue_()

    page.route("**/static/results.js", late)
    page.goto(f"{site.address}/runs/{site.many}/results")

    expect(page.get_by_role("status")).to_have_text("96 cases match")
    expect(page).to_have_url(f"{site.address}/runs/{site.many}/results?verdict=fail")


def test_a_list_that_was_overtaken_is_not_shown(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)
    held: list[Route] = []

    def late(route: Route) -> None:
        if "verdict=fail" in route.request.url:
            held.append(route)
            page.get_by_label("Verdict").select_option("pass")
        else:
            route.continue_()

    page.route("**/results?*", late)
    page.get_by_label("Verdict").select_option("fail")

    expect(page.get_by_role("status")).to_have_text("97 cases match")
    expect(page).to_have_url(re.compile("verdict=pass"))
    assert len(held) == 1


def test_a_server_that_is_away_is_told_and_what_is_shown_is_marked_as_stale(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", may_be_refused=True)
    wait_for_script(page)

    page.route("**/results?*", lambda route: route.abort())
    page.get_by_label("Verdict").select_option("fail")

    expect(page.get_by_role("status")).to_contain_text("The server cannot be reached")
    expect(page.locator("#listing.stale")).to_be_visible()
    page.unroute("**/results?*")
    page.get_by_label("Verdict").select_option("pass")
    expect(page.get_by_role("status")).to_have_text("97 cases match")
    expect(page.locator("#listing.stale")).to_have_count(0)


def test_a_filter_that_finds_nothing_says_so(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    wait_for_script(page)

    page.get_by_label("Verdict").select_option("pass")
    page.get_by_label("Status").select_option("not_evaluated")

    expect(page.get_by_role("heading", name="No matches")).to_be_visible()
    expect(cases(page)).to_have_count(0)


def test_everything_can_be_done_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results", java_script_enabled=False)

    expect(cases(page)).to_have_count(30)
    page.get_by_role("link", name="Next").click()
    expect(cases(page).first).to_have_text("Capital 30?")
    page.get_by_label("Verdict").select_option("borderline")
    page.get_by_role("button", name="Filter").click()
    expect(cases(page).nth(0)).to_have_text("Capital 1?")
    expect(cases(page).nth(1)).to_have_text("Capital 4?")
    page.get_by_role("link", name="Capital 4?").click()
    expect(page.get_by_role("heading", name="Capital 4?")).to_be_visible()
    expect(page.get_by_text("≈ borderline").first).to_be_visible()
    expect(page.locator(".attempts")).to_be_hidden()
    page.get_by_text("1 attempt").click()
    expect(page.locator(".attempts")).to_contain_text('"score": 0.7')
    page.get_by_role("link", name="Next").click()
    expect(page.get_by_role("heading", name="Capital 5?")).to_be_visible()
    page.goto(f"{site.address}/runs/{site.many}")

    expect(page.get_by_text("1 judge error")).to_be_visible()


def test_answers_of_targets_stand_side_by_side_and_open_one_by_one(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.targets}/results")
    wait_for_script(page)
    drawer = page.get_by_role("dialog")

    expect(cases(page)).to_have_text(["Paris", "Rome", re.compile("^x+…$")])
    page.locator("#listing tbody tr").nth(0).locator("a.opens").nth(1).click()
    expect(drawer.locator(".material")).to_contain_text("Paris, Paris, I think")
    expect(drawer.locator("[aria-current]")).to_have_text("long")
    press(page, "j")
    expect(drawer.get_by_role("heading", name="Rome")).to_be_visible()
    press(page, "Escape")
    page.get_by_label("Only where they differ").check()
    expect(page.get_by_role("status")).to_contain_text("match")
    expect(page).to_have_url(re.compile("differ=1"))


def test_the_number_of_lines_and_the_widths_of_columns_are_kept(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.targets}/results")
    wait_for_script(page)
    head = page.locator("#listing th[data-column=case]")

    def width() -> float:
        return float(head.evaluate("one => one.offsetWidth"))

    page.get_by_label("Lines").select_option("12")
    expect(page.locator("table.lines-12")).to_be_visible()
    before = width()
    head.get_by_role("separator").focus()
    press(page, "ArrowLeft", "ArrowLeft")
    narrower = width()
    page.reload()
    wait_for_script(page)

    assert narrower < before
    assert abs(width() - narrower) <= 1
    expect(page.locator("table.lines-12")).to_be_visible()
    box = head.get_by_role("separator").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 4, box["y"] + 4)
    page.mouse.down()
    page.mouse.move(box["x"] + 104, box["y"] + 4)
    page.mouse.up()
    assert abs(width() - narrower - 100) <= 3


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


# The evaluations


def test_answers_are_labelled_by_keys_and_the_page_stands_in_nobodys_way(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/label", viewport={"width": 360, "height": 800})
    page.get_by_label("Your name").fill("Ann")
    page.get_by_label("Show what the judge said after each label").check()
    page.get_by_role("button", name="Begin").click()
    page.get_by_label("Cases", exact=True).fill("3")
    page.get_by_role("button", name="Draw cases").click()
    title = page.locator("#case-title")
    first = title.inner_text()

    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert [(one["id"], one["nodes"][0]["html"]) for one in Axe().run(page).response["violations"]] == []
    page.get_by_label("Note").fill("12 u")  # keys that are typed into a field are text
    page.locator("h1").click()
    wait_for_keys(page)
    press(page, "3")
    expect(title).not_to_have_text(first)
    wait_for_keys(page)
    press(page, "2")
    expect(page.get_by_role("status")).to_contain_text("You said fail")
    expect(page.get_by_role("status")).to_contain_text("The judge:")
    wait_for_keys(page)
    press(page, "u")
    expect(page.locator(".page-head")).to_contain_text("0 of 3")
    wait_for_keys(page)
    press(page, "1")

    expect(page.get_by_role("status")).to_contain_text("You said pass")
    expect(page.locator(".page-head")).to_contain_text("1 of 3")


def test_two_people_label_one_after_the_other_and_the_card_says_how_they_agree(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.targets}/label")
    said = {"Carla": ("1", "1", "2", "1"), "Dan": ("1", "1", "2", "2")}
    for rater, keys in said.items():
        page.get_by_label("Your name").fill(rater)
        page.get_by_role("button", name="Begin" if rater == "Carla" else "Change").click()
        if rater == "Carla":
            page.get_by_label("Cases", exact=True).fill("4")
            page.get_by_role("button", name="Draw cases").click()
        expect(page.locator(".page-head")).to_contain_text("0 of 4")
        for number, key in enumerate(keys, start=1):
            wait_for_keys(page)
            press(page, key)
            expect(page.locator(".page-head")).to_contain_text(f"{number} of 4")
        expect(page.get_by_role("heading", name="All 4 cases of the draw are labelled")).to_be_visible()

    expect(page.get_by_role("row", name="Dan 4 2 0")).to_be_visible()
    expect(page.locator("main")).to_contain_text("On 4 cases that several people labelled, 3 of 4 pairs of labels")
    page.get_by_role("link", name="Judge card").click()
    main = page.locator("main")
    expect(main).to_contain_text("4 cases labelled by Carla, Dan, drawn at random")
    expect(main).to_contain_text("On 4 cases that several people labelled, Krippendorff's alpha is 0.")
    expect(main.get_by_role("row", name="Carla 4 3")).to_be_visible()
    expect(main.get_by_role("row", name="Dan 4 2")).to_be_visible()
    page.goto(f"{site.address}/runs/{site.targets}")
    expect(page.locator(".rate.corrected")).to_contain_text("corrected pass rate")


def test_evaluations_are_sorted_filtered_and_opened(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results")
    page.get_by_role("link", name="Evaluations").click()
    wait_for_script(page)

    expect(page.get_by_role("status")).to_have_text("291 evaluations")
    page.get_by_role("link", name="Score", exact=True).click()
    expect(page.get_by_role("columnheader", name="Score")).to_have_attribute("aria-sort", "ascending")
    expect(cases(page).first).to_have_text("case-002")
    cases(page).first.click()
    expect(page.get_by_role("dialog").get_by_role("heading", name="Capital 2?")).to_be_visible()


def test_columns_that_are_chosen_before_the_script_is_there_are_shown(visit: Visit, site: Site) -> None:
    page = visit("/runs")

    def late(route: Route) -> None:
        menu = page.get_by_text("Columns", exact=True).first
        menu.click()
        page.get_by_role("checkbox", name="Cost").check()
        menu.click()
        route.continue_()

    page.route("**/static/results_columns.js", late, times=1)
    page.goto(f"{site.address}/runs/{site.many}/evaluations", wait_until="commit")

    expect(headings(page).filter(has_text="Cost")).to_have_count(1)
    expect(page).to_have_url(re.compile("column=cost"))


def test_columns_are_chosen_and_kept_for_the_next_run(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations?verdict=fail")
    wait_for_script(page)
    always = ["Verdict", "Score", "Case"]
    before = [*always, "Asked", "Latency", "Hits", "Input", "Output", "Reasoning"]
    expect(headings(page)).to_have_text(before, use_inner_text=True)

    page.get_by_text("Columns", exact=True).first.click()
    for name in ("Asked", "Hits", "Input", "Output"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.get_by_role("checkbox", name="Cost").check()
    press(page, "Escape")

    expect(page).to_have_url(re.compile(r"\?verdict=fail&column=seconds&column=cost&column=why$"))
    expect(headings(page)).to_have_text([*always, "Latency", "Cost", "Reasoning"], use_inner_text=True)
    wait_for_script(page)
    page.get_by_label("Verdict").select_option("pass")
    expect(page.get_by_role("status")).to_have_text("97 evaluations match")
    expect(page).to_have_url(re.compile(r"\?verdict=pass&column=seconds&column=cost&column=why$"))
    latency = page.locator("#listing tbody tr").nth(1).locator("td").nth(2)
    expect(latency).to_have_text(re.compile(" s$"), use_inner_text=True)
    page.goto(f"{site.address}/runs/{site.changed}/evaluations")
    expect(headings(page)).to_have_text([*always, "Latency", "Cost", "Reasoning"], use_inner_text=True)


def test_columns_are_chosen_without_javascript(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations", java_script_enabled=False)

    page.get_by_text("Columns", exact=True).first.click()
    for name in ("Asked", "Latency", "Hits", "Input", "Output"):
        page.get_by_role("checkbox", name=name).uncheck()
    page.get_by_role("button", name="Apply").click()

    expect(headings(page)).to_have_text(["Verdict", "Score", "Case", "Reasoning"], use_inner_text=True)


def test_the_file_has_what_the_filter_shows(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations")
    wait_for_script(page)

    page.get_by_label("Verdict").select_option("fail")
    page.get_by_label("Text").fill("capital 1")
    expect(page.get_by_role("status")).to_have_text("36 evaluations match")
    with page.expect_download() as loading:
        page.get_by_role("link", name="JSONL").click()
    lines = [json.loads(line) for line in Path(loading.value.path()).read_text(encoding="utf-8").splitlines()]

    assert len(lines) == 36
    assert {one["verdict"] for one in lines} == {"fail"}


def test_on_a_narrow_screen_verdict_score_and_case_stay_in_sight(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/evaluations", viewport={"width": 400, "height": 800})

    def ends() -> list[float]:
        cells = page.locator("#listing tbody tr").nth(0).locator(":scope > :is(td, th)")
        return [cells.nth(n).evaluate("one => one.getBoundingClientRect().right") for n in range(3)]

    expect(headings(page)).to_have_text(["Verdict", "Score", "Case"], use_inner_text=True)
    assert max(ends()) <= 400
    page.goto(f"{site.address}/runs/{site.many}/evaluations?column=question&column=answer&column=why")
    page.locator("#listing .scroll").evaluate("one => one.scrollTo(400, 0)")

    assert max(ends()) <= 320
    expect(cases(page).first).to_be_in_viewport()


# A case


def test_a_case_is_copied_as_json(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results/3", permissions=["clipboard-read", "clipboard-write"])

    page.clock.install(time=0)
    page.clock.pause_at(3_600)  # what the button says stays, however long it takes to look at it
    page.get_by_role("button", name="Copy as JSON").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()

    assert json.loads(page.evaluate("navigator.clipboard.readText()"))["case_id"] == "case-003"


def test_a_button_that_copied_twice_says_again_what_it_does(visit: Visit, site: Site) -> None:
    page = visit(f"/runs/{site.many}/results/3", permissions=["clipboard-read", "clipboard-write"])
    page.clock.install(time=0)
    page.clock.pause_at(3_600)

    button = page.locator("[data-copy-from]")
    button.click()
    expect(button).to_have_text("Copied")
    button.evaluate("one => { one.textContent = 'Copied once'; }")  # else nobody could tell when it has been twice
    button.click()
    expect(button).to_have_text("Copied")
    page.clock.run_for(5_000)

    expect(button).to_have_text("Copy as JSON")


# Comparisons


def test_changes_are_walked_and_opened_by_keyboard(visit: Visit, site: Site) -> None:
    page = visit(f"/compare?a={site.many}&b={site.changed}")
    changes = page.locator(".rows > details.change")
    ids = changes.locator("summary .id").all_inner_texts()

    def here() -> Locator:
        return page.locator(".rows > details:focus-within summary .id")

    press(page, "j")
    expect(here()).to_have_text(ids[0])
    press(page, "Enter")
    expect(changes.first.locator(".change-body")).to_be_visible()
    press(page, "Tab")
    expect(changes.first.get_by_role("link", name="Whole case")).to_be_focused()
    press(page, "j", "j", "Enter")
    expect(here()).to_have_text(ids[2])
    expect(changes.nth(2).locator(".change-body")).to_be_visible()
    expect(changes.nth(1).locator(".change-body")).to_be_hidden()
    press(page, "k", "k", "k")
    expect(here()).to_have_text(ids[0])
    press(page, "Enter")

    expect(changes.first.locator(".change-body")).to_be_hidden()
    expect(changes.nth(2).locator(".change-body")).to_be_visible()


def test_the_answers_of_all_targets_stand_next_to_each_other(visit: Visit, site: Site) -> None:
    page = visit(f"/compare?a={site.targets}")

    page.get_by_role("link", name="Paris").click()

    answers = page.locator(".answers .passage")
    expect(answers).to_have_count(3)
    tops = answers.evaluate_all("all => all.map((one) => one.getBoundingClientRect().top)")
    assert len(set(tops)) == 1
    expect(page.locator("ins")).to_have_text([", Paris, I think"])
    page.get_by_role("link", name="Compare", exact=True).last.click()
    expect(page).to_have_url(f"{site.address}/compare?a={site.targets}")


def test_runs_are_chosen_on_two_pages_of_the_list_and_compared(
    visit: Visit, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "ON_A_PAGE", 1)
    page = visit("/runs?text=capitals&sort=oldest")

    page.get_by_label(f"Compare as A: {site.many}").check()
    page.get_by_role("button", name="Next").click()
    page.get_by_label(f"Compare as B: {site.changed}").check()
    expect(page.get_by_role("group", name="Chosen on another page")).to_contain_text(site.many)
    page.get_by_role("button", name="Compare B with A").click()

    expect(page.get_by_role("region", name="Run A")).to_contain_text(site.many)
    expect(page.get_by_role("region", name="Run B")).to_contain_text(site.changed)


# All pages


def addresses(site: Site) -> list[str]:
    return [
        "/runs",
        f"/runs/new?prompt={site.prompt}",
        f"/runs/{site.many}",
        f"/runs/{site.many}/results",
        f"/runs/{site.many}/results?open=290",
        f"/runs/{site.many}/results?verdict=pass&status=error",
        f"/runs/{site.targets}/results",
        f"/runs/{site.targets}/results/1",
        f"/runs/{site.many}/evaluations",
        f"/runs/{site.changed}",
        f"/runs/{site.changed}/card",
        f"/runs/{site.many}/card",
        f"/runs/{site.many}/results/1",
        f"/runs/{site.many}/label",
        f"/runs/{site.many}/delete",
        f"/compare?a={site.many}&b={site.changed}",
        f"/compare?a={site.many}&b={site.hostile[0]}",
        f"/compare?a={site.many}&b={site.changed}&b={site.hostile[0]}",
        f"/compare?a={site.targets}",
        f"/compare?a={site.targets}&b={site.targets}&model_a=short&model_b=long",
        f"/compare/case?a={site.many}&b={site.changed}&case=case-000",
        f"/compare/case?a={site.targets}&case=France",
        f"/compare/case?a={site.targets}&case={LONG}",
        f"/trend?run={site.many}",
        f"/trend?run={site.targets}&metric=mean",
        f"/drift?then={site.changed}&now={site.many}",
        f"/drift?then={site.changed}&now={site.many}&anyway=yes",
        "/judges/compare",
        f"/judges/compare?run={site.changed}&run={site.many}&anyway=yes",
    ]


def test_nothing_stands_in_anybodys_way(
    visit: Visit, site: Site, complaints: Complaints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluations, "ON_A_PAGE", 9)  # one row is like the next
    monkeypatch.setattr(results, "ON_A_PAGE", 9)
    page = visit("/runs", color_scheme="light", reduced_motion="reduce")
    found = {}

    for address in addresses(site):
        arrive(page, site.address + address)
        page.locator("details.menu").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        found[address] = complaints(page)

    assert found == {address: [] for address in addresses(site)}


@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_is_wider_than_the_page(visit: Visit, site: Site, width: int) -> None:
    page = visit("/runs", viewport={"width": width, "height": 800})

    for address in addresses(site):
        arrive(page, site.address + address)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, address


def test_hostile_texts_run_nothing_on_any_page(visit: Visit, site: Site) -> None:
    first, second = site.hostile
    page = visit("/runs")
    ids = [f"{n} {HOSTILE[n]}".replace("\0", "") for n in range(0, len(HOSTILE), 4)]

    for address in [
        "/runs", "/runs/new", f"/runs/new?prompt={site.hostile_prompt}", f"/runs/{first}", f"/runs/{first}/card", f"/runs/{first}/delete",
        f"/runs/{second}", f"/runs?prompt={site.hostile_prompt}", f"/compare?a={first}&b={second}&way=worse", f"/compare?a={first}&b={site.many}",
        f"/compare?a={first}&b={second}&b={site.many}", f"/compare?a={site.hostile_targets}", f"/trend?run={first}", f"/trend?prompt={site.hostile_prompt}",
        *(f"/compare/case?a={first}&b={second}&case={quote(name)}" for name in ids),
        f"/compare/case?a={site.hostile_targets}&case={quote(HOSTILE[0])}",
        f"/drift?then={first}&now={second}&anyway=yes", f"/judges/compare?run={first}&run={second}&anyway=yes",
        f"/runs/{first}/results?text=%3Cscript%3E", f"/runs/{first}/evaluations?text=%3Cscript%3E", f"/runs/{site.hostile_targets}/results", *(f"/runs/{first}/results/{n}" for n in range(0, len(HOSTILE), 4)),
    ]:  # fmt: skip
        page.goto(site.address + address)
        page.locator("details").evaluate_all("all => all.forEach(one => { one.open = true })")
        assert page.evaluate("window.ran") is None, address
        assert page.evaluate("document.images.length + frames.length + document.embeds.length") == 0, address

    page.goto(f"{site.address}/runs/{first}/results")
    wait_for_script(page)
    page.locator("#listing tbody tr").nth(0).focus()
    press(page, "Enter")
    for number in range(len(HOSTILE)):
        expect(page.locator("#drawer .case-facts .id")).to_contain_text(f"{number} ")
        assert page.evaluate("window.ran") is None
        press(page, "j")
    assert page.evaluate("document.images.length + frames.length") == 0
