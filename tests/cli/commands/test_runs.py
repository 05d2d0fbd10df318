"""`evenhand runs`: list, show, verify and delete."""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]


def test_runs_are_listed_newest_first_with_their_means(
    command: Callable[..., Any], finished: str, suite: Callable[..., Path], serve: Any
) -> None:
    suite(2, judge=serve(lambda _: {"says": "no JSON"}), name="other.yaml")
    command("run", "other.yaml")

    lines = command("runs").out.splitlines()

    assert lines[0].split() == ["run", "suite", "status", "began", "cases", "errors", "mean", "95", "%"]
    assert re.fullmatch(r"\S+  other +finished +\d{4}-\d\d-\d\d \d\d:\d\d UTC +2 +2 +–  –", lines[1])
    assert re.fullmatch(rf"{finished}  suite +finished .* 3 +0 +1\.00  \[0\.44, 1\.00\]", lines[2])
    assert len(command("runs", "list", "--limit", "1").out.splitlines()) == 2


def test_runs_are_listed_for_programs_too(command: Callable[..., Any], finished: str) -> None:
    (one,) = command("runs", "--json").json

    assert (one["id"], one["name"], one["status"], one["summary"]["mean"]) == (finished, "suite", "finished", 1.0)


def test_a_run_is_shown(command: Callable[..., Any], finished: str) -> None:
    assert command("runs", "show", finished).out == command("report", finished).out


def test_a_run_is_deleted_after_a_yes(command: Callable[..., Any], finished: str) -> None:
    unasked = command("runs", "delete", finished)
    done = command("runs", "delete", finished, finished[:-1], "--yes")

    assert unasked.code == 2
    assert (
        f"Delete {finished} (suite, 3 cases)? Cannot ask for confirmation without a terminal; use --yes" in unasked.err
    )
    assert (done.code, done.err) == (0, f"deleted {finished}\n")
    assert command("runs").out == "no runs yet\n"


def test_a_run_is_tagged_and_found_by_its_tags(command: Callable[..., Any], finished: str) -> None:
    tagged = command("runs", "tag", "last", "release", " candidate ", "release")
    found = [json.loads(command("runs", "list", "--json", "--tag", *tags).out) for tags in (["release"], ["draft"])]
    none = command("runs", "list", "--tag", "draft")
    removed = command("runs", "tag", "last", "--remove", "release", "--remove", "candidate")
    refused = [command("runs", "tag", "last", *wrong) for wrong in (["a,b"], [], ["x" * 41])]

    assert (tagged.code, tagged.err) == (0, f"{finished} is tagged candidate, release\n")
    assert ([run["tags"] for run in found[0]], found[1]) == ([["candidate", "release"]], [])
    assert none.out == "no run is tagged draft\n"
    assert (removed.code, removed.err) == (0, f"{finished} has no tags\n")
    assert [done.code for done in refused] == [2, 2, 2]
    assert "without a comma" in refused[0].err
    assert "name tags to add, or one to remove" in refused[1].err


def test_a_run_is_labelled_later(command: Callable[..., Any], finished: str) -> None:
    done = command("runs", "label", finished[:-1], " shorter prompt ")
    listed = json.loads(command("runs", "--json").out)
    refused = command("runs", "label", "last", "a\nb")
    cleared = command("runs", "label", "last", "")

    assert (done.code, done.err) == (0, f"{finished} is labelled shorter prompt\n")
    assert listed[0]["label"] == "shorter prompt"
    assert refused.code == 2
    assert "it must be a line of 1 to 200 characters, or empty" in refused.err
    assert (cleared.code, cleared.err) == (0, f"{finished} has no label\n")
    assert json.loads(command("runs", "list", "--json").out)[0]["label"] == ""


def test_sound_runs_are_verified_a_line_each(command: Callable[..., Any], finished: str) -> None:
    done, as_json = command("runs", "verify"), command("runs", "verify", finished[:-1], "--json")

    assert (done.code, done.out, done.err) == (0, f"{finished}  ok: 7 rows\n", "")
    assert as_json.code == 0
    assert as_json.json == {
        "database": [],
        "runs": [{"id": finished, "status": "ok", "rows": 7, "uncovered": 0, "damages": 0, "told": []}],
    }


def test_a_damaged_run_is_told_and_can_be_deleted(folder: Path, command: Callable[..., Any], finished: str) -> None:
    with contextlib.closing(sqlite3.connect(folder / ".evenhand/evenhand.db")) as database:
        database.execute("UPDATE evaluations SET score = 0.25 WHERE position = 1")
        database.execute("UPDATE runs SET name = 'other'")
        database.commit()

    report, verified = command("report", finished, "--canonical"), command("runs", "verify")
    as_json = command("runs", "verify", "last", "--json")
    deleted = command("runs", "delete", finished, "--yes")

    assert report.code == 1
    assert report.err.startswith(
        f"evenhand: run {finished} is damaged: its row does not match its checksum; restore a "
    )
    assert (verified.code, as_json.code) == (1, 1)
    assert verified.out.splitlines() == [
        f"{finished}  damaged: 2 faults in 7 rows",
        "  its row in the table of runs does not match its checksum",
        "  the evaluation of the case at position 1, place 0, sample 0, round 0 does not match its checksum",
    ]
    assert as_json.json["runs"][0]["damages"] == 2
    assert (deleted.code, command("runs", "verify").out) == (0, "")


def test_a_file_that_the_database_itself_finds_damaged_is_told(
    folder: Path, command: Callable[..., Any], finished: str
) -> None:
    path = folder / ".evenhand/evenhand.db"
    with contextlib.closing(sqlite3.connect(path)) as database:
        ((root,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'cases_by_id'").fetchall()
    data = bytearray(path.read_bytes())
    at = (root - 1) * 16384 + 3  # how many entries the index has
    data[at : at + 2] = (2).to_bytes(2, "big")
    path.write_bytes(data)

    done = command("runs", "verify")

    assert done.code == 1
    assert f"{finished}  ok" in done.out
    assert "evenhand.db is damaged: " in done.err
