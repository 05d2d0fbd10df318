"""The smaller commands: judge, report, runs, export, import, validate, init, cache."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evenhand.cli.runs.start

# Many, and together they take a while.
pytestmark = pytest.mark.slow

# judge


@pytest.fixture
def judge(serve: Any, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Start a judge that is found by the usual variables."""

    def start(script: Any = None) -> Any:
        provider = serve(script)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("EVENHAND_JUDGE", "openai/one")
        return provider

    return start


def test_one_answer_is_judged_and_nothing_is_kept(
    folder: Path, command: Callable[..., Any], judge: Callable[..., Any]
) -> None:
    found = {"score": 0.7, "hits": ["names it"], "misses": ["too long"], "reasoning": "Nearly."}
    provider = judge(lambda _: {"says": found})

    done = command("judge", "--question", "Capital?", "--answer", "Paris", "--criteria", "Names it")

    assert done.code == 0
    assert done.out == "≈ borderline  0.70\n  + names it\n  - too long\nNearly.\n"
    assert all(text in provider.asked[0] for text in ("Capital?", "Paris", "Names it"))
    assert list(folder.iterdir()) == []


def test_the_verdict_is_no_failure_of_the_command(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    judge(lambda _: {"says": {"score": 0}})

    assert command("judge", "--answer", "x", "--criteria", "y").code == 0


def test_an_answer_may_come_from_standard_input(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    provider = judge()

    done = command("judge", "--answer", "-", "--reference", "Paris", "--json", given="Größe\n\n")

    assert done.json["verdict"] == "pass"
    assert "\nGröße\n\n" in provider.asked[0]


def test_rubric_items_are_checked_one_by_one(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    checks = [{"id": "rubric-1", "satisfied": True}, {"id": "rubric-2", "satisfied": False, "reasoning": "no"}]
    judge(lambda _: {"says": {"checks": checks}})

    done = command("judge", "--answer", "x", "--rubric", "is short", "--rubric", "is true", "--json")

    assert (done.json["score"], done.json["verdict"]) == (0.5, "fail")
    assert done.json["hits"] == ["[rubric-1] is short"]


def test_a_judge_that_fails_is_101(command: Callable[..., Any], judge: Callable[..., Any]) -> None:
    judge(lambda _: {"says": "I would rather not."})

    done = command("judge", "--answer", "x", "--criteria", "y")

    assert done.code == 101
    assert done.out.startswith("! the judge failed: unparsable: ")


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["--answer", "x", "--criteria", "y"], "no judge: give --judge openai/gpt-5-mini, or set EVENHAND_JUDGE"),
        (["--answer", "x", "--judge", "openai/one"], "nothing to judge by: give --criteria, --reference or --rubric"),
        (["--answer", "-", "--criteria", "-", "--judge", "openai/one"], "read once, not for --answer and --criteria"),
        (["--answer", "x", "--criteria", "y", "--judge", "openai/one"], "OPENAI_API_KEY"),
        (["--criteria", "y"], "--answer"),
        (["--answer", "-", "--criteria", "y", "--judge", "openai/one"], "standard input: byte 2 is not UTF-8"),
    ],
)
def test_what_cannot_be_judged_is_a_usage_error(command: Callable[..., Any], argv: list[str], told: str) -> None:
    done = command("judge", *argv, given=b"x\xff")

    assert (done.code, done.out) == (2, "")
    assert told in done.err


# report


@pytest.fixture
def finished(command: Callable[..., Any], suite: Callable[..., Path]) -> str:
    """Make a finished run, and give its id."""
    suite(3)
    identity: str = command("run", "suite.yaml", "--json").json["run"]["id"]
    return identity


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


# runs


def test_runs_are_listed_newest_first_with_their_means(
    command: Callable[..., Any], finished: str, suite: Callable[..., Path], serve: Any
) -> None:
    suite(2, judge=serve(lambda _: {"says": "no JSON"}), name="other.yaml")
    command("run", "other.yaml")

    lines = command("runs").out.splitlines()

    assert lines[0].split() == ["run", "suite", "status", "began", "cases", "errors", "mean", "95", "%"]
    assert re.fullmatch(r"\S+  other +finished +\d{4}-\d\d-\d\d \d\d:\d\d UTC +2 +2 +–  –", lines[1])
    assert re.fullmatch(rf"{finished}  suite +finished .* 3 +0  1\.00  \[0\.44, 1\.00\]", lines[2])
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
    assert f"Delete {finished} (suite, 3 cases)? Nobody is there to ask; give --yes" in unasked.err
    assert (done.code, done.err) == (0, f"deleted {finished}\n")
    assert command("runs").out == "no runs yet\n"


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


# export and import


def test_a_run_travels(folder: Path, command: Callable[..., Any], finished: str) -> None:
    exported = command("export", finished)
    command("export", finished, "-o", "run.jsonl")

    imported = command("import", "run.jsonl", "--db", "other.db")
    piped = command("import", "-", given=exported.out)

    assert (folder / "run.jsonl").read_text() == exported.out
    assert (imported.code, imported.out) == (0, f"{finished}\n")
    assert "imported 3 cases and 3 evaluations of suite\n" in imported.err
    assert (piped.code, piped.out) == (0, f"{finished}-2\n")
    assert f"here it is {finished}-2, since {finished} is there already" in piped.err
    there = command("report", "--canonical", "--db", "other.db").out
    assert there == command("report", finished, "--canonical").out


def test_a_dry_run_leaves_nothing_behind(folder: Path, command: Callable[..., Any], finished: str) -> None:
    command("export", finished, "-o", "run.jsonl")

    done = command("import", "run.jsonl", "--dry-run", "--db", "other.db")

    assert (done.code, done.out) == (0, "")
    assert done.err == "run.jsonl is sound: 3 cases and 3 evaluations of suite; nothing was kept\n"
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


# validate and init


def test_every_mistake_in_a_suite_is_listed(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "suite.yaml").write_text(
        "evaluators: [{type: contians}]\ngatse: {}\ncases:\n- {id: a, inptu: x}\n- {id: b, input: 7}\n"
    )

    done, told = command("validate", "suite.yaml"), command("validate", "suite.yaml", "--json")

    assert (done.code, told.code) == (2, 2)
    assert [line.split(": ")[0] for line in done.out.splitlines()] == [
        "suite.yaml:1", "suite.yaml:2", 'suite.yaml:4, case "a"', 'suite.yaml:5, case "b"'
    ]  # fmt: skip
    assert len(told.json["problems"]) == 4


def test_a_suite_without_mistakes_is_told_so(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(3)

    done = command("validate", "suite.yaml")

    assert (done.code, done.out, done.err) == (0, "", "suite.yaml: 3 cases, nothing wrong\n")


def test_a_first_suite_is_written_runs_and_is_never_written_over(folder: Path, command: Callable[..., Any]) -> None:
    first = command("init", "new/folder")
    run = command("run", "new/folder/suite.yaml")
    before = (folder / "new/folder/suite.yaml").read_text()

    again = command("init", "new/folder")

    assert first.code == 0
    assert first.err.endswith("Now try: evenhand run new/folder/suite.yaml\n")
    assert run.code == 0
    assert again.code == 2
    assert "are there already; name another folder" in again.err
    assert (folder / "new/folder/suite.yaml").read_text() == before


def test_of_one_case_it_is_told_in_the_singular(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    suite(1, judge=provider)
    command("run", "suite.yaml")

    exported = command("export", "last", "-o", "run.jsonl")
    imported = command("import", "run.jsonl", "--db", "other.db")
    deleted, cleared = command("runs", "delete", "last"), command("cache", "clear", "--yes")

    assert exported.err.endswith(", 1 case\n")
    assert imported.err == "imported 1 case and 1 evaluation of suite\n"
    assert "(suite, 1 case)?" in deleted.err
    assert cleared.err == "forgot 1 reply\n"


# cache


def test_the_cache_is_shown_and_cleared_by_model(
    command: Callable[..., Any], suite: Callable[..., Path], provider: Any
) -> None:
    empty = command("cache")
    suite(3, judge=provider)
    command("run", "suite.yaml")

    shown, told = command("cache"), command("cache", "show", "--json").json
    unasked = command("cache", "clear")
    others = command("cache", "clear", "--model", "openai/other", "--yes")
    cleared = command("cache", "clear", "--yes")

    assert empty.out == "no replies are kept\n"
    assert re.fullmatch(r" +3 replies +[\d,]+ characters  since .* UTC  openai/gpt-4o-mini\n", shown.out)
    assert [(one["model"], one["replies"]) for one in told] == [("openai/gpt-4o-mini", 3)]
    assert (unasked.code, "Forget 3 replies?" in unasked.err) == (2, True)
    assert others.err == "there is nothing to forget\n"
    assert cleared.err == "forgot 3 replies\n"
    assert command("run", "suite.yaml").code == 0
    assert len(provider.asked) == 6


# Whatever goes wrong


def test_what_should_not_have_happened_is_one_line_and_with_v_a_traceback(
    command: Callable[..., Any], suite: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    suite(1)

    def broken(*_: object) -> None:
        raise RuntimeError("a wheel came off")

    monkeypatch.setattr(evenhand.cli.runs.start, "plan", broken)

    plain, verbose = command("run", "suite.yaml"), command("run", "suite.yaml", "-v")

    assert plain.code == verbose.code == 1
    assert plain.err == ("evenhand: this should not have happened: RuntimeError: a wheel came off; -v shows where\n")
    assert "Traceback (most recent call last)" in verbose.err
    assert "in broken" in verbose.err


def test_a_file_that_cannot_be_written_is_named(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(1)
    (folder / "taken").write_text("a file")

    done = command("run", "suite.yaml", "-o", "taken/report.html")

    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("evenhand: ")
    assert "taken" in done.err.splitlines()[-1]


def test_a_file_that_is_no_database_is_named(
    folder: Path, command: Callable[..., Any], suite: Callable[..., Path]
) -> None:
    suite(1)
    (folder / "notes.txt").write_text("not a database, and long enough to be looked at " * 20)

    done = command("run", "suite.yaml", "--db", "notes.txt")

    assert done.code == 1
    assert "give the right one with --db" in done.err
    assert done.out == ""
