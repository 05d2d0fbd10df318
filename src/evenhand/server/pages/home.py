"""The first page: what goes on, what got worse, what came of the latest runs, and how to start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final, cast

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.reports.html.charts import verdict_bar
from evenhand.reports.phrases import Standing, moment_text, standings
from evenhand.server.api.dependencies import Opened
from evenhand.server.pages.base import drawn, page
from evenhand.server.pages.run_row import Row
from evenhand.server.pages.runs import Against
from evenhand.server.runs.baseline import lineage
from evenhand.server.runs.manager import RunManager
from evenhand.server.runs.progress import AT_WORK, as_it_is
from evenhand.store.store import Store

router = APIRouter()

LATEST: Final = 10
# How long the page waits for all comparisons together; those that take longer it shows the next time.
PATIENCE_SECONDS: Final = 1.5


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
        against=list(_against(request, store, ended)),
        running=[(run, _progress(request, run)) for run in runs if run.status in AT_WORK],
        legend=[standing for standing in Standing if standing is not Standing.PENDING],
        prompts=sorted(store.prompts.all(), key=lambda prompt: -prompt.edited),
        moment=moment_text,
    )


def _against(request: Request, store: Store, newest_first: Iterable[RunRecord]) -> Iterator[tuple[RunRecord, Against]]:
    """Hold the newest finished run of each suite and prompt against the baseline, where there is one."""
    until = time.monotonic() + PATIENCE_SECONDS
    seen: set[tuple[str, str]] = set()
    for run in newest_first:
        if run.status is not RunStatus.FINISHED or (kind := lineage(run)) in seen:
            continue
        seen.add(kind)
        if (found := Against.of(request, store, run, max(until - time.monotonic(), 0.0))) is not None:
            yield run, found


def _progress(request: Request, run: RunRecord) -> tuple[int, int]:
    told = cast("RunManager", request.app.state.desk).progress(run.id) or {}
    return told.get("done", 0), told.get("total", 0)
