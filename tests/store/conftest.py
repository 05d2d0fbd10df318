"""Both databases, real ones: a SQLite file, and a PostgreSQL server that belongs to the tests.

    def test_…(store, made):          # once with each database; ``url`` is where the store is
        run = made.run(store, cases=3)

The server listens on a socket in a folder of its own, and ends with the tests. A worker starts one at most.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.run import Judgment, MadeAnswer, PlannedCase, RunRecord, RunStatus
from evenhand.domain.verdict import Thresholds
from evenhand.store.rows import Batch, answer_row, case_content, dumps, evaluation_row
from evenhand.store.store import Store, open_store

from .databases import POSTGRES


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=POSTGRES)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each kind of database in turn: an empty one, or one with the tables that the test's ``store`` needs."""
    has_tables = "store" in request.fixturenames
    if request.param == "postgresql":
        found: str = request.getfixturevalue("empty_postgres" if has_tables else "postgres_url")
        return found
    path = tmp_path / "runs.db"
    if has_tables:
        request.getfixturevalue("empty_database")(path)
    return str(path)


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    """A store in each kind of database in turn."""
    opened = open_store(url)
    yield opened
    opened.close()


class Made:
    """Makes what the tests of the store are about."""

    def run(self, store: Store, *, cases: int | list[Case] = 0, **rest: Any) -> RunRecord:
        """Make a run with cases that each expect one evaluation."""
        options: dict[str, Any] = {"name": "refunds", "source": "suite.yaml", "definition": {}, "options": {}, **rest}
        run = store.runs.create(**options)
        given = [Case(id=f"case-{number}") for number in range(cases)] if isinstance(cases, int) else cases
        planned = [self.planned(place, case) for place, case in enumerate(given)]
        store.add_cases([self.row(run, one) for one in planned])
        return store.runs.mark(run, RunStatus.RUNNING, cases=len(given))

    def row(self, run: RunRecord, one: PlannedCase) -> tuple[Any, ...]:
        return (run.number, one.position, one.case.id, one.hash, one.expected, dumps(case_content(one)))

    def planned(self, position: int, case: Case, **rest: Any) -> PlannedCase:
        return PlannedCase(position=position, case=case, **{"hash": f"hash of {case.id}", "expected": 1, **rest})

    def judgment(self, found: float | str = 1.0, **rest: Any) -> Judgment:
        """Make a judgment: a number is a score, a text an error; ``evaluation`` has further fields of it."""
        fields: dict[str, Any] = {"evaluator": "quality", "type": "llm_judge", **rest.pop("evaluation", {})}
        if isinstance(found, str):
            evaluation = Evaluation.with_error(error=found, **fields)
        else:
            evaluation = Evaluation.with_score(score=found, verdict=Thresholds().verdict(found), **fields)
        return Judgment(evaluation=evaluation, **{"key": "a key", "cost": 0.25, "seconds": 1.5, **rest})

    def judge(self, store: Store, run: RunRecord, position: int, *judgments: Judgment, place: int = 0) -> None:
        """Commit judgments of a case."""
        rows = [evaluation_row(run.number, position, place, one) for one in judgments]
        store.commit(Batch(evaluations=rows))

    def answer(self, store: Store, run: RunRecord, position: int, *answers: MadeAnswer) -> None:
        """Commit answers to a case."""
        store.commit(Batch(answers=[answer_row(run.number, position, one) for one in answers]))


@pytest.fixture
def made() -> Made:
    return Made()


@pytest.fixture
def within(tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Start Python with a program of its own; what it prints can be read line by line."""
    return lambda program, *args: subprocess.Popen(
        [sys.executable, "-c", program, *map(str, args)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True, cwd=tmp_path,
    )  # fmt: skip
