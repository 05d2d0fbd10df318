"""The scores of a run's cases, from the columns that have them: no record of an evaluation is read for it."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from evenhand.domain.case import Case
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult, Judgment, RunRecord
from evenhand.domain.verdict import Thresholds, Verdict
from evenhand.engine.terms import Terms
from evenhand.reports.comparing import Found, JudgedCase, found_of
from evenhand.store.records import EVALUATIONS, Row
from evenhand.store.rows import loads
from evenhand.store.store import Store

# Sample, evaluator, status, score, verdict, weight, and whether it is required.
_Row: TypeAlias = tuple[int, str, str, float | None, str | None, float, int]

# Many cases come out alike.
_MOST_KNOWN: Final = 4096
# Stands in a column for a letter that it cannot hold.
_REPLACED: Final = "\ufffd"
_CLUSTER: Final = '"cluster"'


def judged_cases(store: Store, run: RunRecord) -> Iterator[JudgedCase]:
    """Give the cases in suite order, each with no more than a comparison needs."""
    found = functools.lru_cache(_MOST_KNOWN)(functools.partial(_found, run.thresholds))
    of_a_prompt = "prompt" in run.definition
    for page, evaluations in store.columns(run):
        rows = _by_position(store, run, evaluations)
        for position, identity, _, expected, content, _ in page:
            judged = rows.get(position, ())
            yield JudgedCase(
                id=identity,
                position=position,
                cluster=loads(content)["case"].get("cluster") if _CLUSTER in content else None,
                judged_by=Terms(content, of_a_prompt=of_a_prompt),
                found=found(expected * run.repeat > len(judged), judged),
            )


def _by_position(store: Store, run: RunRecord, rows: Sequence[Row]) -> dict[int, tuple[_Row, ...]]:
    """Give the evaluations that count of some positions, in the order of samples and evaluators."""
    judged: dict[int, tuple[_Row, ...]] = {}
    for position, those in itertools.groupby(rows, key=lambda row: row[0]):
        last_rounds: dict[tuple[int, int], _Row] = {}
        for _, place, sample, _, evaluator, _, status, score, verdict, weight, required, *_ in those:
            name = _name(store, run, (position, place, sample)) if _REPLACED in evaluator else evaluator
            last_rounds[sample, place] = (sample, name, status, score, verdict, weight, required)
        judged[position] = tuple(last_rounds.values())
    return judged


def _name(store: Store, run: RunRecord, place: tuple[int, int, int]) -> str:
    """Read the name of an evaluator that has letters which its column could not hold."""
    where = "position = ? AND place = ? AND sample = ?"
    *_, row = EVALUATIONS.read(store.database, run, where, place, order="round")
    content: Any = loads(row[-2])
    return str(content["evaluator"])


def _found(thresholds: Thresholds, is_pending: bool, rows: tuple[_Row, ...]) -> Mapping[str | None, Found]:
    """Weigh evaluations as a whole result would be, with nothing in it but what is weighed."""
    judgments = tuple(
        Judgment(
            evaluation=_evaluation(evaluator, Status(status), score, verdict),
            weight=weight,
            required=bool(required),
            sample=sample,
        )
        for sample, evaluator, status, score, verdict, weight, required in rows
    )
    awaited = int(is_pending)
    return found_of(CaseResult(position=0, case=_ANY_CASE, judgments=judgments, awaited=awaited, thresholds=thresholds))


_ANY_CASE: Final = Case()


def _evaluation(evaluator: str, status: Status, score: float | None, verdict: str | None) -> Evaluation:
    match status:
        case Status.SCORED:
            return Evaluation.with_score(
                evaluator=evaluator, type="", score=score or 0.0, verdict=Verdict(verdict or Verdict.FAIL)
            )
        case Status.ERROR:
            return Evaluation.with_error(evaluator=evaluator, type="", error="error")
        case _:
            return Evaluation.without_score(evaluator=evaluator, type="", reasoning="not evaluated")
