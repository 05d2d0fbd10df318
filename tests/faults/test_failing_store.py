"""Any statement can fail at any step: the store stays whole, and going on ends like a run that nothing happened to.

After SQLite's own tests of running out of memory and disk: the first statement fails, then the second, and so on, until
a run comes to its end without reaching the one that would have failed (REL-D2).
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.ask import Ask
from evenhand.domain.case import Case
from evenhand.domain.errors import StoreError
from evenhand.domain.reply import Reply
from evenhand.domain.run import PlannedCase, RunRecord, RunStatus
from evenhand.engine.carry_over import scope_of
from evenhand.engine.job import Job, Pace, Scope
from evenhand.engine.plan import fill, plan
from evenhand.engine.runner import Runner
from evenhand.engine.targets.model import ModelTarget
from evenhand.evaluators.prompt import PromptEvaluator
from evenhand.reports.json import canonical
from evenhand.reports.report import Report
from evenhand.reports.summary import summarize
from evenhand.store import migrations
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store, open_store

CASES = 4
CONCURRENCY = 2
# An answer, and two evaluations, for each case.
CALLS = CASES * 3


class Failing(SQLite):
    """A database of which one statement fails, before it is done or just afterwards."""

    def __init__(self, path: Path, *, fails_at: int, error: str, done: bool) -> None:
        self.left = fails_at
        self.error = error
        self.done = done
        self.armed = False
        super().__init__(str(path))
        self.armed = True

    def _run(self, sql: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        self._before()
        cursor = super()._run(sql, values)
        self._after()
        return cursor

    def _run_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        self._before()
        super()._run_many(sql, rows)
        self._after()

    def _before(self) -> None:
        self.left -= self.armed
        if self.armed and self.left == 0 and not self.done:
            raise sqlite3.OperationalError(self.error)

    def _after(self) -> None:
        if self.armed and self.left == 0 and self.done:
            raise sqlite3.OperationalError(self.error)


class Model:
    """Answers what it is asked in a way that only the question decides on, and counts the questions."""

    keeps_deadlines = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.identity = {"model": name}
        self.asked = 0

    async def ask(self, ask: Ask, *, deadline: float | None = None) -> Reply:
        self.asked += 1
        await asyncio.sleep(0)
        said = ask.messages[-1].content
        return Reply.said(f"the answer to {said}" if ask.contract is None else f'{{"score": 0.{len(said) % 10}}}')


class World:
    """A job, and the models that are asked for it."""

    def __init__(self) -> None:
        self.models = [Model(name) for name in ("target", "a", "b")]
        target, *judges = self.models
        evaluators = tuple(PromptEvaluator(judge=judge, name=judge.name) for judge in judges)
        cases = [Case(id=f"case-{n}", question="?" * n, expected_outcome="good") for n in range(CASES)]
        planned = [PlannedCase(position=place, case=case) for place, case in enumerate(cases)]
        self.job = Job(
            name="faults",
            definition={"judge": "a"},
            cases=lambda: planned,
            evaluators_for=lambda _: evaluators,
            target=ModelTarget(client=target),
        )

    @property
    def asked(self) -> int:
        return sum(model.asked for model in self.models)

    def start(self, store: Store) -> RunRecord:
        return self.finish(store, plan(store, self.job, Scope()))

    def finish(self, store: Store, run: RunRecord) -> RunRecord:
        return asyncio.run(Runner(store, run, self.job, Pace(concurrency=CONCURRENCY)).run())

    def go_on(self, store: Store) -> RunRecord:
        """Do what is left of the last run, as ``evenhand resume`` does; without one, begin."""
        runs = store.runs.newest()
        if not runs:
            return self.start(store)
        assert len(runs) == 1
        store.runs.claim(runs[0])
        if runs[0].status is not RunStatus.PLANNING:
            return self.finish(store, runs[0])
        store.forget_cases(runs[0])
        return self.finish(store, fill(store, runs[0], self.job, scope_of(runs[0])))


def report(store: Store, run: RunRecord) -> str:
    summary = summarize(store.results(run))
    return canonical(Report(run=run, summary=summary, results=lambda: store.results(run)))


# Of the statements, each or one of several: in steps that meet those of the tables as well as those of the run.
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("error", "done", "step"),
    [
        ("database or disk is full", False, 13),
        ("the connection is gone", True, 13),
        pytest.param("database or disk is full", False, 1, marks=pytest.mark.long),
        pytest.param("the connection is gone", True, 1, marks=pytest.mark.long),
        pytest.param("disk I/O error", False, 5, marks=pytest.mark.long),
        pytest.param("database is locked", False, 5, marks=pytest.mark.long),
        pytest.param("disk I/O error", False, 1, marks=pytest.mark.sweep),
        pytest.param("database is locked", False, 1, marks=pytest.mark.sweep),
    ],
)
def test_whichever_statement_fails_the_run_can_be_brought_to_its_end(
    tmp_path: Path, error: str, done: bool, step: int
) -> None:
    clean = open_store(str(tmp_path / "clean.db"))
    expected = report(clean, World().start(clean))
    clean.close()
    failures = 0

    for fails_at in range(1, 1000, step):
        path = tmp_path / f"{fails_at}.db"
        world = World()
        database = Failing(path, fails_at=fails_at, error=error, done=done)
        store = Store(database)
        trouble = ""
        try:
            migrations.migrate(database, migrations.known())
            world.start(store)
        except StoreError as caught:
            trouble = str(caught)
        store.close()

        assert (error in trouble) is (database.left <= 0)
        failures += bool(trouble)
        again = open_store(str(path))
        again.database.check()
        committed = len(again.database.rows("SELECT 1 FROM evaluations")) + len(
            again.database.rows("SELECT 1 FROM answers")
        )
        before = world.asked
        run = world.go_on(again)

        assert run.status is RunStatus.FINISHED
        assert report(again, run) == expected, fails_at
        assert world.asked - before == CALLS - committed
        assert before - committed <= CONCURRENCY
        again.database.check()
        again.close()
        path.unlink()
        if database.left > 0:
            break
    else:
        pytest.fail("no run came to its end by itself")

    assert failures >= 120 // step
