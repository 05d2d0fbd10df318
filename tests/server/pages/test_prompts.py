"""The pages of prompts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import EvaluationMode, PromptText, TestCaseText
from evenhand.store.store import Store

Post = Callable[..., Any]
Parsed = Callable[[Any], Any]

WRITTEN = {
    "name": "Refunds",
    "content": "Be kind.\nBe brief.",
    "evaluation_mode": "llm",
    "evaluation_criteria": "Names the 30 days.",
    "expected_schema": "",
}


def test_there_is_a_page_for_having_no_prompts(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/prompts"))

    assert "No prompts yet" in page.one("main").text
    assert "/prompts/new" in [one.attributes["href"] for one in page.all("a", class_="button primary")]


def test_the_list_shows_what_evaluates_and_can_be_filtered(client: TestClient, store: Store, parsed: Parsed) -> None:
    store.prompts.create(PromptText(name="Haiku"))
    store.prompts.create(PromptText(name="Orders", evaluation_mode=EvaluationMode.SCHEMA))

    everything = parsed(client.get("/prompts")).one("tbody").text
    some = parsed(client.get("/prompts?q=oRD")).one("tbody").text
    none = parsed(client.get("/prompts?q=zzz")).one("main").text

    assert "not evaluated" in everything
    assert "each test case’s schema" in everything
    assert "Orders" in some
    assert "Haiku" not in some
    assert "No matching prompts" in none


def test_a_long_list_has_pages(client: TestClient, store: Store, parsed: Parsed) -> None:
    for number in range(101):
        store.prompts.create(PromptText(name=f"prompt {number:03}"))

    first = parsed(client.get("/prompts?q=prompt"))
    last = parsed(client.get("/prompts?q=prompt&start=100"))
    beyond = parsed(client.get("/prompts?start=99999999999999999999"))

    assert first.one("a", rel="next").attributes["href"] == "/prompts?q=prompt&start=100"
    assert "101 to 101 of 101" in last.one("nav", class_="pager").text
    assert "prompt 100" in last.one("tbody").text
    assert "prompt 100" in beyond.one("tbody").text


@pytest.mark.parametrize("mode", ["llm", "schema"])
def test_a_prompt_is_made_in_either_mode(
    client: TestClient, store: Store, post: Post, parsed: Parsed, mode: str
) -> None:
    response = post("/prompts/new", **WRITTEN | {"evaluation_mode": mode})

    (made,) = store.prompts.all()
    assert response.status_code == 303
    assert response.headers["location"] == f"/prompts/{made.id}?said=created"
    assert made.text == PromptText(
        name="Refunds",
        content="Be kind.\nBe brief.",
        evaluation_mode=EvaluationMode(mode),
        evaluation_criteria="Names the 30 days.",
    )
    page = parsed(client.get(response.headers["location"]))
    assert "checked" in page.one("input", type="radio", value=mode).attributes
    assert "saved" in page.one("p", role="status").text


def test_the_editor_has_the_fields_of_both_modes_and_says_what_empty_means(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/prompts/new"))

    (in_llm,) = page.all("div", class_="in-llm")
    assert "optional" in in_llm.text
    assert "Leave empty for no evaluation" in in_llm.text
    assert page.one("textarea", name="evaluation_criteria")
    assert page.one("textarea", name="expected_schema")
    assert len(page.all("div", class_="in-schema note")) == 1


def test_changing_the_mode_keeps_the_criteria(store: Store, post: Post) -> None:
    made = store.prompts.create(PromptText(name="Refunds", evaluation_criteria="Names the 30 days."))

    post(f"/prompts/{made.id}", **WRITTEN | {"evaluation_mode": "schema"}, seen="1")
    post(f"/prompts/{made.id}", **WRITTEN | {"evaluation_mode": "llm"}, seen="2")

    assert [one.text.evaluation_criteria for one in store.prompts.versions(made.id)] == ["Names the 30 days."] * 3


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"name": "   "}, "name", "give the prompt a name"),
        ({"name": "x" * 201}, "name", "200 are allowed"),
        ({"content": "a\0b"}, "content", "U+0000"),
        ({"expected_schema": '{"type": \n 7}'}, "expected_schema", "$.type"),
        ({"expected_schema": '{"a": 1,}'}, "expected_schema", "column"),
        ({"expected_schema": '{"type": "string"}'}, "expected_schema", "must be one of an object"),
    ],
)
def test_what_is_wrong_stands_at_its_field_and_the_draft_is_kept(
    store: Store, post: Post, parsed: Parsed, wrong: dict[str, str], field: str, said: str
) -> None:
    draft = WRITTEN | wrong

    response = post("/prompts/new", **draft)

    page = parsed(response)
    assert response.status_code == 422
    assert said in page.one("p", id=f"{field}-error").text
    assert [page.value(name) for name in draft if name != "evaluation_mode"] == [
        text for name, text in draft.items() if name != "evaluation_mode"
    ]
    assert store.prompts.all() == []


def test_an_unknown_mode_is_told(post: Post, parsed: Parsed) -> None:
    response = post("/prompts/new", **WRITTEN | {"evaluation_mode": "lllm"})

    assert response.status_code == 422
    assert "did you mean 'llm'" in parsed(response).one("fieldset").text


def test_a_name_that_is_taken_is_told_at_its_field(store: Store, post: Post, parsed: Parsed) -> None:
    store.prompts.create(PromptText(name="Refunds"))
    other = store.prompts.create(PromptText(name="Other"))

    made, renamed = post("/prompts/new", **WRITTEN), post(f"/prompts/{other.id}", **WRITTEN, seen="1")

    for response in (made, renamed):
        assert response.status_code == 409
        assert "already" in parsed(response).one("p", id="name-error").text
        assert parsed(response).value("content") == WRITTEN["content"]


def test_saving_over_somebody_elses_version_shows_both_texts_and_loses_neither(
    client: TestClient, store: Store, post: Post, parsed: Parsed
) -> None:
    made = store.prompts.create(PromptText(name="Refunds", content="Be kind."))
    store.prompts.edit(made.id, PromptText(name="Refunds", content="Be kind.\nTheirs <b>."), seen=1)

    response = post(f"/prompts/{made.id}", **WRITTEN | {"content": "Be kind.\nMine <i>."}, seen="1")

    page = parsed(response)
    assert response.status_code == 409
    assert page.value("content") == "Be kind.\nMine <i>."
    conflict = page.one("section", class_="theirs").text
    assert "Theirs <b>." in conflict
    assert "Mine <i>." in conflict
    assert store.prompts.find(made.id).text.content == "Be kind.\nTheirs <b>."
    again = post(f"/prompts/{made.id}", **WRITTEN | {"content": page.value("content")}, seen=page.value("seen"))
    assert again.status_code == 303
    assert [one.text.content for one in store.prompts.versions(made.id)] == [
        "Be kind.\nMine <i>.",
        "Be kind.\nTheirs <b>.",
        "Be kind.",
    ]


def test_saving_a_prompt_that_was_deleted_meanwhile_offers_to_make_it_anew(
    store: Store, post: Post, parsed: Parsed
) -> None:
    made = store.prompts.create(PromptText(name="Refunds"))
    store.prompts.delete(made.id)

    response = post(f"/prompts/{made.id}", **WRITTEN, seen="1")

    page = parsed(response)
    assert response.status_code == 404
    assert page.one("form", class_="form editor").attributes["action"] == "/prompts/new"
    assert page.value("content") == WRITTEN["content"]


def test_saving_without_a_change_makes_no_version_whatever_browsers_do_to_line_ends(store: Store, post: Post) -> None:
    text = PromptText(name="Refunds", content="a\r\nb\rc\n", evaluation_criteria="")
    made = store.prompts.create(text)

    response = post(
        f"/prompts/{made.id}", name="Refunds", content="a\r\nb\r\nc\r\n", evaluation_mode="llm", evaluation_criteria="",
        expected_schema="", seen="1",
    )  # fmt: skip

    assert response.headers["location"].endswith("said=same")
    assert store.prompts.find(made.id).text == text
    assert store.prompts.find(made.id).latest == 1


def test_versions_are_listed_with_what_differs(client: TestClient, store: Store, parsed: Parsed) -> None:
    made = store.prompts.create(PromptText(name="Refunds", content="one\ntwo"))
    store.prompts.edit(made.id, PromptText(name="Refunds", content="one\n<b>three"), seen=1)
    store.prompts.edit(made.id, PromptText(name="Returns", content="one\n<b>three"), seen=2)

    newest = parsed(client.get(f"/prompts/{made.id}/versions"))
    chosen = parsed(client.get(f"/prompts/{made.id}/versions?a=1&b=2"))

    assert [one.text for one in newest.all("div", class_="removed")] == ["−removed: Refunds"]
    assert [one.text for one in newest.all("div", class_="added")] == ["+added: Returns"]
    assert [one.text for one in chosen.all("div", class_="added")] == ["+added: <b>three"]
    assert client.get(f"/prompts/{made.id}/versions?a=1&b=7").status_code == 404
    assert client.get(f"/prompts/{made.id}/versions?a=x").status_code == 422


def test_an_older_version_can_be_taken_up_again(client: TestClient, store: Store, parsed: Parsed) -> None:
    made = store.prompts.create(PromptText(name="Refunds", content="one"))
    store.prompts.edit(made.id, PromptText(name="Refunds", content="two"), seen=1)

    page = parsed(client.get(f"/prompts/{made.id}?version=1"))

    assert page.value("content") == "one"
    assert page.value("seen") == "2"
    assert "text of version 1" in page.one("p", role="status").text


def test_deleting_asks_first(client: TestClient, store: Store, post: Post, parsed: Parsed) -> None:
    made = store.prompts.create(PromptText(name="Refunds"))
    store.prompts.add_cases(made.id, [TestCaseText(input="a")])

    question = parsed(client.get(f"/prompts/{made.id}/delete"))
    late = post(f"/prompts/{made.id}/delete", seen="7")
    kept = len(store.prompts.all())
    response = post(f"/prompts/{made.id}/delete", seen=question.value("seen"))

    assert "1 test case, and cannot be undone" in question.one("main").text
    assert (late.status_code, kept) == (409, 1)
    assert response.headers["location"] == "/prompts?said=deleted"
    assert store.prompts.all() == []


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_nothing_changes_without_the_token(client: TestClient, store: Store, token: str | None) -> None:
    made = store.prompts.create(PromptText(name="Kept"))
    own = {} if token is None else {"token": token}

    answers = [
        client.post("/prompts/new", data=WRITTEN | own),
        client.post(f"/prompts/{made.id}", data=WRITTEN | own | {"seen": "1"}),
        client.post(f"/prompts/{made.id}/delete", data={"seen": "1"} | own),
    ]

    assert [one.status_code for one in answers] == [401] * 3
    assert [one.text.name for one in store.prompts.versions(made.id)] == ["Kept"]
    assert len(store.prompts.all()) == 1


def test_hostile_texts_are_shown_as_they_are(
    client: TestClient, store: Store, parsed: Parsed, post: Post, hostile: list[str]
) -> None:
    usable = [text for text in hostile if "\0" not in text and text.isprintable()]
    texts = {f"{number} {text[:150]}": text for number, text in enumerate([" ".join(usable), *usable])}
    prompts = [
        store.prompts.create(PromptText(name=name, content=text, evaluation_criteria=text))
        for name, text in texts.items()
    ]

    for made in prompts[::5]:
        text = texts[made.name]
        page = parsed(client.get(f"/prompts/{made.id}"))
        again = parsed(post(f"/prompts/{made.id}", name="", content=text, evaluation_criteria=text, seen="1"))

        assert page.value("name") == made.name
        assert page.value("content") == page.value("evaluation_criteria") == text
        assert again.value("content") == text
        assert page.one("h1").text == made.name
    listed = parsed(client.get("/prompts"))
    assert [one.text for one in listed.all("th", class_="clip")] == [one.name for one in store.prompts.all()][:100]
    for prompt in store.prompts.all()[:5]:
        assert client.get(f"/prompts/{prompt.id}/versions").status_code == 200
        assert client.get(f"/prompts/{prompt.id}/delete").status_code == 200


def test_a_version_that_is_no_number_is_refused(store: Store, post: Post) -> None:
    made = store.prompts.create(PromptText(name="Refunds"))
    wrong = ["", "x", "-1", "1.5", "9" * 40, "\uff11"]  # the last is a digit, but none of ours

    answers = [post(f"/prompts/{made.id}", **WRITTEN, seen=seen) for seen in wrong]

    assert [one.status_code for one in answers] == [422] * len(wrong)
    assert store.prompts.find(made.id).latest == 1
