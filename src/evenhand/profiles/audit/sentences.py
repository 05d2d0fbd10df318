"""The numbers of an audit in sentences and tables, for whatever shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from evenhand.domain.summary import Interval
from evenhand.profiles.audit.effects import INTERACTION, MAIN, Effect
from evenhand.profiles.audit.factorial import LEAST_MIXED
from evenhand.profiles.audit.findings import effect_sentence, offset_sentence, refusal_sentence
from evenhand.profiles.audit.result import AuditNumbers
from evenhand.profiles.audit.selection import FOUR_FIFTHS, Impact
from evenhand.profiles.audit.uncertainty import CLUSTERS, REPLICATES, Uncertainty
from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.phrases import NONE, counted, interval_text, score_text

NO_CERTIFICATE: Final = (
    "An audit measures a configuration, on these profiles, on this day; it is not a legal certificate."
)
# Effects are shown by kind, each under its title.
KINDS: Final = {"Main effects": MAIN, "Interactions with groups": INTERACTION}
IMPACT_RATIO: Final = "impact ratio"
NOTE: Final = "note"
EFFECT_HEADINGS: Final = ("effect", "points", "95 %", "p (Holm)", "detectable", "replicate", "clustered", NOTE)
# The mark of the standard error that decides.
DECIDES: Final = "*"
CRITERIA: Final = "Criteria"
MOST_ROWS: Final = 60
# What a sentence tells one by one; a table has the others.
_MOST_FINDINGS: Final = 12
_MOST_CLASSES: Final = 4


def parts(numbers: AuditNumbers, *, most: int | None = MOST_ROWS) -> Iterator[Block]:
    """Yield the parts in the order in which they are read; ``most`` is how long a table may be, None for all of it."""
    yield Sentences(title=CRITERIA, lines=tuple(filter(str.strip, numbers.design.criteria.splitlines())))
    yield Sentences(lines=tuple(overview(numbers)))
    if lines := tuple(_merits(numbers)):
        yield Sentences(title="What the judge scores by", lines=_cut_lines(lines, most))
    for title, kind in KINDS.items():
        if rows := [row for _, row in effect_rows(numbers, kind)]:
            yield Grid(title=title, headings=EFFECT_HEADINGS, rows=_cut(rows, most), words=(NOTE,))
    if numbers.impacts:
        yield _impacts(numbers)
    if numbers.swaps:
        yield _swaps(numbers, most)
    yield _levels(numbers, most)
    if lines := tuple(_offsets(numbers)):
        yield Sentences(title="What offsets a group", lines=_cut_lines(lines, most))
    if numbers.aliases:
        lines = tuple(alias.words for alias in numbers.aliases)
        yield Sentences(title="What this fraction cannot separate", lines=_cut_lines(lines, most))
    yield Sentences(lines=tuple(_method(numbers)))


def overview(numbers: AuditNumbers) -> Iterator[str]:
    """Yield what was audited, what is missing, and what stands out."""
    design = numbers.design
    whole = numbers.taken == numbers.cells
    cells = f"all {numbers.cells:,}" if whole else f"{numbers.taken:,} of {numbers.cells:,}"
    size = f"{counted(numbers.profiles, 'profile')} with {cells} combinations of levels"
    yield f"{size}, {numbers.scored:,} scored; groups: {', '.join(design.groups)}"
    for level in numbers.missing:
        yield f"No profile with {level.factor} {level.level!r} has a score: its mean is missing, and not a zero."
    if numbers.failed:
        yield f"{numbers.failed:,} of {counted(numbers.calls, 'call')} gave no score; they are in no mean."
    if numbers.errors:
        others = [f"{sum(one.calls for one in rest):,} × others"] if (rest := numbers.errors[_MOST_CLASSES:]) else []
        classes = [one.words for one in numbers.errors[:_MOST_CLASSES]]
        yield f"Errors by class: {'; '.join([*classes, *others])}."
    if numbers.pending:
        yield f"{counted(numbers.pending, 'profile')} not scored yet; the numbers are about the others."
    yield from _findings(numbers)
    yield from _spread(numbers)


def _findings(numbers: AuditNumbers) -> Iterator[str]:
    """Yield what was found about groups, refusals first; and what could have been found, where nothing was."""
    yield from (refusal_sentence(refusal) for refusal in numbers.refusals if refusal.refused + refusal.other_refused)
    found = [effect for effect in numbers.effects if effect.found and effect.is_group]
    yield from (effect_sentence(effect, numbers.design.groups) for effect in found[:_MOST_FINDINGS])
    if len(found) > _MOST_FINDINGS:
        yield f"{len(found) - _MOST_FINDINGS:,} more effects of groups were found; the tables have them all."
    if found:
        return
    if not any(effect.p is not None for effect in numbers.effects if effect.is_group):
        yield "Too few profiles were scored to tell effects of groups from chance."
        return
    refused = any(refusal.found for refusal in numbers.refusals)
    beginning = "Among the scores that the judge gave, no" if refused else "No"
    mains = [effect.detectable or 0.0 for effect in numbers.effects if effect.is_group and effect.kind == MAIN]
    yield f"{beginning} effect of a group was found beyond chance.{_could_be_found(max(mains, default=0.0))}"


def _merits(numbers: AuditNumbers) -> Iterator[str]:
    """Yield what counts, of that which may count; nothing in a design without merits."""
    merits = [effect for effect in numbers.effects if effect.kind == MAIN and not effect.is_group]
    counting = [effect for effect in merits if effect.found]
    yield from (effect_sentence(effect, numbers.design.groups) for effect in counting)
    tested = dict.fromkeys(effect.factors[0] for effect in merits if effect.p is not None)
    if silent := [factor for factor in tested if factor not in {effect.factors[0] for effect in counting}]:
        yield f"No effect beyond chance: {', '.join(silent)}."


def _could_be_found(least: float) -> str:
    return f" A true effect of {least:.2f} points would be found four times in five." if least else ""


def effect_rows(numbers: AuditNumbers, kind: str) -> Iterator[tuple[Effect, tuple[str, ...]]]:
    """Yield the effects of a kind, each with the cells of its row."""
    mixed: dict[tuple[str, ...], list[str]] = {}
    for alias in numbers.aliases:
        if alias.is_whole:
            mixed.setdefault(alias.one, []).append(" × ".join(alias.other))
            mixed.setdefault(alias.other, []).append(" × ".join(alias.one))
    for effect in numbers.effects:
        if effect.kind == kind:
            others = mixed.get(effect.factors)
            notes = [
                f"may be {', '.join(others)} instead" if others else "",
                effect.lacking or found_words(effect),
            ]
            yield (
                effect,
                (
                    effect.name,
                    signed(effect.estimate),
                    signed_interval(effect.interval),
                    p_text(effect.p_holm),
                    score_text(effect.detectable),
                    _error(effect, effect.replicate, REPLICATES),
                    _error(effect, effect.clustered, CLUSTERS),
                    "; ".join(filter(None, notes)),
                ),
            )


def found_words(effect: Effect) -> str:
    """Say in a few words what was found, and for which profiles."""
    if not effect.found:
        return ""
    return "beyond chance" if effect.generalises else "beyond chance on these profiles"


def _error(effect: Effect, uncertainty: Uncertainty | None, basis: str) -> str:
    """Write a standard error, with a mark if it decides."""
    if uncertainty is None:
        return NONE
    return f"{uncertainty.error:.2f}{DECIDES if effect.decided_by == basis else ''}"


def signed(value: float | None) -> str:
    """Write a difference with its sign.

    >>> signed(0.5), signed(-0.25), signed(None)
    ('+0.50', '-0.25', '–')
    """
    if value is None:
        return NONE
    return f"{value:+z.2f}" if round(value, 2) else "0.00"


def signed_interval(interval: Interval | None) -> str:
    """Write an interval around a difference."""
    return NONE if interval is None else f"[{signed(interval.low)}, {signed(interval.high)}]"


def p_text(p: float | None) -> str:
    """Write a p value.

    >>> p_text(0.0421), p_text(0.00001), p_text(None)
    ('0.042', '<0.001', '–')
    """
    if p is None:
        return NONE
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def _spread(numbers: AuditNumbers) -> Iterator[str]:
    spread = numbers.spread
    if spread.mean is None:
        yield "No profile was scored twice, so it is unknown how consistent the judge is."
    elif spread.widest is None:
        yield f"The judge gave each of {counted(spread.profiles, 'profile')} the same score every time (spread 0.00)."
    else:
        around = interval_text(spread.interval)
        yield (
            f"Repeated scores of a profile have a spread of {spread.mean:.2f} points {around} on average, and of "
            f"{score_text(spread.largest)} at most ({spread.widest})."
        )


def _impacts(numbers: AuditNumbers) -> Grid:
    rows = tuple(
        (
            f"{impact.factor}: {impact.level}",
            f"{impact.selected:,} of {impact.profiles:,}",
            score_text(impact.rate),
            score_text(impact.ratio),
            interval_text(impact.interval),
            "; ".join(_impact_notes(impact)),
        )
        for impact in numbers.impacts
    )
    title = f"Selected at {numbers.design.select_at:g} or more, and the four-fifths rule"
    headings = ("level", "selected", "rate", IMPACT_RATIO, "95 %", NOTE)
    return Grid(title=title, headings=headings, rows=rows, words=(NOTE,))


def _impact_notes(impact: Impact) -> Iterator[str]:
    if impact.lacking:
        yield impact.lacking
    elif impact.level == impact.against:
        yield "highest rate"
    else:
        yield f"{'below' if impact.below_four_fifths else 'not below'} {FOUR_FIFTHS:.2f}"
    if impact.refused:
        yield f"{impact.refused:,} of {counted(impact.calls, 'call')} without a score"
    if impact.unjudged and impact.profiles:
        yield f"{counted(impact.unjudged, 'profile')} not judged"


def _swaps(numbers: AuditNumbers, most: int | None) -> Grid:
    rows = [
        (
            f"{swap.factor}: {swap.level} for {swap.against}",
            f"{swap.pairs:,}",
            signed(swap.difference),
            signed_interval(swap.interval),
            f"{swap.changed:,}",
            NONE if swap.flipped is None else f"{swap.flipped:,}",
            signed(swap.largest) + (f" ({swap.profiles[0]}, {swap.profiles[1]})" if swap.changed else ""),
        )
        for swap in numbers.swaps
    ]
    headings = ("group changed", "pairs", "points", "95 %", "score changed", "selection changed", "largest")
    return Grid(
        title="The same profile with a different group", headings=headings, rows=_cut(rows, most), words=("largest",)
    )


def _levels(numbers: AuditNumbers, most: int | None) -> Grid:
    rows = [
        (
            f"{level.factor}: {level.level}",
            "missing" if level.missing else score_text(level.mean),
            interval_text(level.interval),
            f"{level.scored:,} of {level.profiles:,}",
            f"{level.failed:,} of {level.calls:,}",
        )
        for level in numbers.levels
    ]
    return Grid(
        title="Levels", headings=("level", "mean", "95 %", "scored", "calls without a score"), rows=_cut(rows, most)
    )


def _offsets(numbers: AuditNumbers) -> Iterator[str]:
    """Yield what effects of groups are worth in merits; one that chance may explain is worth no sentence."""
    effects = {effect.name: effect for effect in numbers.effects}
    for offset in numbers.offsets:
        if effects[offset.group].found:
            yield offset_sentence(offset, effects[offset.group], effects[offset.merit])


def _method(numbers: AuditNumbers) -> Iterator[str]:
    who = "base profiles" if numbers.design.profiles else "profiles"
    tested = sum(effect.p is not None for effect in numbers.effects)
    corrected = (
        f" P values are corrected for {counted(tested, 'effect')} (Holm). Detectable is the smallest true effect that "
        "would be found four times in five, after that correction."
    )
    effects = "Effects are differences in points from 0 to 10, averaged over all other factors."
    yield f"{effects}{corrected if tested else ''}"
    if numbers.clusters:
        yield (
            "Each effect has two standard errors. The replicate error comes from the repetitions of each profile: "
            "against it, an effect says that the judge treats these profiles differently, beyond its own noise. The "
            f"clustered error (CR2) comes from {numbers.clusters:,} {who}: against it, an effect holds for other "
            f"profiles like these too. The error marked {DECIDES} decides, and gives interval and p value."
        )
        yield from _deciding(numbers)
        yield "Intervals of levels, swaps and impact ratios are clustered."
    if numbers.aliases:
        yield f"Correlations below {LEAST_MIXED} are not listed."
    yield NO_CERTIFICATE


def _deciding(numbers: AuditNumbers) -> Iterator[str]:
    """Say why which error decides."""
    if numbers.spread.mean is None:
        yield "No profile was scored twice, so that there is no replicate error, and the clustered error decides."
    elif not numbers.spread.largest:
        yield (
            "The judge gave the same score every time, so repetitions show no noise. The clustered error decides, with "
            "a minimum set by how the scores are rounded. A zero-width interval elsewhere says nothing about other "
            "profiles."
        )
    else:
        yield (
            "The replicate error decides, unless profiles differ by more than the judge's noise explains (F test, 5 %) "
            "or the scores behind an effect never differ; then the clustered error does."
        )


def _cut(rows: Sequence[tuple[str, ...]], most: int | None) -> tuple[tuple[str, ...], ...]:
    if most is None or len(rows) <= most:
        return tuple(rows)
    return (*rows[:most], (f"and {len(rows) - most:,} more", *[""] * (len(rows[0]) - 1)))


def _cut_lines(lines: tuple[str, ...], most: int | None) -> tuple[str, ...]:
    return lines if most is None or len(lines) <= most else (*lines[:most], f"and {len(lines) - most:,} more")
