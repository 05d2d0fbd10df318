"""The HTML file of a ranking in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.axe import complaints

from evenhand import Profile, rank

KEPT = (Path(__file__).resolve().parents[1] / "reports" / "hostile.json").read_text(encoding="utf-8")
HOSTILE: list[str] = json.loads(KEPT)
Open = Callable[..., Page]

pytestmark = [pytest.mark.slow, pytest.mark.group("browser: files"), pytest.mark.timeout(600)]


def as_shown(messages: Any) -> str:
    """Leave a group in the order in which it was shown, with all that is hostile as the reason."""
    letters = re.findall(r"<profile_([A-Z]) ", messages[-1]["content"])
    return json.dumps({"reasoning": " ".join(HOSTILE), "order": letters})


@pytest.fixture(scope="module")
def ranking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a ranking whose profiles are short, long and hostile."""
    everything = "\n".join(HOSTILE)
    profiles = [
        Profile(id="short", text="A nurse."),
        Profile(id="long", text="Ten years a nurse. " * 200, attributes={"city": "Graz", "letter": "Dear all, " * 30}),
        Profile(id="hostile", text=everything, attributes={HOSTILE[0]: HOSTILE[1], "all": everything}),
    ]
    ranked = rank(profiles, criteria="Experience", judge=as_shown, rounds=2, store=None)
    return ranked.save(tmp_path_factory.mktemp("ranking") / "ranking.html")


def test_a_rank_opens_to_text_and_reasons_and_leads_to_the_group(ranking: Path, open_page: Open) -> None:
    page = open_page(ranking)
    fold = page.locator(".below details", has_text="of long")

    expect(fold.locator("pre")).to_be_hidden()
    fold.locator("summary").click()

    expect(fold.locator("pre")).to_contain_text("Ten years a nurse. " * 10)
    expect(fold.get_by_role("heading", name="What the judge said")).to_be_visible()
    fold.get_by_role("link", name="round-1-group-1").click()
    expect(page.locator("#case-1 .about")).to_be_visible()


def test_it_opens_without_javascript(ranking: Path, open_page: Open) -> None:
    page = open_page(ranking, java_script_enabled=False)
    fold = page.locator(".below details", has_text="of short")

    fold.locator("summary").click()

    expect(fold.locator("pre")).to_have_text("A nurse.")


def test_it_is_accessible_and_nothing_overflows(ranking: Path, open_page: Open) -> None:
    page = open_page(ranking)
    for summary in page.locator(".below summary").all():
        summary.click()

    for width in (1280, 400):
        page.set_viewport_size({"width": width, "height": 900})
        assert complaints(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_hostile_is_only_text(ranking: Path, open_page: Open) -> None:
    page = open_page(ranking)
    for summary in page.locator(".below summary").all():
        summary.click()

    assert page.evaluate("window.ran") is None
    assert page.locator(".below script, .below img, .below iframe").count() == 0
