"""Some cases or evaluations of a run, and counts of them, without reading the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from evenhand.domain.case import Case
from evenhand.domain.run import CaseResult, PlannedCase, RunRecord, RunStatus
from evenhand.store.records import ANSWERS, CASES, EVALUATIONS, Row, Table, by_position
from evenhand.store.rows import StoredCase, column, loads, planned_of_row, stored_case
from evenhand.store.store import Store

# Where an evaluation is in its run: the position of its case, its place among the evaluators, and the sample.
Place: TypeAlias = tuple[int, int, int]

# Of several rounds, the last counts.
_LAST_ROUNDS: Final = (
    "SELECT status, verdict, COUNT(*) FROM evaluations AS one WHERE run = ? AND NOT EXISTS (SELECT 1 FROM evaluations "
    "AS later WHERE later.run = one.run AND later.position = one.position AND later.place = one.place AND "
    "later.sample = one.sample AND later.round > one.round) GROUP BY status, verdict"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvaluation:
    """The last round of an evaluation as lists need it; ``content`` and ``answer`` are JSON values, as they are stored.

    ``answer`` is the target's; None if the case has its own.
    """

    position: int
    place: int
    sample: int
    round: int
    evaluator: str
    status: str
    score: float | None
    verdict: str | None
    cost: float | None
    seconds: float
    content: Mapping[str, Any]
    case: Case
    answer: Mapping[str, Any] | None


def case_result(store: Store, run: RunRecord, case_id: str) -> CaseResult | None:
    """Find a case by its id."""
    rows = store.database.rows("SELECT position FROM cases WHERE run = ? AND id = ?", [run.number, column(case_id)])
    return case_at(store, run, rows[0][0]) if rows else None


def case_ids(store: Store, run: RunRecord, limit: int, *, start: str = "") -> list[str]:
    """Return the ids of the first cases of a run, or of those that begin with something."""
    rows = store.database.rows(
        "SELECT id FROM cases WHERE run = ? AND SUBSTR(id, 1, ?) = ? ORDER BY position LIMIT ?",
        [run.number, len(start), column(start), limit],
    )
    return [str(row[0]) for row in rows]


def case_at(store: Store, run: RunRecord, position: int) -> CaseResult | None:
    """Find a case by its position."""
    stored = cases_at(store, run, [position]).get(position)
    return None if stored is None else stored.result


def planned_at(store: Store, run: RunRecord, positions: Sequence[int]) -> dict[int, PlannedCase]:
    """Return cases by their positions, as they were planned; one that is not there is left out."""
    return {row[0]: planned_of_row(row) for row in _rows_at(store, CASES, run, positions, "position")}


def cases_at(store: Store, run: RunRecord, positions: Sequence[int]) -> dict[int, StoredCase]:
    """Return cases by their positions; one that is not there is left out."""
    evaluations = by_position(_rows_at(store, EVALUATIONS, run, positions, "sample, place, round"))
    answers = by_position(_rows_at(store, ANSWERS, run, positions, "sample, round"))
    thresholds = run.thresholds
    return {
        row[0]: stored_case(run, planned_of_row(row), evaluations.get(row[0], ()), answers.get(row[0], ()), thresholds)
        for row in _rows_at(store, CASES, run, positions, "position")
    }


def columns_at(store: Store, run: RunRecord, positions: Sequence[int]) -> tuple[list[Row], list[Row]]:
    """Return cases by their positions, with the columns of their evaluations, as ``Store.columns`` has them."""
    order = "position, sample, place, round"
    return (
        _rows_at(store, CASES, run, positions, "position"),
        _rows_at(store, EVALUATIONS, run, positions, order, content=False),
    )


def evaluations_at(store: Store, run: RunRecord, places: Sequence[Place]) -> list[StoredEvaluation]:
    """Return evaluations by their places, in that order; one that is not there is left out."""
    if not places:
        return []
    positions = sorted({position for position, _, _ in places})
    # Later rounds come after earlier ones, and replace them.
    evaluations = {row[:3]: row[3:] for row in _rows_at(store, EVALUATIONS, run, positions, "round")}
    answers = {row[:2]: loads(row[-2]) for row in _rows_at(store, ANSWERS, run, positions, "round")}
    cases = {row[0]: planned_of_row(row).case for row in _rows_at(store, CASES, run, positions, "position")}
    return [
        _evaluation(place, evaluations[place], cases[place[0]], answers.get((place[0], place[2])))
        for place in places
        if place in evaluations and place[0] in cases
    ]


def _evaluation(place: Place, row: Row, case: Case, answer: Mapping[str, Any] | None) -> StoredEvaluation:
    number, evaluator, _, status, score, verdict, _, _, cost, seconds, content, _ = row
    return StoredEvaluation(
        position=place[0],
        place=place[1],
        sample=place[2],
        round=number,
        evaluator=evaluator,
        status=status,
        score=score,
        verdict=verdict,
        cost=cost,
        seconds=seconds,
        content=loads(content),
        case=case,
        answer=answer,
    )


def answers_between(
    store: Store, run: RunRecord, first: int, last: int
) -> dict[int, list[tuple[float | None, float | None]]]:
    """Return the cost and the latency of the answers that targets made for some cases, of all rounds, by position."""
    rows = ANSWERS.read(store.database, run, "position BETWEEN ? AND ?", [first, last])
    took: dict[int, list[tuple[float | None, float | None]]] = {}
    for position, *_, content, _ in rows:
        fields = loads(content)
        took.setdefault(position, []).append((fields.get("cost"), fields.get("latency")))
    return took


def places_after(store: Store, run: RunRecord, place: Place, limit: int) -> list[Place]:
    """Return the places of the evaluations that follow a place, in the order of the run."""
    rows = store.database.rows(
        "SELECT DISTINCT position, place, sample FROM evaluations WHERE run = ? AND (position, place, sample) > "
        "(?, ?, ?) ORDER BY position, place, sample LIMIT ?",
        [run.number, *place, limit],
    )
    return [(row[0], row[1], row[2]) for row in rows]


def evaluator_names(store: Store, run: RunRecord, *, cases: int, limit: int) -> list[str]:
    """Return the names of the evaluators of the first cases."""
    rows = store.database.rows(
        "SELECT DISTINCT evaluator FROM evaluations WHERE run = ? AND position < ? ORDER BY evaluator LIMIT ?",
        [run.number, cases, limit],
    )
    return [row[0] for row in rows]


def positions_with_errors(store: Store, run: RunRecord, limit: int) -> list[int]:
    """Return the positions of the first cases of which an evaluation ended in an error, in any round."""
    rows = store.database.rows(
        "SELECT DISTINCT position FROM evaluations WHERE run = ? AND status = 'error' ORDER BY position LIMIT ?",
        [run.number, limit],
    )
    return [row[0] for row in rows]


def last_error(store: Store, run: RunRecord) -> str:
    """Return the error of the last case, in the order of the suite, that has one; "" if there is none."""
    rows = store.database.rows(
        "SELECT MAX(position) FROM evaluations WHERE run = ? AND status = 'error'",
        [run.number],
    )
    ((position,),) = rows
    if position is None:
        return ""
    (stored,) = cases_at(store, run, [position]).values()
    errors = [judgment.evaluation.error for judgment in stored.result.judgments if judgment.evaluation.error]
    return errors[-1] if errors else ""


def count_evaluations(store: Store, run: RunRecord) -> int:
    """Return how many evaluations a run has, of all rounds: it differs once something was judged, or judged again."""
    if run.status is RunStatus.FINISHED and run.evaluations is not None:  # as it has recorded
        return run.evaluations
    ((count,),) = store.database.rows("SELECT COUNT(*) FROM evaluations WHERE run = ?", [run.number])
    return int(count)


def count_places(store: Store, run: RunRecord) -> int:
    """Return how many evaluations a run has, each once, however many rounds it took."""
    ((count,),) = store.database.rows(
        "SELECT COUNT(*) FROM (SELECT DISTINCT position, place, sample FROM evaluations WHERE run = ?) AS done",
        [run.number],
    )
    return int(count)


def count_standings(store: Store, run: RunRecord) -> Counter[str]:
    """Count the evaluations of a run by verdict, or by status where there is none."""
    counts = Counter[str]()
    for status, verdict, count in store.database.rows(_LAST_ROUNDS, [run.number]):
        counts[verdict if status == "scored" else status] += count
    return counts


def case_positions(store: Store, runs: Sequence[RunRecord], case_ids: Iterable[str]) -> dict[tuple[int, str], int]:
    """Find cases in several runs: return their positions by the number of the run and the id of the case."""
    ids = list(case_ids)
    if not ids or not runs:
        return {}
    rows = store.database.rows(
        f"SELECT run, id, position FROM cases WHERE run IN ({_marks(runs)}) AND id IN ({_marks(ids)})",  # noqa: S608
        [*(run.number for run in runs), *ids],
    )
    return {(number, case_id): position for number, case_id, position in rows}


def case_hashes(store: Store, run: RunRecord, case_ids: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return the positions and hashes of some cases, by their ids as they are stored."""
    ids = [column(case_id) for case_id in case_ids]
    rows = CASES.read(store.database, run, f"id IN ({_marks(ids)})", ids, content=False)
    return {row[1]: (row[0], row[2]) for row in rows}


def _rows_at(
    store: Store, table: Table, run: RunRecord, positions: Sequence[int], order: str, *, content: bool = True
) -> list[Row]:
    if not positions:  # PostgreSQL refuses an empty list
        return []
    those = f"position IN ({_marks(positions)})"
    return table.read(store.database, run, those, positions, order=order, content=content)


def _marks(values: Sequence[Any]) -> str:
    return ", ".join("?" * len(values))
