"""`evenhand run --labels`: labels by people are stored with the run, and its report and exit code use them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
ANSWERS = ("Paris.", "It is Paris.", "The city of light.", "It is Rome.")


@pytest.fixture
def capitals(folder: Path) -> Callable[..., None]:
    """Write a suite of 80 recorded answers; ``more`` are further keys."""

    def write(*, answers: tuple[str, ...] = ANSWERS, **more: Any) -> None:
        cases = [{"id": f"c{number}", "input": "?", "candidate_answer": answers[number % 4]} for number in range(80)]
        evaluators = [{"name": "right", "type": "contains", "value": "Paris"}]
        text = json.dumps({"evaluators": evaluators, "cases": cases, **more})
        (folder / "suite.yaml").write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def labels(folder: Path, command: Command, capitals: Callable[..., None]) -> Path:
    """Draw half of the answers, and label them as people would."""
    capitals()
    command("run", "suite.yaml")
    command("label", "last", "--sample", "40", "--seed", "7", "-o", "labels.csv")
    path = folder / "labels.csv"
    heading, *rows = path.read_text(encoding="utf-8-sig").splitlines()
    filled = [row.replace(',"",', f',"{"fail" if "Rome" in row else "pass"}",', 1) for row in rows]
    path.write_text("\n".join([heading, *filled]) + "\n", encoding="utf-8")
    return path


def test_the_report_and_the_gates_use_them(command: Command, capitals: Callable[..., None], labels: Path) -> None:
    capitals(gates={"min_pass_rate": 0.4, "min_pass_rate_corrected": 0.6, "min_pass_rate_corrected_low": 0.95})

    without = command("run", "suite.yaml")
    done = command("run", "suite.yaml", "--labels", "labels.csv", "--json")
    shown = command("report")

    assert (without.code, done.code) == (100, 100)
    assert "min_pass_rate_corrected: wanted at least 0.6, found no labels by people that count" in " ".join(
        without.out.split()
    )
    assert "labels.csv: 40 labels stored with the run" in done.err
    assert "the draw of 40 of 80 cases with seed 7" in done.err
    corrected = done.json["summary"]["corrected"]
    assert (corrected["basis"], corrected["labels"], corrected["judged"]) == ("drawn", 40, 80)
    assert corrected["pass_rate"]["interval"]["low"] < 0.75 < corrected["pass_rate"]["interval"]["high"]
    assert [gate["ok"] for gate in done.json["gates"]] == [True, True, False]
    assert "corrected pass rate 0.7" in shown.out


@pytest.mark.usefixtures("labels")
def test_a_suite_that_names_them_holds_its_judge_to_its_demands(
    command: Command, capitals: Callable[..., None]
) -> None:
    trust = {"labels": "labels.csv", "min_specificity_low": 0.5}
    capitals(trust=trust, gates={"min_pass_rate": 0.9})
    trusted = command("run", "suite.yaml")
    capitals(trust=trust | {"min_sensitivity_low": 0.9}, gates={"min_pass_rate": 0.9})
    missed = command("run", "suite.yaml")

    assert (trusted.code, missed.code) == (100, 103)  # SPEC-S8: what is said of the judge comes before a gate
    assert "✓ pass trust.min_specificity_low" in missed.out
    assert "✗ fail trust.min_sensitivity_low: wanted at least 0.9, found 0." in missed.out
    assert command("calibrate").code == 103


def test_what_does_not_fit_is_refused_before_anything_is_spent(
    command: Command, capitals: Callable[..., None], labels: Path, provider: Any
) -> None:
    before = len(command("runs", "--json").json)
    refused = [
        command("run", "suite.yaml", "--labels", "nowhere.csv"),
        command("run", "suite.yaml", "--labels", "-"),
        command("run", "suite.yaml", "suite.yaml", "--labels", "labels.csv"),
        command("run", "suite.yaml", "--labels", "labels.csv", "--retry-errors"),
    ]
    labels.write_text("id,human,evaluator\nc0,pass,rihgt\n", encoding="utf-8")
    refused.append(command("run", "suite.yaml", "--labels", "labels.csv", "--estimate"))
    capitals(gates={"min_pass_rate_corrected": 0.5})
    refused.append(command("run", "suite.yaml", "--until-decided"))

    assert {each.code for each in refused} == {2}
    told = "\n".join(each.err for each in refused)
    assert "nowhere.csv: there is no such file" in told
    assert "--labels takes a file" in told
    assert "--labels is for one run" in told
    assert "leave out --labels" in told
    assert "labels.csv:2: no evaluator 'rihgt'; did you mean 'right'?" in told
    assert "'min_pass_rate_corrected' cannot be decided early: labels by people stand for all cases" in told
    assert len(command("runs", "--json").json) == before


def test_answers_that_a_target_makes_anew_count_only_if_they_are_the_labelled_ones(
    command: Command, folder: Path, labels: Path
) -> None:
    cases = [{"id": f"c{number}", "input": "?"} for number in range(80)]
    suite = {
        "evaluators": [{"name": "right", "type": "contains", "value": "Paris"}],
        "target": {"python": "answers:answer"},
        "trust": {"labels": "labels.csv", "min_kappa_low": 0.1},
        "cases": cases,
    }
    (folder / "answers.py").write_text("def answer(question):\n    return 'Paris.'\n", encoding="utf-8")
    (folder / "suite.yaml").write_text(json.dumps(suite), encoding="utf-8")

    done = command("run", "suite.yaml", "--json")

    assert done.code == 103
    assert "do not count, since the answers are not those that were labelled" in done.err
    assert done.json["summary"]["corrected"]["basis"] == "not_drawn"


def test_a_run_that_is_looked_at_again_needs_its_file_no_more(
    command: Command, capitals: Callable[..., None], labels: Path
) -> None:
    capitals(gates={"min_pass_rate_corrected": 0.6})
    command("run", "suite.yaml", "--labels", "labels.csv")
    labels.unlink()

    again = command("resume", "last")

    assert again.code == 0
    assert "✓ pass min_pass_rate_corrected" in again.out
