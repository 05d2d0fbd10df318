"""What a ranking has to say to people: sentences and tables, whatever they are written in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.profiles.ranking.design import Design
from evenhand.profiles.ranking.places import RankedProfile
from evenhand.profiles.ranking.ranks import MOST_IN_CYCLES, Ranks
from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.numbers import NONE, counted, interval_text, score_text
from evenhand.reports.plain import plain
from evenhand.stats.slots import SIGN

MOST_SHOWN: Final = 50
_ID: Final = 60
_FAILED_SHOWN: Final = 10
_ERROR: Final = 200
# Below this an interval around the position says more than the evidence does.
_LEAST_GROUPS: Final = 20


def blocks(ranks: Ranks, design: Design, *, most: int | None = MOST_SHOWN) -> Iterator[Block]:
    """Give the blocks in the order in which they are read: the order, and then how far it can be believed."""
    shown = shown_profiles(ranks, design, most=most)
    yield Grid(headings=_headings(design), rows=tuple(_row(one, design) for one in shown), words=("profile",))
    left = len(ranks.profiles) - len(shown)
    if left:
        yield Sentences(lines=(f"and {counted(left, 'more profile')}; a file (-o ranking.csv) has all of them",))
    yield about(ranks, design)
    yield trust(ranks)


def about(ranks: Ranks, design: Design) -> Sentences:
    """Say what was ranked, and what is missing."""
    return Sentences(lines=tuple(_about(ranks, design)))


def trust(ranks: Ranks) -> Sentences:
    """Say how far the judge can be believed."""
    return Sentences(title="How far the judge can be believed", lines=tuple(_trust(ranks)))


def shown_profiles(ranks: Ranks, design: Design, *, most: int | None) -> tuple[RankedProfile, ...]:
    """Give the profiles that a short report shows: the top that was asked for, or the first ones."""
    return ranks.profiles[: None if most is None else design.top or most]


def _headings(design: Design) -> tuple[str, ...]:
    rates = ("wins", "95 %", "wins, length apart") if design.in_pairs else ()
    return ("rank", "95 %", "tier", "profile", "strength", *rates, "groups")


def _row(one: RankedProfile, design: Design) -> tuple[str, ...]:
    rates = (
        (share_text(one.win_rate), interval_text(one.win_rate_interval), share_text(one.win_rate_without_length))
        if design.in_pairs
        else ()
    )
    return (
        NONE if one.rank is None else str(one.rank),
        span_text(one),
        NONE if one.tier is None else str(one.tier),
        plain(one.id, _ID),
        score_text(one.strength),
        *rates,
        f"{one.groups:,}",
    )


def span_text(one: RankedProfile) -> str:
    """Write the interval around a rank."""
    return NONE if one.interval is None else f"{one.interval[0]:,}–{one.interval[1]:,}"


def share_text(share: float | None) -> str:
    """Write a share in percent."""
    return NONE if share is None else f"{share:.0%}"


def _about(ranks: Ranks, design: Design) -> Iterator[str]:
    planned = sum(design.group_counts(len(ranks.profiles)))
    judged = ranks.groups - ranks.pending - ranks.failed
    groups = counted(planned, "group") if judged == planned else f"{judged:,} of {counted(planned, 'group')}"
    told = f"{counted(len(ranks.order), 'profile')} ranked in {groups}"
    if ranks.tiers:
        tiers = f", {ranks.tiers:,} tiers that can be told apart"
        told += tiers if ranks.tiers > 1 else ", all in one tier: none can be told apart from the first"
    yield told
    if (left := planned - judged - ranks.failed) > 0:
        yield f"{counted(left, 'group')} not judged yet; the order may change"
    if ranks.failed:
        group, error = ranks.errors[0]
        told = f"{counted(ranks.failed, 'failed group')}, of weight for nobody; {group}: {plain(error, _ERROR)}"
        yield f"{told} (evenhand resume --retry-errors asks again)"
    unranked = ranks.profiles.without_rank
    if unranked:
        names = ", ".join(plain(one, _ID) for one in unranked[:_FAILED_SHOWN])
        more = f" and {len(unranked) - _FAILED_SHOWN:,} more" if len(unranked) > _FAILED_SHOWN else ""
        yield f"without a rank, since no group of theirs was ranked: {names}{more}"
    if ranks.profiles.in_tier(None):
        yield "no interval where a profile was in fewer than two groups; more rounds give one"
    if ranks.total_retries:
        yield f"{counted(ranks.total_retries, 'reply', 'replies')} could not be used and were asked for again"


def _trust(ranks: Ranks) -> Iterator[str]:
    if ranks.agreement is not None:
        yield f"the order agrees with {ranks.agreement:.0%} of what the judge said of two profiles"
    yield position_sentence(ranks)
    if ranks.length is not None:
        low, high = ranks.length.interval
        yield (
            f"length: twice the length goes with {ranks.length.doubling:+.2f} of strength [{low:+.2f}, {high:+.2f}]; "
            "whether that is deserved, only reading can tell"
        )
    if ranks.cycles:
        way = " > ".join(plain(identity, _ID) for identity in (*ranks.cycles[0], ranks.cycles[0][0]))
        best = min(MOST_IN_CYCLES, len(ranks.order))
        yield f"cycles: {ranks.in_cycles:,} of the best {best:,} are in one, such as {way}"
    else:
        yield "cycles: none"


def position_sentence(ranks: Ranks) -> str:
    """Say whether the judge favours a slot."""
    bias = ranks.position
    test = bias.test
    if test.p is None:
        return "position: too few groups to tell whether the judge favours a slot"
    p = "p < 0.001" if test.p < 0.001 else f"p = {test.p:.3f}"
    found = "the judge favours a slot" if bias.found else "no sign that the judge favours a slot"
    if test.test == SIGN:
        told = f"position: {found} ({test.test} test, {p}); {counted(test.n, 'pair')} flipped with the order"
        return f"{told}, and the first of two won {1 - test.places[0]:.0%}" if test.places else told
    told = f"position: {found} ({test.test} test, {p}, n = {test.n:,})"
    if bias.advantage is not None and bias.interval is not None and test.n >= _LEAST_GROUPS:
        low, high = bias.interval
        told += f"; along a line from the last slot to the first, strength gains {bias.advantage:+.2f} "
        told += f"[{low:+.2f}, {high:+.2f}], which the order allows for"
    return told
