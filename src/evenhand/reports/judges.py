"""Several judges for people: how they agree, what they cost, and which of them will do, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.domain.summary import Rate
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.json import SCHEMA_VERSION
from evenhand.reports.phrases import NONE, cost_text, counted, interval_text, score_text
from evenhand.reports.safe_text import plain, strict_json
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.trust.judge_panel import JudgesComparison, JudgeStanding, JuryGain

TITLE: Final = "Judges compared"
_NAME: Final = 40


def judges_parts(found: JudgesComparison) -> Iterator[Block]:
    """Yield the parts in the order in which they are read."""
    yield Sentences(lines=tuple(headline_lines(found)))
    yield from result_parts(found)


def headline_lines(found: JudgesComparison) -> Iterator[str]:
    """Say how many judges and cases there are."""
    yield f"{counted(len(found.judges), 'judge')} scored the same {counted(found.cases, 'case')}"
    if found.labelled:
        yield f"people labelled {counted(found.labelled, 'case')} of these"
    else:
        yield "nobody has labelled any of them, so it is not known which judge is right"


def result_parts(found: JudgesComparison) -> Iterator[Block]:
    """Yield what was found, without how much it rests on."""
    yield Sentences(title="Which judge", lines=tuple(choice_lines(found)))
    yield judge_table(found)
    if found.labelled:
        yield best_table(found)
    yield pair_table(found)
    yield Sentences(title="Jury", lines=tuple(jury_lines(found)))
    if found.notes:
        yield Sentences(title="Notes", lines=found.notes)


def choice_lines(found: JudgesComparison) -> Iterator[str]:
    """Say which judge is best, and which is the cheapest that will do."""
    if isinstance(found.best, Refused):
        yield f"no best judge: {found.best.reason}"
        return
    best = next(each for each in found.judges if each.name == found.best)
    yield f"{plain(found.best, _NAME)} agrees with people most often: {_rate(best.accuracy)}"
    if isinstance(found.cheapest, Refused):
        within = [plain(each.name, _NAME) for each in found.judges if each.within and each.name != found.best]
        yield f"no cheapest judge: {found.cheapest.reason}"
        yield (
            f"surely at most {found.margin:g} below it: {', '.join(within)}"
            if within
            else f"no other judge surely lies at most {found.margin:g} below it"
        )
        return
    chosen = next(each for each in found.judges if each.name == found.cheapest)
    if chosen.name == best.name:
        yield f"no cheaper judge surely lies at most {found.margin:g} below it"
        return
    yield (
        f"{plain(chosen.name, _NAME)} is the cheapest judge that surely lies at most {found.margin:g} below it: "
        f"{chosen.behind or 0.0:+z.3f} {_signed(chosen)}, for {cost_text(chosen.cost)} instead of "
        f"{cost_text(best.cost)} a judgment"
    )


def judge_table(found: JudgesComparison) -> Grid:
    """Return a row for each judge."""
    rows = tuple(
        (
            plain(each.name, _NAME),
            f"{each.scored:,}",
            f"{each.unscored:,}",
            _rate(each.pass_rate),
            _rate(each.with_majority),
            cost_text(each.cost),
        )
        for each in found.judges
    )
    headings = ("judge", "scored", "not scored", "passes", "agrees with most others", "cost a judgment")
    return Grid(title="Judges", headings=headings, rows=rows)


def best_table(found: JudgesComparison) -> Grid:
    """Return how far each judge agrees with people, and how far it is behind the best."""
    rows = tuple(
        (
            plain(each.name, _NAME),
            _rate(each.accuracy),
            _kappa(each.kappa),
            NONE if each.behind is None else f"{each.behind:+z.3f} {_signed(each)}".strip(),
            {True: "yes", False: "not shown", None: NONE}[each.within],
            cost_text(each.cost_per_correct),
        )
        for each in found.judges
    )
    headings = ("judge", "accuracy", "kappa", "minus the best", f"within {found.margin:g}", "cost a correct one")
    return Grid(title="Against people", headings=headings, rows=rows)


def pair_table(found: JudgesComparison) -> Grid:
    """Return how far each two judges agree."""
    rows = tuple(
        (
            f"{plain(pair.a, _NAME)} – {plain(pair.b, _NAME)}",
            f"{pair.cases:,}",
            _rate(pair.agreement),
            _kappa(pair.kappa),
        )
        for pair in found.pairs
    )
    return Grid(title="Agreement of each two judges", headings=("judges", "cases", "agreement", "kappa"), rows=rows)


def jury_lines(found: JudgesComparison) -> Iterator[str]:
    """Say what a jury gains over its best member."""
    gained: JuryGain | Refused = found.jury
    if isinstance(gained, Refused):
        yield f"nothing to say of a jury: {gained.reason}"
        return
    who = plain(gained.jury, _NAME)
    yield f"{who} is right on {_rate(gained.accuracy)} of the labelled cases"
    verb = "gains" if gained.interval.low > 0 else "loses" if gained.interval.high < 0 else "neither gains nor loses"
    sure = "" if verb.startswith(("gains", "loses")) else " for sure"
    yield (
        f"over its best member it {verb}{sure}: {gained.gain:+z.3f} "
        f"[{gained.interval.low:+z.3f}, {gained.interval.high:+z.3f}]"
    )
    names = ", ".join(plain(name, _NAME) for name in gained.members)
    yield (
        f"the best member, {names}, was chosen on other labels than those it is measured on (five parts): "
        f"{_rate(gained.best)}; chosen on all labels, it would seem better, and the gain {gained.apparent:+z.3f}"
    )


def _rate(rate: Rate | Refused) -> str:
    return NONE if isinstance(rate, Refused) else f"{score_text(rate.value)} {interval_text(rate.interval)}"


def _kappa(found: Kappa | Refused) -> str:
    if isinstance(found, Refused):
        return NONE
    around = "" if isinstance(found.interval, Refused) else f" {interval_text(found.interval)}"
    return f"{found.value:z.2f}{around}"


def _signed(each: JudgeStanding) -> str:
    around = each.behind_interval
    return "" if around is None else f"[{around.low:+z.3f}, {around.high:+z.3f}]"


def judges_text(found: JudgesComparison, *, width: int = 100) -> str:
    """Return it as text for a terminal."""
    return as_text(judges_parts(found), width=width)


def judges_markdown(found: JudgesComparison) -> str:
    """Return it as Markdown."""
    return f"# {TITLE}\n{as_markdown(judges_parts(found))}"


def judges_json(found: JudgesComparison) -> str:
    """Return it as JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **found.as_dict()})
