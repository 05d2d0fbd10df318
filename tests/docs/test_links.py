"""The pages lead to each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "changelog.d").glob("*.md")])
RELATIVE_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)")


def linked_from(page: Path) -> set[Path]:
    return {(page.parent / link).resolve() for link in RELATIVE_LINK.findall(page.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_on_a_page_leads_somewhere(page: Path) -> None:
    assert [str(target) for target in linked_from(page) if not target.exists()] == []


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    pages = set((ROOT / "docs").rglob("*.md")) - {index}

    assert pages - linked_from(index) == set()
