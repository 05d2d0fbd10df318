"""`evenhand compare`: what it shows, writes, refuses, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

# many small ones, which together would take the fast tests beyond their minute
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("stored_nothing")]


@pytest.fixture
def runs(suite: Any, command: Callable[..., Any]) -> Callable[..., list[str]]:
    """Judge eight cases in as many runs as there are answers, and give their ids."""

    def make(*answers: str, **more: Any) -> list[str]:
        for answer in answers:
            cases = [{"id": f"case-{place}", "input": "?", "candidate_answer": answer} for place in range(8)]
            evaluators = [{"name": "right", "type": "contains", "value": "Paris"}]
            suite(**{"evaluators": evaluators, "cases": cases, **more})
            assert command("run", "suite.yaml", "--quiet").code == 0
        return [one["id"] for one in command("runs", "list", "--json").json][::-1]

    return make


def test_it_says_whether_b_is_better_and_ends_well(runs: Any, command: Any) -> None:
    a, b = runs("Rome", "Paris")

    done = command("compare", a, b)

    assert done.code == 0
    assert done.out.startswith(f"A: {a} suite\nB: {b} suite\n\nB is better than A: +1.000 [")
    assert "8 wins, 0 ties, 0 losses for B" in done.out


@pytest.mark.parametrize(("given", "code"), [(("--fail-if-worse",), 100), ((), 0)])
def test_being_worse_is_a_failure_only_where_it_is_to_be_one(
    runs: Any, command: Any, given: tuple[str, ...], code: int
) -> None:
    a, _ = runs("Paris", "Rome")

    done = command("compare", a, "last", *given)

    assert done.code == code
    assert "B is worse than A" in done.out


def test_no_worse_is_no_failure(runs: Any, command: Any) -> None:
    a, b = runs("Paris", "Paris")

    assert command("compare", a, b, "--fail-if-worse").code == 0


def test_json_is_one_object_and_the_evaluator_decides(runs: Any, command: Any) -> None:
    a, b = runs("Paris", "Rome")

    done = command("compare", a, b, "--json", "--evaluator", "right", "--limit", "3", "--fail-if-worse")

    assert done.code == 100
    assert (done.json["evaluator"], len(done.json["changes"]), done.json["changed"]) == ("right", 3, 8)


def test_files_take_the_place_of_what_is_shown(runs: Any, command: Any, folder: Path) -> None:
    a, b = runs("Rome", "Paris")

    done = command("compare", a, b, "-o", "out/found.md", "-o", "found.json")

    assert (done.code, done.out) == (0, "")
    assert "wrote out/found.md" in done.err
    assert (folder / "out/found.md").read_text(encoding="utf-8").startswith("# Run B against run A\n")
    assert json.loads((folder / "found.json").read_text(encoding="utf-8"))["cases"]["better"] is True


def test_an_html_file_has_more_changes_than_the_terminal_and_the_answers_side_by_side(
    runs: Any, command: Any, folder: Path
) -> None:
    cases = [{"id": f"case-{place}", "input": f"Question {place}?", "candidate_answer": "Rome"} for place in range(12)]
    better = [{**case, "candidate_answer": "Paris"} for case in cases]
    runs("Rome", cases=cases)
    a, b = runs("Paris", cases=better)

    done = command("compare", a, b, "-o", "found.html", "-o", "found.json")
    few = command("compare", a, b, "-o", "few.html", "--limit", "1")

    page = (folder / "found.html").read_text(encoding="utf-8")
    assert (done.code, few.code) == (0, 0)
    assert page.count("<details") == page.count("<del>Rome</del>") == page.count("<ins>Paris</ins>") == 12
    assert "Question 11?" in page
    assert len(json.loads((folder / "found.json").read_text(encoding="utf-8"))["changes"]) == 10
    assert (folder / "few.html").read_text(encoding="utf-8").count("<details") == 1


def test_a_file_of_another_kind_is_refused_before_anything_is_read(command: Any, folder: Path) -> None:
    done = command("compare", "a", "b", "-o", "found.csv")

    assert done.code == 2
    assert "found.csv: unknown extension .csv; a comparison can be .html, .md, .json" in done.err


def test_the_limit_and_output_of_other_commands_do_not_count_here(runs: Any, command: Any, folder: Path) -> None:
    a, b = runs("Rome", "Paris")
    (folder / "evenhand.toml").write_text('limit = 1\noutput = ["report.html"]\n')

    done = command("compare", a, b)

    assert done.code == 0
    assert "Changed, the largest first: all 8 cases" in done.out


def test_what_cannot_be_compared_is_a_mistake_of_usage(runs: Any, command: Any) -> None:
    a, b = runs("Rome", "Paris")

    itself, nowhere = command("compare", b, "last"), command("compare", a, "20000101")

    assert (itself.code, nowhere.code) == (2, 2)
    assert "cannot be compared with itself" in itself.err
    assert "no run '20000101'" in nowhere.err


def test_runs_that_were_judged_differently_want_to_be_compared_anyway(runs: Any, command: Any) -> None:
    runs("Rome")
    a, b = runs("Paris", evaluators=[{"name": "right", "type": "contains", "value": "aris"}])

    refused, done = command("compare", a, b), command("compare", a, b, "--anyway")

    assert refused.code == 2
    assert '- evaluators[right].value: "Paris" in A, "aris" in B' in refused.err
    assert done.code == 0
    assert "Compared although they were answered or judged differently\nevaluators[right].value" in done.out


def test_too_few_cases_are_no_failure_and_no_number(suite: Any, command: Any) -> None:
    ids = []
    for _ in range(2):
        suite(3)
        command("run", "suite.yaml", "--quiet")
        ids.append(command("runs", "list", "--json").json[0]["id"])

    done = command("compare", *ids, "--fail-if-worse")

    assert done.code == 0
    assert "not enough data: 3 cases are scored in both runs; at least 6 are needed" in done.out


def test_runs_whose_targets_were_asked_differently_want_to_be_compared_anyway(
    command: Any, suite: Callable[..., Path], provider: Any
) -> None:
    usual = {"base_url": provider.url, "api_key": "${JUDGE_KEY}"}
    for target in (
        {"model": "openai/small", "temperature": 0, **usual},
        {"model": "openai/large", "temperature": 0, **usual, "timeout": 9},
        {"model": "openai/large", "temperature": 1, "prompt": "Briefly: {{ input }}", **usual},
    ):
        cases = [{"id": f"case-{place}", "input": "?"} for place in range(8)]
        suite(evaluators=[{"type": "contains", "value": "x"}], cases=cases, target=target)
        assert command("run", "suite.yaml", "--quiet").code == 0
    a, b, c = [run["id"] for run in command("runs", "list", "--json").json][::-1]

    other_model, refused, done = (
        command("compare", a, b),
        command("compare", b, c),
        command("compare", b, c, "--anyway"),
    )

    assert other_model.code == 0
    assert refused.code == 2
    assert "- target.temperature: 0 in A, 1 in B" in refused.err
    assert '- target.prompt: nothing in A, "Briefly: {{ input }}" in B' in refused.err
    assert done.code == 0
    assert "Compared although they were answered or judged differently\ntarget.temperature" in done.out


def test_the_last_run_is_compared_with_the_previous_one(runs: Any, command: Any, suite: Any) -> None:
    a, b = runs("Rome", "Paris")

    done = command("compare", "previous", "last")

    assert done.out.startswith(f"A: {a} suite\nB: {b} suite\n\nB is better than A: +1.000 [")


def test_several_runs_are_compared_with_the_first(runs: Any, command: Any) -> None:
    a, b, c = runs("Paris", "Rome", "Paris, in France")

    done = command("compare", a, b, c)
    worse = command("compare", a, b, c, "--fail-if-worse", "--json")

    assert done.code == 0
    assert f"Compared with {a} suite, case by case, p corrected for 2 runs (Holm)" in done.out
    assert ["1.000", "0.000", "-1.000"] in [line.split()[2:5] for line in done.out.splitlines()]
    assert worse.code == 100
    assert list(worse.json["others"]) == [b, c]


def test_a_gate_over_several_runs_does_not_pass_over_one_that_is_refused(runs: Any, command: Any) -> None:
    runs("Paris", "Paris")
    a, b, c = runs("Paris", evaluators=[{"name": "right", "type": "contains", "value": "aris"}])

    shown = command("compare", a, b, c)
    gate = command("compare", a, b, c, "--fail-if-worse")

    assert shown.code == 0
    assert "Not compared" in shown.out
    assert gate.code == 2
    assert f"--fail-if-worse needs all runs to be comparable; not compared: {c}" in gate.err
