"""Drift for people: what the same anchors say of a judge then and now, as text, as a file and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.domain.summary import Rate
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.comparison import p_text
from evenhand.reports.json import SCHEMA_VERSION
from evenhand.reports.phrases import counted, interval_text, moment_text, score_text
from evenhand.reports.safe_text import plain, strict_json
from evenhand.stats.drift import ALARM, LEVEL
from evenhand.stats.refusal import Refused
from evenhand.trust.drift import DriftLimits, DriftReport

MOST_FLIPS: Final = 50
_NAME: Final = 60
_MORE: Final = (200, 400, 800, 1600)
_WANTED_CHANCE: Final = 0.8


def chance_sentence(limits: DriftLimits, anchors: int, *, labelled: bool) -> str:
    """Say, before anything is spent, how likely so many anchors show that an unchanged judge is unchanged."""
    chance = limits.chance(anchors, labelled=labelled)
    if chance is None:
        return "there are no anchors"
    words = (
        f"{counted(anchors, 'anchor')} would show an unchanged judge to be ok {chance:.0%} of the time, if "
        f"{limits.usual_flips:.0%} of its verdicts flip from one run to the next and a drop of {limits.max_drop:g} is "
        "allowed"
    )
    if not labelled:
        return f"{words}; without labels only flips can be counted"
    if chance < _WANTED_CHANCE:
        more = ((each, limits.chance(each, labelled=True) or 0) for each in _MORE if each > anchors)
        better = next(((each, found) for each, found in more if found >= _WANTED_CHANCE), None)
        words += "" if better is None else f"; {better[0]:,} anchors would {better[1]:.0%} of the time"
    return words


def outcome_sentence(report: DriftReport) -> str:
    """Say what was found."""
    drop = f"{report.max_drop:g}"
    if report.labelled:
        return {
            "ok": f"ok: the agreement with people has surely not fallen by more than {drop}",
            "drifted": "drifted: the judge agrees with people less than it did",
            "undecided": "undecided: the anchors show neither that the agreement with people fell, nor that it fell "
            f"by at most {drop}; more anchors would tell",
        }[report.outcome]
    return {
        "ok": f"ok: so few verdicts flipped that no agreement can have fallen by more than {drop}",
        "drifted": f"drifted: more verdicts flipped than the usual {report.usual_flips:.0%}",
        "undecided": f"undecided: the verdicts that flipped are neither more than the usual {report.usual_flips:.0%} "
        f"nor surely fewer than {drop} of all; labels by people would tell whether it matters",
    }[report.outcome]


def drift_parts(report: DriftReport) -> Iterator[Block]:
    """Yield the parts in the order in which they are read."""
    whole = "the cases as a whole" if report.evaluator is None else f"evaluator {plain(report.evaluator, _NAME)}"
    yield Sentences(
        lines=(f"Drift of the judge of {plain(report.name, _NAME)}: {whole}", *side_lines(report)),
    )
    yield from result_parts(report)


def result_parts(report: DriftReport) -> Iterator[Block]:
    """Yield what was found, without whose it is."""
    yield Sentences(title="Outcome", lines=(outcome_sentence(report), *_anchor_lines(report)))
    yield Sentences(title="Agreement with people", lines=tuple(_agreement_lines(report)))
    yield Sentences(title="Flips", lines=tuple(_flip_lines(report)))
    if report.flipped:
        yield flip_table(report)
    if report.notes:
        yield Sentences(title="Notes", lines=report.notes)


def side_lines(report: DriftReport) -> Iterator[str]:
    """Say when the judge was asked, and as which model it replied."""
    for word, run, moment, models in (
        ("then", report.then, report.judged_then, report.models_then),
        ("now", report.now, report.judged_now, report.models_now),
    ):
        asked = ", ".join(plain(name, _NAME) for name in report.judges)
        judge = f", judged by {asked}" if asked else ""
        replied = f", which replied as {', '.join(plain(name, _NAME) for name in models)}" if models else ""
        yield f"{word}: run {plain(run, _NAME)} of {moment_text(moment)}{judge}{replied}"


def _anchor_lines(report: DriftReport) -> Iterator[str]:
    left_out = "".join(f"; {count:,} {reason}" for reason, count in report.left_out.items())
    said = "that people labelled" if report.labelled else "without labels"
    yield f"{counted(report.anchors, 'anchor')} {said} were scored then and now{left_out}"
    if report.chance is not None:
        yield f"so many show an unchanged judge to be ok {report.chance:.0%} of the time"


def _agreement_lines(report: DriftReport) -> Iterator[str]:
    change = report.change
    if isinstance(change, Refused):
        yield f"no change of agreement: {change.reason}"
        return
    for word, rate in (("then", report.agreement_then), ("now", report.agreement_now)):
        if isinstance(rate, Rate):
            yield f"{word}, judge and people agreed on {score_text(rate.value)} {interval_text(rate.interval)}"
    around = f"[{change.interval.low:+z.3f}, {change.interval.high:+z.3f}] ({LEVEL:.0%} interval)"
    yield f"the change is {change.change:+z.3f} {around}, p {p_text(change.p)} by McNemar's exact test"
    yield f"it may fall by {report.max_drop:g}"


def _flip_lines(report: DriftReport) -> Iterator[str]:
    rate = report.flip_rate
    to_pass = sum(flip.passes for flip in report.flipped)
    share = "" if isinstance(rate, Refused) else f" ({score_text(rate.value)} {interval_text(rate.interval)})"
    yield (
        f"{report.flips:,} of {counted(report.anchors, 'verdict')} flipped{share}: {to_pass:,} to pass, "
        f"{report.flips - to_pass:,} to not pass; {report.usual_flips:.0%} are usual"
    )
    watch = report.watch
    after = watch.alarm_after
    alarm = "raised no alarm" if after is None else f"raised an alarm after {counted(after, 'anchor')}"
    yield f"the monitor of flips {alarm}: e-value {watch.e_value:.3g} at the end, alarm at {ALARM:g}"


def flip_table(report: DriftReport) -> Grid:
    """Return the anchors of which the judge says something else now."""
    words = {True: "pass", False: "fail", None: "–"}
    judge = {True: "pass", False: "not pass"}
    shown = report.flipped[:MOST_FLIPS]
    more = f", the first {MOST_FLIPS} of {report.flips:,}" if report.flips > MOST_FLIPS else ""
    rows = tuple(
        (plain(flip.case, _NAME), judge[not flip.passes], judge[flip.passes], words[flip.people]) for flip in shown
    )
    return Grid(
        title=f"Anchors that flipped{more}",
        headings=("case", "then", "now", "people"),
        rows=rows,
        words=("then", "now", "people"),
    )


def drift_text(report: DriftReport, *, width: int = 100) -> str:
    """Return it as text for a terminal."""
    return as_text(drift_parts(report), width=width)


def drift_json(report: DriftReport) -> str:
    """Return it as JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **report.as_dict()})


def drift_markdown(report: DriftReport) -> str:
    """Return it as Markdown."""
    return f"# Drift\n{as_markdown(drift_parts(report))}"
