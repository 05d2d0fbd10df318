"""The page of an examination: what the probes found out about a judge."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import Response

from evenhand.doctor.card_html import card_parts
from evenhand.domain.run import RunStatus
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.rendering import page
from evenhand.server.runs.examinations import examination_in
from evenhand.server.runs.progress import AT_WORK

router = page_routes()


@router.get("/runs/{run_id}/doctor")
def show_examination(request: Request, run_id: str, store: StoreDep) -> Response:
    """Show the card of an examination as its file does."""
    run = find_run(store, run_id)
    found = examination_in(store, run)
    return page(
        request,
        "doctor.html",
        run=run,
        own=own(run),
        parts=card_parts(found),
        unscored=found.unscored,
        may_change=run.status is not RunStatus.FINISHED,
        is_at_work=run.status in AT_WORK,
    )
