"""The home page: runs in progress, regressions, the latest runs, and how to start."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Final

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.run import RunRecord, RunStatus
from evenhand.reports.html.charts import verdict_bar
from evenhand.reports.phrases import Standing, standings
from evenhand.server.dependencies import RunManagerDep, SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.run_view import Row
from evenhand.server.pages.runs import BaselineComparison
from evenhand.server.rendering import page
from evenhand.server.runs.baseline import lineage
from evenhand.server.runs.live_runs import in_progress, state_of_runs
from evenhand.server.runs.progress import AT_WORK, with_actual_status
from evenhand.server.runs.summaries import SummaryCache
from evenhand.store.store import Store

router = page_routes()

LATEST: Final = 10
LAST_EDITED: Final = 5


@router.get("/")
def home(
    request: Request, store: StoreDep, settings: SettingsDep, manager: RunManagerDep, summaries: SummaryCacheDep
) -> Response:
    """Show the runs in progress, and the latest that have ended."""
    running = in_progress(store)
    runs = [with_actual_status(store, run) for run in store.runs.newest(2 * LATEST)]
    ended = [run for run in runs if run.status not in AT_WORK]
    rows = [Row.of(store, run, manager, summaries) for run in ended[:LATEST]]
    return page(
        request,
        "home.html",
        rows=[(row, verdict_bar(standings(row.cases)) if row.cases and row.has_verdicts else None) for row in rows],
        against=list(_against(store, summaries, ended, settings.page_wait_seconds)),
        running=[Row.of(store, run, manager, summaries) for run in running],
        state=state_of_runs(running),
        legend=[standing for standing in Standing if standing is not Standing.PENDING],
        prompts=store.prompts.last_edited(LAST_EDITED),
        prompt_count=store.prompts.total(),
    )


def _against(
    store: Store, summaries: SummaryCache, newest_first: Iterable[RunRecord], seconds: float
) -> Iterator[tuple[RunRecord, BaselineComparison]]:
    """Compare the newest finished run of each suite and prompt with its baseline, where there is one.

    Those that take longer than so many seconds, all together, are shown the next time.
    """
    until = time.monotonic() + seconds
    seen: set[tuple[str, str]] = set()
    for run in newest_first:
        if run.status is not RunStatus.FINISHED or (kind := lineage(run)) in seen:
            continue
        seen.add(kind)
        if (comparison := BaselineComparison.of(store, summaries, run, max(until - time.monotonic(), 0.0))) is not None:
            yield run, comparison
