"""A comparison of two runs for people: its sentences and tables, in whichever format they are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from evenhand.domain.comparison import (
    STANDINGS,
    Change,
    Compared,
    Comparison,
    LabelTable,
    RunsComparison,
    SeveralComparison,
    TargetComparison,
)
from evenhand.domain.paired_difference import LEVEL, Effect, PairedDifference
from evenhand.domain.run import RunRecord
from evenhand.domain.summary import Interval
from evenhand.domain.took import Took
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.corrected import compared_sentences
from evenhand.reports.json import SCHEMA_VERSION
from evenhand.reports.phrases import NONE, Standing, cost_text, counted, duration_text, score_text
from evenhand.reports.run_differences import difference_lines
from evenhand.reports.safe_text import plain, strict_json
from evenhand.stats.paired import CLUSTERED_T, MCNEMAR, ODDS, PAIRED_T, SIGN, SMALL

_WHY: Final = {
    MCNEMAR: "since all scores are 0 or 1",
    PAIRED_T: "since scores lie between 0 and {highest}",
    CLUSTERED_T: "since cases share clusters",
    SIGN: "since all cases differ by nearly the same amount",
}
# Of how many changed cases an HTML file has the texts.
MOST_CASES: Final = 100
_NAME: Final = 40
_CASE: Final = 60


def parts(comparison: Comparison) -> Iterator[Block]:
    """Yield the parts in the order in which they are read; what users wrote is in them as it is, but shortened."""
    comparison = comparison.as_shown()
    subject = comparison.subject
    yield Sentences(lines=(f"A: {_who(comparison.a)}", f"B: {_who(comparison.b)}"))
    if comparison.differing:
        yield Sentences(title="Compared although they were answered or judged differently", lines=comparison.differing)
    about = "" if comparison.evaluator is None else f"evaluator {plain(comparison.evaluator, _NAME)}: "
    yield Sentences(
        lines=(
            f"{about}{verdict_sentence(subject)}",
            *_numbers(subject, _corrected(comparison), comparison.highest),
            *left_out_lines(subject),
        )
    )
    if corrected := compared_sentences(comparison):
        yield Sentences(title="What people would say", lines=corrected)
    yield Sentences(title="What differs", lines=difference_lines(comparison.differences))
    if comparison.notes:
        yield Sentences(title="Notes", lines=comparison.notes)
    if comparison.evaluators:
        yield _evaluators(comparison.evaluators)
    if comparison.has_verdicts:
        yield _transitions(subject)
    for name, compared in comparison.evaluators.items():
        if compared.labels is not None and comparison.evaluator in (None, name):
            yield from _labels(name, compared.labels)
    if comparison.changed:
        yield _changes(comparison)


def verdict_sentence(compared: Compared) -> str:
    """Say which run is better, or that this does not show, or that there is too little to say."""
    paired = compared.scores
    if paired.interval is None or paired.difference is None:
        return f"not enough data: {paired.lacking}"
    size = f"{difference_text(paired.difference)} {around_text(paired.interval)}"
    over = f"over {counted(paired.n, 'case')}{_of_clusters(paired)}"
    if compared.better or compared.worse:
        return f"B is {'better' if compared.better else 'worse'} than A: {size} {over}"
    return f"no difference shown: {size} {over}"


def p_text(p: float | None) -> str:
    """Write a p value.

    >>> p_text(0.0414), p_text(0.0000012), p_text(None)
    ('0.041', '<0.001', '–')
    """
    return NONE if p is None else "<0.001" if p < 0.001 else f"{p:.3f}"


def difference_text(difference: float | None) -> str:
    """Write a difference, with its sign.

    >>> difference_text(0.1234), difference_text(-0.00001)
    ('+0.123', '+0.000')
    """
    return NONE if difference is None else f"{difference:+z.3f}"


def around_text(interval: Interval | None) -> str:
    """Write the interval of a difference."""
    return NONE if interval is None else f"[{interval.low:+z.3f}, {interval.high:+z.3f}]"


def _who(run: RunRecord) -> str:
    target = run.definition.get("target")
    named = target.get("model") if isinstance(target, Mapping) else target
    answered = f", answered by {plain(named, _NAME)}" if isinstance(named, str) else ""
    label = f" ({plain(run.label, _CASE)})" if run.label else ""
    return f"{run.id} {plain(run.name, _NAME)}{label}{answered}"


def _of_clusters(paired: PairedDifference) -> str:
    return "" if paired.clusters in (None, paired.n) else f" in {counted(paired.clusters or 0, 'cluster')}"


def _corrected(comparison: Comparison) -> str:
    """Say what a p value is worth that is one of several."""
    several = len(comparison.evaluators)
    if comparison.evaluator is None or several == 1:
        return ""
    return f" ({p_text(comparison.subject.p_holm)} corrected for {several} evaluators)"


def _numbers(subject: Compared, corrected: str, highest: int) -> Iterator[str]:
    paired = subject.scores
    if paired.n:
        yield f"mean {score_text(paired.mean_a, 3)} in A, {score_text(paired.mean_b, 3)} in B; {_outcomes(paired)}"
    if paired.test is None or paired.effect is None:
        return
    why = _WHY[paired.test].format(highest=highest)
    yield f"{paired.test} test, {why}: p {_equals(paired.p)}{corrected}; {_effect(paired.effect)}"
    yield from _hints(subject)
    if power := power_sentence(paired, highest):
        yield power


def _hints(compared: Compared) -> Iterator[str]:
    """Yield why what looks like a difference is not called one."""
    paired = compared.scores
    if paired.is_hint:
        yield "the interval excludes 0, but the exact test is not significant: treat this as a hint"
    elif (paired.better or paired.worse) and not (compared.better or compared.worse):
        yield "taken by itself this would be a difference; among so many tests it may be chance: treat it as a hint"
    elif paired.is_uncertain:
        yield (
            "the test is significant, but the interval, which allows for a few large differences that so few cases may "
            "not show, includes 0: treat this as a hint"
        )


def power_sentence(paired: PairedDifference, highest: int = 1) -> str:
    """Say how small a difference so many cases would show four times in five; nothing where that is unknown.

    ``highest`` is the highest score that there is.

    >>> power_sentence(PairedDifference(n=900, ties=900, lacking="spread", minimum_detectable=0.0193, needed=149))
    'With 900 cases, only differences of 0.019 or more would usually be detected.'
    """
    smallest = paired.minimum_detectable
    if smallest is None:
        return ""
    # More than the highest is more than scores can differ by.
    shown = "no difference" if smallest > highest else f"only differences of {smallest:.2g} or more"
    is_enough = paired.needed is None or paired.needed <= paired.n
    more = "" if is_enough else f"; to detect {SMALL * highest:g} you would need about {paired.needed:,}"
    return f"With {counted(paired.n, 'case')}{_of_clusters(paired)}, {shown} would usually be detected{more}."


def _effect(effect: Effect) -> str:
    if effect.value is None:
        return f"no {effect.name}, for lack of {'losses' if effect.name == ODDS else 'spread'}"
    return f"{effect.name} {effect.value:.2f}"


def _equals(p: float | None) -> str:
    text = p_text(p)
    return text.replace("<", "< ") if text.startswith("<") else f"= {text}"


def _outcomes(paired: PairedDifference) -> str:
    ways = ((paired.wins, "win", "wins"), (paired.ties, "tie", "ties"), (paired.losses, "loss", "losses"))
    return ", ".join(f"{count:,} {singular if count == 1 else plural}" for count, singular, plural in ways) + " for B"


def left_out_lines(subject: Compared, a: str = "A", b: str = "B") -> Iterator[str]:
    """Yield how many cases are left out of the numbers, and why."""
    ways = (
        (subject.only_a, f"only in {a}"),
        (subject.only_b, f"only in {b}"),
        (subject.unscored_a, f"without a score in {a}"),
        (subject.unscored_b, f"without a score in {b}"),
        (subject.unscored_both, "without a score in either"),
    )
    reasons = [f"{count:,} {why}" for count, why in ways if count]
    if reasons:
        pending = f" ({subject.pending:,} of these not judged yet)" if subject.pending else ""
        yield f"left out: {', '.join(reasons)}{pending}"
    if subject.bounds is not None and not subject.pending:
        low, high = (difference_text(end) for end in subject.bounds)
        yield f"with the missing scores, the difference could be anything from {low} to {high}"
    only_a, only_b = subject.errors
    if subject.errors_p is not None and subject.errors_p <= LEVEL:
        more, fewer = (b, a) if only_b > only_a else (a, b)
        yield (
            f"{more} ends in error more often than {fewer}: {max(only_a, only_b):,} cases where {fewer} does not, and "
            f"{min(only_a, only_b):,} the other way around (exact sign test, p {_equals(subject.errors_p)})"
        )


def _evaluators(evaluators: Mapping[str, Compared]) -> Grid:
    rows = tuple(_difference_row(name, compared) for name, compared in evaluators.items())
    title = "Evaluators" if len(rows) == 1 else f"Evaluators, p corrected for {len(rows)} of them (Holm)"
    return Grid(title=title, headings=("evaluator", "A", "B", "B - A", *_DIFFERENCE), rows=rows)


_DIFFERENCE: Final = ("95 %", "p", "Holm", "n", "win/tie/loss")


def _difference_row(name: str, compared: Compared) -> tuple[str, ...]:
    paired = compared.scores
    return (
        plain(name, _NAME),
        score_text(paired.mean_a, 3),
        score_text(paired.mean_b, 3),
        difference_text(paired.difference),
        around_text(paired.interval) if paired.lacking is None else "not enough data",
        p_text(paired.p),
        p_text(compared.p_holm),
        f"{paired.n:,}",
        f"{paired.wins:,}/{paired.ties:,}/{paired.losses:,}",
    )


def several_parts(comparison: SeveralComparison) -> Iterator[Block]:
    """Yield several targets or runs, each against the first, in the order in which they are read."""
    comparison = comparison.as_shown()
    others = {comparison.shown_name(name): compared for name, compared in comparison.others.items()}
    rows = tuple(_difference_row(name, compared) for name, compared in others.items())
    by = "" if comparison.evaluator is None else f" by {plain(comparison.evaluator, _NAME)}"
    correction = "" if len(rows) == 1 else f", p corrected for {len(rows)} {comparison.noun}s (Holm)"
    yield Grid(
        title=f"Compared with {plain(comparison.shown_name(comparison.baseline), _CASE)}{by}, case by case{correction}",
        headings=(comparison.noun, "baseline", "mean", "difference", *_DIFFERENCE),
        rows=rows,
    )
    notes = [
        f"{plain(name, _CASE)}: {line}"
        for name, compared in others.items()
        for line in left_out_lines(compared, "the baseline", f"the {comparison.noun}")
    ]
    if isinstance(comparison, TargetComparison) and any(took.priced or took.timed for took in comparison.took.values()):
        yield _took(comparison)
    if isinstance(comparison, RunsComparison):
        notes += [f"{name}: {note}" for name, those in comparison.notes.items() for note in those]
    if notes:
        yield Sentences(lines=tuple(notes))
    if isinstance(comparison, RunsComparison) and comparison.differences:
        lines = (f"{name}: {'; '.join(difference_lines(each))}" for name, each in comparison.differences.items())
        yield Sentences(title="What differs from A", lines=tuple(lines))
    if isinstance(comparison, RunsComparison) and comparison.refused:
        yield Sentences(title="Not compared", lines=tuple(f"{name}: {why}" for name, why in comparison.refused.items()))


def _took(comparison: TargetComparison) -> Grid:
    """Return what the answers of each target took; what is not known is said to be unknown, and is no 0."""
    rows = tuple(
        (
            plain(name, _NAME),
            f"{took.answers:,}",
            cost_text(took.whole_cost),
            cost_text(None if took.whole_cost is None else took.whole_cost / took.answers),
            _latency(took),
        )
        for name, took in comparison.took.items()
    )
    headings = (comparison.noun, "answers", "cost", "cost per answer", "mean latency")
    return Grid(title="Cost and latency of the answers", headings=headings, rows=rows)


def _latency(took: Took) -> str:
    if took.latency is None:
        return "unknown"
    known = "" if took.timed == took.answers else f" ({took.timed:,} known)"
    return f"{duration_text(took.latency)}{known}"


def _transitions(subject: Compared) -> Grid:
    states = [Standing(name) for name in STANDINGS]
    rows = [
        (f"{state.glyph} {state.word}", *(f"{count:,}" if count else "·" for count in row))
        for state, row in zip(states, subject.transitions, strict=True)
    ]
    headings = ("A, then B", *(f"{state.glyph} {state.word}" for state in states))
    return Grid(title="Verdicts, from A (rows) to B (columns)", headings=headings, rows=tuple(rows))


def _labels(evaluator: str, table: LabelTable) -> Iterator[Block]:
    names = [plain(label, _NAME) for label in table.labels]
    rows = tuple(
        (name, *(f"{count:,}" if count else "·" for count in row))
        for name, row in zip(names, table.counts, strict=True)
    )
    title = f"Labels of {plain(evaluator, _NAME)}, from A (rows) to B (columns)"
    yield Grid(title=title, headings=("A, then B", *names), rows=rows)
    if table.without:
        yield Sentences(lines=(f"{counted(table.without, 'case')} without a label in one of the runs",))


def _changes(comparison: Comparison) -> Block:
    changes, count = comparison.changes, comparison.changed
    if not changes:
        return Sentences(lines=(f"{counted(count, 'case')} changed, of which none is listed",))
    rows = tuple(
        (
            plain(change.case_id, _CASE),
            score_text(change.score_a, 3),
            score_text(change.score_b, 3),
            difference_text(change.difference),
            *([_turn(change)] if comparison.has_verdicts else ()),
        )
        for change in changes
    )
    which = f"all {counted(count, 'case')}" if len(rows) == count else f"{len(rows):,} of {counted(count, 'case')}"
    headings = ("case", "A", "B", "B - A", *(["verdict"] if comparison.has_verdicts else ()))
    return Grid(title=f"Changed, the largest first: {which}", headings=headings, rows=rows)


def _turn(change: Change) -> str:
    before, after = Standing(change.standing_a), Standing(change.standing_b)
    return before.word if before is after else f"{before.word} → {after.word}"


AnyComparison: TypeAlias = Comparison | SeveralComparison


def block_parts(comparison: AnyComparison) -> Iterator[Block]:
    """Yield the parts of a comparison of any kind."""
    return parts(comparison) if isinstance(comparison, Comparison) else several_parts(comparison)


def comparison_text(comparison: AnyComparison, *, width: int = 100) -> str:
    """Return a comparison as text that is safe to show, whatever ids and names have in them."""
    return as_text(block_parts(comparison), width=width)


def comparison_markdown(comparison: AnyComparison) -> str:
    """Return a comparison as Markdown, in which ids and names are escaped."""
    return f"# {comparison.title}\n{as_markdown(block_parts(comparison))}"


def comparison_json(comparison: AnyComparison) -> str:
    """Return a comparison as one line of strict JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **comparison.as_shown().as_dict()})
