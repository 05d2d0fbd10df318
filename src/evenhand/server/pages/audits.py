"""The page of an audit: what each attribute of a profile is worth to the judge, with intervals and gates."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evenhand.domain.run import RunStatus
from evenhand.server.api.shared import Opened
from evenhand.server.pages.results_markup import drawn
from evenhand.server.pages.results_run import own
from evenhand.server.pages.runs import found_run
from evenhand.server.pages.runs_row import counted_in, profiled_in
from evenhand.server.progress import AT_WORK
from evenhand.server.rendering import page

router = APIRouter()

# How long a page waits for an audit to be worked out; a large one is shown when somebody asks again.
PATIENCE_SECONDS: Final = 3.0


@router.get("/runs/{run_id}/audit")
def audit(request: Request, run_id: str, store: Opened) -> Response:
    """Show an audit as its report does."""
    run = found_run(request, run_id)
    known: dict[str, Any] = {"run": run, "own": own(run), "is_at_work": run.status in AT_WORK}
    try:
        numbers = profiled_in(request).audit(store, run, PATIENCE_SECONDS)
        counts = counted_in(request).of(store, run, PATIENCE_SECONDS)
    except TimeoutError:
        return page(request, "audit.html", numbers=None, **known)
    from evenhand.profiles.audit.page import section  # noqa: PLC0415 - brings much arithmetic along

    report = counts.report(store, run)
    report = replace(report, gates=(*report.gates, *numbers.gates))
    return page(
        request,
        "audit.html",
        numbers=numbers,
        may_change=run.status is not RunStatus.FINISHED,
        section=drawn(section(report, numbers)),
        **known,
    )
