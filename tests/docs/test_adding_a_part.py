"""The table "to add a ..., touch ..." of the architecture: following a row really adds one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (an? [a-z ]+) \| ((?:`[^`]+`(?:, )?)+) \|$", re.MULTILINE)

pytestmark = pytest.mark.slow


def rows() -> dict[str, list[str]]:
    page = (ROOT / "docs" / "design" / "architecture.md").read_text(encoding="utf-8")
    return {name: re.findall("`([^`]+)`", files) for name, files in ROW.findall(page)}


class Copy:
    """A copy of the package, and which of its files were touched."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.touched: set[str] = set()
        shutil.copytree(ROOT / "src" / "evenhand", folder / "evenhand")  # with all that is compiled already
        shutil.copy(ROOT / "pyproject.toml", folder)

    def path(self, name: str) -> Path:
        return self.folder / name if name == "pyproject.toml" else self.folder / "evenhand" / name

    def write(self, name: str, text: str) -> None:
        assert not self.path(name).exists()
        self.path(name).write_text(text, encoding="utf-8")
        self.touched.add(name)

    def insert(self, name: str, after: str, text: str) -> None:
        before = self.path(name).read_text(encoding="utf-8")
        assert before.count(after) == 1
        self.path(name).write_text(before.replace(after, after + text), encoding="utf-8")
        self.touched.add(name)

    def append(self, name: str, text: str) -> None:
        before = self.path(name).read_text(encoding="utf-8")
        self.path(name).write_text(before + text, encoding="utf-8")
        self.touched.add(name)

    def run(self, *arguments: str, **environment: str) -> str:
        """Run a command of the copy, as pip would install it."""
        project = tomllib.loads(self.path("pyproject.toml").read_text(encoding="utf-8"))["project"]
        points = self.folder / "evenhand-0.1.0.dist-info"
        points.mkdir(exist_ok=True)
        (points / "METADATA").write_text("Metadata-Version: 2.1\nName: evenhand\nVersion: 0.1.0\n")
        (points / "entry_points.txt").write_text("".join(entry_points(project["entry-points"])))
        done = subprocess.run(
            [sys.executable, "-m", "evenhand", *arguments],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder)} | environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def entry_points(groups: dict[str, dict[str, str]]) -> Iterator[str]:
    for group, points in groups.items():
        yield f"[{group}]\n"
        yield from (f"{name} = {value}\n" for name, value in points.items())


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


SUITE = """
evaluators:
  - {name: mine, type: loud}
cases:
  - {id: a, input: Say it., candidate_answer: STOP!}
"""


def test_an_evaluator(copy: Copy) -> None:
    copy.write(
        "evaluators/loud.py",
        """
from dataclasses import dataclass
from typing import ClassVar

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.evaluators.base import BaseEvaluator


@dataclass(frozen=True, slots=True, kw_only=True)
class Loud(BaseEvaluator):
    type: ClassVar[str] = "loud"

    def steps(self, case: Case) -> Steps[Evaluation]:
        yield from ()
        return self.scored(1.0 if (case.candidate_answer or "").isupper() else 0.0)
""",
    )
    copy.insert(
        "pyproject.toml", '[project.entry-points."evenhand.evaluators"]\n', 'loud = "evenhand.evaluators.loud:Loud"\n'
    )
    (copy.folder / "suite.yaml").write_text(SUITE)

    assert "1.00" in copy.run("run", "suite.yaml")
    assert copy.touched == named(rows()["an evaluator"], "loud")


@pytest.mark.long  # by an entry point, as an evaluator is added
def test_a_check(copy: Copy) -> None:
    copy.write(
        "evaluators/checks/loud.py",
        """
from dataclasses import dataclass
from typing import ClassVar

from evenhand.domain.ask import Steps
from evenhand.domain.case import Case
from evenhand.evaluators.checks.check import NO_ANSWER, DeterministicCheck, Finding, Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Loud(DeterministicCheck):
    type: ClassVar[str] = "loud"

    def look(self, case: Case) -> Steps[Finding]:
        yield from ()
        if case.candidate_answer is None:
            return NO_ANSWER
        return Found.that(case.candidate_answer.isupper(), "It is loud.")
""",
    )
    copy.insert(
        "pyproject.toml",
        '[project.entry-points."evenhand.evaluators"]\n',
        'loud = "evenhand.evaluators.checks.loud:Loud"\n',
    )
    (copy.folder / "suite.yaml").write_text(SUITE.replace("type: loud", "type: loud, negate: true"))

    assert "0.00" in copy.run("run", "suite.yaml")
    assert copy.touched == named(rows()["a check"], "loud")


@pytest.mark.long  # by an entry point too
def test_a_provider(copy: Copy) -> None:
    copy.append(
        "models/providers.py",
        'NEARBY = Provider(name="nearby", base_url="http://127.0.0.1:9/v1", key_variables=("NEARBY_KEY",))\n',
    )
    copy.insert(
        "pyproject.toml", '[project.entry-points."evenhand.models"]\n', 'nearby = "evenhand.models.providers:NEARBY"\n'
    )
    (copy.folder / "suite.yaml").write_text(
        "judge: nearby/small\nevaluators: [{type: llm_judge}]\n"
        "cases: [{id: a, input: x, candidate_answer: y, expected_outcome: z}]\n"
    )

    assert "nearby/small" in copy.run("run", "suite.yaml", "--estimate")
    assert copy.touched == named(rows()["a provider"], "nearby")


def test_a_report_format(copy: Copy) -> None:
    copy.write(
        "reports/tally.py",
        """
from typing import TextIO

from evenhand.reports.report import Report


def write_tally(report: Report, out: TextIO) -> None:
    out.write(f"{report.summary.cases.scored} scored\\n")
""",
    )
    copy.insert(
        "reports/report.py",
        '    "jsonl": "evenhand.reports.json:write_jsonl",\n',
        '    "tally": "evenhand.reports.tally:write_tally",\n',
    )
    (copy.folder / "suite.yaml").write_text(SUITE.replace("type: loud", "type: equals, value: STOP!"))

    copy.run("run", "suite.yaml", "-o", "out.tally")

    assert (copy.folder / "out.tally").read_text() == "1 scored\n"
    assert copy.touched == named(rows()["a report format"], "tally")


def test_a_verb(copy: Copy) -> None:
    copy.write(
        "cli/commands/greet.py",
        """
from evenhand.cli.console import Console


def greet() -> None:
    \"\"\"Say hello.\"\"\"
    Console().result("Hello.")
""",
    )
    copy.insert(
        "cli/main.py",
        "COMMANDS: Final[Mapping[str, Command | Group]] = {\n",
        '    "greet": Command(function="greet:greet", help="Say hello.", examples=("evenhand greet",)),\n',
    )

    assert copy.run("greet") == "Hello.\n"
    assert "Say hello." in copy.run("--help")
    assert copy.touched == named(rows()["a verb"], "greet")


def named(files: list[str], name: str) -> set[str]:
    return {file.replace("NAME", name) for file in files}


@pytest.mark.parametrize("name", list(rows()))
def test_the_files_of_a_row_are_there(name: str) -> None:
    known = [file for file in rows()[name] if "NAME" not in file and file != "pyproject.toml"]
    folders = [file.rpartition("/")[0] for file in rows()[name] if "NAME" in file]

    assert rows()[name]
    assert [file for file in (*known, *folders) if not (ROOT / "src" / "evenhand" / file).exists()] == []
