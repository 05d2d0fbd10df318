"""Cases that are answered or judged several times: an error in one answer counts, whatever the others say."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.harness.warm import WarmEvenhand

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult, Judgment
from evenhand.domain.verdict import Verdict
from evenhand.reports.summary import summarize

pytestmark = pytest.mark.slow

# Answers the first time it is asked a question, and crashes from then on.
CRASHES = """
import collections
asked = collections.Counter()

def answer(text: str) -> str:
    asked[text] += 1
    if asked[text] != 1:
        raise RuntimeError("index not found")
    return "It is Paris."
"""
SUITE: dict[str, Any] = {
    "name": "crashes",
    "target": {"python": "app:answer"},
    "repeat": 3,
    "concurrency": 1,
    "evaluators": [{"name": "right", "type": "contains", "value": "Paris"}],
    "cases": [{"id": f"q{number}", "input": f"Question {number}: capital of France?"} for number in range(4)],
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(CRASHES)
    return tmp_path


def write(name: str = "suite.yaml", **settings: Any) -> None:
    suite = {key: value for key, value in (SUITE | settings).items() if value is not None}
    Path(name).write_text(json.dumps(suite))


def test_an_app_that_crashes_two_times_of_three_does_not_end_with_0(warm: WarmEvenhand) -> None:
    write()

    done = warm.run("run", "suite.yaml")

    assert done.returncode == 101
    assert "mean 1.00 [0.51, 1.00] over 4 of 4; 8 target errors in 12 answers; 0.33 if counted as 0" in done.stdout


def test_a_gate_on_unscored_answers_sees_each_crash(warm: WarmEvenhand) -> None:
    write(gates={"min_pass_rate": 1.0, "max_failed": 0, "max_unscored": 0})

    done = warm.run("run", "suite.yaml")

    assert done.returncode == 101
    assert "max_unscored: wanted at most 0, found 8" in done.stdout
    assert re.search(r"right .* 8 of 12 ", done.stdout)


@pytest.mark.parametrize(("allowed", "code"), [("67%", 0), ("66%", 101)])
def test_a_share_of_unscored_answers_is_of_all_answers(warm: WarmEvenhand, allowed: str, code: int) -> None:
    write(gates={"max_unscored": allowed})

    done = warm.run("run", "suite.yaml", "-o", "junit.xml")

    assert done.returncode == code
    assert "found 66.67 % (8 of 12)" in done.stdout
    assert junit_counts() == {"tests": 5, "failures": int(code > 0), "errors": 4 * (code > 0), "skipped": 0}


def test_junit_has_an_error_for_each_case_that_lost_an_answer(warm: WarmEvenhand) -> None:
    write(gates={"max_failed": 0})

    done = warm.run("run", "suite.yaml", "-o", "junit.xml")

    assert done.returncode == 101
    assert junit_counts() == {"tests": 5, "failures": 0, "errors": 4, "skipped": 0}
    assert "RuntimeError: index not found" in Path("junit.xml").read_text()


def test_a_case_that_fails_and_lost_an_answer_is_an_error_in_junit_and_no_failure(
    warm: WarmEvenhand, folder: Path
) -> None:
    (folder / "app.py").write_text(CRASHES.replace("Paris", "Lyon"))
    write(gates={"max_failed": 0})

    done = warm.run("run", "suite.yaml", "-o", "junit.xml")

    assert done.returncode == 101
    assert junit_counts() == {"tests": 5, "failures": 1, "errors": 4, "skipped": 0}  # the failure is that of the gate


def test_a_judge_that_fails_two_times_of_three_does_not_end_with_0(warm: WarmEvenhand, folder: Path) -> None:
    (folder / "judge.py").write_text(
        "import json, pathlib, sys\n"
        "case = json.load(sys.stdin)\n"
        f"seen = pathlib.Path({str(folder)!r}, case['question'][:10])\n"
        "if seen.exists(): sys.exit('the judge is broken')\n"
        "seen.touch()\n"
        "print(json.dumps({'score': 1.0, 'reasoning': 'right'}))\n"
    )
    judge = {"name": "right", "type": "code_judge", "command": [sys.executable, str(folder / "judge.py")]}
    cases = [case | {"candidate_answer": "It is Paris."} for case in SUITE["cases"][:2]]
    write(target=None, evaluators=[judge], cases=cases)

    done = warm.run("run", "suite.yaml")

    assert done.returncode == 101
    assert "4 judge errors in 6 answers" in done.stdout


def test_a_suite_under_pytest_has_an_error_for_each_case_that_lost_an_answer(folder: Path) -> None:
    write("crashes.evenhand.yaml")

    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "crashes.evenhand.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert "4 errors" in done.stdout
    assert "case 'q0': the target failed for 2 of 3 answers; pass by the others" in done.stdout
    assert "8 target errors in 12 answers" in done.stdout


def test_beside_repeated_cases_the_error_of_a_case_with_one_answer_is_counted() -> None:
    evaluation = functools.partial(Evaluation, evaluator="right", type="x", reasoning="")
    right = evaluation(status=Status.SCORED, score=1.0, verdict=Verdict.PASS)
    wrong = evaluation(status=Status.ERROR, score=0.0, verdict=Verdict.FAIL, error="x")
    repeated = CaseResult(
        position=0,
        case=Case(),
        judgments=(Judgment(evaluation=right, sample=0), Judgment(evaluation=wrong, sample=1)),
    )
    single = CaseResult(position=1, case=Case(), judgments=(Judgment(evaluation=wrong),))

    found = summarize([repeated, single]).cases.by_answer

    assert (found.n, found.errors, found.cases) == (3, 2, 1)


def test_a_comparison_sees_the_errors_of_single_answers(warm: WarmEvenhand, folder: Path) -> None:
    (folder / "app.py").write_text('def answer(text: str) -> str:\n    return "It is Paris."\n')
    write(cases=[{"id": f"q{number}", "input": f"Question {number}: capital of France?"} for number in range(8)])
    warm.run("run", "suite.yaml", "-q")
    (folder / "app.py").write_text(CRASHES)
    warm.run("run", "suite.yaml", "-q")

    done = warm.run("compare", "previous", "last", "--fail-if-worse")

    assert done.returncode == 100
    assert "B ends in error more often than A: 8 cases where A does not, and 0 the other way around" in done.stdout


def test_the_json_of_a_run_counts_answers_only_where_cases_are_repeated(warm: WarmEvenhand) -> None:
    write()
    repeated = json.loads(warm.run("run", "suite.yaml", "--json").stdout)
    write(repeat=1)
    plain = json.loads(warm.run("run", "suite.yaml", "--json").stdout)

    assert repeated["summary"]["answers"] == {"n": 12, "errors": 8, "target_errors": 8, "not_evaluated": 0}
    assert repeated["summary"]["evaluators"]["right"]["answers"]["errors"] == 8
    assert plain["summary"]["answers"] is None


def junit_counts() -> dict[str, int]:
    (suite,) = ET.parse("junit.xml").getroot()
    return {name: int(suite.get(name, "")) for name in ("tests", "failures", "errors", "skipped")}
