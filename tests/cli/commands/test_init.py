"""`evenhand init` and `evenhand validate`: a first suite, and the mistakes in one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# Many, and together they take a while.
pytestmark = pytest.mark.slow


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

    assert (done.code, done.out, done.err) == (0, "", "suite.yaml: 3 cases, no mistakes\n")


CONFIGURATION = """\
prompts: ["{{q}}"]
providers: [ollama:chat:x]
tests:
  - vars: {q: Hi}
    assert:
      - {type: contains, value: hello}
"""
MORE = "      - {type: javascript, value: 'true'}\n"


def test_a_file_of_another_tool_becomes_a_suite(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "promptfooconfig.yaml").write_text(CONFIGURATION)

    shown = command("convert", "promptfooconfig.yaml")
    done = command("convert", "promptfooconfig.yaml", "-o", "suite.yaml")

    assert (shown.code, shown.err) == (0, "")
    assert (done.code, done.out, done.err) == (0, "", "wrote suite.yaml: 1 case\n")
    assert (folder / "suite.yaml").read_text() == shown.out
    assert command("validate", "suite.yaml").code == 0


def test_what_is_not_carried_over_is_listed_and_changes_the_exit_code(
    folder: Path, command: Callable[..., Any]
) -> None:
    (folder / "promptfooconfig.yaml").write_text(CONFIGURATION + MORE)
    line = (
        "promptfooconfig.yaml:7: assert 'javascript' is not carried over: Evenhand runs no JavaScript; "
        "a code_judge runs a program of yours"
    )

    done = command("convert", "promptfooconfig.yaml", "-o", "suite.yaml")

    assert (done.code, done.err) == (1, f"{line}\nwrote suite.yaml: 1 case\n")
    assert f"# - {line}\n" in (folder / "suite.yaml").read_text()


def test_a_suite_is_not_written_over_unless_it_is_forced(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "promptfooconfig.yaml").write_text(CONFIGURATION)
    (folder / "suite.yaml").write_text("mine")

    refused = command("convert", "promptfooconfig.yaml", "-o", "suite.yaml")
    kept = (folder / "suite.yaml").read_text()
    forced = command("convert", "promptfooconfig.yaml", "-o", "suite.yaml", "--force")

    assert (refused.code, kept) == (2, "mine")
    assert "suite.yaml exists already; name another file, or use --force" in refused.err
    assert forced.code == 0
    assert sorted(path.name for path in folder.glob("*suite.yaml*")) == ["suite.yaml"]


def test_a_file_that_cannot_be_converted_leaves_nothing_behind(folder: Path, command: Callable[..., Any]) -> None:
    (folder / "other.yaml").write_text("a: 1\n")

    unknown = command("convert", "other.yaml", "-o", "suite.yaml")
    ending = command("convert", "other.yaml", "-o", "suite.txt")
    missing = command("convert", "nowhere.yaml", "--from", "agentv")

    assert [unknown.code, ending.code, missing.code] == [2, 2, 2]
    assert "promptfoo has prompts, providers and tests" in unknown.err
    assert "nowhere.yaml: there is no such file" in missing.err
    assert not (folder / "suite.yaml").exists()


def test_a_suite_in_another_folder_says_that_its_files_must_come_along(
    folder: Path, command: Callable[..., Any]
) -> None:
    (folder / "eval.yaml").write_text(
        "tests: [{id: a, criteria: b, input: c, assertions: [{type: code-grader, command: [python3, judge.py]}]}]"
    )

    beside = command("convert", "eval.yaml", "-o", "suite.yaml")
    elsewhere = command("convert", "eval.yaml", "-o", "new/suite.yaml")

    assert beside.code == 0
    assert elsewhere.code == 1
    assert "the suite names files and programs, which must be in its folder" in elsewhere.err


def test_a_first_suite_is_written_runs_and_is_never_written_over(folder: Path, command: Callable[..., Any]) -> None:
    first = command("init", "new/folder")
    run = command("run", "new/folder/suite.yaml")
    before = (folder / "new/folder/suite.yaml").read_text()

    again = command("init", "new/folder")

    assert first.code == 0
    assert first.err.endswith("Now try: evenhand run new/folder/suite.yaml\n")
    assert run.code == 0
    assert again.code == 2
    assert "exist already; name another folder" in again.err
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
    assert cleared.err == "deleted 1 cached reply\n"


def test_several_suites_are_validated(command: Callable[..., Any], suite: Callable[..., Path]) -> None:
    suite(2, name="a.yaml")
    suite(1, name="b.yaml", zzz=1)
    suite(3, name="c.yaml")

    done, told = command("validate", "a.yaml", "b.yaml", "c.yaml"), command("validate", "a.yaml", "c.yaml", "--json")

    assert done.code == 2
    assert "b.yaml:" in done.out
    assert "no key 'zzz'" in done.out
    assert "a.yaml: 2 cases, no mistakes" in done.err
    assert "c.yaml: 3 cases, no mistakes" in done.err
    assert (told.code, [json.loads(line)["cases"] for line in told.out.splitlines()]) == (0, [2, 3])
