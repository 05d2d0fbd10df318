"""The part of an HTML page that a ranking has of its own: ranks drawn with their intervals, tier by tier."""

from __future__ import annotations

from typing import Final

from evenhand.profiles.ranking.design import Design
from evenhand.profiles.ranking.places import RankedProfile
from evenhand.profiles.ranking.ranks import Ranks
from evenhand.profiles.ranking.saying import blocks, share_text, span_text
from evenhand.reports.blocks import Grid
from evenhand.reports.forest import Axis, forest, mark, shown
from evenhand.reports.markup import Html, tag
from evenhand.reports.numbers import NONE, interval_text, score_text

MOST_DRAWN: Final = 200


def section(ranks: Ranks, design: Design, *, most: int = MOST_DRAWN) -> Html:
    """Show a ranking; what models and users wrote is only ever text."""
    others = [shown(block) for block in blocks(ranks, design, most=most) if not isinstance(block, Grid)]
    return tag("section", _leaderboard(ranks, design, most), *_slots(ranks), *others, class_="outcome leaderboard")


def _leaderboard(ranks: Ranks, design: Design, most: int) -> Html:
    """Draw the ranks of the best on a common scale, the first on the left."""
    best = ranks.profiles[: design.top or most]
    last = max([*(one.interval[1] for one in best if one.interval), *(one.rank or 1 for one in best), 2])
    axis = Axis(left=1, right=last)
    headings = ["profile", "rank", "95 %", "tier", "strength"]
    if design.in_pairs:
        headings += ["wins", "95 %", "wins, length apart"]
    rows = [(one.id, _drawn(one, axis), _numbers(one, design)) for one in best]
    return tag("div", tag("h2", "Leaderboard"), forest(headings, rows, f"1 to {last:,}"))


def _drawn(one: RankedProfile, axis: Axis) -> Html:
    said = f"{one.id}: no rank" if one.rank is None else f"{one.id}: rank {one.rank}, 95 %: {span_text(one)}"
    return mark(said, one.rank, one.interval, axis)


def _numbers(one: RankedProfile, design: Design) -> list[str]:
    numbers = [
        NONE if one.rank is None else f"{one.rank:,}",
        span_text(one),
        NONE if one.tier is None else str(one.tier),
        score_text(one.strength),
    ]
    if design.in_pairs:
        numbers += [share_text(one.win_rate), interval_text(one.win_rate_interval)]
        numbers.append(share_text(one.win_rate_without_length))
    return numbers


def _slots(ranks: Ranks) -> list[Html]:
    """Draw the mean place of what was shown in each slot; all would lie at one half."""
    places = ranks.position.test.places
    if not places:
        return []
    axis = Axis(left=0, right=1, line=0.5)
    rows = [
        (f"slot {slot}", mark(f"slot {slot}: mean place {place:.2f}", place, None, axis), [score_text(place)])
        for slot, place in enumerate(places, 1)
    ]
    title = tag("h2", "Mean place by the slot in which a profile was shown")
    return [tag("div", title, forest(("slot", "mean place"), rows, "always best to always worst"))]
