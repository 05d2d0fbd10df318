"""Against a provider that misbehaves in some fifty ways, each case ends as it must, and every request is accounted for.

What must become of each case is worked out beforehand from two rules (SPEC-E6): a reply is asked for at most three
times, and a request is sent at most five times for each.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Status
from evenhand.domain.failure import Failure
from evenhand.domain.run import PlannedCase, RunStatus
from evenhand.engine.budget import Limits
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.resolve import resolve
from evenhand.reports.summary import summarize
from evenhand.store.store import Store, open_store

REPLIES = 3
REQUESTS = 5
AT_ONCE = 16
DEADLINE_SECONDS = 60.0  # of a case: less than the minute that a long Retry-After is honoured for

Start = Callable[..., Any]


@dataclass
class Fate:
    """What must become of a case: the requests it takes, and its score, or the classes that its error may have."""

    requests: list[Any] = field(default_factory=list)
    score: float | None = None
    classes: frozenset[str] = frozenset()
    first_reply: bool = False  # whether the question as it was asked at first got a reply that could be used

    @property
    def replies(self) -> int:
        return sum(one.means != "transport" for one in self.requests)


def fate(provider: Any, case: int) -> Fate:
    """Work out what must become of a case."""
    found = Fate()
    for reply in range(REPLIES):
        for sent in range(1, REQUESTS + 1):
            outcome = provider.outcome(case, len(found.requests))
            found.requests.append(outcome)
            found.classes = outcome.classes
            if outcome.means != "transport":
                break
            if outcome.final or sent == REQUESTS:
                return found
        if outcome.means == "score":
            found.score, found.classes, found.first_reply = outcome.score, frozenset(), reply == 0
            return found
    return found


def job_of(provider: Any, count: int) -> Job:
    evaluator = PromptEvaluator(judge=resolve(provider.settings), name="quality")
    cases = [
        Case(id=f"c{number}", question="?", candidate_answer=f"I am case-{number}!", expected_outcome="good")
        for number in range(count)
    ]
    return Job(
        name="faults",
        definition={"judge": "openai/judge"},
        cases=lambda: [PlannedCase(position=place, case=case) for place, case in enumerate(cases)],
        evaluators_for=lambda _: (evaluator,),
        timeout=DEADLINE_SECONDS,
    )


def run_all(store: Store, job: Job, *, seconds: float = 500.0, **pace: Any) -> Runner:
    run = plan(store, job, Scope())
    runner = Runner(store, run, job, Pace(concurrency=AT_ONCE, **pace))

    async def to_the_end() -> None:
        async with asyncio.timeout(seconds):  # only if it does not end by itself
            await runner.run()

    asyncio.run(to_the_end())
    return runner


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = open_store(str(tmp_path / "runs.db"))
    yield opened
    opened.close()


@pytest.fixture
def log(tmp_path: Path) -> Any:
    """Everything that anybody logs, at the lowest level, in a file."""
    handler = logging.FileHandler(tmp_path / "log")
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler
    root.setLevel(before)
    root.removeHandler(handler)
    handler.close()


def check_all(provider: Any, store: Store, count: int) -> dict[int, Fate]:
    """Hold what is stored against what had to come."""
    fates = {number: fate(provider, number) for number in range(count)}
    (run,) = store.runs.newest()
    results = list(store.results(run))
    log: dict[int, list[Any]] = {number: [] for number in range(count)}
    for number, outcome in provider.log:
        log[number].append(outcome)

    # Every case has ended, each in one state.
    assert run.status is RunStatus.FINISHED
    assert [result.id for result in results] == [f"c{number}" for number in range(count)]
    statuses = Counter(one.evaluation.status for result in results for one in result.judgments)
    assert statuses.total() == count
    assert statuses[Status.SCORED] == sum(one.score is not None for one in fates.values())
    assert statuses[Status.ERROR] == sum(one.score is None for one in fates.values())

    for number, result in enumerate(results):
        (judgment,), must = result.judgments, fates[number]
        evaluation = judgment.evaluation
        asked = log[number]
        told = f"case {number}: {[one.name for one in asked]}: {evaluation.error}"
        # The requests are those that had to be, and each stands in the record with what came of it.
        assert asked == must.requests, told
        assert len(asked) <= REPLIES * REQUESTS, told
        assert len(evaluation.attempts) == len(asked), told
        for attempt, outcome in zip(evaluation.attempts, asked, strict=True):
            assert attempt.kind == ("transport" if outcome.means == "transport" else "reply"), told
            assert attempt.raw == outcome.text, told
            if outcome.means == "score":
                assert attempt.error is None, told
            else:
                assert attempt.error, told
                assert not outcome.classes or Failure.of(attempt.error).kind in outcome.classes, (told, attempt.error)
        # The score is the provider's, or there is none.
        assert evaluation.retry_count == max(must.replies - 1, 0), told
        if must.score is None:
            assert evaluation.status is Status.ERROR, told
            assert not must.classes or Failure.of(evaluation.error or "").kind in must.classes, told
        else:
            assert evaluation.score == must.score, told
    return fates


def check_numbers(store: Store, fates: dict[int, Fate], provider: Any) -> None:
    """Work the numbers of the run out again, from what had to come."""
    (run,) = store.runs.newest()
    summary = summarize(store.results(run))
    scores = [one.score for one in fates.values() if one.score is not None]

    assert (summary.cases.n, summary.cases.pending, summary.cases.not_evaluated) == (len(fates), 0, 0)
    assert (summary.cases.scored, summary.cases.errors) == (len(scores), len(fates) - len(scores))
    assert summary.cases.mean == pytest.approx(math.fsum(scores) / len(scores), abs=1e-12)
    assert summary.cases.mean_if_errors_zero == pytest.approx(math.fsum(scores) / len(fates), abs=1e-12)
    assert summary.cases.passed == sum(score >= 0.8 for score in scores)
    assert summary.calls == len(provider.log)
    assert summary.transport_faults == sum(outcome.means == "transport" for _, outcome in provider.log)
    assert summary.retries == sum(max(one.replies - 1, 0) for one in fates.values())
    assert sum(summary.errors_by_class.values()) == summary.cases.errors


def check_no_secret(folder: Path, key: str) -> None:
    """Look through every byte that was written, the write-ahead log too."""
    forms = [key, quote(key, safe=""), base64.b64encode(key.encode()).decode(), json_form(key)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"runs.db", "runs.db-wal", "log"}
    for path in files:
        content = path.read_bytes()
        assert not [form for form in forms if form.encode() in content], path.name
    # The server's words are there, with the key taken out.
    assert b"you sent ***" in b"".join(path.read_bytes() for path in files)


def json_form(key: str) -> str:
    return key.replace("/", "\\/")


def survive(provider: Any, store: Store, folder: Path, key: str, count: int, seconds: float = 500.0) -> dict[int, Fate]:
    job = job_of(provider, count)
    runner = run_all(store, job, seconds=seconds)

    fates = check_all(provider, store, count)
    check_numbers(store, fates, provider)
    check_no_secret(folder, key)
    # How many of them the provider sees at once is a matter of luck where most are refused; the lane knows.
    (lane,) = runner.gateway.lanes.values()
    assert 4 <= lane.widest <= AT_ONCE
    assert provider.most_at_once <= AT_ONCE
    # Where a request was sent five times in vain, a probe found out that this was the case's own trouble.
    assert runner.progress.calls == len(provider.log) + provider.probes
    assert runner.progress.faults == sum(outcome.means == "transport" for _, outcome in provider.log)
    store.database.check()
    return fates


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.usefixtures("log")
def test_every_case_ends_as_it_must(faulty: Start, store: Store, tmp_path: Path, key: str) -> None:
    provider = faulty(seed=20260102)

    fates = survive(provider, store, tmp_path, key, 300)

    # What the script holds for those that nothing could help: neither more requests than allowed, nor fewer.
    assert {number: len(fates[number].requests) for number in (7, 13, 23, 29, 31, 37)} == {
        7: REQUESTS,
        13: REPLIES,
        23: REQUESTS * REPLIES,
        29: REQUESTS * REPLIES,
        31: 1,
        37: 1,
    }
    assert fates[29].score is not None
    assert len({outcome.name for _, outcome in provider.log}) >= 45

    # Once the provider is well again, no failure comes back from the cache (REL-K2).
    provider.mend()
    run_all(store, job_of(provider, 300))

    run = store.runs.find("last")
    known = {number for number, one in fates.items() if one.first_reply}
    assert {number for number, _ in provider.log} == set(range(300)) - known
    for number, result in enumerate(store.results(run)):
        (judgment,) = result.judgments
        expected = fates[number].score if number in known else provider.outcome(number, 0).score
        assert judgment.evaluation.score == expected
        assert [attempt.cached for attempt in judgment.evaluation.attempts] == [number in known]


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("seed", "faults", "count"),
    [
        pytest.param(2, 0.6, 120, id="some with many faults"),
        pytest.param(3, 0.9, 40, id="few with hardly anything else"),
        pytest.param(1, 0.3, 10_000, marks=pytest.mark.sweep),
        pytest.param(2, 0.6, 2_000, marks=pytest.mark.sweep),
        pytest.param(3, 0.9, 500, marks=pytest.mark.sweep),
    ],
)
def test_cases_end_as_they_must_however_many_and_however_often_a_request_fails(
    faulty: Start, store: Store, tmp_path: Path, key: str, seed: int, faults: float, count: int
) -> None:
    provider = faulty(seed=seed, faults=faults)

    survive(provider, store, tmp_path, key, count, seconds=3500)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("most", [1, 40, 137])
def test_no_more_requests_reach_the_socket_than_are_allowed(faulty: Start, store: Store, most: int) -> None:
    """Those that are sent again are requests too."""
    provider = faulty(seed=5, faults=0.4)
    job = job_of(provider, 200)

    runner = run_all(store, job, limits=Limits(max_calls=most))

    (run,) = store.runs.newest()
    assert len(provider.log) + provider.probes == runner.progress.calls == most
    assert (run.status, run.reason) == (
        RunStatus.STOPPED,
        f"budget: max_calls: {most} {'call was' if most == 1 else 'calls were'} allowed",
    )
    done = [result for result in store.results(run) if result.judgments]
    for result in done:
        assert len(result.judgments[0].evaluation.attempts) == len(fate(provider, result.position).requests)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_refused_key_is_tried_a_handful_of_times(faulty: Start, store: Store, key: str) -> None:
    """A few requests, one clear reason without the key in it, and the run is over (REL-P2)."""
    provider = faulty()
    body = f'{{"error": {{"message": "Incorrect API key provided: {key}", "code": "invalid_api_key"}}}}'
    head = f"HTTP/1.1 401 Unauthorized\r\nContent-Length: {len(body)}\r\n\r\n"
    refusal = type(provider.outcome(0, 0))(name="401", sends=(head + body).encode(), final=True)
    provider.outcome = lambda case, before: refusal
    provider.answers_probes = False

    run_all(store, job_of(provider, 200))

    (run,) = store.runs.newest()
    assert run.status is RunStatus.STOPPED
    assert run.reason == "openai/judge: unauthorized: HTTP 401: Incorrect API key provided: ***"
    assert len(provider.log) + provider.probes <= 5
