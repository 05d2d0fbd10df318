"""`evenhand export` and `evenhand import`: a run as one file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow


def test_a_run_travels(folder: Path, command: Callable[..., Any], finished: str) -> None:
    exported = command("export", finished)
    command("export", finished, "-o", "run.jsonl")

    imported = command("import", "run.jsonl", "--db", "other.db")
    piped = command("import", "-", given=exported.out)

    assert (folder / "run.jsonl").read_text() == exported.out
    assert (imported.code, imported.out) == (0, f"{finished}\n")
    assert "imported 3 cases and 3 evaluations of suite\n" in imported.err
    assert (piped.code, piped.out) == (0, f"{finished}-2\n")
    assert f"here its id is {finished}-2, since {finished} exists already" in piped.err
    there = command("report", "--canonical", "--db", "other.db").out
    assert there == command("report", finished, "--canonical").out


def test_a_dry_run_leaves_nothing_behind(folder: Path, command: Callable[..., Any], finished: str) -> None:
    command("export", finished, "-o", "run.jsonl")

    done = command("import", "run.jsonl", "--dry-run", "--db", "other.db")

    assert (done.code, done.out) == (0, "")
    assert done.err == "run.jsonl is valid: 3 cases and 3 evaluations of suite; nothing was stored\n"
    assert not (folder / "other.db").exists()


def test_a_mistake_in_a_file_is_named_by_its_line(folder: Path, command: Callable[..., Any], finished: str) -> None:
    lines = command("export", finished).out.splitlines()
    (folder / "run.jsonl").write_text("\n".join([*lines[:2], lines[2].replace("scored", "fine"), *lines[3:]]))

    done = command("import", "run.jsonl")

    assert done.code == 2
    assert "evenhand: run.jsonl:3: evaluation: 'fine' is not a valid Status" in done.err
    assert len(command("runs", "--json").json) == 1


def test_a_file_that_is_not_there_is_named(command: Callable[..., Any]) -> None:
    assert command("import", "nowhere.jsonl").err == "evenhand: nowhere.jsonl: there is no such file\n"
