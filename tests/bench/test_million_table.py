"""The tables of a million cases are written between their marks, and nothing else of the page changes."""

from __future__ import annotations

import json

from bench.million_table import BEGIN, END, KEPT, PAGE, page_with


def test_the_tables_are_written_between_the_marks() -> None:
    kept: dict[str, dict[str, dict[str, list[float | None]]]] = {
        "postgres": {"10": {"report": [0.5, 0.25, 40], "pages: one": [0.01, 0, None]}},
        "sqlite": {"100": {"report": [0.5, 0, 36], "export": [1234.5, 0, 36]}, "10": {"report": [0.4, 0, 36]}},
    }

    page = page_with(f"before\n{BEGIN}\nold\n{END}\nafter\n", kept)

    assert page.startswith(f"before\n{BEGIN}\n")
    assert page.endswith(f"{END}\nafter\n")
    assert "old" not in page
    assert "| | 10 cases | memory | 100 cases | memory |" in page
    assert "| report | 0.40 s | 36 MB | 0.50 s | 36 MB |" in page
    assert "| export | |  | 1,234 s | 36 MB |" in page
    assert "| report | 0.50 s + 0.25 s | 40 MB |" in page
    assert page.index("SQLite") < page.index("PostgreSQL")


def test_the_page_has_the_figures_that_are_kept() -> None:
    page = PAGE.read_text(encoding="utf-8")

    assert page_with(page, json.loads(KEPT.read_text(encoding="utf-8"))) == page
