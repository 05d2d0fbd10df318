"""The leaderboard of an HTML file: ranks on a common scale, each with the profile's text and the judge's reasons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup

from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.job import design_of
from evenhand.profiles.ranking.profile_view import ProfileView, profile_views, short_attributes
from evenhand.profiles.ranking.result import RankedProfile, Ranks
from evenhand.profiles.ranking.sentences import (
    IN_NO_ORDER,
    WITHOUT_ORDER,
    further,
    headline,
    share_text,
    shown_profiles,
    span_text,
    standing,
)
from evenhand.reports.html.charts import Axis, interval_mark
from evenhand.reports.html.forest import forest, shown
from evenhand.reports.html.markup import tag
from evenhand.reports.html.renderer import render
from evenhand.reports.html.table import MOST_ROWS
from evenhand.reports.phrases import NONE, interval_text, score_text
from evenhand.reports.report import Report

MOST_DRAWN: Final = 200
# More are drawn only where somebody asked for a longer top.
MOST_WITH_TEXT: Final = 200


def section(report: Report, ranks: Ranks) -> Markup:
    """Show a ranking; what models and users wrote is only ever text.

    The groups are read for the texts of the profiles that are shown, and no other text is kept.
    """
    design = design_of(report.run.definition)
    best = shown_profiles(ranks, design, most=MOST_DRAWN)
    first = tag("p", headline(ranks), class_=None if ranks.has_order else "unfinished")
    others = map(shown, further(ranks, design, len(best)))
    return tag("section", first, _leaderboard(report, ranks, design, best), *_slots(ranks), *others,
               class_=f"outcome leaderboard{'' if ranks.has_order else ' unordered'}")  # fmt: skip


def _leaderboard(report: Report, ranks: Ranks, design: RankingDesign, best: Sequence[RankedProfile]) -> Markup:
    """Draw the ranks of the best on a common scale, the first on the left."""
    last = max(
        [*(profile.interval[1] for profile in best if profile.interval), *(profile.rank or 1 for profile in best), 2]
    )
    axis = Axis(left=1, right=last)
    headings = ["profile", "rank", "95%", "tier", "strength"]
    if design.in_pairs:
        headings += ["wins", "95%", "wins, length-adjusted"]
    rows = [(profile.id, _rank_mark(profile, axis), _numbers(profile, design)) for profile in best]
    return tag(
        "div",
        tag("h2", "Leaderboard" if ranks.has_order else WITHOUT_ORDER),
        None if ranks.has_order else tag("p", f"{IN_NO_ORDER[:1].upper()}{IN_NO_ORDER[1:]}.", class_="note"),
        *_note(len(best)),
        forest(headings, rows, f"1 to {last:,}", below=list(_below(report, best[:MOST_WITH_TEXT]))),
    )


def _note(count: int) -> Iterator[Markup]:
    if count > MOST_WITH_TEXT:
        sentence = f"The first {MOST_WITH_TEXT:,} of {count:,} profiles have their text and the judge's reasons here."
        yield tag("p", sentence, class_="note")


def _below(report: Report, profiles: Sequence[RankedProfile]) -> Iterator[Markup | None]:
    """Yield what stands below each rank: how the text begins, and the fold with all of it and the reasons."""
    views = profile_views(report.results(), {profile.id for profile in profiles})
    # Of more groups than the table has room for, nobody knows here which come in.
    has_all = report.summary.cases.n <= MOST_ROWS

    def link(position: int) -> str | None:
        return f"#case-{position + 1}" if has_all else None

    for profile in profiles:
        view: ProfileView | None = views.pop(profile.id, None)
        short = short_attributes(profile.attributes)
        yield None if view is None else render("profile_in_report.html", about=view, short=short, link=link)


def _rank_mark(profile: RankedProfile, axis: Axis) -> Markup:
    return interval_mark(standing(profile), profile.rank, profile.interval, axis)


def _numbers(profile: RankedProfile, design: RankingDesign) -> list[str]:
    numbers = [
        NONE if profile.rank is None else f"{profile.rank:,}",
        span_text(profile),
        NONE if profile.tier is None else str(profile.tier),
        score_text(profile.strength),
    ]
    if design.in_pairs:
        numbers += [share_text(profile.win_rate), interval_text(profile.win_rate_interval)]
        numbers.append(share_text(profile.win_rate_without_length))
    return numbers


def _slots(ranks: Ranks) -> list[Markup]:
    """Draw the mean place of what was shown in each slot; all would lie at one half."""
    places = ranks.position.test.places
    if not places:
        return []
    axis = Axis(left=0, right=1, line=0.5)
    rows = []
    for slot, place in enumerate(places, 1):
        mark = interval_mark(f"position {slot}: mean place {place:.2f}", place, None, axis)
        rows.append((f"position {slot}", mark, [score_text(place)]))
    title = tag("h2", "Mean place by the position in which a profile was shown")
    return [tag("div", title, forest(("position", "mean place"), rows, "always best to always worst"))]
