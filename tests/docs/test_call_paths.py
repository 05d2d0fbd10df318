"""The call paths in the architecture page: every function on them exists, and they stay short enough to follow."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from tests.source import modules

pytestmark = pytest.mark.group("source")

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
_, TO_ROW, TO_PAGE = re.split("\nFrom a ", PAGE.partition("## Two call paths")[2].partition("\n## ")[0])


def steps(path: str) -> list[str]:
    """Return the functions of a path, in order."""
    return [name for name in re.findall(r"`([A-Za-z_.]+)`", path) if name != "module.function"]


@functools.cache
def defined() -> frozenset[str]:
    """Return every function, class and method as the page writes it: with its module or class, and without."""
    return frozenset(names())


def names() -> Iterator[str]:
    """Yield what is defined, module by module."""
    for file, tree in modules().items():
        module = file.parent.name if file.stem == "__init__" else file.stem
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from (node.name, f"{module}.{node.name}", f"{file.parent.name}.{module}.{node.name}")
            if isinstance(node, ast.ClassDef):
                methods = (each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef))
                yield from (f"{node.name}.{method.name}" for method in methods)


@pytest.mark.parametrize("step", [*steps(TO_ROW), *steps(TO_PAGE)])
def test_a_step_exists(step: str) -> None:
    assert step in defined()


def test_from_file_to_row_and_from_address_to_page_takes_few_steps() -> None:
    assert 20 < len(steps(TO_ROW)) <= 50
    assert 5 < len(steps(TO_PAGE)) <= 15
