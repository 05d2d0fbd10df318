"""A group of a ranking as its case tells it: who was shown under which letter, and in which order they were put."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from evenhand.domain.case import Case
from evenhand.domain.run import CaseResult
from evenhand.evaluators.pairwise import PLACES
from evenhand.evaluators.ranking import MEMBERS, MOST_MEMBERS, ORDER


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A profile of a group, under the letter that the judge knew it by; ``place`` is None where nobody was ranked."""

    letter: str
    id: str
    text: str
    place: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownGroup:
    """A group in the order in which it was shown, and what the judge said of it."""

    members: tuple[Member, ...]
    order: str
    lines: tuple[str, ...]

    @classmethod
    def of(cls, result: CaseResult) -> ShownGroup:
        """Read the group from its case and, if it was judged, from what was found."""
        found = [one.evaluation.details for one in result.judgments]
        details = found[-1] if found else {}
        case = result.case
        order = list(details.get(ORDER, ()))
        texts = [case.candidate_answer or "", case.reference_answer or ""]
        members = tuple(
            Member(
                letter=ascii_uppercase[slot],
                id=one["id"],
                text=str(one["text"]) if "text" in one else "".join(texts[slot : slot + 1]),
                place=order.index(one["id"]) + 1 if one["id"] in order else None,
            )
            for slot, one in enumerate(members_of(case.metadata)[:MOST_MEMBERS])
        )
        return cls(members=members, order=order_said(case, details), lines=tuple(_orders(case, details)))


def members_of(metadata: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Give the profiles of a group in the order in which they were shown; an imported run may have anything there."""
    told = metadata.get(MEMBERS)
    if not isinstance(told, list | tuple):
        return []
    return [one for one in told if isinstance(one, Mapping) and isinstance(one.get("id"), str)]


def shown_ids(case: Case) -> str:
    """Name who was shown, in that order."""
    return ", ".join(_ids(case))


def order_said(case: Case, details: Mapping[str, Any]) -> str:
    """Write the order that the judge gave, the best first; nothing where there is none."""
    if ORDER in details:
        return " > ".join(details[ORDER])
    ids = _ids(case)
    if "outcome" not in details or len(ids) != len(PLACES):
        return ""
    first, second = ids
    return {"win": f"{first} > {second}", "loss": f"{second} > {first}", "tie": f"{first} = {second}"}[
        details["outcome"]
    ]


def _orders(case: Case, details: Mapping[str, Any]) -> list[str]:
    """Say which of a pair won in each of the orders in which both were shown."""
    told = []
    for one in details.get("orders", ()):
        ids = _ids(case) if one["candidate"] == PLACES[0] else _ids(case)[::-1]
        won = "a tie" if one["winner"] == "tie" else f"{ids[PLACES.index(one['winner'])]} is better"
        told.append(f"{ids[0]} shown first, {ids[1]} second: {won}")
    return told


def _ids(case: Case) -> list[str]:
    return [one["id"] for one in members_of(case.metadata)]
