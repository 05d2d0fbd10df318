"""Evaluations as a list shows them: what was asked and answered, and why it was judged so, each cut to a few lines.

Of a group that was ranked, who was shown stands for what was asked, and the order for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenhand.domain.ask import messages_from
from evenhand.domain.case import Case
from evenhand.domain.run import RunRecord
from evenhand.engine.targets.models import MODEL
from evenhand.profiles.undertaken import is_ranking
from evenhand.server.groups_shown import order_said, shown_ids
from evenhand.store.records import ANSWERS, CASES, EVALUATIONS, Row, Table
from evenhand.store.rows import loads, planned_of_row
from evenhand.store.store import Store

MOST_SHOWN: Final = 300


def rows_shown(store: Store, run: RunRecord, places: Sequence[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Give evaluations by their places, in that order."""
    if not places:
        return []
    positions = sorted({position for position, _, _ in places})
    marks = ", ".join("?" * len(positions))

    def of(table: Table, order: str = "round") -> list[Row]:
        return table.read(store.database, run, f"position IN ({marks})", positions, order=order)

    # Later rounds come after earlier ones, and count instead of them.
    evaluations = {row[:3]: row[3:] for row in of(EVALUATIONS)}
    answers = {row[:2]: loads(row[-2]) for row in of(ANSWERS)}
    cases = {row[0]: planned_of_row(row) for row in of(CASES, "position")}
    as_group = is_ranking(run.definition)
    return [
        _row(place, evaluations[place], cases[place[0]].case, answers.get((place[0], place[2])), as_group=as_group)
        for place in places
        if place in evaluations and place[0] in cases
    ]


def _row(
    place: tuple[int, int, int],
    found: tuple[Any, ...],
    case: Case,
    answer: Mapping[str, Any] | None,
    *,
    as_group: bool,
) -> dict[str, Any]:
    number, evaluator, _, status, score, verdict, _, _, cost, seconds, content, _ = found
    evaluation = loads(content)
    model = case.metadata.get(MODEL)
    asked, said = _asked(case), case.candidate_answer if answer is None else answer.get("text")
    if as_group:
        asked, said = shown_ids(case), order_said(case, evaluation.get("details", {}))
    return {
        "case_id": case.id or "",
        "position": place[0],
        "place": place[1],
        "sample": place[2],
        "round": number,
        "evaluator": evaluator,
        "model": model if isinstance(model, str) else None,
        "status": status,
        "verdict": verdict,
        "score": score,
        "cost": cost,
        "seconds": seconds,
        "retry_count": evaluation.get("retry_count", 0),
        "hits": len(evaluation.get("hits", ())),
        "misses": len(evaluation.get("misses", ())),
        "error": _cut(evaluation.get("error")),
        "reasoning": _cut(evaluation.get("reasoning")) or "",
        "question": _cut(asked) or "",
        "answer": _cut(said),
    }


def _asked(case: Case) -> str | None:
    """Give what tells a case from the others: of a conversation the last thing the user says."""
    said = [message.content for message in messages_from(case.input_messages) if message.role == "user"]
    return said[-1] if case.question is None and said else case.question_text


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= MOST_SHOWN else f"{text[: MOST_SHOWN - 1]}…"
