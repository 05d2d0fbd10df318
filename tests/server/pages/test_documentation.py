"""The documentation among the pages."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient


def test_pages_and_pictures_are_served_and_linked_from_every_page(client: TestClient, parsed: Any) -> None:
    index, page = parsed(client.get("/help")), parsed(client.get("/help/numbers"))
    design = parsed(client.get("/help/design/pages"))
    picture = client.get("/help/pictures/run-dark.png")

    assert parsed(client.get("/")).one("a", href="/help")
    assert index.one("a", href="/help/numbers").text == "What the numbers mean"
    assert page.one("h1").text == "What the numbers mean"
    assert page.all("a", href="#intervals")
    assert page.one("h2", id="intervals")
    assert design.one("h1").text == "Pages"
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")
    assert picture.content.startswith(b"\x89PNG")


def test_headings_are_searched(client: TestClient, parsed: Any) -> None:
    found, none = parsed(client.get("/help?q=jury")), parsed(client.get("/help?q=%3Cscript%3E"))

    assert found.one("a", href="/help/numbers#agreement-of-a-jury").text == "Agreement of a jury"
    assert "No matches" in none.one("main").text
    assert none.value("q") == "<script>"


def test_what_is_no_page_is_not_found_and_a_long_search_is_refused(client: TestClient) -> None:
    missing = [
        client.get(f"/help/{name}")
        for name in (
            "nothing",
            "conf.py",
            "../pyproject.toml",
            "%2e%2e/pyproject",
            "%2e%2e/README",
            "design/%2e%2e/numbers",
            "pictures/none.png",
            "generate/markdown",
        )
    ]
    refused = client.get("/help", params={"q": "x" * 201})

    assert [one.status_code for one in missing] == [404] * len(missing)
    assert "/help lists all pages" in missing[0].text
    assert refused.status_code == 422
