"""Runs and evaluations as lists show them, in plain JSON values.

Of a group that was ranked, who was shown takes the place of what was asked, and the order that of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from evenhand.domain.run import RunRecord
from evenhand.domain.run_kind import is_ranking
from evenhand.engine.targets.several import MODEL, targets_of
from evenhand.profiles.ranking.group_view import judged_order, member_ids
from evenhand.reports.json import run_row, summary_row
from evenhand.reports.phrases import names_in
from evenhand.server.runs.baseline import is_baseline
from evenhand.server.runs.progress import AT_WORK, with_actual_status
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.results import Place, StoredEvaluation, evaluations_at
from evenhand.store.store import Store
from evenhand.workspace.prompt_run import PROMPT


def models_of(run: RunRecord) -> list[str]:
    """Return the models that answered, if a run has several, so that each case names its own."""
    return list(targets_of(run))


def judge_of(run: RunRecord) -> str | None:
    """Return the name of the judge, if the definition has one."""
    return next(iter(names_in(run.definition.get("judge"))), None)


MOST_SHOWN: Final = 300


def evaluation_rows(store: Store, run: RunRecord, places: Sequence[Place]) -> list[dict[str, Any]]:
    """Return evaluations by their places, in that order."""
    as_group = is_ranking(run.definition)
    return [_evaluation_row(stored, as_group=as_group) for stored in evaluations_at(store, run, places)]


def _evaluation_row(stored: StoredEvaluation, *, as_group: bool) -> dict[str, Any]:
    case, content = stored.case, stored.content
    model = case.metadata.get(MODEL)
    question, answer = case.last_question, case.candidate_answer if stored.answer is None else stored.answer.get("text")
    if as_group:
        question, answer = ", ".join(member_ids(case)), judged_order(case, content.get("details", {}))
    return {
        "case_id": case.id or "",
        "position": stored.position,
        "place": stored.place,
        "sample": stored.sample,
        "round": stored.round,
        "evaluator": stored.evaluator,
        "model": model if isinstance(model, str) else None,
        "status": stored.status,
        "verdict": stored.verdict,
        "label": content.get("label"),
        "score": stored.score,
        "cost": stored.cost,
        "seconds": stored.seconds,
        "retry_count": content.get("retry_count", 0),
        "hits": len(content.get("hits", ())),
        "misses": len(content.get("misses", ())),
        "error": cut(content.get("error")),
        "reasoning": cut(content.get("reasoning")) or "",
        "question": cut(question) or "",
        "answer": cut(answer),
    }


def cut(text: str | None, most: int = MOST_SHOWN) -> str | None:
    """Cut a text that is longer than so many characters."""
    return text if text is None or len(text) <= most else f"{text[: most - 1]}…"


# Larger runs are not counted while they are in progress nor, if nobody has opened them yet, for a list.
MOST_CASES_IN_LIST: Final = 5_000
_OF_DETAIL: Final = ("source", "definition", "options", "forked_from", "version", "abandoned_calls", "abandoned_cost")


def run_listed(store: Store, run: RunRecord, summaries: SummaryCache) -> dict[str, Any]:
    """Return a run for a list, without its definition."""
    run = with_actual_status(store, run)
    quick = run.status not in AT_WORK and (run.cases <= MOST_CASES_IN_LIST or summaries.has(store, run))
    row = _run_row(run)
    return {name: row[name] for name in row if name not in _OF_DETAIL} | {
        "summary": summary_row(summaries.of(store, run).summary) if quick else None
    }


def run_as_planned(store: Store, run: RunRecord) -> dict[str, Any]:
    """Return a run with its definition, and without its numbers: it has just been started or resumed."""
    row = _run_row(with_actual_status(store, run))
    # Where the suite is on the disk is the server's business.
    del row["source"]
    return row | {"summary": None, "gates": None}


def run_detail(store: Store, run: RunRecord, summaries: SummaryCache, seconds: float) -> dict[str, Any]:
    """Return a run with its definition and its numbers; these are null for a large run that is in progress.

    They are null, too, if counting them takes longer than so many seconds; then they are there for a later request.
    """
    run = with_actual_status(store, run)
    row = run_as_planned(store, run)
    if run.status in AT_WORK and run.cases > MOST_CASES_IN_LIST:
        return row
    try:
        numbers = summaries.of(store, run, seconds)
    except TimeoutError:
        return row
    return row | {"summary": summary_row(numbers.summary), "gates": [gate.as_dict() for gate in numbers.gates]}


def _run_row(run: RunRecord) -> dict[str, Any]:
    definition = run.definition
    return run_row(run) | {
        "prompt": definition.get(PROMPT),
        "models": names_in(definition.get("target")),
        "judge": judge_of(run),
        "baseline": is_baseline(run),
    }
