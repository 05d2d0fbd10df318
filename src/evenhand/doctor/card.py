"""The judge card of an examination: its sentences and tables, in whichever format they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.doctor.examination import ALPHA, Examination, Outcome, ProbeResult
from evenhand.doctor.probe import Kind
from evenhand.domain.summary import Interval
from evenhand.reports.blocks import Block, Grid, Sentences
from evenhand.reports.comparison import p_text
from evenhand.reports.phrases import NONE, counted, interval_text

KIND_TITLES: Final = {
    Kind.CALIBRATION: "Does it tell right from wrong?",
    Kind.CONSISTENCY: "Does it say the same when asked the same?",
    Kind.BIAS: "Do things count that must not?",
    Kind.ATTACK: "Can an answer talk it into a pass?",
}
HEADINGS: Final = ("probe", "outcome", "harm", "opposite", "rate", "95 %", "limit", "p")
NO_CERTIFICATE: Final = (
    "A judge that passes may have faults that no probe looks for, and may do worse on your cases than on these: label "
    "some of its verdicts (evenhand label, evenhand calibrate)."
)


def headline(found: Examination) -> str:
    """Say in one sentence what came of it."""
    if found.failed:
        names = ", ".join(each.name for each in found.failed)
        return f"The judge failed {len(found.failed):,} of {counted(len(found.probes), 'probe')}: {names}."
    decided = len(found.probes) - len(found.undecided)
    if not decided:
        return "There is not enough data to say anything of the judge."
    rest = f"; {len(found.undecided):,} could not be decided" if found.undecided else ""
    return f"The judge passed {counted(decided, 'probe')}{rest}."


def parts(found: Examination) -> Iterator[Block]:
    """Yield the parts in the order in which they are read."""
    yield Sentences(lines=(headline(found), *attack_lines(found)))
    for kind, title in KIND_TITLES.items():
        if of_kind := [each for each in found.probes if each.probe.kind is kind]:
            yield table(title, of_kind)
    yield Sentences(title="What was found", lines=tuple(map(sentence, found.probes)))
    if found.accuracy:
        yield accuracy_table(found)
    yield Sentences(title="How to read this", lines=tuple(reading_lines(found)))


def attack_lines(found: Examination) -> Iterator[str]:
    """Say how often attacks succeeded."""
    rate = found.attack_success
    if rate is not None:
        around = "" if rate.interval is None else f" {interval_text(rate.interval)}"
        yield (
            f"attack success rate: {rate.value:.2f}{around}: the share of bad answers that pass with an attack, among "
            "those that fail without it"
        )
    if found.auc is not None:
        yield f"a good answer has a higher score than a bad one with a chance of {found.auc:.2f} (AUC; 0.5 is chance)"


def table(title: str, probes: list[ProbeResult]) -> Grid:
    """Return the probes of a kind as a table."""
    return Grid(title=title, headings=HEADINGS, rows=tuple(map(row, probes)), words=("outcome",))


def row(found: ProbeResult) -> tuple[str, ...]:
    """Return a probe as a row of a table."""
    rate = NONE if found.rate is None else f"{found.rate:.2f}"
    return (
        found.name,
        mark(found.outcome),
        f"{found.harmed:,} of {found.among:,}" if found.among else NONE,
        NONE if found.opposite is None else f"{found.opposite:,}",
        rate,
        interval_text(found.interval),
        f"{found.limit:g}",
        NONE if found.p is None else p_text(found.p),
    )


_MARKS: Final = {Outcome.PASSED: "✓", Outcome.FAILED: "✗", Outcome.NOT_ENOUGH_DATA: "–"}


def mark(outcome: Outcome) -> str:
    """Return an outcome with its sign."""
    return f"{_MARKS[outcome]} {outcome.word}"


def sentence(found: ProbeResult) -> str:
    """Say what was done in a probe, and what came of it."""
    unscored = f"; {counted(found.unscored, 'case')} without a score left out" if found.unscored else ""
    if found.outcome is Outcome.NOT_ENOUGH_DATA:
        return f"{found.name}: not enough data: {found.why}{unscored}"
    opposite = "" if found.opposite is None else f"; the opposite in {found.opposite:,}"
    harm = f"Harm in {found.harmed:,} of {found.among:,}: {found.probe.harm}"
    return f"{found.name}: {found.probe.about} {harm}{opposite}{unscored}"


def accuracy_table(found: Examination) -> Grid:
    """Return how often plain answers of each task were judged rightly."""
    rows = [(each.task, f"{each.right:,} of {each.among:,}") for each in found.accuracy]
    right, among = (sum(getattr(each, name) for each in found.accuracy) for name in ("right", "among"))
    rows.append(("all", f"{right:,} of {among:,}"))
    return Grid(title="Right verdicts by task", headings=("task", "right"), rows=tuple(rows))


def reading_lines(found: Examination) -> Iterator[str]:
    """Say how an outcome comes about, and what it does not mean."""
    plan = found.plan
    yield (
        f"{counted(plan.size, 'pair')} of answers, one known to be right and one known to be wrong, drawn with seed "
        f"{plan.seed}: {counted(found.cases, 'case')}, {found.unscored:,} without a score, {found.pending:,} pending"
    )
    yield (
        "a probe fails if the harm is above its limit and more than a judge shows that errs at random: p, corrected "
        f"for the number of probes (Holm), is at most {ALPHA:g}"
    )
    yield NO_CERTIFICATE


def interval_of(found: ProbeResult) -> tuple[float, float] | None:
    """Return the ends of the interval of a probe's share."""
    around: Interval | None = found.interval
    return None if around is None else (around.low, around.high)
