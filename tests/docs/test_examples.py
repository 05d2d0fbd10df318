"""Every example in a docstring or on a page runs."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "evenhand"

PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Blocks that cannot run here: the page, the block's first line, and why.
NOT_RUN: dict[tuple[str, str], str] = {}


def modules_with_examples() -> list[str]:
    """Name the modules that have examples in their docstrings."""
    paths = [path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__") for path in paths
    )


def pages_with_examples() -> list[str]:
    """Name the pages that have Python blocks."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return sorted(
        page.relative_to(ROOT).as_posix() for page in pages if PYTHON_BLOCK.search(page.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_in_a_module_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    result = doctest.testmod(importlib.import_module(name))

    assert result.attempted
    assert not result.failed


@pytest.mark.parametrize("name", pages_with_examples())
def test_the_examples_on_a_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    monkeypatch.chdir(tmp_path)

    for found in PYTHON_BLOCK.finditer(page):
        if (name, found[1].partition("\n")[0]) not in NOT_RUN:
            # Blank lines before the block, so that a traceback has the line of the page.
            above = "\n" * page.count("\n", 0, found.start(1))
            exec(compile(above + found[1], str(ROOT / name), "exec", dont_inherit=True), namespace)


def test_every_block_that_is_not_run_is_there() -> None:
    there = {
        (name, found[1].partition("\n")[0])
        for name in pages_with_examples()
        for found in PYTHON_BLOCK.finditer((ROOT / name).read_text(encoding="utf-8"))
    }

    assert NOT_RUN.keys() <= there
