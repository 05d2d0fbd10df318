"""A run stops when its gates are decided, and decides the same however it gets there."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evenhand import Case, Contains, compare, evaluate
from evenhand.domain.early_decision import UNTIL_DECIDED, UntilDecided, early_decision, stopped_decided
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import RunRecord, RunStatus
from evenhand.engine.budget import Limits
from evenhand.engine.carry_over import case_differences
from evenhand.engine.job import Job, Scope
from evenhand.engine.overview import overview_of
from evenhand.engine.plan import plan
from evenhand.stats.early_gates import EarlyGates, Judged
from evenhand.store.store import Store, open_store

Judging = Callable[..., Any]
GATES = {"min_pass_rate": 0.9, "min_mean": 0.4}


def number_in(ask: Any) -> int:
    return int(re.search(r"answer (\d+)", ask.messages[-1].content)[1])  # type: ignore[index]


def one_of_five_fails(ask: Any) -> str:
    return f'{{"score": {0.0 if number_in(ask) % 5 == 0 else 1.0}}}'


def planned(store: Store, job: Job, *, seed: int = 7, alpha: float = 0.05, **scope: Any) -> RunRecord:
    return plan(store, job, Scope(until_decided=UntilDecided(seed=seed, alpha=alpha), **scope))


def job_of(made: Any, judge: Any, *, cases: int = 200, gates: Any = None, **rest: Any) -> Job:
    job: Job = made.job(made.cases(cases), judge, definition={"judge": "x", "gates": gates or GATES}, **rest)
    return job


def decisions(run: RunRecord) -> Any:
    return run.options[UNTIL_DECIDED]["gates"]


# The decision


@pytest.mark.parametrize("concurrency", [1, 7])
def test_a_run_is_decided_as_its_cases_in_the_drawn_order_are(
    store: Store, judging: Judging, made: Any, concurrency: int
) -> None:
    judge = judging(one_of_five_fails)
    job = job_of(made, judge)

    run = made.resume(store, planned(store, job), job, concurrency=concurrency)

    expected = EarlyGates.of(
        {name: (name, limit) for name, limit in GATES.items()}, cases=200, in_random_order=True, alpha=0.05
    )
    assert isinstance(expected, EarlyGates)
    for position in UntilDecided(seed=7).order(200):
        if not expected.is_over:
            passed = position % 5 != 0
            expected.add(dict.fromkeys(GATES, Judged(score=float(passed), passed=passed)))
    assert [(gate["name"], gate["outcome"], gate.get("after")) for gate in decisions(run)] == [
        (name, found and found.outcome, found and found.after) for name, found in expected.decisions.items()
    ]
    assert stopped_decided(run)
    after = max(gate.get("after", 0) for gate in decisions(run))
    assert after <= len(judge.asked) < after + concurrency
    assert store.extent(run) == (200, len(judge.asked))  # whatever was asked is stored


def test_results_count_in_the_drawn_order_and_not_as_they_arrive(store: Store, judging: Judging, made: Any) -> None:
    first = UntilDecided(seed=7).order(200)[0]
    others = asyncio.Event()

    async def answer(ask: Any) -> str:
        if number_in(ask) == first:
            await others.wait()  # the first one comes last
        elif len(judge.asked) == 40:
            others.set()
        return one_of_five_fails(ask)

    quick = judging(one_of_five_fails)
    whole = made.resume(store, planned(store, job_of(made, quick)), job_of(made, quick), concurrency=1, use_cache=False)
    judge = judging(answer)
    job = job_of(made, judge)

    run = made.resume(store, planned(store, job), job, concurrency=5, use_cache=False)

    assert decisions(run) == decisions(whole)


def test_a_case_with_several_evaluators_and_samples_counts_when_it_is_whole(
    store: Store, judging: Judging, made: Any
) -> None:
    judges = [judging(one_of_five_fails, name="a"), judging(name="b")]
    job = job_of(made, judges, gates={"min_mean": 0.2})

    run = made.resume(store, planned(store, job, repeat=2), job, concurrency=3)

    assert [gate["outcome"] for gate in decisions(run)] == ["pass"]
    assert sum(len(result.judgments) == 4 for result in store.results(run)) >= decisions(run)[0]["after"]
    assert all(len(result.judgments) in (0, 2, 4) for result in store.results(run))  # nothing was cut off


def test_a_case_that_ends_in_an_error_counts_as_the_limit(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(lambda ask: ValueError("bad_request: no") if number_in(ask) % 10 == 0 else one_of_five_fails(ask))
    job = job_of(made, judge, gates={"min_pass_rate": 0.5})

    run = made.resume(store, planned(store, job), job)

    assert [gate["outcome"] for gate in decisions(run)] == ["pass"]


def test_gates_that_nothing_decides_early_end_with_the_run(store: Store, judging: Judging, made: Any) -> None:
    job = job_of(made, judging(one_of_five_fails), cases=50, gates={"min_pass_rate": 0.8})

    run = made.resume(store, planned(store, job, alpha=1e-9), job, concurrency=1)

    assert run.status is RunStatus.FINISHED or decisions(run)[0]["certain"]


def test_numbers_of_a_decided_run_have_no_intervals(store: Store, judging: Judging, made: Any) -> None:
    job = job_of(made, judging(one_of_five_fails))

    run = made.resume(store, planned(store, job), job)

    for _ in range(2):  # worked out, and kept
        summary = overview_of(store, run).summary
        assert summary.cases.mean is not None
        assert summary.cases.interval is summary.cases.pass_rate_interval is None
        assert all(tally.interval is None for tally in summary.evaluators.values())


# Interrupted


@pytest.mark.slow
@pytest.mark.parametrize("calls", [pytest.param(1, marks=pytest.mark.long), 5, 20])
def test_a_run_that_is_stopped_again_and_again_decides_the_same(
    store: Store, judging: Judging, made: Any, calls: int
) -> None:
    judge = judging(one_of_five_fails)
    job = job_of(made, judge)
    whole = made.resume(store, planned(store, job), job, use_cache=False)

    run = planned(store, job)
    while not stopped_decided(run):
        run = made.resume(store, run, job, concurrency=5, use_cache=False, limits=Limits(max_calls=calls))

    assert decisions(run) == decisions(whole)


@pytest.mark.slow
@pytest.mark.group("postgres")
def test_postgresql_decides_what_sqlite_does(store: Store, judging: Judging, made: Any, postgres_url: str) -> None:
    job = job_of(made, judging(one_of_five_fails))
    whole = made.resume(store, planned(store, job), job, use_cache=False)

    with contextlib.closing(open_store(postgres_url)) as other:
        run = planned(other, job)
        run = made.resume(other, run, job, concurrency=5, use_cache=False, limits=Limits(max_calls=10))
        assert run.status is RunStatus.STOPPED
        run = made.resume(other, run, job, concurrency=5, use_cache=False)

    assert decisions(run) == decisions(whole)


def test_a_run_that_was_killed_when_it_was_decided_asks_nothing_more(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(one_of_five_fails)
    job = job_of(made, judge)
    decided = made.resume(store, planned(store, job), job)
    asked = len(judge.asked)
    # As if the process had ended before it could say so.
    store.runs.claim(decided)
    killed = store.runs.set_option(decided, UNTIL_DECIDED, {**decided.options[UNTIL_DECIDED], "gates": []})
    killed = store.runs.mark(killed, RunStatus.RUNNING)

    again = made.resume(store, killed, job)

    assert len(judge.asked) == asked
    assert (decisions(again), again.reason) == (decisions(decided), decided.reason)


def test_a_decided_run_is_resumed_to_its_end_however_often_it_stops(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(one_of_five_fails)
    job = job_of(made, judge)
    run = made.resume(store, planned(store, job), job)
    whole = made.run(store, job, use_cache=False)
    asked = len(judge.asked)

    run = made.resume(store, run, job, use_cache=False, limits=Limits(max_calls=10))
    assert (run.status, early_decision(run) is None) == (RunStatus.STOPPED, False)
    run = made.resume(store, run, job, use_cache=False)

    assert (run.status, early_decision(run)) == (RunStatus.FINISHED, None)
    assert len(judge.asked) - asked < 200
    assert overview_of(store, run).summary.cases == overview_of(store, whole).summary.cases


def test_cases_that_are_gone_since_are_named_and_not_refused_as_too_few(
    store: Store, judging: Judging, made: Any
) -> None:
    run = planned(store, job_of(made, judging(), cases=52))

    differences = case_differences(store, run, job_of(made, judging(), cases=49))

    assert differences == [f"case 'case-{n}' is gone" for n in (49, 50, 51)]


# Known before


@pytest.mark.slow
def test_results_from_the_cache_count_first_and_cost_nothing(store: Store, judging: Judging, made: Any) -> None:
    judge = judging(one_of_five_fails)
    job = job_of(made, judge)
    made.run(store, job, limit=120)
    asked = len(judge.asked)

    run = made.resume(store, planned(store, job), job, concurrency=1)

    assert run.options[UNTIL_DECIDED]["known"] == list(range(120))
    assert len(judge.asked) == asked  # 24 of 120 failed, which is more than may fail of 200
    assert decisions(run)[0] == {
        "name": "min_pass_rate", "limit": 0.9, "outcome": "fail", "after": 120, "certain": True,
    }  # fmt: skip


def test_what_takes_no_judge_is_known_before(store: Store, made: Any) -> None:
    job = made.job(made.cases(60), evaluators=[Contains(value="answer")], definition={"gates": GATES})

    run = made.resume(store, planned(store, job), job)

    assert run.status is RunStatus.FINISHED


# Refused before anything is asked


@pytest.mark.parametrize(
    ("gates", "cases", "words"),
    [
        (None, 60, "there is no gate to decide"),
        ({"min_mean_low": 0.5}, 60, "'min_mean_low' cannot be decided early"),
        ({"max_failed": 3}, 60, "'max_failed' cannot be decided early"),
        ({"min_mean": 0.5}, 49, "49 cases; gates are decided early from 50 on"),
        ({"evaluators": {"f": {"min_mean": 0.5}}}, 60, "min_mean is a gate of evaluator 'f'"),
        ({"slices": {"lang": {"min_mean": 0.5}}}, 60, "min_mean is a gate of slices by 'lang'"),
    ],
)
def test_what_cannot_be_decided_early_is_refused_by_name(gates: Any, cases: int, words: str) -> None:
    asked = []

    def f(case: Case) -> float:
        asked.append(case)
        return 1.0

    with pytest.raises(ConfigError, match=re.escape(words)):
        evaluate(
            [Case(id=str(n), candidate_answer="x") for n in range(cases)],
            f,
            gates=gates,
            store=None,
            until_decided=True,
        )

    assert not asked


def test_an_interval_of_clustered_cases_is_refused() -> None:
    cases = [Case(id=str(n), candidate_answer="x", cluster=str(n % 5)) for n in range(60)]

    with pytest.raises(ConfigError, match="the interval of clustered cases"):
        evaluate(cases, lambda case: 1.0, gates={"min_pass_rate_low": 0.5}, store=None, until_decided=True)


@pytest.mark.parametrize(("options", "words"), [
    ({"alpha": 0.1}, "alpha is for runs that are decided early"),
    ({"alpha": 1.0, "until_decided": True}, "alpha is 1.0; it must be a number between 0 and 1"),
    ({"alpha": float("nan"), "until_decided": True}, "alpha is nan"),
])  # fmt: skip
def test_an_alpha_that_means_nothing_is_refused(options: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        evaluate([Case(candidate_answer="x")], lambda case: 1.0, store=None, **options)


# For programs


def test_the_library_returns_the_run_with_what_was_decided(tmp_path: Path) -> None:
    store = tmp_path / "runs.db"
    cases = [Case(id=f"case-{n}", candidate_answer="x") for n in range(200)]

    run = evaluate(cases, lambda case: 0.0, gates={"min_mean": 0.5}, store=store, until_decided=True, concurrency=1)

    (gate,) = run.gates
    assert (run.status, run.passed, gate.ok, gate.found) == (RunStatus.STOPPED, False, False, None)
    assert re.fullmatch(
        r"decided after \d+ of 200: min_mean 0\.5 fails \(wrong with probability at most 0\.05\)", gate.words
    )
    assert gate.as_dict()["decided"] == {
        "after": len(run) - run.summary.cases.pending,
        "cases": 200,
        "certain": False,
        "alpha": 0.05,
    }
    for written in (run.report(), run.report("html")):
        assert gate.words in written
    assert "the judge would score each case the same again" in " ".join(run.report().split())
    assert f"To judge the other cases too: evenhand resume {run.id} --db {store}" in run.report()
    assert 'errors="0"' in run.report("xml")


def test_a_run_that_stopped_early_is_not_compared_even_anyway() -> None:
    cases = [Case(id=f"case-{n}", candidate_answer="x") for n in range(60)]
    early = evaluate(cases, lambda case: 1.0, gates={"min_mean": 0.5}, store=None, until_decided=True, concurrency=1)
    whole = evaluate(cases, lambda case: 1.0, gates={"min_mean": 0.5}, store=None)
    assert early.passed

    with pytest.raises(ConfigError, match="stopped early, when its gates were decided"):
        compare(early, whole, anyway=True)


def test_the_order_is_drawn_anew_for_each_run(store: Store, made: Any) -> None:
    job = made.job(made.cases(60), evaluators=[Contains(value="answer")], definition={"gates": GATES})

    seeds = {plan(store, job, Scope(until_decided=UntilDecided())).options[UNTIL_DECIDED]["seed"] for _ in range(4)}

    assert len(seeds) > 1
    assert sorted(replace(UntilDecided(), known=(4, 2)).order(9)) == list(range(9))
