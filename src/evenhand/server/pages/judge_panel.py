"""The page that compares several judges of the same answers."""

from __future__ import annotations

from typing import Annotated, Any, Final
from urllib.parse import urlencode

from fastapi import Query, Request
from fastapi.responses import Response

from evenhand.domain.errors import ConfigError, IncomparableError
from evenhand.engine.judge_panel import compare_judges_of
from evenhand.profiles.job import require_suite
from evenhand.reports.html.judges import judges_sections
from evenhand.server.dependencies import StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.runs import find_run
from evenhand.server.rendering import page

router = page_routes()

MOST_RUNS: Final = 50


@router.get("/judges/compare")
def show_comparison(
    request: Request,
    store: StoreDep,
    *,
    run: Annotated[tuple[str, ...], Query()] = (),
    evaluator: str = "",
    anyway: str = "",
) -> Response:
    """Show how several judges compare, or which runs there are to choose from."""
    chosen = [find_run(store, each) for each in run if each]
    values: dict[str, Any] = {"chosen": chosen, "evaluator": evaluator, "parts": None, "refused": None}
    values["runs"] = [] if chosen else store.runs.newest(MOST_RUNS)
    if chosen:
        try:
            for record in chosen:
                require_suite(record)
            found = compare_judges_of(store, chosen, evaluator=evaluator or None, anyway=bool(anyway))
        except ConfigError as error:
            values["refused"] = _refusal(error, [("run", record.id) for record in chosen], evaluator)
        else:
            values["parts"] = judges_sections(found)
    return page(request, "judge_panel.html", **values)


def _refusal(error: ConfigError, runs: list[tuple[str, str]], evaluator: str) -> dict[str, Any]:
    if not isinstance(error, IncomparableError):
        return {"why": str(error), "differing": (), "anyway": None}
    query = urlencode([*runs, ("evaluator", evaluator), ("anyway", "yes")])
    return {"why": error.why, "differing": error.differing, "anyway": f"/judges/compare?{query}"}
