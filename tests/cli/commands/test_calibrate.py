"""`evenhand calibrate`: the judge card of a run, in the terminal and as files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]

Command = Callable[..., Any]


@pytest.fixture
def labels(folder: Path) -> Path:
    path = folder / "labels.csv"
    path.write_text("id,human,rater\ncase-1,pass,Ann\ncase-2,fail,Ann\ncase-2,fail,Bob\n", encoding="utf-8")
    return path


def test_labels_of_a_file_make_a_card_and_are_not_stored(command: Command, finished: str, labels: Path) -> None:
    shown = command("calibrate", "last", "labels.csv")
    piped = command("calibrate", finished, "-", "--json", given=labels.read_bytes())
    stored = command("label", "--json")

    assert (shown.code, piped.code) == (0, 0)
    assert f"Judge card of run {finished}" in shown.out
    assert "2 cases labelled by Ann, Bob, not drawn at random" in shown.out
    card = json.loads(piped.out)
    assert (card["basis"], card["labels"]["counted"], card["counts"]["tp"]) == ("not_drawn", 3, 1)
    assert json.loads(stored.out) == []


def test_stored_labels_make_a_card_in_each_format(command: Command, finished: str, labels: Path, folder: Path) -> None:
    command("label", "last", "--from", "labels.csv")

    written = command("calibrate", "-o", "card.html", "-o", "card.md", "-o", "card.json")

    assert (written.code, written.out) == (0, "")
    assert "wrote card.html" in written.err
    assert "<script" not in (folder / "card.html").read_text(encoding="utf-8")
    assert (folder / "card.md").read_text(encoding="utf-8").startswith("# Judge card")
    assert json.loads((folder / "card.json").read_text(encoding="utf-8"))["run"] == finished


def test_what_cannot_be_a_card_is_refused_with_what_would_be_right(
    command: Command, finished: str, labels: Path, folder: Path
) -> None:
    (folder / "wrong.csv").write_text("id,human\nnobody,pass\n", encoding="utf-8")

    none = command("calibrate", "last")
    ending = command("calibrate", "last", "labels.csv", "-o", "card.pdf")
    no_run = command("calibrate", "labels.csv")
    wrong = command("calibrate", "last", "wrong.csv")
    missing = command("calibrate", "last", "nowhere.csv")
    evaluator = command("calibrate", "last", "labels.csv", "--evaluator", "nobody")

    assert {each.code for each in (none, ending, no_run, wrong, missing, evaluator)} == {2}
    assert f"evenhand label {finished} --sample 3" in none.err
    assert "a judge card can be .html, .md, .json" in ending.err
    assert "name the run first: evenhand calibrate last labels.csv" in no_run.err
    assert "wrong.csv:2: run" in wrong.err
    assert "nowhere.csv: there is no such file" in missing.err
    assert "has no evaluator 'nobody'" in evaluator.err


def test_a_judge_that_misses_what_the_suite_demands_ends_with_103(
    command: Command, suite: Callable[..., Path], labels: Path
) -> None:
    suite(3, trust={"labels": "labels.csv", "min_sensitivity_low": 0.1, "min_kappa_low": 0.4})
    command("run", "suite.yaml")

    checked = command("calibrate")
    card = json.loads(command("calibrate", "--json").out)

    assert checked.code == 103
    assert "✓ met: min_sensitivity_low: wanted at least 0.1, found 0.2" in checked.out
    assert "✗ missed: min_kappa_low: wanted at least 0.4, found 2 cases" in checked.out
    assert "the judge does not reach what the suite demands: min_kappa_low" in checked.err
    assert [limit["ok"] for limit in card["limits"]] == [True, False]


APPLIED = """# Judged by how much of the reference is there.
name: overlap  # mine
evaluators:
  - {name: right, type: levenshtein}
cases: cases.jsonl
"""


@pytest.fixture
def near(command: Command, folder: Path) -> Path:
    """Make a run whose answers people pass from a score of 0.6 on, and label it; the pass mark is 0.8."""
    cases = [
        {"id": f"c{number}", "input": "?", "reference_answer": "a" * 10, "candidate_answer": "a" * (number % 11)}
        for number in range(110)
    ]
    (folder / "cases.jsonl").write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    (folder / "suite.yaml").write_text(APPLIED, encoding="utf-8")
    command("run", "suite.yaml")
    rows = [f"c{number},{'pass' if number % 11 >= 6 else 'fail'},Ann" for number in range(110)]
    (folder / "labels.csv").write_text("\n".join(["id,human,rater", *rows]) + "\n", encoding="utf-8")
    command("label", "last", "--from", "labels.csv")
    return folder / "suite.yaml"


def test_a_proposed_pass_mark_is_taken_over_and_the_next_run_uses_it(command: Command, near: Path) -> None:
    asked = command("calibrate", "--apply", "suite.yaml")
    written = command("calibrate", "--apply", "suite.yaml", "--yes")
    again = command("calibrate", "--apply", "suite.yaml", "--yes")
    next_run = command("run", "suite.yaml", "--json")

    assert (asked.code, written.code, again.code) == (2, 0, 0)
    assert "Cannot ask for confirmation without a terminal; use --yes" in asked.err
    assert "+thresholds: {pass: 0." in asked.out
    assert "110 cases labelled by Ann, not drawn at random" in written.err
    assert "on labels that the mark was not chosen on" in written.err
    assert "suite.yaml has these marks already" in again.err
    lines = near.read_text(encoding="utf-8").splitlines()
    assert lines[2].startswith("thresholds: {pass: 0.")
    assert [line for line in lines if not line.startswith("thresholds")] == APPLIED.splitlines()
    assert next_run.json["summary"]["pass"] == 50


def test_what_cannot_be_taken_over_is_refused_and_nothing_is_written(
    command: Command, near: Path, on_a_terminal: Callable[..., tuple[int, str]]
) -> None:
    command("calibrate", "-o", "card.json")
    others = {
        "card.json": Path("card.json").read_text(),
        "other.yaml": "evaluators: [{type: exact}]\n",
        "empty.csv": "",
    }
    for name, text in others.items():
        Path(name).write_text(text, encoding="utf-8")
    refused = [
        command("calibrate", "--apply", "suite.yaml", "--sure", "--yes"),
        command("calibrate", "--sure"),
        command("calibrate", "--yes"),
        command("calibrate", "--apply", "suite.yaml", "--json"),
        command("calibrate", "--apply", "nowhere.yaml", "--yes"),
        command("calibrate", "--apply", "card.json", "--yes"),
        command("calibrate", "--apply", "other.yaml", "--yes"),
        command("calibrate", "last", "."),
        command("calibrate", "last", "empty.csv"),
    ]
    code, shown = on_a_terminal("calibrate", "--apply", "suite.yaml", question="[y/N]", answer="n")

    assert {each.code for each in refused} == {2}
    assert "there are no thresholds to take over: this holds for cases" in refused[0].err
    assert "card.json is not a suite that marks can be written into: it has a key 'schema_version'" in refused[5].err
    assert "other.yaml has none of the evaluators of run" in refused[6].err
    assert ". is a folder; name a CSV file" in refused[7].err
    assert "the first line names the columns, such as id and human" in refused[8].err
    assert {name: Path(name).read_text(encoding="utf-8") for name in others} == others
    assert (code, "nothing was written" in shown) == (0, True)
    assert near.read_text(encoding="utf-8") == APPLIED
