"""From an error to a message and an exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand.cli.runs.start

# Many, and together they take a while.
pytestmark = pytest.mark.slow


def test_what_should_not_have_happened_is_one_line_and_with_v_a_traceback(
    command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(1)

    def broken(*_: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(evenhand.cli.runs.start, "plan", broken)

    plain, verbose = command("run", "suite.yaml"), command("run", "suite.yaml", "-v")

    assert plain.code == verbose.code == 1
    assert plain.err == ("evenhand: internal error: RuntimeError: a wheel came off; -v shows the traceback\n")
    assert "Traceback (most recent call last)" in verbose.err
    assert "in broken" in verbose.err


def test_a_file_that_cannot_be_written_is_named(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(1)
    (folder / "taken").write_text("a file")

    done = command("run", "suite.yaml", "-o", "taken/report.html")

    assert done.code == 2
    assert done.err == "evenhand: taken/report.html: taken is a file, not a folder; name another folder\n"


def test_a_file_that_is_no_database_is_named(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(1)
    (folder / "notes.txt").write_text("not a database, and long enough to be looked at " * 20)

    done = command("run", "suite.yaml", "--db", "notes.txt")

    assert done.code == 1
    assert "give the right one with --db" in done.err
    assert done.out == ""
