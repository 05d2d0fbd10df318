"""The list of runs: tags, saved filters, the field for prompts, and two runs chosen on different pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from evenhand.domain.prompt import PromptText
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.server.pages import run_list
from evenhand.store.store import Store

Parsed = Callable[[Any], Any]
Post = Callable[..., Any]


def made(store: Store, name: str, **definition: Any) -> RunRecord:
    run = store.runs.create(name=name, source=None, definition=definition, options={})
    return store.runs.mark(run, RunStatus.FINISHED)


def listed(page: Any) -> list[str]:
    return [one.text for one in page.all("a") if re.fullmatch(r"/runs/2[^/]+", one.attributes["href"])]


def test_tags_are_set_on_the_page_of_a_run_and_filter_the_list(
    client: TestClient, store: Store, parsed: Parsed, post: Post
) -> None:
    run, other = made(store, "one"), made(store, "two")

    answer = post(f"/runs/{run.id}/tags", add="release, <b>bold</b> ,")
    post(f"/runs/{other.id}/tags", add="release")
    shown = parsed(client.get(f"/runs/{run.id}"))
    both, one, none = (
        parsed(client.get(f"/runs?{query}"))
        for query in ("tag=release", "tag=release%2C+%3Cb%3Ebold%3C%2Fb%3E", "tag=other")
    )
    by_text = parsed(client.get("/runs?text=bold"))
    post(f"/runs/{run.id}/tags", remove="release")
    refused = post(f"/runs/{run.id}/tags", add="x" * 41)

    assert answer.status_code == 303
    assert shown.one("a", href="/runs?tag=release").text == "release"
    assert [one.attributes["value"] for one in shown.all("input", name="remove")] == ["<b>bold</b>", "release"]
    assert (listed(both), listed(one), listed(none), listed(by_text)) == (["two", "one"], ["one"], [], ["one"])
    assert "No matches" in none.one("main").text
    assert one.one("input", id="tag").attributes["value"] == "<b>bold</b>, release"
    assert store.runs.find(run.id).tags == ("<b>bold</b>",)
    assert refused.status_code == 422
    assert "1 to 40 characters" in refused.text


def test_a_filter_is_saved_opened_again_and_deleted(
    client: TestClient, store: Store, parsed: Parsed, post: Post
) -> None:
    made(store, "refunds")
    made(store, "other")
    page = parsed(client.get("/runs?text=refunds&sort=oldest"))
    query = page.one("input", name="query").attributes["value"]

    saved = post("/runs/filters", name=" Ours & theirs ", query=query)
    again = parsed(client.get(saved.headers["location"]))
    link = next(one for one in again.all("a") if one.text == "Ours & theirs")
    refused = post("/runs/filters", name=" ", query=query)
    deleted = post("/runs/filters/delete", name="Ours & theirs")

    assert listed(page) == ["refunds"]
    assert link.attributes == {"href": "/runs?text=refunds&sort=oldest", "aria-current": "true", "dir": "auto"}
    assert listed(parsed(client.get(link.attributes["href"]))) == ["refunds"]
    assert "Filter saved." in again.one("main").text
    assert not parsed(client.get("/runs")).all("input", name="query")
    assert (refused.status_code, deleted.status_code, store.saved_filters.all()) == (422, 303, [])


def test_runs_chosen_on_different_pages_are_compared(
    client: TestClient, store: Store, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "ON_A_PAGE", 2)
    runs = [made(store, f"run {number}") for number in range(5)]

    second = parsed(client.get(f"/runs?sort=oldest&a={runs[0].id}&b={runs[3].id}&after=2"))
    filtered = parsed(client.get(f"/runs?text=run&a={runs[0].id}&b=gone"))

    chosen = [
        (one.attributes["name"], one.attributes["value"])
        for one in second.all("input", type="radio")
        if "checked" in one.attributes
    ]
    hidden = [one.attributes for one in second.all("input", type="hidden", name="sort")]
    assert chosen == [("a", runs[0].id), ("b", runs[3].id)]
    assert "Chosen on another page" in second.one("fieldset").text
    assert hidden == [{"type": "hidden", "name": "sort", "value": "oldest"}]
    assert second.one("button", name="after", value="4").attributes["formaction"] == "/runs"
    assert second.one("button", name="after", value="0").text == "Previous"
    assert [one.attributes["value"] for one in filtered.all("input", type="hidden", name="a")] == [runs[0].id]


def test_the_field_for_prompts_offers_some_and_takes_a_part_of_a_name(
    client: TestClient, store: Store, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "MOST_OFFERED", 2)
    names = ("Haiku", "Refunds long", "Refunds short")
    prompts = {name: store.prompts.create(PromptText(name=name)) for name in names}
    for name, prompt in prompts.items():
        made(store, f"{name} v1", prompt={"id": prompt.id, "name": name, "version": 1})

    plain = parsed(client.get("/runs"))
    by_name, by_part, unclear, none = (
        client.get("/runs", params={"prompt": name}) for name in ("Haiku", "HAI", "refunds", "x")
    )

    offered = [one.attributes["value"] for one in plain.all("option") if one.attributes["value"] in names]
    assert offered == ["Refunds short", "Refunds long"]
    assert listed(parsed(by_name)) == listed(parsed(by_part)) == ["Haiku v1"]
    assert parsed(by_part).one("input", id="prompt").attributes["value"] == "Haiku"
    assert "Which prompt?" in unclear.text
    assert parsed(unclear).one("a", href=f"/runs?prompt={prompts['Refunds long'].id}").text == "Refunds long"
    assert none.status_code == 404
