"""The files that design pages name exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
FILES: Final = [
    f"/{path.relative_to(ROOT)}"
    for folder in ("src", "tests", "bench", "docs", "examples")
    for path in (ROOT / folder).rglob("*.*")
]
PAGES: Final = sorted((ROOT / "docs" / "design").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_file_that_a_design_page_names_is_there(page: Path) -> None:
    named = set(re.findall(r"`([a-z_/]+\.(?:py|sql|html|css|js|json))`", page.read_text(encoding="utf-8")))

    assert [name for name in sorted(named) if not any(path.endswith(f"/{name}") for path in FILES)] == []
