"""A ranking in sentences and tables, for whatever shows it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.length import LEAST_PROFILES
from evenhand.profiles.ranking.preference_cycles import LEAST_GROUPS
from evenhand.profiles.ranking.result import CHANCE, MOST_IN_CYCLES, Agreement, RankedProfile, Ranks
from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.phrases import (
    NONE,
    counted,
    interval_text,
    score_text,
    signed_text,
    unusable_replies_sentence,
)
from evenhand.reports.safe_text import plain
from evenhand.stats.bias import SIGN

MOST_SHOWN: Final = 50
LONGEST_ID: Final = 60
# What profiles are headed by where there is no leaderboard, and why.
WITHOUT_ORDER: Final = "Profiles"
IN_NO_ORDER: Final = "in the order of their ids, which says nothing about how good they are"
_FAILED_SHOWN: Final = 10
_SETS_SHOWN: Final = 3
_ERROR: Final = 200
# A judge that is right about 83 of 100 pairs is predicted as well as that, or better.
_GOOD: Final = 0.7
_TOO_FEW: Final = "So few groups cannot tell a good judge from chance either: add rounds"


def blocks(ranks: Ranks, design: RankingDesign, *, most: int | None = MOST_SHOWN) -> Iterator[Block]:
    """Yield the blocks in the order in which they are read: the order, and then how far it can be trusted."""
    yield Sentences(lines=(headline(ranks),))
    if not ranks.has_order:
        yield Sentences(title=WITHOUT_ORDER, lines=(IN_NO_ORDER,))
    shown = shown_profiles(ranks, design, most=most)
    yield Grid(headings=_headings(design), rows=tuple(_row(profile, design) for profile in shown), words=("profile",))
    yield from further(ranks, design, len(shown))


def further(ranks: Ranks, design: RankingDesign, shown: int) -> Iterator[Block]:
    """Yield what is read below the profiles, of which so many are shown."""
    if left := len(ranks.profiles) - shown:
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
    if most is not None and ranks.has_order and design.top:
        most = design.top
    return tuple(ranks.listed[:most])


def _headings(design: RankingDesign) -> tuple[str, ...]:
    rates = ("wins", "95%", "wins, length-adjusted") if design.in_pairs else ()
    return ("rank", "95%", "tier", "profile", "strength", *rates, "groups")


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


def standing(profile: RankedProfile) -> str:
    """Say what is drawn of a profile: its rank, and the interval around it."""
    rank = "no rank" if profile.rank is None else f"rank {profile.rank:,}"
    around = "" if profile.interval is None and profile.rank is None else f", 95%: {span_text(profile)}"
    return f"{profile.id}: {rank}{around}"


def share_text(share: float | None) -> str:
    """Write a share in percent."""
    return NONE if share is None else f"{share:.0%}"


def notes(ranks: Ranks) -> Mapping[str, str]:
    """Return what is to be known of single profiles, by id: why they have no rank, or what their rank is worth."""
    found = dict.fromkeys(ranks.profiles.without_rank, "not ranked yet" if ranks.pending else "not ranked")
    found |= {identity: "not compared with the others" for one in ranks.apart for identity in one}
    found |= dict.fromkeys(ranks.refused, "refused by the judge")
    if not ranks.has_order:
        found |= dict.fromkeys(ranks.order, "no order found")
    return found | dict.fromkeys(ranks.partly_refused, "ranked in some groups, refused in another")


def _about(ranks: Ranks, design: RankingDesign) -> Iterator[str]:
    yield f"{_ranked(ranks, design)}{_tiers_phrase(ranks)}"
    if (left := _planned(ranks, design) - _judged(ranks) - ranks.failed) > 0:
        yield f"{counted(left, 'group')} not judged yet; the ranking may change"
    if ranks.failed:
        group, error = ranks.errors[0]
        yield f"{counted(ranks.failed, 'failed group')} left out; {group}: {plain(error, _ERROR)}"
    yield from _lacking(ranks)
    if ranks.invalid_replies:
        yield unusable_replies_sentence(ranks.invalid_replies, ranks.total_retries)


def _tiers_phrase(ranks: Ranks) -> str:
    if ranks.tiers > 1:
        return f", {ranks.tiers:,} tiers"
    if ranks.tiers:
        return ", all in one tier: none can be told apart from the first"
    return ", no ranks and no tiers: no order was found" if ranks.order and not ranks.has_order else ""


def _lacking(ranks: Ranks) -> Iterator[str]:
    """Say which profiles have no rank, or no interval, and why."""
    if ranks.refused:
        yield f"the judge refused these profiles, even next to one it had already ranked: {_names(ranks.refused)}"
    if ranks.partly_refused:
        ranked = "ranked in some groups, refused in another, and therefore in no further ones"
        yield f"{ranked}: {_names(ranks.partly_refused)}"
    if ranks.apart:
        yield _apart_sentence(ranks)
    refused = frozenset(ranks.refused).union(*ranks.apart)
    if unranked := [identity for identity in ranks.profiles.without_rank if identity not in refused]:
        yield f"unranked, because none of their groups was ranked: {_names(unranked)}"
    if ranks.profiles.without_interval:
        yield "no interval where a profile was in fewer than two groups; more rounds give one"


def in_few_words(ranks: Ranks, design: RankingDesign) -> str:
    """Return what came of a ranking, for a list of runs."""
    if ranks.order and not ranks.has_order:
        return f"{counted(len(ranks.order), 'profile')}, no order found"
    return _ranked(ranks, design)


def _ranked(ranks: Ranks, design: RankingDesign) -> str:
    planned, judged = _planned(ranks, design), _judged(ranks)
    groups = counted(planned, "group") if judged == planned else f"{judged:,} of {counted(planned, 'group')}"
    verb = "compared" if ranks.order and not ranks.has_order else "ranked"
    return f"{counted(len(ranks.order), 'profile')} {verb} in {groups}"


def _planned(ranks: Ranks, design: RankingDesign) -> int:
    return ranks.groups + sum(design.group_counts(len(ranks.profiles))[ranks.rounds :])


def _judged(ranks: Ranks) -> int:
    return ranks.groups - ranks.pending - ranks.failed


def _apart_sentence(ranks: Ranks) -> str:
    sets = "; ".join(_names(one) for one in ranks.apart[:_SETS_SHOWN])
    left = len(ranks.apart) - _SETS_SHOWN
    more = f"; and {counted(left, 'more set')}" if left > 0 else ""
    if ranks.order:
        count = counted(sum(map(len, ranks.apart)), "profile")
        apart = f"{count} without a rank, because they were compared with none of the others"
    else:
        sets_of_all = f"no ranks: the profiles are in {counted(len(ranks.apart), 'set')}"
        apart = f"{sets_of_all}, and no profile was compared with one from another set"
    return f"{apart}: {sets}{more}; more rounds would connect them"


def _names(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _FAILED_SHOWN:,} more" if len(ids) > _FAILED_SHOWN else ""
    return ", ".join(plain(identity, LONGEST_ID) for identity in ids[:_FAILED_SHOWN]) + more


def headline(ranks: Ranks) -> str:
    """Return what has to be known before anything else: whether there is an order at all."""
    agreement = ranks.agreement
    if not _judged(ranks):
        return "nothing was ranked yet" if ranks.pending else "nothing was ranked: every group failed"
    if ranks.apart and not ranks.order:
        return "no order: no set of profiles that were compared with each other has more than half of them"
    if ranks.only_ties:
        return "no order: the judge called every pair a tie"
    if agreement.share is None:
        return "too few judged groups to tell whether the judge is consistent"
    if agreement.beats_chance:
        return f"earlier rounds predict {_predicted(agreement)}"
    who = "the judge's"
    if ranks.position.found:
        who = "the judge goes by the position in which a profile is shown, and beyond that its"
    no_order = f"no order: {who} choices cannot be distinguished from chance"
    more = "" if agreement.interval and agreement.interval.high < _GOOD else f". {_TOO_FEW}"
    return f"{no_order}. Earlier rounds predict {_predicted(agreement)}{more}"


def _predicted(agreement: Agreement) -> str:
    around = agreement.interval
    interval = "" if around is None else f" [{around.low:.0%}, {around.high:.0%}]"
    basis = counted(agreement.groups, "group")
    if agreement.p is not None:
        if agreement.tested != agreement.groups:
            basis = f"{counted(agreement.groups, 'random group')}; all {counted(agreement.tested, 'group')}"
        basis += f": {p_text(agreement.p)}"
        basis += "" if agreement.beats_chance else f"; it takes p < {agreement.significance_level:g}"
    predicted = f"{agreement.share:.0%}{interval} of the judge's later choices"
    return f"{predicted}; guessing would predict {CHANCE:.0%} ({basis})"


def p_text(p: float) -> str:
    """Write a p value."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _trust(ranks: Ranks) -> Iterator[str]:
    if not _judged(ranks):
        yield "nothing can be said: no group was ranked"
        return
    yield position_sentence(ranks)
    yield _length_sentence(ranks)
    if ranks.cycles:
        way = " > ".join(plain(identity, LONGEST_ID) for identity in (*ranks.cycles[0], ranks.cycles[0][0]))
        best = min(MOST_IN_CYCLES, len(ranks.order))
        yield f"cycles: more than noise explains; {ranks.in_cycles:,} of the best {best:,} are in one, such as {way}"
    elif not ranks.order:
        yield "cycles: cannot tell; nothing has a rank"
    elif _judged(ranks) < LEAST_GROUPS:
        yield f"cycles: cannot tell; that takes {LEAST_GROUPS} or more judged groups"
    else:
        yield "cycles: none beyond what noise explains"


def _length_sentence(ranks: Ranks) -> str:
    if ranks.length is None:
        return f"length: cannot tell; {_why_no_length(ranks)}"
    low, high = ranks.length.interval
    outcome = "only reading the texts shows whether this is deserved" if ranks.length.found else "no effect found"
    return (
        f"length: doubling the length of a text changes its strength by {signed_text(ranks.length.doubling)} "
        f"[{signed_text(low)}, {signed_text(high)}]; {outcome}"
    )


def _why_no_length(ranks: Ranks) -> str:
    if not ranks.order:
        return "nothing has a rank"
    if ranks.profiles.without_interval == len(ranks.order):
        return "too few judged groups"
    if ranks.profiles.are_equal:
        return "all profiles are equally strong"
    return f"that takes {LEAST_PROFILES} or more profiles of clearly different lengths"


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
        change = f"{signed_text(bias.advantage)} [{signed_text(low)}, {signed_text(high)}]"
        corrected = ", which the ranking corrects for" if bias.found else ""
        sentence = (
            f"position bias: {outcome}; being shown first instead of last changes strength by {change}{corrected}"
        )
    if test.test == SIGN:
        sentence += f"; {counted(test.n, 'pair')} flipped with the order"
        return f"{sentence}, and the first of two won {1 - test.places[0]:.0%}" if test.places else sentence
    return sentence
