"""How steady the numbers of a run are, in sentences and as rows of a table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Final

from evenhand.domain.gates import GateResult
from evenhand.domain.summary import Discarded, JuryAgreement, Rate, Steadiness, Summary
from evenhand.domain.verdict import FLOAT_NOISE
from evenhand.reports.blocks import Grid
from evenhand.reports.cascades import cascade_sentences
from evenhand.reports.phrases import cost_text, counted, interval_text, score_text
from evenhand.reports.safe_text import plain
from evenhand.stats.agreement import FEWEST
from evenhand.stats.judge_noise import gate_flip
from evenhand.stats.repeats import passes_again

# A gate that comes out the same in more than 99 of 100 reruns is not worth a sentence.
_SURE: Final = 0.01


def steady_sentences(
    summary: Summary,
    gates: Sequence[GateResult] = (),
    *,
    has_verdicts: bool = True,
    written: Callable[[str, int], str] = plain,
) -> list[str]:
    """Say how far the pass rate could move, which gates are close, and how far juries agree.

    Also how far cascades went, and what was for nothing.

    >>> from evenhand.domain.summary import Tally
    >>> steady_sentences(Summary(cases=Tally(n=10, scored=8, passed=6, errors=2)))
    ['if the 2 cases that ended in error had all passed, the pass rate would be 0.80; if none had, 0.60']

    ``has_verdicts`` is false for runs that are not about them; ``written`` makes names safe for where they are shown.
    """
    sentences = []
    if has_verdicts:
        sentences += [
            *_verdict_sentences(summary),
            *(sentence for gate in gates for sentence in _gate_sentences(gate, summary)),
            *(agreement_sentence(written(name, 60), agreement) for name, agreement in summary.agreement.items()),
            *cascade_sentences(summary, written),
        ]
    return sentences + ([discarded_sentence(summary)] if summary.discarded else [])


def _verdict_sentences(summary: Summary) -> Iterator[str]:
    cases, steadiness = summary.cases, summary.steadiness
    if (bounds := cases.pass_rate_bounds) is not None and cases.decided:
        low, high = map(score_text, bounds)
        if cases.errors == 1:
            yield f"if the case that ended in error had passed, the pass rate would be {high}; if not, {low}"
        else:
            yield (
                f"if the {cases.errors:,} cases that ended in error had all passed, the pass rate would be {high}; "
                f"if none had, {low}"
            )
    if steadiness is not None:
        of_cases = f"{steadiness.flipped:,} of {counted(steadiness.cases, 'case')}"
        yield f"flip rate {rate_text(steadiness.flip_rate)}: {of_cases} passed in some samples and not in others"
        yield f"two samples of a case agree with probability {rate_text(steadiness.same_verdict)}"


def _gate_sentences(gate: GateResult, summary: Summary) -> Iterator[str]:
    """Say of a gate on all cases how likely a rerun would flip it, or that its limit lies within the interval."""
    cases = summary.cases
    rates = {"min_pass_rate": cases.pass_rate_interval, "min_mean": cases.interval}
    interval = rates.get(gate.name)
    if interval is None or gate.found is None:
        return
    if gate.name == "min_pass_rate" and summary.steadiness is not None:
        chance = rerun_passes(summary.steadiness, gate.wanted)
        if _SURE < chance < 1 - _SURE:
            yield (
                f"gate {gate.name}: by the judge and the target alone, a rerun of the same cases would meet it with "
                f"probability {chance:.2f}; two runs would disagree with probability {2 * chance * (1 - chance):.2f}"
            )
    elif interval.low < gate.wanted <= interval.high:
        more = "" if summary.repeat > 1 else "; with repeat: 3, the report says how likely a rerun would flip it"
        yield (
            f"gate {gate.name}: the limit, {gate.wanted:.4g}, lies within the interval {interval_text(interval)}, so "
            f"other cases of the same kind may flip it; {gate.name}_low asks for more than luck{more}"
        )


def rerun_passes(steadiness: Steadiness, wanted: float) -> float:
    """Return the chance that a rerun of the same cases reaches a pass rate, by what their samples did."""
    total = sum(cases for _, _, cases in steadiness.samples)
    chances = (chance for row in steadiness.samples for chance in [passes_again(*row[:2])] * row[2])
    return gate_flip(chances, math.ceil(wanted * total - FLOAT_NOISE)).passes


def agreement_sentence(name: str, agreement: JuryAgreement) -> str:
    """Say how far the jurors of a jury agree, or why that cannot be said.

    >>> agreement_sentence("panel", JuryAgreement(scale="interval", cases=40, jurors=3, difference=0.0))
    'jury panel: all 3 jurors gave the same score to every case (40 cases): alpha is not defined'
    """
    of_what = "labels" if agreement.scale == "nominal" else "scores"
    jury, cases, jurors = f"jury {name}", counted(agreement.cases, "case"), f"{agreement.jurors:,} jurors"
    if not agreement.cases:
        why = f"no case was scored by two jurors, of {counted(agreement.left_out, 'case')} in all"
        return f"{jury}: {why}: alpha is not defined"
    if agreement.alpha is None:
        sentence = f"{jury}: all {jurors} gave the same {of_what[:-1]} to every case ({cases}): alpha is not defined"
    else:
        around = _no_interval(agreement) if agreement.interval is None else interval_text(agreement.interval)
        sentence = (
            f"{jury}: Krippendorff's alpha of the {of_what} is {score_text(agreement.alpha)} {around}, where 1 is full "
            f"agreement and 0 what chance would give, over {cases} and {jurors}"
        )
        if agreement.difference is not None:
            sentence += f"; two jurors differ by {score_text(agreement.difference)} on average"
    if agreement.missing:
        sentence += f"; {counted(agreement.missing, 'score')} of jurors missing"
    if agreement.left_out:
        sentence += f"; {counted(agreement.left_out, 'case')} with fewer than two scores left out"
    return sentence


def _no_interval(agreement: JuryAgreement) -> str:
    units = agreement.cases if agreement.clusters is None else agreement.clusters
    if units < FEWEST:
        return f"(no interval: fewer than {FEWEST} {'cases' if agreement.clusters is None else 'clusters'})"
    return "(no interval: the jurors never differ)"


def discarded_sentence(summary: Summary) -> str:
    """Say how many replies were asked for again, which attempts did not count, and what these took.

    >>> from evenhand.domain.summary import Tally
    >>> spent = Discarded(replies=2, input_tokens=900, output_tokens=60, known_cost=0.03)
    >>> discarded_sentence(Summary(cases=Tally(), retries=1, discarded={"truncated": spent}))
    '1 reply was asked for again; 2 attempts did not count and took 900 tokens in and 60 out, $0.030'
    """
    total = _total(summary.discarded.values())
    again = f"{counted(summary.retries, 'reply was', 'replies were')} asked for again; " if summary.retries else ""
    return (
        f"{again}{counted(total.attempts, 'attempt')} did not count and took {_tokens_text(total)}, {_paid_text(total)}"
    )


def _total(parts: Iterable[Discarded]) -> Discarded:
    several = list(parts)
    names = [field.name for field in fields(Discarded)]
    return Discarded(**{name: sum(getattr(part, name) for part in several) for name in names})


def _tokens_text(part: Discarded) -> str:
    known = f"{part.input_tokens:,} tokens in and {part.output_tokens:,} out"
    if not part.uncounted:
        return known
    unknown = f"those of {counted(part.uncounted, 'reply', 'replies')} unknown"
    return f"{known} ({unknown})" if part.input_tokens or part.output_tokens else "an unknown number of tokens"


def _paid_text(part: Discarded) -> str:
    if not part.unpriced:
        return cost_text(part.known_cost)
    if not part.known_cost:
        return "at an unknown cost"
    return f"at least {cost_text(part.known_cost)}, since a price is unknown"


def rate_text(rate: Rate) -> str:
    """Write a rate with its interval.

    >>> rate_text(Rate(value=0.3))
    '0.30 (no interval)'
    """
    return f"{score_text(rate.value)} {'(no interval)' if rate.interval is None else interval_text(rate.interval)}"


def steady_grids(summary: Summary, *, has_verdicts: bool = True) -> list[Grid]:
    """Return the tables: pass@k and pass^k where cases were judged several times, and the attempts for nothing."""
    passes = summary.steadiness.passes if has_verdicts and summary.steadiness is not None else ()
    grids = []
    if passes:
        rows = [(str(row.k), rate_text(row.any), rate_text(row.all), f"{row.cases:,}") for row in passes]
        grids.append(Grid(title="pass@k and pass^k", headings=_PASSES, rows=tuple(rows)))
    if summary.discarded:
        parts = tuple(_discarded_row(kind, part) for kind, part in summary.discarded.items())
        grids.append(Grid(title="Attempts that did not count", headings=_DISCARDED, rows=parts))
    return grids


_PASSES: Final = ("k", "pass@k: any passes", "pass^k: all pass", "cases")
_DISCARDED: Final = ("why", "invalid replies", "failed calls", "tokens in", "tokens out", "cost")


def _discarded_row(kind: str, part: Discarded) -> tuple[str, ...]:
    at_least = "≥ " if part.uncounted else ""
    tokens = [f"{at_least}{number:,}" for number in (part.input_tokens, part.output_tokens)]
    if part.uncounted and not part.input_tokens + part.output_tokens:
        tokens = [_UNKNOWN] * 2
    paid = cost_text(part.known_cost)
    if part.unpriced:
        paid = f"≥ {paid}" if part.known_cost else _UNKNOWN
    return plain(kind, 60), f"{part.replies:,}", f"{part.failed_calls:,}", *tokens, paid


_UNKNOWN: Final = "unknown"
