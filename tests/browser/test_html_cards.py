"""The judge card of an examination as an HTML file, in a real browser: in both themes, and on a narrow screen."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.axe import complaints

from evenhand import examine_judge

Open = Callable[..., Page]

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: files"), pytest.mark.timeout(600)]


def lenient(_messages: object) -> dict[str, object]:
    """Pass everything."""
    return {"reasoning": "Fine.", "hits": [], "misses": [], "score": 0.9}


@pytest.fixture(scope="module")
def card(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the card of a judge that fails some probes, passes others, and leaves others open."""
    examination = examine_judge(lenient, probes=["accuracy", "scale_use", "padding", "attack"], size=12, store=None)
    return examination.save(tmp_path_factory.mktemp("cards") / "card.html")


@pytest.mark.parametrize("has_all", [False, pytest.param(True, marks=pytest.mark.long)], ids=["most", "all"])
def test_nothing_stands_in_anybodys_way(card: Path, open_page: Open, has_all: bool) -> None:
    page = open_page(card, color_scheme="light")

    expect(page.locator(".headline")).to_contain_text("The judge failed 1 of 10 probes: scale_use.")
    assert complaints(page, has_all=has_all) == []


def test_nothing_is_wider_than_the_page(card: Path, open_page: Open) -> None:
    page = open_page(card)

    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
