"""Going on with a run does what is missing, and nothing twice; a changed definition is told (SPEC-S3)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine import carry_over
from evenhand.engine.budget import Limits
from evenhand.engine.carry_over import case_differences, copy_finished, scope_of
from evenhand.engine.job import Job, Scope
from evenhand.engine.plan import plan
from evenhand.engine.targets.model import ModelTarget
from evenhand.evaluators.checks.text import Contains
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.reports.json import canonical
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.store.page_size import PAGE
from evenhand.store.store import Store

# Many, and together they take a while.
pytestmark = pytest.mark.slow

Judging = Callable[..., Any]
GOOD = '{"score": 1.0}'


def report(store: Store, run: RunRecord) -> str:
    summary = summarize(store.results(run))
    return canonical(Report(run=run, summary=summary, results=lambda: store.results(run)))


def fork(store: Store, before: RunRecord, job: Job) -> tuple[RunRecord, int]:
    run = plan(store, job, scope_of(before), forked_from=before.id)
    return run, copy_finished(store, before, run, job)


def by_answer(ask: Any) -> str:
    """Judge an answer by its length, so that equal cases have equal scores."""
    return f'{{"score": 0.{len(ask.messages[-1].content) % 10}}}'


# What is missing


@pytest.mark.parametrize("done", [0, 1, 7, 29, 30])
def test_a_run_gone_on_with_ends_like_one_that_was_not_interrupted(
    store: Store, judging: Judging, made: Any, done: int
) -> None:
    judge = judging(by_answer)
    job = made.job(made.cases(10), judge)
    whole = made.run(store, job, repeat=3, use_cache=False)
    assert len(judge.asked) == 30

    part = made.run(store, job, repeat=3, use_cache=False, limits=Limits(max_calls=done))
    assert part.status is (RunStatus.FINISHED if done == 30 else RunStatus.STOPPED)
    ended = made.resume(store, part, job, use_cache=False)

    assert ended.status is RunStatus.FINISHED
    assert len(judge.asked) == 60
    assert report(store, ended) == report(store, whole)


def test_going_on_again_and_again_does_everything_once(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(by_answer)
    job = made.job(made.cases(60), judge)
    run = plan(store, job, Scope())
    chance = random.Random(7)

    while run.status is not RunStatus.FINISHED:
        limits = Limits(max_calls=chance.randint(1, 20))
        run = made.resume(store, run, job, use_cache=False, limits=limits)

    assert len(judge.asked) == 60
    assert made.statuses(store, run) == ["scored"] * 60


def test_the_scope_of_a_run_is_that_with_which_it_was_started(store: Store, judging: Judging, made: Any) -> None:
    before = made.run(store, made.job(made.cases(3), judging()))
    scope = Scope(only=("case-*",), limit=2, repeat=3, answers_from=before.id)

    run = plan(store, made.job(made.cases(3), judging()), scope)

    assert scope_of(store.runs.find(run.id)) == scope


# What has changed


def differences(store: Store, made: Any, before: Sequence[Case], now: Sequence[Case]) -> list[str]:
    evaluators = [Contains(value="x")]
    run = plan(store, made.job(before, evaluators=evaluators), Scope())
    return case_differences(store, run, made.job(now, evaluators=evaluators))


def test_the_same_cases_do_not_differ(store: Store, made: Any) -> None:
    cases = [*made.cases(PAGE + 3), Case(id="odd", question="\ud800\0", metadata={"n": 2**70, "b": 1})]
    turned = [*made.cases(PAGE + 3), Case(id="odd", question="\ud800\0", metadata={"b": 1, "n": 2**70})]

    assert differences(store, made, cases, turned) == []


@pytest.mark.parametrize("at_once", [1, 2, 500])
def test_each_case_that_differs_is_named(
    store: Store, made: Any, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(carry_over, "_AT_ONCE", at_once)
    cases = made.cases(5)
    now = [cases[4], replace(cases[1], candidate_answer="another"), cases[2], Case(id="new"), cases[3]]

    assert differences(store, made, cases, now) == [
        "case 'new' was added",
        "case 'case-0' is gone",
        "case 'case-1' has changed",
    ]


def test_another_order_is_a_difference(store: Store, made: Any) -> None:
    cases = made.cases(5)

    assert differences(store, made, cases, cases[::-1]) == ["cases: in a different order"]


@pytest.mark.parametrize("count", [0, 3])
def test_more_or_fewer_cases_are_a_difference(store: Store, made: Any, count: int) -> None:
    found = differences(store, made, made.cases(10), made.cases(count))

    assert found[:2] == [f"case 'case-{count}' is gone", f"case 'case-{count + 1}' is gone"]
    assert found[-1] == f"and {10 - count - 5} more, each of which is gone"


# Forks: what still holds is taken over (REL-D3)


def changed(cases: list[Case], how: str) -> tuple[list[Case], set[str]]:
    """Change cases in some way, and give the ids of those that must be judged anew."""
    new = Case(id="new", candidate_answer="new", expected_outcome="good")
    edited = replace(cases[3], candidate_answer="another")
    match how:
        case "nothing":
            return cases, set()
        case "inserted first":
            return [new, *cases], {"new"}
        case "inserted":
            return [*cases[:4], new, *cases[4:]], {"new"}
        case "deleted":
            return [*cases[:2], *cases[5:]], set()
        case "reordered":
            return random.Random(1).sample(cases, len(cases)), set()
        case "edited":
            return [*cases[:3], edited, *cases[4:]], {"case-3"}
        case "renamed":
            return [replace(cases[0], id="renamed"), *cases[1:]], {"renamed"}
        case "exchanged":
            one, other = cases[0], cases[1]
            return [replace(one, id=other.id), replace(other, id=one.id), *cases[2:]], {"case-0", "case-1"}
        case _:
            return [new, *random.Random(2).sample([edited, *cases[4:]], len(cases) - 3)], {"new", "case-3"}


HOW = ("nothing", "inserted first", "inserted", "deleted", "reordered", "edited", "renamed", "exchanged", "all at once")


@pytest.mark.parametrize(
    ("paused", "how"),
    [
        *((False, how) for how in HOW),
        *(pytest.param(True, how, marks=[pytest.mark.long] if how in HOW[1:-1] else []) for how in HOW),
    ],
)
def test_in_a_fork_only_new_or_changed_cases_are_judged(
    store: Store, judging: Judging, made: Any, how: str, paused: bool
) -> None:
    judge = judging(by_answer)
    cases = made.cases(PAGE + 10 if paused and how == "all at once" else 12)
    limits = Limits(max_calls=len(cases) // 2) if paused else Limits()
    before = made.run(store, made.job(cases, judge), use_cache=False, limits=limits)
    finished = {result.id for result in store.results(before) if result.judgments}
    asked = len(judge.asked)
    now, anew = changed(cases, how)
    job = made.job(now, judge)

    run, copied = fork(store, before, job)
    run = made.resume(store, run, job, use_cache=False)

    kept = {case.id for case in now if case.id in finished and case.id not in anew}
    assert copied == len(kept)
    assert len(judge.asked) - asked == len(now) - len(kept)
    assert (run.status, run.forked_from) == (RunStatus.FINISHED, before.id)
    assert report(store, run) == report(store, made.run(store, job, use_cache=False))


def test_in_a_fork_only_the_evaluator_that_changed_judges_again(store: Store, judging: Judging, made: Any) -> None:
    one, other, changed = (judging(by_answer, name=name) for name in ("a", "b", "c"))
    before = made.run(store, made.job(made.cases(4), [one, other]), use_cache=False, repeat=2)
    job = made.job(made.cases(4), [changed, one])  # and stands where the other one did

    run, copied = fork(store, before, job)
    run = made.resume(store, run, job, use_cache=False)

    assert copied == 8
    assert [len(judge.asked) for judge in (one, other, changed)] == [8, 8, 8]
    names = [[each.evaluation.evaluator for each in result.judgments] for result in store.results(run)]
    assert names == [["q-c", "q-a"] * 2] * 4


@pytest.mark.parametrize(
    "options", [{"weight": 2.0}, {"required": True}, {"name": "x"}, {"thresholds": {"pass": 0.1, "borderline": 0.0}}]
)
def test_in_a_fork_an_evaluator_with_another_option_judges_again(
    store: Store, judging: Judging, made: Any, options: dict[str, Any]
) -> None:
    judge = judging(by_answer)
    before = made.run(store, made.job(made.cases(2), evaluators=[PromptEvaluator(judge=judge)]), use_cache=False)
    job = made.job(made.cases(2), evaluators=[PromptEvaluator(judge=judge, **options)])

    run, copied = fork(store, before, job)

    assert copied == 0
    made.resume(store, run, job, use_cache=False)
    assert len(judge.asked) == 4


def test_in_a_fork_with_more_repeats_only_the_further_ones_are_asked(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(by_answer)
    job = made.job(made.cases(3), judge)
    before = made.run(store, job, use_cache=False, repeat=2)

    run = plan(store, job, Scope(repeat=3), forked_from=before.id)
    assert copy_finished(store, before, run, job) == 6
    made.resume(store, run, job, use_cache=False)

    assert len(judge.asked) == 9


def test_equal_evaluators_of_a_case_are_both_taken_over(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(by_answer)
    twice = [PromptEvaluator(judge=judge), PromptEvaluator(judge=judge)]
    job = made.job(made.cases(2), evaluators=twice)
    before = made.run(store, job, use_cache=False)

    run, copied = fork(store, before, job)
    run = made.resume(store, run, job, use_cache=False)

    assert copied == 4
    assert len(judge.asked) == 4
    assert run.status is RunStatus.FINISHED


def test_in_a_fork_errors_are_taken_over_with_their_last_round(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: ConnectionError("timeout: x"))
    job = made.job(made.cases(2), judge)
    before = made.run(store, job)
    judge.answer = by_answer
    made.resume(store, before, job, retry_errors=True)

    run, copied = fork(store, before, job)

    assert copied == 2
    assert made.statuses(store, run) == ["scored", "scored"]
    assert [one.round for result in store.results(run) for one in result.judgments] == [0, 0]


# Forks of runs with a target


def target_job(made: Any, target: Any, *judges: Any, definition: Any = "target", count: int = 3) -> Job:
    cases = [Case(id=f"case-{n}", question=f"question {n}", expected_outcome="good") for n in range(count)]
    known: dict[str, Any] = {"definition": {"target": definition}}
    job: Job = made.job(cases, list(judges), target=ModelTarget(client=target), **known)
    return job


def test_in_a_fork_answers_are_not_made_again_for_another_judge(store: Store, judging: Judging, made: Any) -> None:
    target = judging(lambda ask: ask.messages[-1].content.upper(), name="target")
    judge, other = judging(name="a"), judging(name="b")
    before = made.run(store, target_job(made, target, judge), use_cache=False)
    job = target_job(made, target, judge, other)

    run, copied = fork(store, before, job)
    run = made.resume(store, run, job, use_cache=False)

    assert copied == 3
    assert [len(one.asked) for one in (target, judge, other)] == [3, 3, 3]
    told = [[[one.text for one in result.answers] for result in store.results(each)] for each in (before, run)]
    assert told[0] == told[1]


def test_in_a_fork_with_another_target_everything_is_made_anew(store: Store, judging: Judging, made: Any) -> None:
    one, other, judge = judging(name="one"), judging(name="other"), judging(name="judge")
    before = made.run(store, target_job(made, one, judge, definition="one"), use_cache=False)
    job = target_job(made, other, judge, definition="other")

    run, copied = fork(store, before, job)
    made.resume(store, run, job, use_cache=False)

    assert copied == 0
    assert [len(each.asked) for each in (one, other, judge)] == [3, 3, 6]


def test_a_target_written_in_another_way_is_the_same_target(store: Store, judging: Judging, made: Any) -> None:
    """What was judged stays with what was judged: an evaluation that is taken over brings its answer along."""
    target, judge, other = judging(name="target"), judging(name="a"), judging(name="b")
    before = made.run(store, target_job(made, target, judge, definition="target"), use_cache=False)
    job = target_job(made, target, judge, other, definition={"model": "target"})

    run, copied = fork(store, before, job)
    made.resume(store, run, job, use_cache=False)

    assert copied == 3
    assert [len(each.asked) for each in (target, judge, other)] == [3, 3, 3]
    assert [len(result.answers) for result in store.results(run)] == [1, 1, 1]
