"""Between an evaluation and the provider's account: outages are waited for, and a case's own failure stays its own."""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.run import Judgment, PlannedCase, RunRecord, RunStatus
from evenhand.engine.breaker import Outage
from evenhand.engine.budget import Limits
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.resolve import resolve
from evenhand.models.retry import RetryPolicy
from evenhand.reports.json import canonical
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.store.store import Store, open_store

QUICKLY = RetryPolicy(base=0.01, cap=0.05)
PROBE = "Reply with: ok"

Start = Callable[..., Any]
Respond = Callable[..., bytes]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


def judged(text: str, usage: Any = None) -> dict[str, Any]:
    """Write what a provider says of a case, with a score that is known by the case's number."""
    number = int(re.findall(r"case-(\d+)!", text)[0]) if text != PROBE else 0
    said = "ok" if text == PROBE else json.dumps({"reasoning": "so", "score": number % 11 / 10})
    counts = {"prompt_tokens": 10, "completion_tokens": 5} if usage is None else usage
    return {"choices": [{"message": {"content": said}, "finish_reason": "stop"}], "usage": counts}


def job_of(provider: Any, count: int, **more: Any) -> Job:
    evaluator = PromptEvaluator(judge=resolve({**provider.settings, **more}), name="quality")
    cases = [
        Case(id=f"c{number}", question="?", candidate_answer=f"I am case-{number}!", expected_outcome="good")
        for number in range(count)
    ]
    return Job(
        name="outages",
        definition={"judge": "openai/judge"},
        cases=lambda: [PlannedCase(position=place, case=case) for place, case in enumerate(cases)],
        evaluators_for=lambda _: (evaluator,),
    )


def run_all(store: Store, job: Job, run: RunRecord | None = None, **options: Any) -> RunRecord:
    """Bring a run to its end; options are those of ``Pace``, ``tell`` and ``observers``."""
    others = {name: options.pop(name) for name in ("tell", "observers") if name in options}
    run = plan(store, job, Scope()) if run is None else run
    store.runs.claim(run)
    runner = Runner(store, run, job, Pace(**options), probe_intervals=QUICKLY, **others)

    async def to_the_end() -> RunRecord:
        async with asyncio.timeout(300):  # only if it does not end by itself
            return await runner.run()

    return asyncio.run(to_the_end())


def statuses(store: Store, run: RunRecord) -> list[str]:
    return [str(one.evaluation.status) for result in store.results(run) for one in result.judgments]


def errors(store: Store, run: RunRecord) -> list[str]:
    found = [one.evaluation.error for result in store.results(run) for one in result.judgments]
    return [error for error in found if error is not None]


def report(store: Store, run: RunRecord) -> str:
    summary = summarize(store.results(run))
    return "\n".join(canonical(Report(run=run, summary=summary, results=lambda: store.results(run))))


def requests(store: Store, run: RunRecord) -> int:
    """Count the requests that stand in evaluations, and those that the run tells of beside them."""
    sent = (len(one.evaluation.attempts) for result in store.results(run) for one in result.judgments)
    return sum(sent) + store.runs.find(run.id).abandoned_calls


class After:
    """Does something, once, when so many evaluations are committed."""

    def __init__(self, count: int, do: Callable[[], None]) -> None:
        self.left = count
        self.do = do

    def __call__(self, planned: PlannedCase, judgment: Judgment) -> None:
        self.left -= 1
        if self.left == 0:
            self.do()


# Outages


@pytest.mark.parametrize("way", ["nobody listens", "HTTP 503", pytest.param("HTTP 500", marks=pytest.mark.long)])
def test_a_provider_that_is_gone_for_a_while_costs_no_case(
    vanishing: Start, responding: Respond, store: Store, tmp_path: Path, way: str
) -> None:
    provider = vanishing(lambda text: responding(judged(text)))
    job = job_of(provider, 120)
    undisturbed = run_all(open_store(str(tmp_path / "calm.db")), job)
    told: list[Outage] = []

    def go() -> None:
        if way == "nobody listens":
            provider.vanish()
        else:
            provider.respond = lambda text: responding({"error": "down"}, status=int(way[-3:]))

    def come_back(outage: Outage) -> None:
        told.append(outage)
        if outage.lasted is None:
            if way == "nobody listens":
                provider.come_back()
            provider.respond = lambda text: responding(judged(text))

    run = run_all(store, job, observers=[After(50, go)], tell=come_back)

    assert run.status is RunStatus.FINISHED
    assert statuses(store, run) == ["scored"] * 120
    assert [one.lasted is None for one in told] == [True, False]
    assert str(told[0]).startswith("openai/judge does not answer (")
    assert str(told[0]).endswith("; pausing, and retrying for up to 10 min")
    assert re.fullmatch(r"openai/judge is back after [\d.]+ s", str(told[1]))
    attempts = [one.evaluation.attempts for result in store.results(run) for one in result.judgments]
    # What failed during the outage is on record, in the evaluations that were asked for again.
    assert max(len(one) for one in attempts) >= 6
    calm = open_store(str(tmp_path / "calm.db"))
    assert report(store, run) == report(calm, undisturbed)
    calm.close()
    if way != "nobody listens":  # those that reached nobody were not counted there
        assert requests(store, run) == len(provider.asked) - 120


def test_a_run_stops_when_the_provider_does_not_come_back_and_goes_on_when_it_has(
    vanishing: Start, responding: Respond, store: Store, tmp_path: Path
) -> None:
    provider = vanishing(lambda text: responding(judged(text)))
    job = job_of(provider, 60)
    calm = open_store(str(tmp_path / "calm.db"))
    undisturbed = run_all(calm, job)

    stopped = run_all(store, job, observers=[After(20, provider.vanish)], outage_timeout=0.2)
    too_early = run_all(store, job, stopped)
    provider.come_back()
    resumed = run_all(store, job, too_early)

    assert stopped.status is too_early.status is RunStatus.STOPPED
    assert re.fullmatch(r"openai/judge: connection: .*; gave up after waiting [\d.]+ s", stopped.reason)
    assert re.match(r"openai/judge: connection: cannot connect to http://127\.0\.0\.1", too_early.reason)
    assert resumed.status is RunStatus.FINISHED
    assert errors(store, resumed) == []
    assert report(store, resumed) == report(calm, undisturbed)
    calm.close()


def test_who_does_not_want_to_wait_does_not(vanishing: Start, responding: Respond, store: Store) -> None:
    provider = vanishing(lambda text: responding(judged(text)))
    told: list[Outage] = []

    run = run_all(
        store,
        job_of(provider, 60),
        observers=[After(20, provider.vanish)],
        tell=told.append,
        outage_timeout=0,
    )

    assert run.status is RunStatus.STOPPED
    assert errors(store, run) == []
    assert told == []


def test_at_the_beginning_nobody_is_waited_for(vanishing: Start, store: Store) -> None:
    provider = vanishing()
    provider.vanish()
    told: list[Outage] = []

    run = run_all(store, job_of(provider, 60), tell=told.append)

    assert run.status is RunStatus.STOPPED
    assert run.reason.startswith("openai/judge: connection: cannot connect to http://127.0.0.1")
    # The lane closes with the third; the two before it are done again when the run is resumed.
    assert (statuses(store, run), told) == (["error", "error"], [])


def test_an_interrupt_ends_a_pause_at_once(vanishing: Start, responding: Respond, store: Store) -> None:
    provider = vanishing(lambda text: responding(judged(text)))
    job = job_of(provider, 60)
    run = plan(store, job, Scope())
    never = 600.0

    async def interrupted() -> tuple[RunRecord, set[Any]]:
        paused = asyncio.Event()
        runner = Runner(
            store,
            run,
            job,
            Pace(drain_seconds=never, outage_timeout=never),
            observers=[After(20, provider.vanish)],
            tell=lambda outage: paused.set(),
            probe_intervals=RetryPolicy(base=never, cap=never),
        )
        working = asyncio.create_task(runner.run())
        async with asyncio.timeout(60):
            await paused.wait()
            assert runner.progress.paused is not None
            runner.interrupt()
            return await working, asyncio.all_tasks()

    ended, left = asyncio.run(interrupted())
    provider.come_back()

    assert (ended.status, ended.reason) == (RunStatus.INTERRUPTED, "it was interrupted")
    assert len(left) == 1
    assert errors(store, ended) == []
    assert statuses(store, run_all(store, job, ended)) == ["scored"] * 60


def test_probes_are_counted_and_never_pass_the_budget(vanishing: Start, responding: Respond, store: Store) -> None:
    provider = vanishing(lambda text: responding(judged(text)))

    def go() -> None:
        provider.respond = lambda text: responding({"error": "down"}, status=503)

    run = run_all(store, job_of(provider, 60), observers=[After(20, go)], limits=Limits(max_calls=60), concurrency=2)

    assert (run.status, run.reason) == (RunStatus.STOPPED, "budget: max_calls: 60 calls were allowed")
    assert len(provider.asked) == requests(store, run) == 60
    assert provider.probes > 2
    assert errors(store, run) == []


def test_a_question_that_brings_its_provider_down_comes_to_an_end(
    vanishing: Start, responding: Respond, store: Store
) -> None:
    provider = vanishing()
    down = False

    def respond(text: str) -> bytes:
        nonlocal down
        down = down or "case-7!" in text
        return responding({"error": "down"}, status=503) if down else responding(judged(text))

    def repair(outage: Outage) -> None:
        nonlocal down
        down = False

    provider.respond = respond
    run = run_all(store, job_of(provider, 20), concurrency=1, tell=repair)

    assert run.status is RunStatus.FINISHED
    assert statuses(store, run).count("scored") == 19
    (failed,) = (one for result in store.results(run) for one in result.judgments if one.evaluation.error)
    assert len(failed.evaluation.attempts) == 4 * 5  # asked anew three times, each with all its tries


@pytest.mark.parametrize("poisoned", [{7}, {0}, {19}, {3, 4, 5, 6, 7}])
def test_a_case_that_always_breaks_the_server_is_that_cases_error(
    vanishing: Start, responding: Respond, store: Store, poisoned: set[int]
) -> None:
    names = {f"case-{number}!" for number in poisoned}

    def respond(text: str) -> bytes:
        broken = any(name in text for name in names)
        return responding({"error": "broken"}, status=500) if broken else responding(judged(text))

    provider = vanishing(respond)
    told: list[Outage] = []

    run = run_all(store, job_of(provider, 20), concurrency=1, tell=told.append)

    assert run.status is RunStatus.FINISHED
    assert [place for place, status in enumerate(statuses(store, run)) if status == "error"] == sorted(poisoned)
    assert all(error.startswith("server_error: HTTP 500: broken; gave up after 5") for error in errors(store, run))
    assert told == []
    assert len(provider.asked) == requests(store, run)
    assert sum(any(name in text for name in names) for text in provider.asked) == 5 * len(poisoned)


# Refusals

PLACES = {"in the middle": {4, 5, 6}, "the first": {0, 1, 2}, "the last": {7, 8, 9}, "nearly all": set(range(1, 10))}


# Of all ways, those in quick tests have each place with each concurrency, and each status several times.
REFUSED = [
    pytest.param(
        refused, concurrency, status,
        id=f"{where}-{concurrency}-{status}", marks=[] if number % 3 == number // 3 % 3 else [pytest.mark.long],
    )
    for number, ((where, refused), concurrency, status) in enumerate(
        itertools.product(PLACES.items(), (1, 4), (401, 403, 404))
    )
]  # fmt: skip


@pytest.mark.parametrize(("refused", "concurrency", "status"), REFUSED)
def test_cases_that_are_refused_for_their_own_sake_are_errors_and_the_run_ends(
    vanishing: Start, responding: Respond, store: Store, refused: set[int], concurrency: int, status: int
) -> None:
    names = {f"case-{number}!" for number in refused}

    def respond(text: str) -> bytes:
        own = any(name in text for name in names)
        return responding({"error": "not this one"}, status=status) if own else responding(judged(text))

    provider = vanishing(respond)

    run = run_all(store, job_of(provider, 10), concurrency=concurrency)

    assert run.status is RunStatus.FINISHED
    assert [place for place, one in enumerate(statuses(store, run)) if one == "error"] == sorted(refused)
    assert len(provider.asked) == requests(store, run)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("status", [400, 403, 404])
def test_a_run_of_which_only_refused_cases_are_left_ends_when_it_is_resumed(
    vanishing: Start, responding: Respond, store: Store, count: int, status: int
) -> None:
    provider = vanishing(lambda text: responding({"error": "no"}, status=401))
    job = job_of(provider, count)
    stopped = run_all(store, job)

    def respond(text: str) -> bytes:
        return responding(judged(text)) if text == PROBE else responding({"error": "not this one"}, status=status)

    provider.respond = respond
    resumed = run_all(store, job, stopped)

    assert stopped.status is RunStatus.STOPPED
    assert resumed.status is RunStatus.FINISHED
    assert statuses(store, resumed) == ["error"] * count


@pytest.mark.parametrize(("status", "kind"), [(401, "unauthorized"), (403, "forbidden"), (404, "not_found")])
@pytest.mark.parametrize("count", [1, 2, 50])
def test_a_refused_account_stops_the_run_after_a_handful_of_requests(
    vanishing: Start, responding: Respond, store: Store, status: int, kind: str, count: int
) -> None:
    provider = vanishing(lambda text: responding({"error": "who are you?"}, status=status))

    run = run_all(store, job_of(provider, count))

    assert run.status is RunStatus.STOPPED
    assert run.reason.startswith(f"openai/judge: {kind}: HTTP {status}: who are you?")
    assert len(provider.asked) <= 5


def test_requests_that_nobody_takes_stop_the_run_and_those_of_some_cases_do_not(
    vanishing: Start, responding: Respond, store: Store
) -> None:
    wrong = itertools.repeat(responding({"error": "no such parameter"}, status=400))
    provider = vanishing(lambda text: next(wrong))
    job = job_of(provider, 20)

    stopped = run_all(store, job)
    asked = len(provider.asked)
    provider.respond = lambda text: responding(judged(text)) if text == PROBE else next(wrong)
    resumed = run_all(store, job, stopped)

    assert (stopped.status, resumed.status) == (RunStatus.STOPPED, RunStatus.FINISHED)
    assert stopped.reason == "openai/judge: bad_request: HTTP 400: no such parameter"
    assert asked <= 9
    assert statuses(store, resumed) == ["error"] * 20


def test_a_used_up_quota_stops_the_run_though_a_small_question_could_be_paid_for(
    vanishing: Start, responding: Respond, store: Store
) -> None:
    body = {"error": {"message": "no money", "code": "insufficient_quota"}}
    provider = vanishing(lambda text: responding(judged(text) if text == PROBE else body, status=429))

    run = run_all(store, job_of(provider, 20))

    assert run.status is RunStatus.STOPPED
    assert run.reason == "openai/judge: quota: HTTP 429: no money"
    assert provider.probes == 0
