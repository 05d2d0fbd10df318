"""A profile of a ranking: its text and attributes, and what the judge said in the groups that it was in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

from fastapi import Request
from fastapi.responses import Response

from evenhand.domain.errors import ConflictError
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.run_kind import is_ranking
from evenhand.profiles.ranking.group_view import group_view, members_of
from evenhand.reports.phrases import counted
from evenhand.server.dependencies import ResultsDep, StoreDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.results_query import LONGEST_TEXT
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.problems import Problem
from evenhand.server.rendering import page
from evenhand.store.listing import CaseFilter, CaseOrder
from evenhand.store.results import cases_at
from evenhand.store.store import Store

router = page_routes()

# A profile is in one group of each round, and few rankings have more rounds.
MOST_GROUPS: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What the judge said in a group: its name and address, the place of the profile in it, and why."""

    group: str
    href: str
    place: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileAbout:
    """What is known of a profile: its text, its attributes, and the reasons from each of its groups."""

    id: str
    text: str
    attributes: dict[str, Any] = field(default_factory=dict)
    reasons: tuple[Reason, ...] = ()


@router.get("/runs/{run_id}/ranking/profile")
def ranked_profile(request: Request, run_id: str, store: StoreDep, results: ResultsDep, *, id: str = "") -> Response:  # noqa: A002 - the name in the address
    """Show a profile of a ranking; the leaderboard takes its content from here."""
    run = find_run(store, run_id)
    if not is_ranking(run.definition):
        raise ConflictError(f"run {run.id} is not a ranking")
    if len(id) > LONGEST_TEXT:
        raise Problem(422, "Invalid request", f"it must have at most {LONGEST_TEXT} characters", field="id")
    found = results.cases(run, CaseFilter(profile=id), CaseOrder(), limit=MOST_GROUPS, offset=0, most_shown=0)
    about = _about(store, run, id, [item["position"] for item in found["items"]])
    if about is None:
        raise Problem(404, "Not found", f"no profile {id!r:.80} in run {run.id}; see its leaderboard")
    left = max(found["total"] - MOST_GROUPS, 0)
    return page(request, "ranked_profile.html", run=run, own=own(run), about=about, left=left)


def _about(store: Store, run: RunRecord, identity: str, positions: list[int]) -> ProfileAbout | None:
    results = [stored.result for _, stored in sorted(cases_at(store, run, positions).items())]
    for result in results[:1]:
        view = group_view(result).group
        text = next((one.text for one in view.members if one.id == identity), "") if view is not None else ""
        member = next((one for one in members_of(result.case.metadata) if one["id"] == identity), {})
        reasons = tuple(_reason(run, other, identity) for other in results)
        return ProfileAbout(id=identity, text=text, attributes=dict(member.get("attributes") or {}), reasons=reasons)
    return None


def _reason(run: RunRecord, result: CaseResult, identity: str) -> Reason:
    view = group_view(result).group
    members = () if view is None else view.members
    place = next((member.place for member in members if member.id == identity), None)
    if place is not None:
        said = f"place {place} of {len(members)}"
    else:
        said = view.order if view is not None and view.order else counted(len(members), "profile")
    evaluation = result.judgments[-1].evaluation if result.judgments else None
    why = "Not judged yet." if evaluation is None else evaluation.error or evaluation.reasoning
    return Reason(group=result.id, href=f"{own(run)}/results/{result.position}", place=said, why=why or "")
