"""Every example in a docstring or on a page runs."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "evenhand"


def modules_with_examples() -> list[str]:
    """Name the modules that have examples in their docstrings."""
    paths = [path for path in PACKAGE.rglob("*.py") if ">>> " in path.read_text(encoding="utf-8")]
    return sorted(
        ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__") for path in paths
    )


@pytest.mark.parametrize("name", modules_with_examples())
def test_the_examples_in_a_module_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    result = doctest.testmod(importlib.import_module(name))

    assert result.attempted
    assert not result.failed


def test_the_examples_on_a_page_run(page_with_python: Any, page_folder: Path) -> None:
    page = page_with_python
    namespace: dict[str, Any] = {"__name__": "__main__"}
    page.write_files(page_folder)

    for block in page.python:
        # Blank lines before the block, so that a traceback has the line of the page.
        above = "\n" * (block.line - 1)
        exec(compile(above + block.text, str(page.path), "exec", dont_inherit=True), namespace)
