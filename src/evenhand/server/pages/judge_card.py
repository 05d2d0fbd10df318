"""The page of a judge card: how far the judge of a run can be trusted, by labels of people."""

from __future__ import annotations

from collections import Counter
from typing import Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.run import RunRecord
from evenhand.engine.judge_card import card_of
from evenhand.reports.html.judge_card import judge_card_parts
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.rendering import page

router = page_routes()

_MOST_EVALUATORS: Final = 50


@router.get("/runs/{run_id}/card")
def show_card(request: Request, run_id: str, store: StoreDep, *, evaluator: str = "") -> Response:
    """Show the card; where nobody has labelled anything, say what to do, and do not read the run for it."""
    run = find_run(store, run_id)
    labelled = Counter(label.evaluator for label in store.labels.of(run))
    wanted = evaluator or None
    card = card_of(store, run, evaluator=wanted) if labelled[wanted] else None
    others = [(name, count, _address(run, "card", name)) for name, count in labelled.items() if name != wanted]
    return page(
        request,
        "judge_card.html",
        run=run,
        evaluator=wanted,
        others=others[:_MOST_EVALUATORS],
        has_labels=card is not None and card.labels.cases > 0,
        parts=None if card is None else judge_card_parts(card, lambda position: f"{own(run)}/results/{position}"),
        label_address=_address(run, "label", wanted),
    )


def _address(run: RunRecord, part: str, evaluator: str | None) -> str:
    query = f"?{urlencode({'evaluator': evaluator})}" if evaluator else ""
    return f"{own(run)}/{part}{query}"
