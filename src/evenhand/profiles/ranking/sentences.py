"""A ranking in sentences and tables, for whatever shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.length import LEAST_PROFILES
from evenhand.profiles.ranking.result import CHANCE, MOST_IN_CYCLES, Agreement, RankedProfile, Ranks
from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.phrases import NONE, counted, interval_text, score_text
from evenhand.reports.safe_text import plain
from evenhand.stats.bias import SIGN

MOST_SHOWN: Final = 50
LONGEST_ID: Final = 60
_FAILED_SHOWN: Final = 10
_SETS_SHOWN: Final = 3
_ERROR: Final = 200


def blocks(ranks: Ranks, design: RankingDesign, *, most: int | None = MOST_SHOWN) -> Iterator[Block]:
    """Yield the blocks in the order in which they are read: the order, and then how far it can be trusted."""
    yield Sentences(lines=(headline(ranks),))
    shown = shown_profiles(ranks, design, most=most)
    yield Grid(headings=_headings(design), rows=tuple(_row(profile, design) for profile in shown), words=("profile",))
    left = len(ranks.profiles) - len(shown)
    if left:
        yield Sentences(lines=(f"and {counted(left, 'more profile')}; a file (-o ranking.csv) lists all of them",))
    yield about(ranks, design)
    yield trust(ranks)


def about(ranks: Ranks, design: RankingDesign) -> Sentences:
    """Return what was ranked, and what is missing."""
    return Sentences(lines=tuple(_about(ranks, design)))


def trust(ranks: Ranks) -> Sentences:
    """Return how far the judge can be trusted."""
    return Sentences(title="How reliable the judge is", lines=tuple(_trust(ranks)))


def shown_profiles(ranks: Ranks, design: RankingDesign, *, most: int | None) -> tuple[RankedProfile, ...]:
    """Return the profiles that a short report shows: the top that was asked for, or the first ones."""
    return ranks.profiles[: None if most is None else design.top or most]


def _headings(design: RankingDesign) -> tuple[str, ...]:
    rates = ("wins", "95 %", "wins, length-adjusted") if design.in_pairs else ()
    return ("rank", "95 %", "tier", "profile", "strength", *rates, "groups")


def _row(profile: RankedProfile, design: RankingDesign) -> tuple[str, ...]:
    rates = (
        (
            share_text(profile.win_rate),
            interval_text(profile.win_rate_interval),
            share_text(profile.win_rate_without_length),
        )
        if design.in_pairs
        else ()
    )
    return (
        NONE if profile.rank is None else str(profile.rank),
        span_text(profile),
        NONE if profile.tier is None else str(profile.tier),
        plain(profile.id, LONGEST_ID),
        score_text(profile.strength),
        *rates,
        f"{profile.groups:,}",
    )


def span_text(profile: RankedProfile) -> str:
    """Write the interval around a rank."""
    return NONE if profile.interval is None else f"{profile.interval[0]:,}–{profile.interval[1]:,}"


def share_text(share: float | None) -> str:
    """Write a share in percent."""
    return NONE if share is None else f"{share:.0%}"


def _about(ranks: Ranks, design: RankingDesign) -> Iterator[str]:
    planned = ranks.groups + sum(design.group_counts(len(ranks.profiles))[ranks.rounds :])
    judged = ranks.groups - ranks.pending - ranks.failed
    groups = counted(planned, "group") if judged == planned else f"{judged:,} of {counted(planned, 'group')}"
    summary = f"{counted(len(ranks.order), 'profile')} ranked in {groups}"
    if ranks.tiers:
        tiers = f", {ranks.tiers:,} tiers that can be told apart"
        summary += tiers if ranks.tiers > 1 else ", all in one tier: none can be told apart from the first"
    elif ranks.agreement.beats_chance is False:
        summary += ", no tiers: the order may be chance"
    yield summary
    if (left := planned - judged - ranks.failed) > 0:
        yield f"{counted(left, 'group')} not judged yet; the ranking may change"
    if ranks.failed:
        group, error = ranks.errors[0]
        failed = f"{counted(ranks.failed, 'failed group')} left out; {group}: {plain(error, _ERROR)}"
        yield f"{failed} (evenhand resume --retry-errors asks again)"
    if ranks.refused:
        yield f"refused by the judge, even beside a profile that it had ranked before: {_names(ranks.refused)}"
    if ranks.apart:
        yield _apart_sentence(ranks)
    refused = frozenset(ranks.refused).union(*ranks.apart)
    if unranked := [identity for identity in ranks.profiles.without_rank if identity not in refused]:
        yield f"unranked, because none of their groups was ranked: {_names(unranked)}"
    if ranks.profiles.without_interval:
        yield "no interval where a profile was in fewer than two groups; more rounds give one"
    if ranks.total_retries:
        yield f"{counted(ranks.total_retries, 'reply', 'replies')} could not be used; the judge was asked again"


def _apart_sentence(ranks: Ranks) -> str:
    sets = "; ".join(_names(one) for one in ranks.apart[:_SETS_SHOWN])
    more = f"; and {len(ranks.apart) - _SETS_SHOWN:,} more sets" if len(ranks.apart) > _SETS_SHOWN else ""
    if ranks.order:
        count = counted(sum(map(len, ranks.apart)), "profile")
        apart = f"{count} without a rank, because they were compared with none of the others"
    else:
        apart = (
            f"no ranks: the profiles are in {len(ranks.apart):,} sets, and none was compared with one of another set"
        )
    return f"{apart}: {sets}{more}; more rounds join them"


def _names(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _FAILED_SHOWN:,} more" if len(ids) > _FAILED_SHOWN else ""
    return ", ".join(plain(identity, LONGEST_ID) for identity in ids[:_FAILED_SHOWN]) + more


def headline(ranks: Ranks) -> str:
    """Return what has to be known before anything else: whether there is an order at all."""
    agreement = ranks.agreement
    if agreement.share is None:
        return "whether the judge agrees with itself is unknown: it takes two rounds or more to tell"
    if agreement.beats_chance:
        return f"the judge agrees with itself from round to round on {_predicted(agreement)}"
    told = "the judge cannot be told from one that shuffles"
    if ranks.position.found:
        told = "the judge goes by the position in which a profile is shown, and otherwise might as well shuffle"
    return f"no order: {told}. From round to round it agrees with itself on {_predicted(agreement)}"


def _predicted(agreement: Agreement) -> str:
    around = agreement.interval
    interval = "" if around is None else f" [{around.low:.0%}, {around.high:.0%}]"
    basis = counted(agreement.groups, "group")
    if agreement.p is not None:
        over = "" if agreement.tested == agreement.groups else f" formed at random; over all {agreement.tested}"
        basis += f"{over}, {p_text(agreement.p)}"
        basis += "" if agreement.beats_chance else f"; it takes p < {agreement.significance_level:g}"
    return f"{agreement.share:.0%}{interval} of pairs, where chance is {CHANCE:.0%} ({basis})"


def p_text(p: float) -> str:
    """Write a p value."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _trust(ranks: Ranks) -> Iterator[str]:
    yield position_sentence(ranks)
    yield _length_sentence(ranks)
    if ranks.cycles:
        way = " > ".join(plain(identity, LONGEST_ID) for identity in (*ranks.cycles[0], ranks.cycles[0][0]))
        best = min(MOST_IN_CYCLES, len(ranks.order))
        yield f"cycles: more than noise explains; {ranks.in_cycles:,} of the best {best:,} are in one, such as {way}"
    else:
        yield "cycles: none beyond what noise explains"


def _length_sentence(ranks: Ranks) -> str:
    if ranks.length is None:
        return f"length: cannot tell; that takes {LEAST_PROFILES} or more profiles of clearly different lengths"
    low, high = ranks.length.interval
    outcome = "only reading the texts shows whether this is deserved" if ranks.length.found else "no effect found"
    return (
        f"length: doubling the length of a text changes its strength by {ranks.length.doubling:+.2f} "
        f"[{low:+.2f}, {high:+.2f}]; {outcome}"
    )


def position_sentence(ranks: Ranks) -> str:
    """Return a sentence on whether the judge shows position bias."""
    bias = ranks.position
    test = bias.test
    if test.p is None:
        return "position bias: too few groups to test for it"
    outcome = "found" if bias.found else "none found"
    if bias.advantage is None or bias.interval is None:
        sentence = f"position bias: {outcome} ({test.test} test, {p_text(test.p)})"
    else:
        low, high = bias.interval
        gain = f"{bias.advantage:+.2f} [{low:+.2f}, {high:+.2f}] of strength over the last"
        corrected = ", which the ranking corrects for" if bias.found else ""
        sentence = f"position bias: {outcome}; the first position gains {gain}{corrected}"
    if test.test == SIGN:
        sentence += f"; {counted(test.n, 'pair')} flipped with the order"
        return f"{sentence}, and the first of two won {1 - test.places[0]:.0%}" if test.places else sentence
    return sentence
