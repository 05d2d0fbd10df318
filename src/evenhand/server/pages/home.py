"""The first page: what goes on, what came of the latest runs, and how to start."""

from __future__ import annotations

from typing import Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.domain.run import RunRecord
from evenhand.reports.charts import verdict_bar
from evenhand.reports.numbers import moment_text
from evenhand.reports.standing import Standing, standings
from evenhand.server.api.shared import Opened
from evenhand.server.desk import RunDesk
from evenhand.server.pages.results_markup import drawn
from evenhand.server.pages.runs_row import Row
from evenhand.server.progress import AT_WORK, as_it_is
from evenhand.server.rendering import page

router = APIRouter()

LATEST: Final = 10


@router.get("/")
def home(request: Request, store: Opened) -> Response:
    """Show the runs that go on, and the latest that have ended."""
    runs = [as_it_is(store, run) for run in store.runs.newest(2 * LATEST)]
    ended = [run for run in runs if run.status not in AT_WORK]
    rows = [Row.of(request, run) for run in ended[:LATEST]]
    return page(
        request,
        "home.html",
        rows=[
            (row, drawn(verdict_bar(standings(row.cases))) if row.cases and row.has_verdicts else None) for row in rows
        ],
        running=[(run, _progress(request, run)) for run in runs if run.status in AT_WORK],
        legend=[standing for standing in Standing if standing is not Standing.PENDING],
        prompts=sorted(store.prompts.all(), key=lambda prompt: -prompt.edited),
        moment=moment_text,
    )


def _progress(request: Request, run: RunRecord) -> tuple[int, int]:
    told = cast("RunDesk", request.app.state.desk).progress(run.id) or {}
    return told.get("done", 0), told.get("total", 0)
