"""The page that adds test cases from CSV or JSONL."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import EvaluationMode, Prompt, PromptText, TestCaseText
from evenhand.server.pages import case_import
from evenhand.store.store import Store

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]
TOKEN = "a-token-of-the-tests"
WRITTEN = "question,answer,topic\nCapital of France?,Paris,geo\nCapital of Spain?,Madrid,geo"


@pytest.fixture
def prompt(store: Store) -> Prompt:
    return store.prompts.create(PromptText(name="capitals"))


@pytest.fixture
def address(prompt: Prompt) -> str:
    return f"/prompts/{prompt.id}/cases/import"


def chosen(page: Any) -> list[str]:
    """Return what each column becomes."""
    return [one.attributes["value"] for one in page.all("option") if "selected" in one.attributes]


def inputs(store: Store, prompt: Prompt) -> list[tuple[str, str | None]]:
    return [(case.text.input, case.text.reference) for case in store.prompts.cases(prompt.id)]


def test_the_list_of_test_cases_leads_to_it(client: TestClient, prompt: Prompt, address: str, parsed: Parsed) -> None:
    cases = parsed(client.get(f"/prompts/{prompt.id}/cases"))

    form = parsed(client.get(address))

    assert cases.one("a", href=address).text == "Add from CSV or JSONL"
    assert form.value("text") == ""
    assert form.all("select") == []


def test_a_preview_shows_columns_and_test_cases_and_stores_nothing(
    store: Store, prompt: Prompt, address: str, post: Post, parsed: Parsed
) -> None:
    response = post(address, text=WRITTEN, action="preview")

    page = parsed(response)
    assert response.status_code == 200
    assert [one.attributes["value"] for one in page.all("input", name="column")] == ["question", "answer", "topic"]
    assert chosen(page) == ["input", "reference", ""]
    assert page.one("h2", id="new").text == "2 new test cases"
    assert page.one("button", value="add").text == "Add 2 test cases"
    assert page.value("text") == WRITTEN
    assert inputs(store, prompt) == []


def test_what_the_preview_showed_is_added(
    client: TestClient, store: Store, prompt: Prompt, address: str, post: Post, parsed: Parsed
) -> None:
    store.prompts.add_cases(prompt.id, [TestCaseText(input="Capital of Spain?", reference="Madrid")])
    shown = parsed(post(address, text=WRITTEN, action="preview"))

    response = post(address, text=WRITTEN, action="add", seen=shown.value("seen"))

    assert response.status_code == 303
    said = parsed(client.get(response.headers["location"])).one("p", role="status").text
    assert said == "1 test case added; 1 duplicate left out."
    assert inputs(store, prompt) == [("Capital of Spain?", "Madrid"), ("Capital of France?", "Paris")]


def test_columns_are_mapped_otherwise(
    client: TestClient, store: Store, prompt: Prompt, address: str, parsed: Parsed
) -> None:
    fields = {
        "token": TOKEN,
        "text": WRITTEN,
        "column": ["question", "answer", "topic"],
        "field": ["", "input", "reference"],
    }
    shown = parsed(client.post(address, data=fields))

    client.post(address, data=fields | {"action": "add", "seen": shown.value("seen")})

    assert chosen(shown) == ["", "input", "reference"]
    assert inputs(store, prompt) == [("Paris", "geo"), ("Madrid", "geo")]


def test_what_no_preview_showed_is_not_added(
    store: Store, prompt: Prompt, address: str, post: Post, parsed: Parsed
) -> None:
    seen = parsed(post(address, text=WRITTEN, action="preview")).value("seen")

    response = post(address, text=WRITTEN + "\nCapital of Peru?,Lima,geo", action="add", seen=seen)

    assert response.status_code == 409
    assert "not what the last preview showed" in parsed(response).one("div", role="alert").text
    assert parsed(response).one("button", value="add").text == "Add 3 test cases"
    assert inputs(store, prompt) == []


def test_mistakes_are_listed_by_line_and_their_rows_left_out(
    client: TestClient, store: Store, prompt: Prompt, address: str, post: Post, parsed: Parsed
) -> None:
    written = "input\na\n\x00\n"
    page = parsed(post(address, text=written, action="preview"))

    response = post(address, text=written, action="add", seen=page.value("seen"), skip_mistakes="1")

    assert page.one("h2", id="mistakes").text == "1 mistake"
    assert "line 3" in page.one("ul", class_="lines").text
    assert page.value("skip_mistakes") == "1"
    assert "1 row with mistakes left out" in client.get(response.headers["location"]).text
    assert inputs(store, prompt) == [("a", None)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"text": ""}, "there are no test cases"),
        ({"text": "one,two\n1,2"}, "no column is the input"),
        ({"text": "a,a\n1,2"}, "pasted text:1: columns 1 and 2 have the same name"),
        ({"text": "a,b\n1,2", "column": ["a", "b"], "field": ["input", "input"]}, "'a' and 'b' are both the input"),
    ],
)
def test_what_is_wrong_with_the_whole_is_said_and_the_text_kept(
    client: TestClient, address: str, fields: dict[str, Any], said: str, parsed: Parsed
) -> None:
    response = client.post(address, data={"token": TOKEN, "action": "preview", **fields})

    page = parsed(response)
    assert response.status_code == 422
    assert said in page.one("div", role="alert").text
    assert page.value("text") == fields["text"]
    assert page.all("button", value="add") == []


def test_a_file_is_read_by_its_name_and_long_ones_are_asked_for_again(
    client: TestClient, store: Store, prompt: Prompt, address: str, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(case_import, "MOST_ECHOED", 10)
    file = {"file": ("cases.tsv", b"input\texpected\na, b\tc", "text/tab-separated-values")}
    shown = parsed(client.post(address, data={"token": TOKEN, "text": ""}, files=file))

    fields = {"token": TOKEN, "text": "", "action": "add", "seen": shown.value("seen")}
    added = client.post(address, data=fields, files=file)

    assert "choose the file again" in shown.one("main").text
    assert shown.value("text") == ""
    assert added.status_code == 303
    assert inputs(store, prompt) == [("a, b", "c")]


def test_a_file_and_a_text_are_not_guessed_between(client: TestClient, address: str, parsed: Parsed) -> None:
    file = {"file": ("cases.csv", b"input\na")}

    response = client.post(address, data={"token": TOKEN, "text": "input\nb"}, files=file)

    assert response.status_code == 422
    assert "both a file and a text" in parsed(response).one("div", role="alert").text


def test_in_schema_mode_a_table_without_schemas_is_pointed_out(
    store: Store, prompt: Prompt, address: str, post: Post
) -> None:
    store.prompts.edit(prompt.id, PromptText(name="capitals", evaluation_mode=EvaluationMode.SCHEMA), seen=1)

    response = post(address, text="input\na", action="preview")

    assert "these test cases are not evaluated" in response.text


def test_hostile_texts_stay_texts(
    address: str, post: Post, hostile: list[str], parsed: Parsed, elements: Callable[[str], set[str]]
) -> None:
    known = elements("details option section select strong summary table tbody td textarea th thead tr")

    for text in (" ".join(hostile), *hostile[::4]):
        quoted = '"{}"'.format(text.encode("utf-8", "replace").decode().replace('"', '""'))
        page = parsed(post(address, text=f"input,{quoted}\n{quoted},{quoted}\n", action="preview"))
        assert {one.name for one in page.elements} <= known
