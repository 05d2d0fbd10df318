"""Runs made in a line: a judge that answers by a function, cases, and a job of both.

def test_…(store, judging, made):
    judge = judging(lambda ask: '{"score": 0.5}')
    run = made.run(store, made.job(made.cases(3), judge))

    assert len(judge.asked) == 3
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.evaluation import Attempt, Usage
from evenhand.domain.reply import Reply, Unanswered
from evenhand.domain.run import CaseResult, PlannedCase, RunRecord
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import plan
from evenhand.engine.runner import Runner
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.models.retry import BUDGET
from evenhand.store.store import Store, open_store

GOOD = '{"score": 1.0}'


class Judge:
    """A client whose replies come from a function of the question: a text, a ``Reply``, or an error to be unanswered.

    The function may be async, and take its time. ``asked`` are the questions, ``most`` is how many there were at once.
    """

    keeps_deadlines = True

    def __init__(self, answer: Callable[[Ask], Any], *, name: str, account: str, identity: Any, counts: bool) -> None:
        self.name = name
        self.account = account
        if identity is not None:
            self.identity = identity
        self.asked: list[Ask] = []
        self.answer = answer
        self.under_way = self.most = 0
        self._counts = counts

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply | Unanswered:
        if self._counts and ask.allowance is not None and not ask.allowance.take():
            return Unanswered(error=f"{BUDGET}: no more calls are allowed", attempts=())
        self.asked.append(ask)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            said = self.answer(ask)
            if inspect.isawaitable(said):
                said = await said
        finally:
            self.under_way -= 1
        if isinstance(said, Exception):
            failed = Attempt(kind="transport", error=str(said))
            return Unanswered(error=str(said), attempts=(failed,))
        return Reply.said(said, usage=Usage(input_tokens=100, output_tokens=10)) if isinstance(said, str) else said


@pytest.fixture
def judging() -> Callable[..., Judge]:
    """Make judges; ``identity=None`` makes one that the cache does not know, ``counts=False`` one without allowance."""

    def make(answer: Callable[[Ask], Any] = lambda ask: GOOD, **options: Any) -> Judge:
        name = options.setdefault("name", "judge")
        return Judge(answer, **{"account": name, "identity": {"model": name}, "counts": True, **options})

    return make


class Made:
    """Makes jobs and runs."""

    def cases(self, count: int, **rest: Any) -> list[Case]:
        return [
            Case(**{"id": f"case-{n}", "candidate_answer": f"answer {n}", "expected_outcome": "good", **rest})
            for n in range(count)
        ]

    def job(
        self, cases: Iterable[Case], judge: Any = None, *, evaluators: Sequence[Any] | None = None, **rest: Any
    ) -> Job:
        """Make a job with one prompt evaluator for each judge, or with given evaluators."""
        judges = judge if isinstance(judge, list) else [judge]
        several = tuple(evaluators or [PromptEvaluator(judge=one, name=f"q-{one.name}") for one in judges])
        planned = [PlannedCase(position=place, case=case) for place, case in enumerate(cases)]
        known: dict[str, Any] = {
            "name": "made",
            "definition": {"judge": "x"},
            "evaluators_for": lambda one: several,
            **rest,
        }
        return Job(cases=lambda: planned, **known)

    def run(self, store: Store, job: Job, **options: Any) -> RunRecord:
        """Plan a run and bring it to its end; options are those of ``Scope`` and ``Pace``."""
        scope = {key: options.pop(key) for key in ("only", "limit", "repeat", "answers_from") if key in options}
        return self.resume(store, plan(store, job, Scope(**scope)), job, **options)

    def resume(self, store: Store, run: RunRecord, job: Job, **options: Any) -> RunRecord:
        """Go on with a run."""
        store.runs.claim(run)
        return self.drive(Runner(store, run, job, Pace(**options)))

    def drive(self, runner: Runner) -> RunRecord:
        """Bring a run to its end, on a loop that checks how it is used."""
        with pytest.MonkeyPatch.context() as patch:
            # The loop would note where each future and callback was made, frame by frame, which takes longer than the run.
            patch.setattr(sys, "tracebacklimit", 0, raising=False)
            patch.setattr("asyncio.constants.DEBUG_STACK_DEPTH", 0)
            return asyncio.run(runner.run(), debug=True)

    def results(self, store: Store, run: RunRecord) -> list[CaseResult]:
        return list(store.results(run))

    def statuses(self, store: Store, run: RunRecord) -> list[str]:
        """Return the status of each judgment, in order."""
        return [str(one.evaluation.status) for result in store.results(run) for one in result.judgments]


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def store(tmp_path: Path, empty_database: Callable[[Path], str]) -> Iterator[Store]:
    opened = open_store(empty_database(tmp_path / "runs.db"))
    yield opened
    opened.close()
