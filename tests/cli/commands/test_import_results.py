"""`evenhand import-results`: what another tool recorded, as a finished run."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow

ROW = {
    "testIdx": 0, "promptIdx": 0, "success": True, "score": 1, "provider": {"id": "openai:gpt-5-mini"},
    "prompt": {"raw": "Capital of France?"}, "response": {"output": "Paris"}, "testCase": {"description": "capital"},
    "gradingResult": {
        "pass": True, "score": 1, "reason": "ok",
        "componentResults": [{"pass": True, "score": 1, "reason": "ok", "assertion": {"type": "equals", "value": "Paris"}}],
    },
}  # fmt: skip


@pytest.fixture
def results(folder: Path) -> Path:
    """Write a file of results."""
    path = folder / "results.jsonl"
    path.write_text(json.dumps(ROW) + "\n", encoding="utf-8")
    return path


def test_the_id_of_the_run_is_printed_and_the_run_can_be_reported(command: Callable[..., Any], results: Path) -> None:
    done = command("import-results", results.name)

    assert (done.code, done.err) == (0, "imported 1 case and 2 evaluations from promptfoo, results.jsonl\n")
    assert "pass 1" in command("report", done.out.strip()).out


def test_a_file_is_imported_once_unless_it_is_wanted_again(command: Callable[..., Any], results: Path) -> None:
    first, second = command("import-results", results.name), command("import-results", results.name)
    third = command("import-results", results.name, "--again", "--quiet")

    assert (second.code, second.out) == (0, first.out)
    assert (
        second.err == f"results.jsonl was imported before, as run {first.out.strip()}; use --again to import it again\n"
    )
    assert third.out not in (first.out, "")
    assert third.err == ""


def test_a_dry_run_checks_the_file_and_stores_nothing(folder: Path, command: Callable[..., Any], results: Path) -> None:
    done = command("import-results", results.name, "--dry-run", "--db", "other.db")

    assert (done.code, done.out) == (0, "")
    assert done.err == (
        "results.jsonl is valid: 1 case and 2 evaluations from promptfoo, results.jsonl; nothing was stored\n"
    )
    assert not (folder / "other.db").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "results.jsonl"),
        ('{"success": true}\n', "results.jsonl"),
        (json.dumps(ROW) + "\n{broken\n", "results.jsonl:2"),
    ],
)
def test_a_file_that_is_wrong_anywhere_is_refused_with_its_place_and_nothing_is_stored(
    command: Callable[..., Any], results: Path, content: str, message: str
) -> None:
    results.write_text(content, encoding="utf-8")

    done = command("import-results", results.name)

    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert command("runs", "--json").json in ([], {"runs": []})


@pytest.mark.parametrize("options", [(), ("--retry-errors",), ("--fork",)])
def test_such_a_run_cannot_be_resumed_since_what_judged_it_is_not_here(
    command: Callable[..., Any], results: Path, options: tuple[str, ...]
) -> None:
    run = command("import-results", results.name).out.strip()

    done = command("resume", run, *options)

    assert done.code == 2
    assert f"run {run} was imported from promptfoo" in done.err
    assert f"evenhand run SUITE --answers-from {run}" in done.err
