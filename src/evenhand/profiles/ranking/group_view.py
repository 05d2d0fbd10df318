"""A group of a ranking as reports and pages show it: its profiles, the judge's order, and what led to it."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any

from evenhand.domain.case import Case
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.run_kind import is_ranking, is_scoring
from evenhand.evaluators.group_ranking import MEMBERS, MOST_MEMBERS, ORDER
from evenhand.evaluators.pairwise import PLACES
from evenhand.reports.html.case import CaseView, GroupView, MemberView


def group_view(result: CaseResult) -> CaseView:
    """Return the view of a group."""
    return CaseView(result=result, scale=None, group=_group(result), metadata_shown=frozenset({MEMBERS}))


def case_view(result: CaseResult, run: RunRecord) -> CaseView:
    """Return the view of a case, with its scores as its run has them: from 0 to 1, or to 10 for profiles (SPEC-K1)."""
    if is_ranking(run.definition):
        return group_view(result)
    return CaseView(result=result, scale=10 if is_scoring(run.definition) else 1)


def _group(result: CaseResult) -> GroupView:
    """Read the group from its case and, if it was judged, from the judgment."""
    case = result.case
    details = result.judgments[-1].evaluation.details if result.judgments else {}
    order = list(details.get(ORDER, ()))
    texts = [case.candidate_answer or "", case.reference_answer or ""]
    members = tuple(
        MemberView(
            letter=ascii_uppercase[slot],
            id=member["id"],
            text=str(member["text"]) if "text" in member else "".join(texts[slot : slot + 1]),
            place=order.index(member["id"]) + 1 if member["id"] in order else None,
        )
        for slot, member in enumerate(members_of(case.metadata)[:MOST_MEMBERS])
    )
    return GroupView(members=members, order=judged_order(case, details), lines=tuple(_orders(case, details)))


def members_of(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the profiles of a group in the order in which they were shown; an imported run may have anything there."""
    members = metadata.get(MEMBERS)
    if not isinstance(members, list | tuple):
        return []
    return [member for member in members if isinstance(member, Mapping) and isinstance(member.get("id"), str)]


def member_ids(case: Case) -> list[str]:
    """Return the ids of the profiles of a group, in the order shown."""
    return [member["id"] for member in members_of(case.metadata)]


def judged_order(case: Case, details: Mapping[str, Any]) -> str:
    """Return the judge's order, best first; empty if there is none."""
    if ORDER in details:
        return " > ".join(details[ORDER])
    ids = member_ids(case)
    if "outcome" not in details or len(ids) != len(PLACES):
        return ""
    first, second = ids
    return {"win": f"{first} > {second}", "loss": f"{second} > {first}", "tie": f"{first} = {second}"}[
        details["outcome"]
    ]


def _orders(case: Case, details: Mapping[str, Any]) -> list[str]:
    """Return which of a pair won, for each of the two orders in which they were shown."""
    lines = []
    for order in details.get("orders", ()):
        ids = member_ids(case) if order["candidate"] == PLACES[0] else member_ids(case)[::-1]
        winner = "a tie" if order["winner"] == "tie" else f"{ids[PLACES.index(order['winner'])]} is better"
        lines.append(f"{ids[0]} shown first, {ids[1]} second: {winner}")
    return lines
