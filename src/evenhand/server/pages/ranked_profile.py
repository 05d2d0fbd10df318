"""A profile of a ranking: its text and attributes, and what the judge said in the groups that it was in."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.errors import ConflictError
from evenhand.domain.run_kind import is_ranking
from evenhand.profiles.ranking.profile_view import MOST_GROUPS, profile_views
from evenhand.server.dependencies import ResultsDep, StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.results_query import LONGEST_TEXT
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.store.listing import CaseFilter, CaseOrder
from evenhand.store.results import cases_at

router = page_routes()


@router.get("/runs/{run_id}/ranking/profile")
def ranked_profile(request: Request, run_id: str, store: StoreDep, results: ResultsDep, *, id: str = "") -> Response:  # noqa: A002 - the name in the address
    """Show a profile of a ranking; the leaderboard takes its content from here."""
    run = find_run(store, run_id)
    if not is_ranking(run.definition):
        raise ConflictError(f"run {run.id} is not a ranking")
    if len(id) > LONGEST_TEXT:
        raise Problem(422, "Invalid request", f"it must have at most {LONGEST_TEXT} characters", field="id")
    found = results.cases(run, CaseFilter(profile=id), CaseOrder(), limit=MOST_GROUPS, offset=0, most_shown=0)
    groups = cases_at(store, run, [item["position"] for item in found["items"]])
    about = profile_views((groups[position].result for position in sorted(groups)), {id}).get(id)
    if about is None:
        raise Problem(404, "Not found", f"no profile {id!r:.80} in run {run.id}; see its ranking")
    about = replace(about, more=max(found["total"] - MOST_GROUPS, 0))

    def link(position: int) -> str:
        return f"{own(run)}/results/{position}"

    return page(request, "ranked_profile.html", run=run, own=own(run), about=about, link=link)
