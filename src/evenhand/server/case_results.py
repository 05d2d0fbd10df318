"""Some cases of a run with everything that was found about them, without going through the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.domain.run import CaseResult, Judgment, MadeAnswer, PlannedCase, RunRecord
from evenhand.store.records import ANSWERS, CASES, EVALUATIONS, Row, Table
from evenhand.store.rows import answer_of, column, judgment_of_row, planned_of_row
from evenhand.store.store import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCase:
    """A case, and of each of its judgments the place and the sample by which lists know it."""

    result: CaseResult
    places: tuple[tuple[int, int], ...]


def case_result(store: Store, run: RunRecord, case_id: str) -> CaseResult | None:
    """Find a case by its id."""
    rows = store.database.rows("SELECT position FROM cases WHERE run = ? AND id = ?", [run.number, column(case_id)])
    return case_at(store, run, rows[0][0]) if rows else None


def case_at(store: Store, run: RunRecord, position: int) -> CaseResult | None:
    """Find a case by its position."""
    found = cases_at(store, run, [position]).get(position)
    return None if found is None else found.result


def cases_at(store: Store, run: RunRecord, positions: Sequence[int]) -> dict[int, StoredCase]:
    """Find cases by their positions; one that is not there is left out."""
    marks = ", ".join("?" * len(positions))

    def by_position(table: Table, order: str) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {}
        for row in table.read(store.database, run, f"position IN ({marks})", positions, order=order):
            found.setdefault(row[0], []).append(row)
        return found

    cases = by_position(CASES, "position")
    evaluations = by_position(EVALUATIONS, "sample, place, round")
    answers = by_position(ANSWERS, "sample, round")
    return {
        position: _stored(run, planned_of_row(row), evaluations.get(position, ()), answers.get(position, ()))
        for position, (row,) in cases.items()
    }


def _stored(run: RunRecord, planned: PlannedCase, evaluations: Sequence[Row], answers: Sequence[Row]) -> StoredCase:
    # Of several rounds the last counts; the others were done anew after an error.
    judged: dict[tuple[int, int], list[Judgment]] = {}
    for row in evaluations:
        judged.setdefault(row[1:3], []).append(judgment_of_row(row))
    made: dict[int, list[MadeAnswer]] = {}
    for _, sample, _, content, _ in answers:
        made.setdefault(sample, []).append(answer_of(content))
    result = CaseResult(
        position=planned.position,
        case=planned.case,
        answers=tuple(rounds[-1] for rounds in made.values()),
        judgments=tuple(rounds[-1] for rounds in judged.values()),
        replaced=(
            *(one for rounds in made.values() for one in rounds[:-1]),
            *(one for rounds in judged.values() for one in rounds[:-1]),
        ),
        awaited=max(planned.expected * run.repeat - len(judged), 0),
        thresholds=run.thresholds,
    )
    return StoredCase(result=result, places=tuple(judged))
