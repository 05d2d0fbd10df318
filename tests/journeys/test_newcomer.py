"""A newcomer's first hour on the command line: a suite, a crash, a report, and the run on another machine."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.harness.warm import Started, WarmEvenhand

CASES = 16
# Judges by length, and leaves a mark for each answer that it was shown; from the sixth on it waits to be told to go on.
PROGRAM = """
import json, os, sys, time
given = json.load(sys.stdin)
with open("shown.txt", "a") as shown:
    shown.write(given["candidate_answer"] + "\\n")
while len(open("shown.txt").readlines()) > 5 and not os.path.exists("go-on"):
    time.sleep(0.02)
print(json.dumps({"score": len(given["candidate_answer"]) % 10 / 10, "reasoning": "By its length."}))
"""


class Shell:
    """A folder in which commands are typed."""

    def __init__(self, folder: Path, warm: WarmEvenhand) -> None:
        self.folder = folder
        self._warm = warm
        folder.mkdir(exist_ok=True)

    def start(self, *argv: str) -> Started:
        return self._warm.start(*argv, cwd=self.folder)

    def __call__(self, *argv: str, code: int = 0) -> str:
        with self.start(*argv) as typed:
            out, err = typed.communicate()
        assert typed.returncode == code, err
        return out

    def runs(self) -> list[dict[str, Any]]:
        listed: list[dict[str, Any]] = json.loads(self("runs", "--json"))
        return listed


@pytest.mark.slow
@pytest.mark.timeout(600)  # two dozen programs
def test_a_newcomer_comes_all_the_way(tmp_path: Path, warm: WarmEvenhand) -> None:
    shell = Shell(tmp_path / "here", warm)

    # A first suite runs at once, and its wrong answer is found.
    shell("init")
    first = shell("run", "suite.yaml")
    assert "first-suite: 3 cases, finished" in first
    assert "✗ fail 1" in first
    assert "river" in first

    # A suite of one's own, with a mistake that is found before anything runs.
    own = shell.folder / "own.yaml"
    evaluators = (
        f"evaluators:\n- {{name: length, type: code_judge, command: [{json.dumps(sys.executable)}, judge.py]}}\n"
    )
    cases = "".join(f"- {{id: case-{one}, candidate_answer: {'x' * one or '-'}}}\n" for one in range(CASES))
    (shell.folder / "judge.py").write_text(PROGRAM)
    own.write_text(f"{evaluators}caes:\n{cases}")
    assert "did you mean 'cases'?" in shell("validate", "own.yaml", code=2)
    own.write_text(f"{evaluators}cases:\n{cases}")
    shell("validate", "own.yaml")

    # It is killed in the middle of the work.
    with shell.start("run", "own.yaml", "-j", "2") as killed:
        end = time.monotonic() + 60
        shown = shell.folder / "shown.txt"
        while not shown.exists() or len(shown.read_text().splitlines()) < 5:
            assert time.monotonic() < end
            time.sleep(0.02)
        killed.kill()
    (shell.folder / "go-on").touch()
    (broken, _) = shell.runs()
    assert broken["status"] == "interrupted"
    assert 0 < broken["summary"]["scored"] < CASES

    # It goes on, and nothing that was kept is judged again.
    summary = json.loads(shell("resume", "--json"))["summary"]
    assert (summary["n"], summary["scored"], summary["errors"]) == (CASES, CASES, 0)
    judged = shown.read_text().splitlines()
    assert len(set(judged)) == CASES
    assert len(judged) <= CASES + 2  # what was under way when it was killed

    # The report is that of a run that was never stopped.
    report = shell("report", "--canonical")
    shell("run", "own.yaml", "-o", "report.html", "--quiet")
    assert shell("report", "--canonical") == report
    assert "<html" in (shell.folder / "report.html").read_text(encoding="utf-8")

    # On another machine it is the same.
    shell("export", broken["id"], "-o", "run.jsonl")
    elsewhere = Shell(tmp_path / "elsewhere", warm)
    exported = str(shell.folder / "run.jsonl")
    elsewhere("import", exported, "--dry-run")
    assert elsewhere("import", exported) == f"{broken['id']}\n"
    assert elsewhere("report", "--canonical") == report
    assert [run["summary"]["mean"] for run in elsewhere.runs()] == [summary["mean"]]
