"""What all pages share: the frame, the pages of trouble, and the pieces in parts.html."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import evenhand
from evenhand.reports.phrases import Standing
from evenhand.server.rendering import templates

SERVER = Path(evenhand.__file__).parent / "server"
PAGES = ("/", "/prompts", "/prompts/new", "/judges", "/io", "/settings")


def part(call: str) -> str:
    return templates().from_string(f'{{% import "parts.html" as parts %}}{{{{ parts.{call} }}}}').render()


@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_the_frame_and_says_where_one_is(
    client: TestClient, parsed: Callable[[Any], Any], address: str
) -> None:
    response = client.get(address)

    page = parsed(response)
    assert response.status_code == 200
    assert page.one("a", class_="skip").attributes["href"] == "#main"
    assert page.one("main").attributes["id"] == "main"
    assert len(page.all("h1")) == 1
    assert page.one("title").text.endswith(" · Evenhand")
    (here,) = page.all("a", aria_current="page")
    assert address.startswith(here.attributes["href"])


def test_the_theme_is_set_before_anything_is_shown(client: TestClient, parsed: Callable[[Any], Any]) -> None:
    response = client.get("/prompts")

    scripts = parsed(response).all("script")
    assert scripts[0].attributes == {"src": "/static/theme.js"}
    assert response.text.index("theme.js") < response.text.index("app.css")
    assert all(one.attributes["type"] == "module" for one in scripts[1:])


def test_what_the_frame_refers_to_is_there(client: TestClient, parsed: Callable[[Any], Any]) -> None:
    page = parsed(client.get("/prompts/new"))

    wanted = [one.attributes["href"] for one in page.all("link")] + [
        one.attributes["src"] for one in page.all("script")
    ]
    assert [client.get(one).status_code for one in wanted] == [200] * len(wanted)


@pytest.mark.parametrize("address", ["/prompts/p-gone", "/cases/t-gone", "/prompts/p-gone/versions", "/nowhere"])
def test_an_old_link_leads_to_a_page_that_says_so(
    client: TestClient, parsed: Callable[[Any], Any], address: str
) -> None:
    response = client.get(address)

    page = parsed(response)
    assert response.status_code == 404
    assert "may have been deleted" in page.one("main").text
    assert "/prompts" in [one.attributes["href"] for one in page.all("a", class_="button")]


def test_trouble_is_told_without_letting_markup_in(client: TestClient) -> None:
    response = client.get("/prompts/<script>alert(1)")

    assert response.status_code == 404
    assert "<script>alert" not in response.text
    assert "&lt;script&gt;alert" in response.text


@pytest.mark.parametrize("standing", list(Standing))
def test_a_badge_is_a_sign_a_word_and_a_colour(standing: Standing) -> None:
    badge = templates().from_string("{{ badge(standing) }}").render(standing=standing.value)

    assert f'class="badge {standing.value}"' in badge
    assert standing.glyph in badge
    assert standing.word in badge


def test_a_mean_comes_with_its_interval_and_n() -> None:
    whole, without, none = (
        re.sub(r"<[^>]+>", "", part(call))
        for call in ("interval(0.8, 0.75, 0.85, 1200)", "interval(0.8, none, none, 1)", "interval(none, none, none, 0)")
    )

    assert whole == "0.80 [0.75, 0.85] n = 1,200"
    assert without == "0.80 n = 1"
    assert none == "– (n = 0)"


def test_a_field_tells_what_is_wrong_with_it_and_keeps_its_first_empty_line() -> None:
    field = part("field('name', 'Name', '\\n<b>', 'it is <i>', 'a hint', rows=3)")

    assert 'aria-invalid="true"' in field
    assert 'aria-describedby="name-hint name-error"' in field
    assert "it is &lt;i&gt;" in field
    assert ">\n\n&lt;b&gt;</textarea>" in field


def test_the_scripts_are_few_and_put_text_in_as_text() -> None:
    scripts = {path.name: path.read_text(encoding="utf-8") for path in (SERVER / "static").glob("*.js")}

    lengths = {name: len(text.splitlines()) for name, text in scripts.items()}
    assert max(lengths.values()) <= 300, lengths
    assert sum(lengths.values()) <= 2000, lengths
    for name, text in scripts.items():
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function"):
            assert forbidden not in text, (name, forbidden)


def test_no_template_lets_markup_through() -> None:
    for path in sorted((SERVER / "templates").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape|Markup", text), path.name
