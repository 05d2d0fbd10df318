"""A server with runs of every kind in its store, the model that it asks, and where things are on its pages."""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import uvicorn
from playwright.sync_api import Locator, Page, expect

from evenhand import Case, Contains, Scripted, evaluate
from evenhand.domain.label import LabelValue
from evenhand.domain.prompt import PromptText, TestCaseText
from evenhand.domain.secret import Secret
from evenhand.labels.draw import make_draw
from evenhand.labels.queue import case_of, give_label
from evenhand.server.app import make_app
from evenhand.server.runs.baseline import pin
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store, open_store

HOSTILE: list[str] = [
    said
    for said in json.loads(
        (Path(__file__).resolve().parents[2] / "reports" / "hostile.json").read_text(encoding="utf-8")
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


@contextlib.contextmanager
def serving(db: str) -> Iterator[Site]:
    """Start a server over a store with runs, and a model for it to ask."""
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
