"""An afternoon of improving a prompt in a real browser: by mouse and by keyboard alone, in few interactions."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import uvicorn
from playwright.sync_api import Browser, Locator, Page, expect

from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: afternoon"), pytest.mark.timeout(600)]

MOST_INTERACTIONS = 60
MOST_TABS = 200
WHOLE_RUN_MS = 90_000
CAPITALS = {
    "France": "Paris", "Italy": "Rome", "Spain": "Madrid", "Norway": "Oslo", "Japan": "Tokyo", "Kenya": "Nairobi",
    "Peru": "Lima", "Egypt": "Cairo", "Greece": "Athens", "Chile": "Santiago",
}  # fmt: skip
PASTED = "question,answer\n" + "".join(f"What is the capital of {land}?,{city}\n" for land, city in CAPITALS.items())
BRIEF = "Answer in one word."


class Model(BaseHTTPRequestHandler):
    """A model that speaks as Ollama does, as two models and their judge.

    The small one does not know about Peru, until it is asked for one word; then it does not know about Egypt. The judge
    breaks down over Rome, the first time that somebody answers so in one word.
    """

    broken: ClassVar[set[str]]

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        said = "\n".join(message["content"] for message in asked["messages"])
        answer = self._judged(said) if asked.get("format") else self._answer(asked["model"], said)
        if answer is None:
            self._send(400, {"error": "the judge does not want to"})
            return
        done = {"done": True, "done_reason": "stop", "prompt_eval_count": 5, "eval_count": 5}
        self._send(200, {"message": {"role": "assistant", "content": answer}, **done})

    def _answer(self, model: str, said: str) -> str:
        land = next(land for land in CAPITALS if land in said)
        if model == "small" and land == ("Egypt" if BRIEF in said else "Peru"):
            return "Unknown"
        return f"{CAPITALS[land]}!" if BRIEF in said else f"The capital is {CAPITALS[land]}."

    def _judged(self, said: str) -> str | None:
        if "Rome!" in said and "Rome" not in self.broken:
            self.broken.add("Rome")
            return None
        score = 0.1 if "Unknown" in said else 0.95
        return json.dumps({"score": score, "hits": [], "misses": [], "reasoning": f"It deserves {score}."})

    def _send(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Keep silent."""


@pytest.fixture
def address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Start a server with nothing in it, and models for it to ask."""
    monkeypatch.setattr(Model, "broken", set(), raising=False)
    model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    monkeypatch.setenv("OLLAMA_HOST", f"http://127.0.0.1:{model.server_port}")
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    settings = ServerSettings(db=str(tmp_path / "new.db"), token=Secret("a-token-of-the-tests"), port=port)
    server = uvicorn.Server(uvicorn.Config(make_app(settings), log_level="error"))
    answering = threading.Thread(target=model.serve_forever, daemon=True)
    serving = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    answering.start()
    serving.start()
    yield f"http://127.0.0.1:{port}"
    server.should_exit = True
    serving.join(20)
    listening.close()
    model.shutdown()
    model.server_close()


class Hands:
    """Whoever uses the pages, by mouse or by keyboard alone: each click, text and shortcut is an interaction."""

    def __init__(self, page: Page, *, has_mouse: bool) -> None:
        self.page = page
        self.has_mouse = has_mouse
        self.interactions = 0

    def use(self, role: Any, name: str) -> None:
        """Click a link, button or box, or get there with the Tab key and press it."""
        self._arrive(self.page.get_by_role(role, name=name, exact=True).first)
        if not self.has_mouse:
            self.page.keyboard.press("Space" if role == "checkbox" else "Enter")

    def unfold(self, summary: str) -> None:
        """Open what is folded."""
        self._arrive(self.page.locator("summary", has_text=summary))
        if not self.has_mouse:
            self.page.keyboard.press("Enter")

    def write(self, label: str, text: str) -> None:
        """Replace what is in a field."""
        self._arrive(self.page.get_by_label(label, exact=True))
        self.page.keyboard.press("Control+A")
        self.page.keyboard.insert_text(text)

    def press(self, key: str) -> None:
        """Press a shortcut."""
        self.interactions += 1
        self._wait_for_keys()
        self.page.keyboard.press(key)

    def go_back(self) -> None:
        """Go to the page before, as the browser does."""
        self.interactions += 1
        self.page.go_back()

    def _arrive(self, found: Locator) -> None:
        self.interactions += 1
        self._wait_for_keys()
        expect(found).to_be_visible()
        if self.has_mouse:
            found.click()
            return
        element = found.element_handle()
        for _ in range(MOST_TABS):
            is_there, has_focus = element.evaluate("one => [one.isConnected, one === document.activeElement]")
            if has_focus:
                return
            if not is_there:  # a live page has put another in its place
                element = found.element_handle()
                continue
            self.page.keyboard.press("Tab")
        raise AssertionError(f"the Tab key does not lead to {found}")

    def _wait_for_keys(self) -> None:
        self.page.wait_for_load_state()  # by then all scripts have run
        expect(self.page.get_by_role("button", name="Theme")).to_be_visible()


@pytest.mark.parametrize(
    "has_mouse", [True, pytest.param(False, marks=pytest.mark.long)], ids=["mouse", "keyboard alone"]
)
def test_a_prompt_is_improved_in_an_afternoon(browser: Browser, address: str, has_mouse: bool) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    hands = Hands(page, has_mouse=has_mouse)
    main = page.get_by_role("main")

    def finished() -> None:
        expect(page.locator(".status")).to_have_text("finished", timeout=WHOLE_RUN_MS)

    # A new prompt, with ten test cases from a spreadsheet
    page.goto(f"{address}/prompts")
    hands.use("link", "New prompt")
    hands.write("Name", "Capitals")
    hands.write("System prompt", "Answer the question.")
    hands.write("Evaluation criteria optional", "Names the right city")
    hands.press("Control+Enter")
    hands.use("link", "Test cases 0")
    hands.use("link", "Add from CSV or JSONL")
    hands.write("Paste", PASTED)
    hands.use("button", "Add 10 test cases")
    expect(main).to_contain_text("What is the capital of Norway?")

    # On two models, one of which does not know about Peru
    hands.use("link", "Run")
    hands.write("Models", "ollama/small\nollama/large")
    hands.write("Judge optional", "ollama/judge")
    hands.use("button", "Start")
    finished()
    hands.use("link", "Results")
    hands.use("checkbox", "Only where they differ")
    rows = page.locator("#listing tbody th > a:first-child")
    expect(rows).to_have_text([re.compile("capital of Peru")])
    hands.press("j")
    hands.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Unknown")

    # Edit, run again, compare
    hands.press("p")
    hands.write("System prompt", BRIEF)
    hands.press("Control+Enter")
    expect(main).to_contain_text("version 2")
    hands.press("Shift+R")
    finished()
    hands.press("c")
    expect(main).to_contain_text(BRIEF)  # the difference between the prompts
    hands.use("link", "1 regression")
    hands.press("j")
    hands.press("Enter")
    change = page.locator(".rows > details:focus-within")
    expect(change).to_contain_text("Egypt")
    expect(change).to_contain_text("Unknown")

    # One error is tried again, and the run gets a label
    hands.go_back()
    hands.go_back()
    expect(main).to_contain_text("the judge does not want to")
    hands.use("button", "Retry errors")
    expect(page.get_by_role("button", name="Retry errors")).to_have_count(0, timeout=WHOLE_RUN_MS)
    finished()
    hands.unfold("Label this run")
    hands.write("What to call this run", "one word")
    hands.press("Enter")
    expect(main.get_by_text("one word", exact=True).first).to_be_visible()

    assert hands.interactions < MOST_INTERACTIONS
    page.close()
