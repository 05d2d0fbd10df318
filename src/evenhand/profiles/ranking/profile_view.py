"""A profile of a ranking as reports and pages show it: its text and attributes, and what the judge said of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Any, Final

from markupsafe import Markup

from evenhand.domain.run import CaseResult
from evenhand.profiles.ranking.group_view import group_view, members_of
from evenhand.reports.html.case import GroupView, MemberView
from evenhand.reports.html.verbatim import verbatim
from evenhand.reports.phrases import counted
from evenhand.reports.safe_text import plain

# A profile is in one group of each round, and few rankings have more rounds.
MOST_GROUPS: Final = 30
_GIST: Final = 160
_MOST_ATTRIBUTES: Final = 4
_LONGEST_ATTRIBUTE: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """What the judge said in a group: its name and position, the place of the profile in it, and why."""

    group: str
    position: int
    place: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileView:
    """What is known of a profile: its text, how that begins, its attributes, and the reasons from each of its groups.

    ``more`` is how many groups it was in beside those that ``reasons`` has.
    """

    id: str
    text: Markup
    gist: str
    attributes: Mapping[str, Any]
    reasons: tuple[Reason, ...] = ()
    more: int = 0


def profile_views(results: Iterable[CaseResult], ids: Set[str]) -> dict[str, ProfileView]:
    """Return the views of some profiles, by id; the groups are read once, and only what is shown of them is kept."""
    views: dict[str, ProfileView] = {}
    reasons: defaultdict[str, list[Reason]] = defaultdict(list)
    groups: Counter[str] = Counter()
    for result in results:
        members = {member["id"]: member for member in members_of(result.case.metadata)}
        group = group_view(result).group if members.keys() & ids else None
        if group is None:
            continue
        for shown in group.members:
            if shown.id not in ids:
                continue
            groups[shown.id] += 1
            if shown.id not in views:
                views[shown.id] = _view(shown, members[shown.id].get("attributes"))
            if groups[shown.id] <= MOST_GROUPS:
                reasons[shown.id].append(_reason(result, group, shown))
    return {
        identity: replace(view, reasons=tuple(reasons[identity]), more=groups[identity] - len(reasons[identity]))
        for identity, view in views.items()
    }


def _view(member: MemberView, attributes: object) -> ProfileView:
    return ProfileView(
        id=member.id,
        text=verbatim(member.text),
        gist=plain(member.text[: 4 * _GIST], _GIST),
        attributes=attributes if isinstance(attributes, Mapping) else {},
    )


def _reason(result: CaseResult, group: GroupView, member: MemberView) -> Reason:
    if member.place is not None:
        # The reasons name the letters that the judge saw.
        place = f"shown as {member.letter}, place {member.place} of {len(group.members)}"
    else:
        place = group.order or counted(len(group.members), "profile")
    evaluation = result.judgments[-1].evaluation if result.judgments else None
    why = "Not judged yet." if evaluation is None else evaluation.error or evaluation.reasoning
    return Reason(group=result.id, position=result.position, place=place, why=why or "")


def short_attributes(attributes: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return the attributes that a row has room for.

    >>> short_attributes({"years": 10, "letter": "Dear all, " * 20})
    (('years', '10'),)
    """
    written = ((plain(str(key), None), plain(str(value), None)) for key, value in attributes.items())
    return tuple(pair for pair in written if len(pair[0]) + len(pair[1]) <= _LONGEST_ATTRIBUTE)[:_MOST_ATTRIBUTES]
