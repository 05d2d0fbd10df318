"""The page of settings, and the first page."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import evenhand
from evenhand.domain.prompt import PromptText
from evenhand.domain.secret import Secret
from evenhand.server.app import make_app
from evenhand.server.settings import ServerSettings
from evenhand.store.store import Store

Parsed = Callable[[Any], Any]
TOKEN = "a-token-of-the-tests"


def test_providers_are_named_with_their_variables_and_never_with_their_keys(
    client: TestClient, parsed: Parsed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "sk-not-to-be-seen")

    response = client.get("/settings")

    rows = {one.text.split("/")[0]: one.text for one in parsed(response).all("tr")}
    assert "key is set" in rows["gemini"]
    assert "GOOGLE_API_KEY" in rows["gemini"]
    assert "no key" in rows["openai"]
    assert "needs no key" in rows["ollama"]
    assert "sk-not-to-be-seen" not in response.text


def test_it_says_where_things_are_kept_and_which_models_are_here(
    client: TestClient, parsed: Parsed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVENHAND_MODELS", str(tmp_path / "models"))
    monkeypatch.setenv("EVENHAND_JUDGE", "ollama/some-judge")

    main = parsed(client.get("/settings")).one("main").text

    assert str(tmp_path / "evenhand.db") in main
    assert str(tmp_path / "models") in main
    assert "ollama/some-judge" in main
    assert "evenhand models pull qwen2.5-coder-1.5b" in main


def test_theme_and_density_are_choices_of_the_browser(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/settings"))

    assert [one.attributes["value"] for one in page.all("input", data_own="theme")] == ["system", "light", "dark"]
    assert [one.attributes["value"] for one in page.all("input", data_own="density")] == ["compact", "comfortable"]


def test_the_first_page_begins_with_how_to_begin(client: TestClient, parsed: Parsed) -> None:
    page = parsed(client.get("/"))

    commands = [one.text for one in page.all("pre", class_="command")]
    assert commands == ["evenhand init\nevenhand run suite.yaml", "evenhand demo"]
    assert "/prompts/new" in [one.attributes["href"] for one in page.all("a", class_="button primary")]


def test_the_first_page_shows_what_came_of_the_latest_runs(tmp_path: Path, parsed: Parsed) -> None:
    db = str(tmp_path / "runs.db")
    cases = [evenhand.Case(id=str(number), candidate_answer="a" * number) for number in range(4)]
    evenhand.evaluate(cases, [evenhand.Equals(value="aa")], store=db, name="<b>lengths")

    app = make_app(ServerSettings(db=db, token=Secret(TOKEN)))
    with TestClient(app, base_url="http://localhost:8642") as client:
        response = client.get("/")

    page = parsed(response)
    (row,) = page.all("tbody")
    assert "<b>lengths" in row.text
    assert "25% of 4" in row.text
    assert "n = 4" in row.text
    assert "1 pass, 3 fail" in page.one("desc").text
    assert "pass" in page.one("ul", class_="legend").text


def test_the_first_page_lists_prompts_beside_runs(client: TestClient, store: Store, parsed: Parsed) -> None:
    store.prompts.create(PromptText(name="Refunds"))

    page = parsed(client.get("/"))

    assert "1 existing" in page.one("main").text
