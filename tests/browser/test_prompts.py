"""Prompts and test cases in a real browser: written, checked while they are typed, exported and imported."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from playwright.sync_api import Browser, Dialog, Page, Route, expect
from tests.browser.axe import complaints, faults

from evenhand.domain.prompt import EvaluationMode, PromptText, TestCaseText
from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store
from evenhand.workspace.documents import export_document

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: prompts"), pytest.mark.timeout(600)]

Open = Callable[..., Page]
REFUSED = "the server responded with a status of 4"
HOSTILE: list[str] = json.loads(
    (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
)


class Running:
    """A server on this machine, with its store."""

    def __init__(self, db: str) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        self.app = make_app(ServerSettings(db=db, token=Secret("a-token-of-the-tests"), port=port))
        config = uvicorn.Config(self.app, log_level="error", ws="none", lifespan="on")
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._listening]})

    @property
    def store(self) -> Store:
        found: Store = self.app.state.store
        return found

    def __enter__(self) -> Running:
        self._thread.start()
        while not self._server.started:
            self._thread.join(0.02)
            assert self._thread.is_alive(), "the server did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        self._listening.close()
        assert not self._thread.is_alive()


@pytest.fixture
def running(tmp_path: Path, empty_database: Callable[[Path], str]) -> Iterator[Running]:
    with Running(empty_database(tmp_path / "evenhand.db")) as started:
        yield started


@pytest.fixture
def elsewhere(tmp_path: Path, empty_database: Callable[[Path], str]) -> Iterator[Running]:
    """Start a second server, whose store is empty."""
    with Running(empty_database(tmp_path / "elsewhere.db")) as started:
        yield started


@pytest.fixture
def tab(browser: Browser, running: Running) -> Iterator[Open]:
    """Open pages in tabs; an error on the console, a dialog, or a request to another host is a failure."""
    trouble: list[str] = []
    with contextlib.ExitStack() as contexts:

        def told_of_dialog(dialog: Dialog) -> None:
            trouble.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        def opened(
            path: str,
            *,
            server: Running = running,
            refused: bool = False,
            on_dialog: Callable[[Dialog], None] = told_of_dialog,
            **options: Any,
        ) -> Page:
            context = browser.new_context(**({"viewport": {"width": 1280, "height": 900}} | options))
            contexts.callback(context.close)
            page = context.new_page()
            page.on(
                "console",
                # A page that tells of trouble has the status of that trouble, and Chromium says so.
                lambda said: None if refused and REFUSED in said.text else trouble.append(f"console: {said.text}"),
            )
            page.on("pageerror", lambda error: trouble.append(f"error: {error}"))
            page.on("dialog", on_dialog)
            page.on("request", lambda sent: None if sent.url.startswith(server.address) else trouble.append(sent.url))
            page.goto(server.address + path)
            return page

        yield opened
    assert trouble == []


def filled(store: Store) -> tuple[str, str]:
    """Put two prompts into a store, and give their ids: one by a judge, one by schemas."""
    by_judge = store.prompts.create(PromptText(name="Refunds", content="Be kind.", evaluation_criteria="Is kind."))
    store.prompts.edit(by_judge.id, PromptText(name="Refunds", content="Be kind.\nBe brief."), seen=1)
    store.prompts.add_cases(by_judge.id, [TestCaseText(input="Can I send them back?", reference="Yes.")])
    by_schema = store.prompts.create(PromptText(name="Orders", evaluation_mode=EvaluationMode.SCHEMA))
    store.prompts.add_cases(
        by_schema.id, [TestCaseText(input="Two boots", evaluation_schema='{"type": "object"}'), TestCaseText(input="b")]
    )
    return by_judge.id, by_schema.id


def test_prompts_of_both_modes_are_written_by_keyboard_alone(tab: Open, running: Running) -> None:
    page = tab("/prompts")
    criteria = page.get_by_label("Evaluation criteria")

    page.get_by_role("link", name="New prompt").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/prompts/new")
    page.get_by_label("Name").focus()
    page.keyboard.type("Refunds")
    page.keyboard.press("Tab")
    page.keyboard.type("Be kind.\nBe brief.")
    page.keyboard.press("Tab")
    expect(page.get_by_role("radio", name="llm")).to_be_focused()
    expect(criteria).to_be_visible()
    page.keyboard.press("Tab")
    expect(criteria).to_be_focused()
    page.keyboard.type("Is kind.")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("radio", name="schema")).to_be_checked()
    expect(criteria).to_be_hidden()
    page.keyboard.press("ArrowUp")
    expect(criteria).to_have_value("Is kind.")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/prompts/p-*")
    expect(page.get_by_role("status").first).to_contain_text("saved")

    page.goto(f"{running.address}/prompts/new")
    page.get_by_label("Name").focus()
    page.keyboard.type("Orders")
    for key in ("Tab", "Tab", "ArrowDown"):
        page.keyboard.press(key)
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/prompts/p-*")

    orders, refunds = (prompt.text for prompt in running.store.prompts.all())
    assert refunds == PromptText(name="Refunds", content="Be kind.\nBe brief.", evaluation_criteria="Is kind.")
    assert orders == PromptText(name="Orders", evaluation_mode=EvaluationMode.SCHEMA)


def test_a_schema_is_checked_while_it_is_typed_with_line_and_column(tab: Open, running: Running) -> None:
    _, by_schema = filled(running.store)
    page = tab(f"/prompts/{by_schema}/cases/new")
    schema, told = page.get_by_label("Evaluation Schema"), page.locator("[data-schema-result]")

    page.get_by_label("Input").fill("Three boots")
    schema.fill('{\n  "required": ["item"],\n}')
    expect(told).to_contain_text("line 3, column 1")
    expect(schema).to_have_attribute("aria-invalid", "true")
    schema.fill('{"type": "objekt"}')
    expect(told).to_contain_text("$.type")
    schema.fill("")
    expect(told).to_contain_text("not evaluated")
    schema.fill('{"required":["item"],"maximum":12345678901234567890.10,"x":[],"y":{}}')
    expect(told).to_contain_text("The schema is valid.")
    page.get_by_role("button", name="Format").click()
    expect(schema).to_have_value(
        '{\n  "required": [\n    "item"\n  ],\n  "maximum": 12345678901234567890.10,\n  "x": [],\n  "y": {}\n}'
    )

    page.get_by_text("Try an output").click()
    tried, told_of_output = page.get_by_label("Output", exact=True), page.locator("[data-output-result]")
    tried.fill('{"item": 1}')
    expect(told_of_output).to_contain_text("it would score 1")
    tried.fill("{}")
    expect(told_of_output).to_contain_text("it would score 0")
    expect(told_of_output).to_contain_text('"item" is a required property')
    tried.fill("<img src=x onerror=alert(1)>")
    expect(told_of_output).not_to_contain_text('"item" is a required property')
    expect(told_of_output).to_contain_text("it would score 0")
    assert len(list(running.store.prompts.cases(by_schema))) == 2

    page.get_by_role("button", name="Add test case").click()
    page.wait_for_url("**/cases/t-*")
    assert [case.text.input for case in running.store.prompts.cases(by_schema)][-1] == "Three boots"


def test_what_is_said_about_a_schema_goes_away_when_it_is_right(tab: Open, running: Running) -> None:
    by_judge, _ = filled(running.store)
    page = tab(f"/prompts/{by_judge}", refused=True)
    schema = page.get_by_label("Expected schema")
    schema.fill('{"type": "array"}')
    expect(page.locator("[data-schema-result]")).to_contain_text("must be one of an object")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Not saved: expected schema")).to_be_visible()
    expect(page.locator("#expected_schema-error")).to_contain_text("must be one of an object")

    schema.fill('{"type": "string"}')
    expect(page.locator("[data-schema-result]")).to_contain_text("must be one of an object")
    expect(page.locator("#expected_schema-error")).to_be_visible()
    schema.fill('{"type": "object"}')

    expect(page.locator("[data-schema-result]")).to_contain_text("The schema is valid.")
    expect(page.locator("#expected_schema-error")).to_have_count(0)
    expect(page.get_by_text("Not saved")).to_have_count(0)
    expect(schema).not_to_have_attribute("aria-invalid", "true")
    page.get_by_role("link", name="Discard changes").click()
    expect(schema).to_have_value("")


def test_what_is_written_before_the_scripts_are_there_is_checked_and_guarded(tab: Open, running: Running) -> None:
    by_judge, _ = filled(running.store)
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    def late(route: Route) -> None:
        page.get_by_label("Expected schema").fill('{"type": "array"}')
        route.continue_()

    page = tab("/prompts", on_dialog=answer)
    page.route("**/static/app.js", late, times=1)
    page.goto(f"{running.address}/prompts/{by_judge}")

    expect(page.locator("[data-schema-result]")).to_contain_text("must be one of an object")
    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url("**/runs")
    assert asked == ["beforeunload"]


def test_who_leaves_a_page_with_changes_in_it_is_asked_first(tab: Open, running: Running) -> None:
    by_judge, _ = filled(running.store)
    asked: list[str] = []

    def answer(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page = tab(f"/prompts/{by_judge}", on_dialog=answer)
    content = page.get_by_label("System prompt")
    content.fill("Be brief.")
    content.fill("Be kind.\nBe brief.")  # as it was
    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url("**/runs")
    untouched = list(asked)
    page.goto(f"{running.address}/prompts/{by_judge}")
    content.fill("Be long.")
    page.get_by_role("link", name="Runs", exact=True).click()
    page.wait_for_url("**/runs")
    left = list(asked)
    page.goto(f"{running.address}/prompts/{by_judge}")
    content.fill("Be very long.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved as a new version.")).to_be_visible()

    assert untouched == []
    assert left == ["beforeunload"]
    assert asked == left


def test_the_field_for_a_schema_is_there_in_schema_mode_only(tab: Open, running: Running) -> None:
    by_judge, by_schema = filled(running.store)

    expect(tab(f"/prompts/{by_schema}/cases/new").get_by_label("Evaluation Schema")).to_be_visible()
    expect(tab(f"/prompts/{by_judge}/cases/new").get_by_label("Evaluation Schema")).to_have_count(0)


# The other server comes first, so that it ends last: a page that is still loading would tell that it is gone.
def test_what_is_exported_can_be_imported_elsewhere(
    elsewhere: Running, tab: Open, running: Running, tmp_path: Path
) -> None:
    filled(running.store)
    page = tab("/io")

    with page.expect_download() as waiting:
        page.get_by_role("link", name="Export all").click()
    waiting.value.save_as(tmp_path / "prompts.json")
    other = tab("/io", server=elsewhere)
    other.get_by_label("File", exact=True).set_input_files(tmp_path / "prompts.json")
    other.get_by_role("button", name="Check", exact=True).click()
    expect(other.get_by_role("status")).to_contain_text("nothing has been changed yet")
    assert elsewhere.store.prompts.all() == []
    other.get_by_role("button", name="Import", exact=True).click()
    expect(other.get_by_role("status")).to_contain_text("Imported.")

    assert export_document(elsewhere.store) == export_document(running.store)


def test_test_cases_are_pasted_or_chosen_as_a_file_with_the_preview_at_once(tab: Open, running: Running) -> None:
    by_judge, _ = filled(running.store)
    page = tab(f"/prompts/{by_judge}/cases/import", reduced_motion="reduce", refused=True)

    page.get_by_label("Paste").fill("one,two\na,b")
    expect(page.get_by_role("alert")).to_contain_text("no column is the input")
    page.get_by_label("two", exact=True).focus()
    page.keyboard.press("I")
    expect(page.get_by_role("heading", name="1 new test case")).to_be_visible()
    expect(page.get_by_label("two", exact=True)).to_be_focused()
    assert faults(page) == []
    lines = b'{"question": "c", "ideal": "C"}\n{"question": ""}\n{"question": "d"}\n'
    page.get_by_label("Or a file").set_input_files({"name": "x.jsonl", "mimeType": "", "buffer": lines})
    expect(page.get_by_role("heading", name="2 new test cases")).to_be_visible()
    expect(page.get_by_label("Paste")).to_have_value("")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("status")).to_contain_text("2 test cases added; 1 row with mistakes left out.")

    assert [case.text.input for case in running.store.prompts.cases(by_judge)][1:] == ["c", "d"]


def test_a_file_of_test_cases_is_dropped_and_its_preview_is_there(tab: Open, running: Running, tmp_path: Path) -> None:
    by_judge, _ = filled(running.store)
    (tmp_path / "cases.csv").write_text("question,answer\ne,E\nf,F\n", encoding="utf-8")
    page = tab(f"/prompts/{by_judge}/cases/import", reduced_motion="reduce")
    box = page.get_by_label("Or a file").bounding_box()
    assert box is not None
    where = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    dropped = {"items": [], "files": [str(tmp_path / "cases.csv")], "dragOperationsMask": 1}

    # What scripts can dispatch is not trusted with files; this is what a hand does.
    session = page.context.new_cdp_session(page)
    for step in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": step, **where, "data": dropped})
    expect(page.get_by_role("heading", name="2 new test cases")).to_be_visible()
    page.get_by_role("button", name="Add 2 test cases").click()
    expect(page.get_by_role("status")).to_contain_text("2 test cases added")

    assert [case.text.input for case in running.store.prompts.cases(by_judge)][1:] == ["e", "f"]


def test_everything_works_without_javascript(tab: Open, running: Running) -> None:
    _, by_schema = filled(running.store)
    page = tab("/prompts/new", java_script_enabled=False, refused=True)

    page.get_by_label("Name").fill("Plain")
    page.get_by_label("Evaluation criteria").fill("Is plain.")
    page.get_by_role("radio", name="schema").check()
    expect(page.get_by_label("Evaluation criteria")).to_be_hidden()
    page.get_by_role("radio", name="llm").check()
    expect(page.get_by_label("Evaluation criteria")).to_be_visible()
    page.get_by_role("button", name="Create prompt").click()
    page.wait_for_url("**/prompts/p-*")
    page.goto(f"{running.address}/prompts/{by_schema}/cases/new")
    page.get_by_label("Evaluation Schema").fill('{\n"a": 1,\n}')
    page.get_by_role("button", name="Check schema").click()
    expect(page.locator("[data-schema-result]")).to_contain_text("line 3, column 1")
    page.goto(f"{running.address}/prompts/{by_schema}/cases/import")
    page.get_by_label("Paste").fill("one,two\na,{}")
    page.get_by_role("button", name="Preview").click()
    page.get_by_label("one").select_option("Input")
    page.get_by_label("two").select_option("Evaluation Schema")
    page.get_by_role("button", name="Update preview").click()
    page.get_by_role("button", name="Add 1 test case").click()
    expect(page.get_by_role("status")).to_contain_text("1 test case added.")

    assert running.store.prompts.find("Plain").text.evaluation_criteria == "Is plain."


def test_keys_walk_the_list_and_the_theme_is_remembered(tab: Open, running: Running) -> None:
    filled(running.store)
    page = tab("/prompts", color_scheme="light")
    root = page.locator("html")

    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Orders")).to_be_focused()
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Refunds")).to_be_focused()
    page.keyboard.press("k")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.get_by_role("link", name="Orders")).to_be_focused()
    page.keyboard.press("/")
    expect(page.get_by_label("Name contains")).to_be_focused()
    page.keyboard.type("j?refu")
    page.keyboard.press("Escape")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Theme").click()
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")
    page.goto(f"{running.address}/settings")
    expect(page.get_by_role("radio", name="Dark")).to_be_checked()
    page.get_by_role("radio", name="System").check()
    page.get_by_role("radio", name="Comfortable").check()
    page.reload()

    expect(root).to_have_attribute("data-theme", "light")
    expect(root).to_have_attribute("data-density", "comfortable")


def test_hostile_texts_do_not_run(tab: Open, running: Running) -> None:
    usable = [text for text in HOSTILE if text.isprintable() and text.strip()]
    made = running.store.prompts.create(PromptText(name=usable[0][:200], content="\n".join(usable)))
    running.store.prompts.edit(made.id, PromptText(name=usable[1][:200], content="\n".join(reversed(usable))), seen=1)
    running.store.prompts.add_cases(made.id, [TestCaseText(input=text) for text in usable])
    page = tab("/")

    for path in ("/prompts", f"/prompts/{made.id}", f"/prompts/{made.id}/versions", f"/prompts/{made.id}/cases", "/io"):
        page.goto(running.address + path)
        assert page.evaluate("window.ran") is None


TELLING = [
    "/prompts", "/prompts/{by_judge}", "/prompts/{by_judge}/versions", "/prompts/{by_schema}/cases",
    "/cases/{case}", "/settings", "/help?q=interval",
]  # fmt: skip
OTHERS = [
    "/", "/prompts?q=zzz", "/prompts/new", "/prompts/{by_schema}", "/prompts/{by_judge}/delete", "/prompts/{by_judge}/cases",
    "/prompts/{by_schema}/cases/new", "/prompts/{by_schema}/cases/import", "/cases/{case}/delete", "/judges", "/io", "/help",
    "/help/numbers",
]  # fmt: skip


@pytest.mark.parametrize("shown", [TELLING, pytest.param(OTHERS, marks=pytest.mark.long)], ids=["telling", "others"])
def test_no_page_has_anything_that_axe_complains_of(tab: Open, running: Running, shown: list[str]) -> None:
    by_judge, by_schema = filled(running.store)
    (case, *_) = running.store.prompts.cases(by_schema)
    page = tab("/", color_scheme="light", reduced_motion="reduce")
    paths = [path.format(by_judge=by_judge, by_schema=by_schema, case=case.id) for path in shown]

    found = {}
    for path in paths:
        page.goto(running.address + path)
        page.locator("details").evaluate_all("all => all.forEach((one) => { one.open = true; })")
        found[path] = complaints(page)

    assert found == {path: [] for path in paths}


@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.long)], ids=["most", "all"])
def test_axe_has_no_complaint_about_pages_that_tell_of_trouble(tab: Open, running: Running, has_all: bool) -> None:
    by_judge, by_schema = filled(running.store)
    page = tab("/prompts/p-gone", color_scheme="light", reduced_motion="reduce", refused=True)
    found = {"gone": complaints(page, has_all=has_all)}

    page.goto(f"{running.address}/prompts/{by_judge}")
    running.store.prompts.edit(by_judge, PromptText(name="Refunds", content="Theirs."), seen=2)
    page.get_by_label("System prompt").fill("Mine.")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", name="Somebody else has saved version 3")).to_be_visible()
    page.wait_for_load_state()
    found["conflict"] = complaints(page, has_all=has_all)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status").first).to_contain_text("Saved as a new version")
    page.goto(f"{running.address}/prompts/{by_schema}/cases/new")
    page.get_by_label("Input").fill("a")
    page.get_by_label("Evaluation Schema").fill("{")
    expect(page.locator("[data-schema-result]")).to_contain_text("line 1, column")
    page.get_by_role("button", name="Add test case").click()
    expect(page.get_by_role("alert")).to_contain_text("Not saved")
    page.wait_for_load_state()
    found["invalid"] = complaints(page, has_all=has_all)

    assert found == {"gone": [], "conflict": [], "invalid": []}
    assert [one.text.content for one in running.store.prompts.versions(by_judge)][:2] == ["Mine.", "Theirs."]
