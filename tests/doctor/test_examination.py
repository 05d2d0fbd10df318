"""Examinations from Python: who is asked what, what is left out, and what is not enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, ConfigError, Contains, JudgeExamination, evaluate, examine_judge
from evenhand.doctor.examination import Outcome, examined
from evenhand.doctor.job import Subject, doctor_job
from evenhand.doctor.pairs import TASKS, shipped_pairs
from evenhand.doctor.plan import Plan, drawn
from evenhand.doctor.probe import BAD, PLAIN, Limits, Observed
from evenhand.doctor.probes.catalogue import PROBES, QUICK
from evenhand.suites.suite import read_suite


def lenient(_: Any) -> dict[str, Any]:
    return {"reasoning": "Fine.", "hits": [], "misses": [], "score": 0.9}


class Small:
    """A judge on this machine, as far as a plan looks at it."""

    name = "embedded/qwen-small"
    prefers_logprobs = True

    async def ask(self, ask: Any) -> Any:
        raise AssertionError(ask)


def test_an_examination_is_stored_and_opened_again(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"

    made = examine_judge(lenient, probes=["accuracy", "attack"], size=6, store=store)
    opened = JudgeExamination.open(store=store)

    assert opened.found.as_dict() == made.found.as_dict()
    assert made.passed
    assert {probe.name: probe.outcome for probe in opened.probes}["instructions"] is Outcome.NOT_ENOUGH_DATA
    assert "0 bad answers that fail as they are" in opened.report()
    assert opened.save(tmp_path / "card.md").read_text().startswith("# Judge card\\: doctor of function/lenient")
    assert opened.found.attack_success is None
    (accuracy,) = (probe for probe in opened.probes if probe.name == "accuracy")
    assert (accuracy.harmed, accuracy.among) == (6, 12)
    assert accuracy.outcome is Outcome.NOT_ENOUGH_DATA
    assert "harm in 6 of 12 is above the limit, but that may be chance" in accuracy.why


def test_other_runs_are_no_examinations() -> None:
    run = evaluate([Case(id="a", candidate_answer="x")], Contains(value="x"), store=None)

    with pytest.raises(ConfigError, match="does not examine a judge"):
        JudgeExamination(run)


def test_a_draw_has_as_many_pairs_of_each_task_and_depends_on_the_seed() -> None:
    one, again, other = (drawn(shipped_pairs(), 14, seed) for seed in (1, 1, 2))

    counts = [sum(pair.task == task for pair in one) for task in TASKS]
    assert sorted(counts) == [2, 2, 2, 2, 3, 3]
    assert one == again != other
    assert len(drawn(shipped_pairs(), len(shipped_pairs()), 0)) == len(shipped_pairs())


def test_every_case_of_a_plan_has_an_id_of_its_own_and_the_plan_is_read_back() -> None:
    plan = Plan.made(size=7, seed=3, family="qwen", limits=Limits(max_bias=0.3))

    cases = list(plan.cases())

    assert len({planned.case.id for planned in cases}) == len(cases)
    assert {str(planned.case.metadata["probe"]) for planned in cases} == {PLAIN, *PROBES} - {"accuracy", "scale_use"}
    assert Plan.of({"doctor": plan.as_dict()}) == plan


def test_a_slow_judge_gets_a_first_look_and_checks_an_item() -> None:
    planned = doctor_job(Subject.of_judge(Small()))

    assert (planned.plan.probes, planned.plan.size) == (tuple(sorted(QUICK, key=list(PROBES).index)), 12)
    assert planned.subject.evaluator["rubrics"][0]["id"] == "right"
    assert "for all 21 probes: --probes all" in planned.outline()[1]


@pytest.mark.parametrize(
    ("evaluator", "left_out", "why"),
    [
        ("{name: q, type: pairwise}", PROBES.keys() - {"position", "verbosity"}, "the evaluator compares answers"),
        (
            "{name: q, type: composite, members: [{type: llm_judge, judge: openai/gpt-5-mini}]}",
            {"position", "verbosity", "rubric_order", "example_order", "family"},
            "its members have",
        ),
    ],
)
def test_what_an_evaluator_cannot_be_asked_is_left_out_with_the_reason(
    evaluator: str, left_out: set[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    judge = "" if "composite" in evaluator else "judge: openai/gpt-5-mini\n"
    suite = tmp_path / "suite.yaml"
    suite.write_text(f"{judge}evaluators: [{evaluator}]\ncases: [{{id: a, candidate_answer: x}}]\n")

    plan = doctor_job(Subject.of_suite(read_suite(suite))).plan

    assert set(plan.left_out) == set(left_out)
    assert why in plan.left_out["verbosity" if "composite" in evaluator else "padding"]


def suite_with(examples: str, folder: Path) -> Subject:
    suite = folder / "suite.yaml"
    suite.write_text(
        f"judge: openai/gpt-5-mini\nevaluators: [{{name: q, type: llm_judge, scale: 1-5, examples: [{examples}]}}]\n"
        "cases: [{id: a, candidate_answer: x}]\n"
    )
    return Subject.of_suite(read_suite(suite))


def test_the_examples_of_an_evaluator_are_shown_in_two_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    verdicts = {"a": "fail", "b": "pass", "c": "fail"}
    own = ", ".join(f"{{candidate_answer: {answer}, verdict: {verdict}}}" for answer, verdict in verdicts.items())

    made = [*doctor_job(suite_with(own, tmp_path), probes=["example_order"], size=2).cases()]

    shown = [[example["candidate_answer"] for example in (planned.evaluators or ())[0]["examples"]] for planned in made]
    assert shown == [["a", "b", "c"], ["c", "a", "b"]] * 2  # backwards, but with another verdict at the end
    assert {(planned.evaluators or ())[0]["scale"] for planned in made} == {"1-5"}
    assert [planned.case.metadata["answer"] for planned in made] == ["good", "good", "bad", "bad"]


def test_a_single_example_has_no_other_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-example")
    subject = suite_with("{candidate_answer: a, verdict: pass}", tmp_path)

    with pytest.raises(ConfigError, match="probe example_order: the evaluator has a single example"):
        doctor_job(subject, probes=["example_order"])


def test_examples_of_our_own_are_of_pairs_that_are_not_asked() -> None:
    plan = Plan.made(["example_order"], size=150)
    (definition, *_) = (planned.evaluators[0] for planned in plan.cases() if planned.evaluators)

    asked = {planned.case.question for planned in plan.cases()}

    assert [example["verdict"] for example in definition["examples"]] == ["pass", "fail"] * 2
    assert not asked & {example["question"] for example in definition["examples"]}
    with pytest.raises(ConfigError, match="none are left to be examples"):
        Plan.made(["example_order"], size=156)


def test_a_judge_that_goes_by_the_last_example_is_found_out() -> None:
    def judge(messages: Any) -> dict[str, Any]:
        verdicts = [line for line in messages[0]["content"].splitlines() if line in {"pass", "fail"}]
        return lenient(messages) | {"score": 0.9 if verdicts[-1] == "pass" else 0.1}

    found = examine_judge(judge, probes=["example_order"], size=8, store=None)

    assert found.failed == ("example_order",)
    (probe,) = found.probes
    assert (probe.harmed, probe.opposite, probe.among) == (8, 0, 8)


def test_few_cases_are_not_enough_however_bad_they_are() -> None:
    plan = Plan.made(["instructions"], size=4)
    seen = [
        Observed(probe=probe, pair=f"p{number}", answer=BAD, score=score, passed=score > 0.5)
        for number in range(4)
        for probe, score in ((PLAIN, 0.0), ("instructions", 1.0))
    ]

    (found,) = examined(plan, seen).probes

    assert (found.harmed, found.among, found.outcome) == (4, 4, Outcome.NOT_ENOUGH_DATA)
    assert "with so few, even harm in each of them may be chance" in found.why


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"limits": {"max_bais": 0.1}}, "no limit 'max_bais'; did you mean 'max_bias'"),
        ({"limits": {"max_bias": "a"}}, "it must be a share"),
        ({"probes": []}, "probes is empty"),
        ({"size": True}, "size is True"),
        ({"evaluator": "quality"}, "name the suite that has it"),
        ({"name": 3}, "name must be text"),
        ({"timeout": 0}, "timeout is 0"),
    ],
)
def test_mistakes_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        examine_judge(lenient, store=None, **options)
