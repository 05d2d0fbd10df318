"""`evenhand report`: from the database alone."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow


def test_the_last_run_is_reported_unless_another_is_named(command: Callable[..., Any], finished: str) -> None:
    command("run", "suite.yaml", "--limit", "1")

    last, named = command("report"), command("report", finished[:-1])

    assert last.out.startswith("suite: 1 case, finished")
    assert named.out.startswith("suite: 3 cases, finished")
    assert (last.code, named.code, last.err) == (0, 0, "")


def test_reports_can_be_written_later(folder: Path, command: Callable[..., Any], finished: str) -> None:
    done = command("report", "-o", "r.html", "-o", "r.xml")

    assert (done.code, done.out) == (0, "")
    assert done.err == "wrote r.html\nwrote r.xml\n"
    assert "<html" in (folder / "r.html").read_text()


def test_the_canonical_report_is_the_same_for_the_same_results(command: Callable[..., Any], finished: str) -> None:
    again = command("run", "suite.yaml", "--json").json["run"]["id"]

    reports = [command("report", one, "--canonical") for one in (finished, again)]

    assert reports[0].out == reports[1].out
    assert finished not in reports[0].out
    assert command("report", "--canonical", "-o", "r.json").code == 2


def test_a_run_that_is_not_there_is_named(command: Callable[..., Any], finished: str) -> None:
    done = command("report", "1999")

    assert done.code == 2
    assert f"no run '1999' in .evenhand/evenhand.db; the latest are {finished}" in done.err.replace(
        str(Path.cwd()) + "/", ""
    )


@pytest.mark.parametrize("argv", [["report"], ["runs"], ["runs", "show", "x"], ["resume"], ["export", "x"]])
def test_who_looks_where_nothing_is_leaves_nothing_behind(
    folder: Path, command: Callable[..., Any], argv: list[str]
) -> None:
    done = command(*argv)

    assert (done.code, done.out) == (2, "")
    assert "there is no" in done.err
    assert list(folder.iterdir()) == []


def test_the_report_shows_the_path_of_the_suite_as_it_was_given(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(1, name="suites/first.yaml")

    command("run", "suites/first.yaml", "-o", "report.html")

    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<dt>Suite</dt>" in page
    assert ">suites/first.yaml<" in page
    assert str(folder) not in page


def test_a_run_whose_process_is_gone_is_interrupted_here_as_in_the_list(
    folder: Path, command: Callable[..., Any], finished: str
) -> None:
    with sqlite3.connect(folder / ".evenhand" / "evenhand.db") as db:
        db.execute("UPDATE runs SET status = 'running', finished = NULL, covered = 0, checksum = NULL, owner = NULL")
    db.close()

    listed, told, shown = command("runs"), command("report"), command("report", "--json")

    assert "interrupted" in listed.out
    assert told.out.startswith("suite: 3 cases, interrupted")
    assert shown.json["run"]["status"] == "interrupted"
