"""`evenhand judges compare`: several runs, several evaluators, a jury, and recorded judges of published data."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, CompositeEvaluator, PromptEvaluator, Run, add_labels, evaluate

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
RECORDED = Path(__file__).resolve().parents[2] / "golden" / "recorded_verdicts.json"


def test_runs_of_several_judges_are_compared_with_their_costs(
    command: Command, suite: Callable[..., Path], serve: Any, folder: Path
) -> None:
    judge = {"model": "openai/gpt-4o-mini", "base_url": serve().url, "api_key": "${JUDGE_KEY}"}
    evaluators = [{"name": "quality", "type": "llm_judge"}]
    prices = {"openai/gpt-4o-mini": {"input": 1, "output": 2}, "openai/gpt-4o": {"input": 10, "output": 20}}
    suite(40, judge=judge, evaluators=evaluators, prices=prices)
    command("run", "suite.yaml", "--quiet", "--label", "small")
    small = command("runs", "show", "last", "--json").json["run"]["id"]
    command("run", "suite.yaml", "--quiet", "--answers-from", small, "--judge", "openai/gpt-4o")
    (folder / "labels.csv").write_text(
        "id,human,rater\n" + "".join(f"case-{number},pass,Ann\n" for number in range(40)), encoding="utf-8"
    )

    unlabelled = command("judges", "compare", small, "last")
    found = command("judges", small, "last", "--labels", "labels.csv", "--margin", "0.1", "--json").json
    command("judges", "compare", small, "last", "-o", "j.html", "-o", "j.md", "-o", "j.json")

    assert "no best judge: people labelled no case that all judges scored" in unlabelled.out
    assert [each["name"] for each in found["judges"]] == ["small", "openai/gpt-4o"]
    assert [each["cost"] for each in found["judges"]] == pytest.approx([0.0012, 0.012])
    assert (found["cheapest"], found["labelled"], found["pairs"][0]["agreement"]["value"]) == ("small", 40, 1.0)
    assert (folder / "j.md").read_text("utf-8").startswith("# Judges compared")
    assert "<script" not in (folder / "j.html").read_text("utf-8")
    assert json.loads((folder / "j.json").read_text("utf-8"))["labelled"] == 0


def recorded(verdicts: Mapping[str, Mapping[str, float | None]], answers: Mapping[str, str], **more: Any) -> Run:
    """Judge answers by what each judge is recorded to have said of them, case by case; None is a failure."""

    def says(name: str) -> Callable[[Case], float]:
        def judge(case: Case) -> float:
            score = verdicts[name][case.id or ""]
            if score is None:
                raise ValueError("nothing that could be read")
            return score

        judge.__name__ = name
        return judge

    cases = [Case(id=case, candidate_answer=answer) for case, answer in answers.items()]
    return evaluate(cases, [says(name) for name in verdicts], store=".evenhand/evenhand.db", **more)


def test_cases_with_other_answers_are_named_or_left_out(command: Command) -> None:
    one = recorded({"a": {"x": 1.0, "y": 0.0}}, {"x": "same", "y": "one"})
    other = recorded({"b": {"x": 1.0, "y": 1.0}}, {"x": "same", "y": "other"})

    refused = command("judges", "compare", one.id, other.id)
    found = command("judges", "compare", one.id, other.id, "--anyway", "--json").json
    alone = command("judges", "compare", one.id)
    twice = command("judges", "compare", one.id, one.id)
    unknown = command("judges", "compare", one.id, other.id, "--anyway", "--evaluator", "c")

    assert (refused.code, alone.code, twice.code) == (2, 2, 2)
    assert "case 'y' has another answer" in refused.err
    assert found["cases"] == 1
    assert found["notes"] == ["1 case with different answers was left out"]
    assert "there is one judge" in alone.err
    assert "named twice" in twice.err
    assert (unknown.code, "'c'" in unknown.err) == (2, True)


def test_the_members_of_a_jury_are_its_judges(command: Command) -> None:
    def passing(*words: str) -> Callable[[Any], str]:
        return lambda messages: json.dumps({"score": float(any(word in str(messages) for word in words))})

    judges = [
        PromptEvaluator(name=name, judge=passing(*words))
        for name, words in (("one", ("Paris",)), ("two", ("Paris", "Rome")), ("three", ("Rome",)))
    ]
    cases = [
        Case(id=f"c{number}", candidate_answer=("Paris", "Rome")[number % 2], expected_outcome="So")
        for number in range(40)
    ]
    panel = CompositeEvaluator(members=judges, aggregator="majority", name="panel")
    run = evaluate(cases, panel, store=".evenhand/evenhand.db")
    add_labels(run, [{"id": case.id, "human": "pass"} for case in cases], rater="Ann")

    found = command("judges", "compare", run.id, "--json").json

    assert [each["name"] for each in found["judges"]] == ["one", "two", "three"]
    assert [each["accuracy"]["value"] for each in found["judges"]] == [0.5, 1.0, 0.5]
    assert (found["jury"]["jury"], found["jury"]["gain"]) == ("panel", 0.0)


@pytest.mark.long
def test_the_judges_of_pandalm_are_held_against_its_people(command: Command) -> None:
    *_, counted = json.loads(RECORDED.read_text(encoding="utf-8"))["cases"]
    assert counted["of"] == ["annotator1", "annotator2", "annotator3", "pandalm", "gpt"]
    pairs = {f"pair-{n}": row.split() for n, row in enumerate(Counter(counted["counts"]).elements())}
    said: dict[str, dict[str, float | None]] = {
        "PandaLM-7B": {pair: float(pandalm == "1") for pair, (*_, pandalm, _) in pairs.items()},
        "GPT-3.5": {pair: None if gpt == "garbage" else float(gpt == "1") for pair, (*_, gpt) in pairs.items()},
    }
    run = recorded(said, {pair: f"The answers of {pair}" for pair in pairs})
    people = {pair: Counter(row[:3]).most_common(1)[0][0] for pair, row in pairs.items()}
    add_labels(
        run, [{"id": idx, "human": "pass" if one == "1" else "fail"} for idx, one in people.items()], rater="most"
    )

    found = command("judges", "compare", run.id, "--json").json

    common = [idx for idx in people if said["GPT-3.5"][idx] is not None]
    for each in found["judges"]:
        right = sum((said[each["name"]][idx] == 1) == (people[idx] == "1") for idx in common)
        assert each["accuracy"]["value"] == pytest.approx(right / len(common))
    assert (found["labelled"], found["best"]) == (974, "GPT-3.5")
    assert [each["unscored"] for each in found["judges"]] == [0, 25]  # what could not be read is no verdict
    assert found["judges"][0]["within"] is False


@pytest.mark.long
def test_the_six_judges_of_mt_bench_are_compared_without_labels(
    command: Command, third_party: Callable[[str], Path]
) -> None:
    said: dict[str, dict[str, float | None]] = {}
    with (third_party("mtbench_judges") / "single_scores.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if (row["language"], row["protocol"]) == ("en", "single_grade"):
                score = float(row["score_turn1"])
                case = f"{row['question_id']} {row['model']}"
                said.setdefault(row["judge"], {})[case] = None if score < 0 else (score - 1) / 9
    run = recorded(said, {case: case for case in next(iter(said.values()))})

    found = command("judges", "compare", run.id, "--json").json
    shown = command("judges", "compare", run.id)

    assert (len(found["judges"]), len(found["pairs"])) == (6, 15)
    for pair in found["pairs"]:
        both = [
            (one >= 0.8 - 1e-9) == (other >= 0.8 - 1e-9)
            for case, one in said[pair["a"]].items()
            if one is not None and (other := said[pair["b"]][case]) is not None
        ]
        assert (pair["cases"], pair["agreement"]["value"]) == (len(both), pytest.approx(sum(both) / len(both)))
    assert "refused" in found["best"]
    assert all(0.5 < each["with_majority"]["value"] < 1 for each in found["judges"])
    assert "nobody has labelled any of them" in shown.out
