"""One case of a run with everything that was found about it, without going through the others."""

from __future__ import annotations

import itertools

from evenhand.domain.run import CaseResult, RunRecord
from evenhand.store.rows import column, judgment_of, planned_from
from evenhand.store.store import Store


def case_result(store: Store, run: RunRecord, case_id: str) -> CaseResult | None:
    """Find a case by its id."""
    rows = store.database.rows("SELECT position FROM cases WHERE run = ? AND id = ?", [run.number, column(case_id)])
    return case_at(store, run, rows[0][0]) if rows else None


def case_at(store: Store, run: RunRecord, position: int) -> CaseResult | None:
    """Find a case by its position."""
    cases = store.database.rows(
        "SELECT position, hash, expected, content FROM cases WHERE run = ? AND position = ?", [run.number, position]
    )
    if not cases:
        return None
    planned = planned_from(*cases[0])
    rows = store.database.rows(
        "SELECT place, sample, round, key, weight, required, cost, seconds, content FROM evaluations "
        "WHERE run = ? AND position = ? ORDER BY sample, place, round",
        [run.number, position],
    )
    judged = [
        [judgment_of(row[1:]) for row in rounds] for _, rounds in itertools.groupby(rows, key=lambda row: row[:2])
    ]
    answers = store.answered(run, position, position)
    made = [answers[position, sample] for sample in range(run.repeat) if (position, sample) in answers]
    return CaseResult(
        position=position,
        case=planned.case,
        answers=tuple(rounds[-1] for rounds in made),
        judgments=tuple(rounds[-1] for rounds in judged),
        replaced=(*(one for rounds in made for one in rounds[:-1]), *(one for rounds in judged for one in rounds[:-1])),
        awaited=max(planned.expected * run.repeat - len(judged), 0),
        thresholds=run.thresholds,
    )
