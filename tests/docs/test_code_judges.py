"""The programs on the page about code judges are judges, and its tables tell the truth."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Exec
from evenhand.domain.case import Case
from evenhand.domain.verdict import Verdict
from evenhand.drive.run_program import STDERR_MIB, STDOUT_MIB
from evenhand.evaluators.base import BaseEvaluator
from evenhand.evaluators.code import STDERR_KEPT, CodeJudgeEvaluator

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "code-judges.md").read_text(encoding="utf-8")


def block(opening: str) -> str:
    """Return the one block of the page that is opened like this."""
    (found,) = re.findall(rf"^```{re.escape(opening)}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def keys(heading: str) -> set[str]:
    """Return the names in the first column of the table under a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "words.py").write_text(block('python title="words.py"'), encoding="utf-8")
    (tmp_path / "polite.sh").write_text(block('sh title="polite.sh"'), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("answer", "score", "verdict", "hits", "misses"),
    [
        ("Paris", 1.0, Verdict.PASS, ("at most 2 words",), ()),
        ("", 1.0, Verdict.PASS, ("at most 2 words",), ()),
        ("It is Päris", 2 / 3, Verdict.BORDERLINE, (), ("1 words too many",)),
    ],
)
def test_the_program_in_python_judges(
    folder: Path, answer: str, score: float, verdict: Verdict, hits: tuple[str, ...], misses: tuple[str, ...]
) -> None:
    judge = CodeJudgeEvaluator(command=["python3", "words.py"], config={"most": 2}, cwd=folder)

    evaluation = judge.evaluate(Case(candidate_answer=answer))

    assert (evaluation.error, evaluation.score, evaluation.verdict) == (None, score, verdict)
    assert (evaluation.hits, evaluation.misses) == (hits, misses)
    assert evaluation.details["words"] == len(answer.split())
    assert evaluation.details["stderr"] == f"{len(answer.split())} words\n"


@pytest.mark.parametrize("command", [["sh", "polite.sh"], ["./polite.sh"]])
@pytest.mark.parametrize(("answer", "score"), [("Paris, thank you.", 1.0), ('"Paris" $(id) `id`', 0.0)])
def test_the_program_in_shell_judges(folder: Path, command: list[str], answer: str, score: float) -> None:
    (folder / "polite.sh").chmod(0o755)

    evaluation = CodeJudgeEvaluator(command=command, cwd=folder).evaluate(Case(candidate_answer=answer))

    assert (evaluation.error, evaluation.score) == (None, score)


def test_the_example_of_the_library_gives_what_one_expects(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = block("python")

    exec(compile(example, "code-judges.md", "exec", dont_inherit=True), {})

    assert capsys.readouterr().out == example.rpartition("  # ")[2]


def test_the_tables_name_everything_and_nothing_else() -> None:
    steps = CodeJudgeEvaluator(command=["judge"]).steps(Case(candidate_answer="Paris"))
    (want,) = next(steps)
    steps.close()
    own: Any = {one.name for one in fields(CodeJudgeEvaluator)} - {one.name for one in fields(BaseEvaluator)}

    assert isinstance(want, Exec)
    assert keys("What the program reads") == set(json.loads(want.stdin))
    assert keys("Options") == own


def test_the_bounds_are_the_real_ones() -> None:
    assert f"more than {STDOUT_MIB} MiB on standard output, or {STDERR_MIB} MiB on standard error" in PAGE
    assert f"Up to {STDERR_KEPT:,} characters of standard error" in PAGE
    assert f"| `timeout` | `{CodeJudgeEvaluator(command=['judge']).timeout:g}` |" in PAGE
    assert f"| `memory_mb` | `{CodeJudgeEvaluator(command=['judge']).memory_mb}` |" in PAGE
