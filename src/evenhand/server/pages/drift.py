"""The page of drift: whether the judge of two runs has changed, on the same answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.profiles.job import require_suite
from evenhand.reports.html.drift import drift_sections
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.runs import find_run
from evenhand.server.rendering import page
from evenhand.suites.drift import drift_of_runs

router = page_routes()


@router.get("/drift")
def show_drift(
    request: Request, store: StoreDep, *, then: str, now: str, evaluator: str = "", anyway: str = ""
) -> Response:
    """Show what the anchors of a run say in two runs, or why they cannot be compared."""
    before, after = find_run(store, then), find_run(store, now)
    values: dict[str, Any] = {"then": before, "now": after, "evaluator": evaluator, "parts": None, "refused": None}
    try:
        for run in (before, after):
            require_suite(run)
        report = drift_of_runs(store, before, after, evaluator=evaluator or None, anyway=bool(anyway))
    except IncomparableError as error:
        query = urlencode({"then": before.id, "now": after.id, "evaluator": evaluator, "anyway": "yes"})
        values["refused"] = {"why": error.why, "differing": error.differing, "anyway": f"/drift?{query}"}
    except ConfigError as error:
        values["refused"] = {"why": str(error), "differing": (), "anyway": None}
    else:
        values["parts"] = drift_sections(report)
    return page(request, "drift.html", **values)
