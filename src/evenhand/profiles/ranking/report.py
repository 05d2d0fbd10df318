"""A ranking on a terminal and in files: sentences and tables; ``leaderboard`` has the section of an HTML file."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from evenhand.profiles.ranking.design import RankingDesign
from evenhand.profiles.ranking.fit import ranks_from
from evenhand.profiles.ranking.job import design_of
from evenhand.profiles.ranking.length import LEAST_PROFILES
from evenhand.profiles.ranking.result import CHANCE, MOST_IN_CYCLES, Agreement, RankedProfile, Ranks
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_report
from evenhand.reports.csv import cell
from evenhand.reports.effort import effort_sentence
from evenhand.reports.json import SCHEMA_VERSION, run_row
from evenhand.reports.phrases import NONE, counted, interval_text, judges_phrase, score_text
from evenhand.reports.report import Report, Writer, write as write_report
from evenhand.reports.safe_text import escaped, plain, strict_json
from evenhand.stats.bias import SIGN

MOST_SHOWN: Final = 50
_ID: Final = 60
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
        plain(profile.id, _ID),
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
    return ", ".join(plain(identity, _ID) for identity in ids[:_FAILED_SHOWN]) + more


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
    return f"{agreement.share:.0%}{interval} of pairs, where chance is {CHANCE:.0%} ({basis})"


def p_text(p: float) -> str:
    """Write a p value."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _trust(ranks: Ranks) -> Iterator[str]:
    yield position_sentence(ranks)
    yield _length_sentence(ranks)
    if ranks.cycles:
        way = " > ".join(plain(identity, _ID) for identity in (*ranks.cycles[0], ranks.cycles[0][0]))
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


COLUMNS: Final = (
    "rank", "low", "high", "tier", "id", "strength", "groups", "failures", "win_rate", "win_rate_low", "win_rate_high",
    "win_rate_without_length", "attributes",
)  # fmt: skip


def ranks_of(report: Report) -> Ranks:
    """Return the ranking of a report, which is fitted once, however many files are written."""
    return report.once(_fit)


def _fit(report: Report) -> Ranks:
    return ranks_from(report.results(), design_of(report.run.definition))


def terminal(report: Report, *, width: int = 100, colour: bool = False, html_written: bool = False) -> str:
    """Return the ranking for a terminal, the best first; what models and users wrote is made plain."""
    shown = _title(report, max(width - 40, 20))
    return as_report(report.run, shown, _blocks(report), width=width, colour=colour, html_written=html_written)


def in_short(report: Report) -> str:
    """Return who leads, and whether there is an order at all, in one line."""
    ranks = ranks_of(report)
    led = f", led by {', '.join(plain(identity, _ID) for identity in ranks.order[:3])}" if ranks.order else ""
    return f"{counted(len(ranks.order), 'profile')} in {counted(ranks.tiers, 'tier')}{led}; {headline(ranks)}"


def rows(report: Report) -> dict[str, Any]:
    """Return the ranking as plain JSON values."""
    ranks = ranks_of(report)
    design = design_of(report.run.definition).as_dict()
    return {"ranking": {**design, **ranks.numbers()}, "profiles": [profile.as_dict() for profile in ranks.profiles]}


def write(report: Report, path: str | Path) -> None:
    """Write the ranking to a file, whole or not at all; a JUnit file is about groups, as that of every run is."""
    write_report(report, path, instead=WRITERS)


def _write_csv(report: Report, out: TextIO) -> None:
    writer = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(COLUMNS)
    for profile in ranks_of(report).profiles:
        row = profile.as_dict()
        row["low"], row["high"] = profile.interval or (None, None)
        around = profile.win_rate_interval
        row["win_rate_low"], row["win_rate_high"] = (None, None) if around is None else (around.low, around.high)
        writer.writerow([cell(row[column]) for column in COLUMNS])


def _write_jsonl(report: Report, out: TextIO) -> None:
    out.writelines(strict_json(profile.as_dict()) + "\n" for profile in ranks_of(report).profiles)


def _write_json(report: Report, out: TextIO) -> None:
    about = {"schema_version": SCHEMA_VERSION, "run": run_row(report.run)}
    out.write(strict_json(about | rows(report)) + "\n")


def _write_markdown(report: Report, out: TextIO) -> None:
    out.write(f"# {escaped(_title(report, None), None)}\n{as_markdown(_blocks(report, most=None))}")


def _write_html(report: Report, out: TextIO) -> None:
    from evenhand.profiles.ranking.group_view import group_view  # noqa: PLC0415 - most reports need no templates
    from evenhand.profiles.ranking.leaderboard import section  # noqa: PLC0415
    from evenhand.reports.html.page import write_html  # noqa: PLC0415

    shown = section(report, ranks_of(report))
    write_html(report, out, section=shown, noun="group", case_view=group_view)


WRITERS: Final[dict[str, Writer]] = {
    "csv": _write_csv,
    "jsonl": _write_jsonl,
    "json": _write_json,
    "md": _write_markdown,
    "html": _write_html,
}


def _blocks(report: Report, *, most: int | None = MOST_SHOWN) -> Iterator[Block]:
    yield from blocks(ranks_of(report), design_of(report.run.definition), most=most)
    sentences = (report.run.reason, judges_phrase(report.summary), effort_sentence(report.summary, report.run))
    yield Sentences(lines=tuple(filter(None, sentences)))


def _title(report: Report, limit: int | None) -> str:
    design = design_of(report.run.definition)
    how = "in pairs" if design.in_pairs else f"in groups of {design.group_size}"
    return f"{plain(report.run.name, limit)}: a ranking {how}, {design.name}, {report.run.status.value}"
