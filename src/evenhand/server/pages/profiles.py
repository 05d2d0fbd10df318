"""The pages of rankings and audits."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from fastapi import Request
from fastapi.responses import Response
from markupsafe import Markup

from evenhand.domain.run import RunStatus
from evenhand.profiles.ranking.profile_view import short_attributes
from evenhand.reports.phrases import NONE, counted, interval_text, score_text
from evenhand.server.dependencies import ProfileNumbersDep, SettingsDep, StoreDep, SummaryCacheDep
from evenhand.server.pages.base import page_routes
from evenhand.server.pages.run_view import own
from evenhand.server.pages.runs import find_run
from evenhand.server.rendering import page
from evenhand.server.runs.progress import AT_WORK

if TYPE_CHECKING:
    from evenhand.profiles.ranking.result import RankedProfile, Ranks
    from evenhand.reports.html.charts import Axis


router = page_routes()

ON_A_PAGE: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderboardRow:
    """A row of the leaderboard; ``groups`` is the address of the groups in which the profile was.

    ``about`` is that of its text and of the reasons, and ``attributes`` are those that are short.
    """

    id: str
    groups: str
    about: str
    attributes: tuple[tuple[str, str], ...]
    rank: str
    mark: Markup
    numbers: tuple[str, ...]


@router.get("/runs/{run_id}/ranking")
def leaderboard(
    request: Request,
    run_id: str,
    store: StoreDep,
    settings: SettingsDep,
    profile_numbers: ProfileNumbersDep,
    *,
    after: int = 0,
) -> Response:
    """Show a page of a ranking; ``after`` is how many profiles come before."""
    run = find_run(store, run_id)
    context: dict[str, Any] = {"run": run, "own": own(run), "is_at_work": run.status in AT_WORK}
    try:
        ranks = profile_numbers.ranks(store, run, settings.page_wait_seconds)
    except TimeoutError:
        return page(request, "ranking.html", ranks=None, **context)
    from evenhand.profiles.ranking.job import design_of  # noqa: PLC0415 - brings much arithmetic along
    from evenhand.profiles.ranking.sentences import IN_NO_ORDER, WITHOUT_ORDER, about, headline, trust  # noqa: PLC0415

    design = design_of(run.definition)
    first = min(max(after, 0), max(len(ranks.profiles) - 1, 0))
    last = min(first + ON_A_PAGE, len(ranks.profiles))
    address = f"{own(run)}/ranking"
    return page(
        request,
        "ranking.html",
        ranks=ranks,
        may_change=run.status is not RunStatus.FINISHED,
        how="in pairs, each in both orders" if design.in_pairs else f"in groups of {design.group_size}",
        design=design,
        headline=headline(ranks),
        in_no_order=f"{IN_NO_ORDER[:1].upper()}{IN_NO_ORDER[1:]}.",
        title="Ranks" if ranks.has_order else WITHOUT_ORDER,
        about=about(ranks, design).lines,
        trust=trust(ranks),
        worst=_worst(ranks),
        tiers=list(_tiers(ranks, first, last, own(run), in_pairs=design.in_pairs)),
        slots=_slots(ranks),
        shown=f"{first + 1:,} to {last:,} of {len(ranks.profiles):,}",
        before=f"{address}?after={max(first - ON_A_PAGE, 0)}" if first else None,
        after=f"{address}?after={last}" if last < len(ranks.profiles) else None,
        **context,
    )


def _worst(ranks: Ranks) -> int:
    """Return the rank at the right end of the scale."""
    return max(2, ranks.profiles.last_rank)


def _tiers(
    ranks: Ranks, first: int, last: int, address: str, *, in_pairs: bool
) -> Iterator[tuple[str, str, list[LeaderboardRow]]]:
    """Yield the profiles of a page by tier: what it is called, how many are in it, and its rows."""
    from evenhand.reports.html.charts import Axis  # noqa: PLC0415

    axis = Axis(left=1, right=_worst(ranks))
    shown = ranks.listed[first:last]
    if not ranks.has_order:
        rows = [_row(profile, axis, address, in_pairs=in_pairs) for profile in shown]
        yield "In no order" if ranks.order else "Without a rank", counted(len(ranks.profiles), "profile"), rows
        return
    for (ranked, tier), members in itertools.groupby(shown, lambda profile: (profile.rank is not None, profile.tier)):
        size = ranks.profiles.in_tier(tier) if ranked else len(ranks.profiles.without_rank)
        rows = [_row(profile, axis, address, in_pairs=in_pairs) for profile in members]
        yield _title(tier) if ranked else "Without a rank", counted(size, "profile"), rows


def _title(tier: int | None) -> str:
    return "No tier" if tier is None else f"Tier {tier}"


def _row(profile: RankedProfile, axis: Axis, address: str, *, in_pairs: bool) -> LeaderboardRow:
    from evenhand.profiles.ranking.sentences import share_text, span_text, standing  # noqa: PLC0415
    from evenhand.reports.html.charts import interval_mark  # noqa: PLC0415

    rates = (
        (
            share_text(profile.win_rate),
            interval_text(profile.win_rate_interval),
            share_text(profile.win_rate_without_length),
        )
        if in_pairs
        else ()
    )
    groups = f"{profile.groups:,}" + (f", {profile.failures:,} failed" if profile.failures else "")
    return LeaderboardRow(
        id=profile.id,
        groups=f"{address}/results?{urlencode({'profile': profile.id})}",
        about=f"{address}/ranking/profile?{urlencode({'id': profile.id})}",
        attributes=short_attributes(profile.attributes),
        rank=NONE if profile.rank is None else f"{profile.rank:,}",
        mark=interval_mark(standing(profile), profile.rank, profile.interval, axis),
        numbers=(span_text(profile), score_text(profile.strength), *rates, groups),
    )


def _slots(ranks: Ranks) -> list[tuple[str, Markup, str]]:
    """Draw the mean place of the profiles in each slot; without bias all are at one half."""
    from evenhand.reports.html.charts import Axis, interval_mark  # noqa: PLC0415

    axis = Axis(left=0, right=1, line=0.5)
    return [
        (
            f"{slot + 1}, letter {ascii_uppercase[slot]}",
            interval_mark(f"position {slot + 1}: mean place {place:.2f}", place, None, axis),
            score_text(place),
        )
        for slot, place in enumerate(ranks.position.test.places)
    ]


audit_router = page_routes()


@audit_router.get("/runs/{run_id}/audit")
def audit(
    request: Request,
    run_id: str,
    store: StoreDep,
    *,
    settings: SettingsDep,
    profile_numbers: ProfileNumbersDep,
    summaries: SummaryCacheDep,
) -> Response:
    """Show an audit as its report does."""
    run = find_run(store, run_id)
    context: dict[str, Any] = {"run": run, "own": own(run), "is_at_work": run.status in AT_WORK}
    try:
        numbers = profile_numbers.audit(store, run, settings.page_wait_seconds)
        counts = summaries.of(store, run, settings.page_wait_seconds)
    except TimeoutError:
        return page(request, "audit.html", numbers=None, **context)
    from evenhand.profiles.audit.report import section  # noqa: PLC0415 - brings much arithmetic along

    report = counts.report(store, run)
    report = replace(report, gates=(*report.gates, *numbers.gates))
    return page(
        request,
        "audit.html",
        numbers=numbers,
        may_change=run.status is not RunStatus.FINISHED,
        section=partial(section, report, numbers),
        **context,
    )
