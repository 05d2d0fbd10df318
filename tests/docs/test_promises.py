"""What is promised is shown by tests that are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "security.md"
HEADING = "## What is promised, and what shows it"


def promises() -> list[tuple[str, list[str]]]:
    """Read the table: each promise, and the tests that it names."""
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2]
    rows = re.findall(r"^\| (.+?) \| (.+?) \|$", table, re.MULTILINE)
    return [(promise, re.findall(r"`([^`]+)`", tests)) for promise, tests in rows[1:]]


@pytest.mark.parametrize(("promise", "tests"), promises(), ids=lambda value: str(value)[:60])
def test_a_promise_names_tests_that_are_there(promise: str, tests: list[str]) -> None:
    assert tests, f"nothing shows that {promise}"

    for test in tests:
        file, _, name = test.partition("::")
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{test} is not there"


def test_there_are_promises() -> None:
    assert len(promises()) >= 15
