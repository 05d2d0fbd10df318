"""The narrow rows that lists are made from, worked out from the rows of a run, some positions at a time."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import IMPORTED_FROM, RunRecord
from evenhand.domain.verdict import Thresholds
from evenhand.store.case_reader import CaseReader
from evenhand.store.list_filter import STANDINGS, hashed
from evenhand.store.records import EVALUATIONS, Row, by_position, require_sound
from evenhand.store.rows import column, loads
from evenhand.store.sqlite import SQLite
from evenhand.store.store import Store
from evenhand.store.weighed_case import JudgedRow, weighed_case

EVALUATION_COLUMNS: Final = (
    "run", "row", "position", "place", "sample", "standing", "score", "retried", "cost", "seconds", "label",
    "evaluator", "model",
)  # fmt: skip
CASE_COLUMNS: Final = (
    "run", "row", "position", "standing", "score", "retried", "differs", "cost", "seconds", "model", "id",
)  # fmt: skip

# Whether a judge was asked again, here or by a member of a panel; in a text, these quotes would have a backslash.
_RETRIED: Final = """content GLOB '*"retry_count":[1-9]*'"""
_RETRIED_ON_POSTGRES: Final = """content ~ '"retry_count":[1-9]'"""
# The content of evaluations that may have a label. It is parsed here: a database does not take every letter.
_LABELLED: Final = """CASE WHEN content GLOB '*"label":*' THEN content END"""
_LABELLED_ON_POSTGRES: Final = """CASE WHEN position('"label":' IN content) > 0 THEN content END"""
# All but the content, and the checksum by which they are verified.
_COLUMNS: Final = ", ".join((*EVALUATIONS.columns, "checksum"))
# What is shown of them is verified when it is read; here they only say which model answered, and what it took.
_CASES: Final = (
    "SELECT position, id, expected, content FROM cases WHERE run = ? AND position BETWEEN ? AND ? ORDER BY position"
)
_ANSWERS: Final = (
    "SELECT position, sample, content FROM answers WHERE run = ? AND position BETWEEN ? AND ? "
    "ORDER BY position, sample, round"
)
# Many cases come out alike.
_MOST_KNOWN: Final = 16_384
# So many cases are looked at, at a time, to find the first with the same test case.
_LOOKED_BACK: Final = 16
_PENDING: Final = STANDINGS["pending"]


class ListedRows(NamedTuple):
    """The rows of some positions: of cases, and of the evaluations that count."""

    cases: list[Row]
    evaluations: list[Row]


class _Found(NamedTuple):
    """How a case came out: its standing, its score if it was scored, and whether its evaluators differ."""

    standing: int
    score: float | None
    differs: bool


@dataclass(slots=True)
class _TestCase:
    """The cases of a test case so far: the position of the first, and the models that answered it."""

    name: str
    row: int
    models: set[str] = field(default_factory=set)


class RowMaker:
    """Works out the listed rows of one run, page by page in the order of positions."""

    def __init__(self, source: Store, reader: CaseReader, run: RunRecord) -> None:
        self._source = source
        self._reader = reader
        self._run = run
        self._thresholds = run.thresholds
        self._found = functools.lru_cache(_MOST_KNOWN)(functools.partial(_found, self._thresholds))
        # What another tool has recorded is in its own order; here, the cases of a test case follow each other.
        self._scattered: dict[int, _TestCase] | None = {} if IMPORTED_FROM in run.definition else None
        self._current: _TestCase | None = None
        self._following = 0

    def rows(self, first: int, last: int) -> ListedRows:
        """Return the rows of some positions."""
        if first != self._following and self._scattered is None:
            self._current = None
        self._following = last + 1
        judged = by_position(self._evaluations(first, last))
        answers = by_position(self._between(_ANSWERS, first, last))
        made = ListedRows([], [])
        for case in self._between(_CASES, first, last):
            position = case[0]
            self._add(case, judged.get(position, ()), answers.get(position, ()), made)
        return made

    def _between(self, sql: str, first: int, last: int) -> list[Row]:
        return self._source.database.rows(sql, [self._run.number, first, last])

    def _evaluations(self, first: int, last: int) -> list[Row]:
        is_sqlite = isinstance(self._source.database, SQLite)
        read = f"{_RETRIED}, {_LABELLED}" if is_sqlite else f"{_RETRIED_ON_POSTGRES}, {_LABELLED_ON_POSTGRES}"
        sql = (
            f"SELECT {_COLUMNS}, {read} FROM evaluations WHERE run = ? AND position BETWEEN ? AND ? "  # noqa: S608 - all of it is ours
            "ORDER BY position, place, sample, round"
        )
        rows = self._between(sql, first, last)
        require_sound(EVALUATIONS, self._run, rows)
        return rows

    def _add(self, case: Row, evaluations: Sequence[Row], answers: Sequence[Row], made: ListedRows) -> None:
        position, identity, expected, content = case
        model, test_case = self._reader.target(content)
        row = position if model is None or test_case is None else self._row(position, model, test_case)
        # Of several rounds, the last counts, and all of them took their time and cost.
        last_rounds = evaluations
        if len(evaluations) > 1:
            last_rounds = sorted({one[1:3]: one for one in evaluations}.values(), key=lambda one: (one[2], one[1]))
        found = self._outcome(expected, last_rounds)
        cost, seconds = _took(evaluations, last_rounds, answers)
        of_run = (self._run.number, row, position)
        name = None if model is None else column(model)
        for one in last_rounds:
            label = None if one[-1] is None else _label(one[-1])
            # An error is recorded with a score of 0, and has none.
            came_out = (_standing(one[6], one[8]), one[7] if one[6] == "scored" else None, int(one[-2]))
            made.evaluations.append((*of_run, one[1], one[2], *came_out, one[11], one[12], label, one[4], name))
        retried = int(any(one[-2] for one in last_rounds))
        made.cases.append(
            (*of_run, found.standing, found.score, retried, int(found.differs), cost, seconds, name, identity)
        )

    def _outcome(self, expected: int, rows: Sequence[Row]) -> _Found:
        is_pending = expected * self._run.repeat > len(rows)
        if len(rows) == 1 and not is_pending:  # as in most runs, of which none has to be weighed
            _, score, _, weight, required = rows[0][6:11]
            if rows[0][6] == "scored" and weight > 0 and not required:
                return _Found(STANDINGS[self._thresholds.verdict(score)], score, differs=False)
        # By its place, and not by its name, of which the column may lack some letters.
        return self._found(is_pending, tuple([(one[2], f"{one[1]}", *one[6:11]) for one in rows]))

    def _row(self, position: int, model: str, test_case: str) -> int:
        """Return the position of the first case of a test case; one that a model answers twice is another."""
        if self._scattered is not None:
            current = self._scattered.get(hashed(test_case))
        elif self._current is None and position:
            current = self._look_back(position, test_case)
        else:
            current = self._current
        if current is None or current.name != test_case or model in current.models:
            current = _TestCase(test_case, position)
            if self._scattered is not None:
                self._scattered[hashed(test_case)] = current
        current.models.add(model)
        self._current = current
        return current.row

    def _look_back(self, position: int, test_case: str) -> _TestCase | None:
        """Return the test case that the cases just before a position are of, if it is that one."""
        found: _TestCase | None = None
        for place, content in self._cases_before(position):
            model, name = self._reader.target(content)
            if name != test_case or model is None or (found is not None and model in found.models):
                break
            found = found or _TestCase(test_case, place)
            found.row = place
            found.models.add(model)
        return found

    def _cases_before(self, position: int) -> Iterator[tuple[int, str]]:
        while rows := self._source.database.rows(
            "SELECT position, content FROM cases WHERE run = ? AND position < ? ORDER BY position DESC LIMIT ?",
            [self._run.number, position, _LOOKED_BACK],
        ):
            yield from ((row[0], row[1]) for row in rows)
            position = rows[-1][0]


def _found(thresholds: Thresholds, is_pending: bool, rows: tuple[JudgedRow, ...]) -> _Found:
    result = weighed_case(thresholds, is_pending, rows)
    by_evaluator: dict[str, set[int]] = {}
    for judgment in result.judgments:
        standings = by_evaluator.setdefault(judgment.evaluation.evaluator, set())
        standings.add(_standing_of(judgment.evaluation))
    every = list(by_evaluator.values())
    differs = any(standings != every[0] for standings in every)
    if result.pending:
        return _Found(_PENDING, None, differs)
    outcome = result.outcome
    scored = outcome.status is Status.SCORED
    standing = _standing(outcome.status.value, None if outcome.verdict is None else outcome.verdict.value)
    return _Found(standing, outcome.score if scored else None, differs)


def _standing_of(evaluation: Evaluation) -> int:
    return _standing(evaluation.status.value, None if evaluation.verdict is None else evaluation.verdict.value)


def _standing(status: str, verdict: str | None) -> int:
    """Return the standing of an evaluation or a case; an error is recorded as a fail, and is no verdict."""
    return STANDINGS[verdict if status == "scored" and verdict is not None else status]


def _took(evaluations: Sequence[Row], last_rounds: Sequence[Row], answers: Sequence[Row]) -> tuple[float | None, float]:
    """Return what all rounds of a case cost, None where a price is unknown, and how many seconds they took."""
    if len(evaluations) == 1 and len(answers) <= 1:  # as in most runs
        cost, seconds = evaluations[0][11:13]
        if not answers:
            return cost, seconds
        fields = loads(answers[0][2])
        made_for = fields.get("cost")
        return None if cost is None or made_for is None else cost + made_for, seconds + (fields.get("latency") or 0.0)
    costs: list[float | None] = [one[11] for one in last_rounds]
    seconds = sum([one[12] for one in evaluations], 0.0)
    if answers:
        made = [(sample, loads(content)) for _, sample, content in answers]
        last = dict(made)
        costs += [fields.get("cost") for fields in last.values()]
        costs += [fields.get("cost") for sample, fields in made if fields is not last[sample]]
        seconds += sum([fields.get("latency") or 0.0 for _, fields in made])
    if len(last_rounds) < len(evaluations):  # in the order in which they are added up elsewhere
        ordered = sorted(evaluations, key=lambda one: (one[2], one[1], one[3]))
        costs += [one[11] for one in ordered if all(one is not last_round for last_round in last_rounds)]
    return (None if None in costs else sum(cost for cost in costs if cost is not None)), seconds


def _label(content: str) -> int | None:
    label = loads(content).get("label")
    return hashed(label) if isinstance(label, str) else None
