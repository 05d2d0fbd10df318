"""What differs between two runs: every setting by its name, the cases by their ids, and nothing where nothing does."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from evenhand import Case, Contains, Run, Scripted, compare, evaluate
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.domain.run_differences import CaseCount, RunDifferences
from evenhand.engine.comparison import Side
from evenhand.store.store import open_store
from evenhand.suites.run_settings import setting_changes

GRADE = '{"score": 0.9, "hits": [], "misses": [], "reasoning": ""}'


def judged(*names: str, question: str = "Why?", judge: str = "judge/a", **rest: Any) -> Run:
    cases = [Case(id=name, question=question, candidate_answer="So.", expected_outcome="x") for name in names]
    evaluators = rest.pop("evaluators", {"type": "llm_judge", "name": "quality"})
    return evaluate(cases, evaluators, judge=Scripted([GRADE] * len(names), name=judge), store=None, **rest)


def changes(a: dict[str, Any], b: dict[str, Any], **columns: Any) -> list[tuple[str, Any, Any]]:
    """Compare two definitions, of runs that are nowhere else."""
    with contextlib.closing(open_store("sqlite://")) as store:
        sides = [
            Side(
                store=store,
                run=RunRecord(number=number, id=str(number), name="", status=RunStatus.FINISHED, definition=each),
            )
            for number, each in enumerate((a, b))
        ]
        return [(one.name, one.before, one.after) for one in setting_changes(*sides, **columns)]


def test_where_nothing_differs_that_is_said() -> None:
    found = compare(judged("a", "b"), judged("a", "b"))

    assert found.differences == RunDifferences()
    assert found.differences.are_none


def test_judge_thresholds_repeats_and_evaluators_are_told_apart() -> None:
    a = judged("a", judge="judge/a")
    brief = {"type": "contains", "value": "So", "name": "brief"}
    quality = {"type": "llm_judge", "name": "quality", "weight": 2}
    b = judged("a", judge="judge/b", thresholds={"pass": 0.5}, evaluators=[quality, brief])

    found = compare(a, b, anyway=True).differences

    told = {one.name: (one.before, one.after) for one in found.settings}
    assert told["Judge"] == (["judge/a"], ["judge/b"])
    assert told["Evaluators"] == (["quality"], ["quality", "brief"])
    assert told["thresholds.pass"][1] == 0.5
    assert told["evaluators[quality].weight"] == (None, 2)
    assert not [name for name in told if "brief" in name]


def test_cases_that_one_run_has_and_cases_that_were_edited_are_counted_and_named() -> None:
    found = compare(judged("a", "b", "c"), judged("b", "d")).differences
    edited = compare(judged("a", "b"), judged("a", "b", question="How?"), anyway=True).differences

    assert (found.only_a, found.only_b) == (CaseCount(count=2, first=("a", "c")), CaseCount(count=1, first=("d",)))
    assert edited.edited == CaseCount(count=2, first=("a", "b"))
    assert (found.settings, edited.settings) == ((), ())


@pytest.mark.parametrize(
    ("a", "b", "told"),
    [
        ("openai/a", "openai/b", [("Target", ["openai/a"], ["openai/b"])]),
        ("openai:a", "openai/a", []),
        (
            {"model": "openai/a", "temperature": 0, "system": "Be kind."},
            {"model": "openai/a", "temperature": 1},
            [("target.temperature", 0, 1), ("target.system", "Be kind.", None)],
        ),
        (
            {"models": ["x/a", "x/b"], "temperature": 0},
            {"models": ["x/b", "x/c"], "temperature": 1},
            [("Target", ["x/a", "x/b"], ["x/b", "x/c"]), ("target[x/b].temperature", 0, 1)],
        ),
        (None, {"command": ["bot", "--fast"]}, [("Target", None, ["bot --fast"])]),
        (
            {"model": "x/a", "response_schema": {"type": "object"}},
            {"model": "x/a", "response_schema": {"type": "array"}},
            [("target.response_schema", '{\n  "type": "object"\n}', '{\n  "type": "array"\n}')],
        ),
    ],
)
def test_targets_are_compared_by_name_and_by_their_settings(a: Any, b: Any, told: list[Any]) -> None:
    assert changes({"target": a}, {"target": b}) == told


def test_other_settings_are_told_by_their_path_and_true_is_not_1() -> None:
    a = {"judge": {"model": "x/j", "temperature": 0}, "gates": {"pass_rate": 1}, "slices": ["lang"], "name": "first"}
    b = {"judge": "x/j", "gates": {"pass_rate": True}, "slices": ["lang", "topic"], "name": "second"}

    assert changes(a, b) == [
        ("judge.temperature", 0, None),
        ("gates.pass_rate", 1, True),
        ("slices", ["lang"], ["lang", "topic"]),
    ]


def test_the_models_of_one_run_differ_in_the_target_alone() -> None:
    def first(_: Case) -> str:
        return "Rome"

    def second(_: Case) -> str:
        return "Paris"

    cases = [Case(id=f"case-{number}", question="?") for number in range(3)]
    run = evaluate(cases, Contains(value="Paris"), target=[first, second], store=None)
    one, other = run.summary.models

    found = compare(run, run, model_a=one, model_b=other).differences

    assert [(each.name, each.before, each.after) for each in found.settings] == [("Target", [one], [other])]
