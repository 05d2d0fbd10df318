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
from evenhand.store.rows import loads, planned_from
from evenhand.store.store import Store

MOST_SHOWN: Final = 300
_EVALUATIONS: Final = (
    "SELECT position, place, sample, round, evaluator, status, verdict, score, cost, seconds, content FROM evaluations"
)


def rows_shown(store: Store, run: RunRecord, places: Sequence[tuple[int, int, int]]) -> list[dict[str, Any]]:
    """Give evaluations by their places, in that order."""
    if not places:
        return []
    positions = sorted({position for position, _, _ in places})
    marks = ", ".join("?" * len(positions))
    rows = store.database.rows

    def of(select: str, order: str = "round") -> list[tuple[Any, ...]]:
        return rows(f"{select} WHERE run = ? AND position IN ({marks}) ORDER BY {order}", [run.number, *positions])

    # Later rounds come after earlier ones, and count instead of them.
    evaluations = {row[:3]: row[3:] for row in of(_EVALUATIONS)}
    answers = {row[:2]: loads(row[2]) for row in of("SELECT position, sample, content FROM answers")}
    cases = {
        row[0]: planned_from(*row) for row in of("SELECT position, hash, expected, content FROM cases", "position")
    }
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
    number, evaluator, status, verdict, score, cost, seconds, content = found
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
