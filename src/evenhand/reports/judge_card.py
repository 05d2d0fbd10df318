"""A judge card for people: its sentences and tables, in whichever format they are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from evenhand.domain.summary import Corrected, Interval, JuryAgreement, Rate
from evenhand.domain.verdict import Thresholds
from evenhand.reports.blocks import Block, Grid, Sentences, as_markdown, as_text
from evenhand.reports.comparison import p_text
from evenhand.reports.json import SCHEMA_VERSION
from evenhand.reports.phrases import NONE, counted, interval_text, score_text
from evenhand.reports.safe_text import plain, strict_json
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.trust.card import Basis, JudgeCard, LabelCounts, PeopleAgreement, ProposedMark, SureMarks

_SURE_P: Final = 0.05
_NAME: Final = 60
_RESTS_ON: Final = {
    "post_stratified": "the judge's verdicts of all cases and the labels",
    "regression": "the judge's scores of all cases and the labels",
    "labels_only": "the labels alone",
    "rogan_gladen": "how often the judge errs on the labels (Rogan and Gladen)",
    "unequal_chances": "the judge's view of all cases and the labels, each by its chance of being drawn",
}
TABLE_HEADINGS: Final = ("people said", "judge passed", "judge did not")


def card_title(card: JudgeCard) -> str:
    """Say whose card it is."""
    return "Judge card" if card.evaluator is None else f"Judge card of {plain(card.evaluator, _NAME)}"


def card_parts(card: JudgeCard) -> Iterator[Block]:
    """Yield the parts in the order in which they are read."""
    whole = "the cases as a whole" if card.evaluator is None else f"evaluator {plain(card.evaluator, _NAME)}"
    yield Sentences(
        lines=(f"Judge card of run {card.run} {plain(card.name, _NAME)}: {whole}", *label_lines(card)),
    )
    yield Sentences(title="Next", lines=(card.next_step,))
    if card.limits:
        yield Sentences(title="Limits of the suite", lines=limit_lines(card))
    yield Sentences(title="Pass rate", lines=tuple(rate_lines(card)))
    yield Sentences(title="Agreement with people", lines=tuple(agreement_lines(card)))
    if card.counts.n:
        yield confusion(card)
    yield Sentences(title="Pass mark", lines=tuple(mark_lines(card)))
    yield Sentences(title="Borderline", lines=tuple(sure_lines(card)))
    yield Sentences(title="Deciding alone", lines=tuple(alone_lines(card)))
    yield Sentences(title="People", lines=tuple(people_lines(card)))
    if len(card.raters) > 1:
        yield rater_table(card)
    if card.differences:
        yield difference_table(card)
    if card.notes:
        yield Sentences(title="Notes", lines=card.notes)


def card_text(card: JudgeCard, *, width: int = 100) -> str:
    """Return the card as text for a terminal."""
    return as_text(card_parts(card), width=width)


def card_markdown(card: JudgeCard) -> str:
    """Return the card as Markdown."""
    return f"# {card_title(card)}\n{as_markdown(card_parts(card))}"


def card_json(card: JudgeCard) -> str:
    """Return the card as JSON."""
    return strict_json({"schema_version": SCHEMA_VERSION, **card.as_dict()})


def label_lines(card: JudgeCard) -> Iterator[str]:
    """Say how many cases are judged and labelled, by whom, and which labels do not count."""
    labels = card.labels
    left_out = "".join(f"; {count:,} {reason}" for reason, count in card.left_out.items())
    yield f"{counted(card.judged, 'case')} judged{left_out}"
    if labels.cases:
        names = ", ".join(plain(name, _NAME) for name in labels.raters[:5])
        more = f" and {len(labels.raters) - 5} more" if len(labels.raters) > 5 else ""
        yield f"{counted(labels.cases, 'case')} labelled by {names}{more}, {_drawn(card.basis, labels)}"
    yield from _not_counted(labels)


def _drawn(basis: Basis, labels: LabelCounts) -> str:
    if basis is Basis.NOT_DRAWN:
        return "not drawn at random"
    how = "with unequal chances" if basis is Basis.UNEQUAL else "with equal chances"
    return f"drawn at random {how} (seed {labels.seed})"


def _not_counted(labels: LabelCounts) -> Iterator[str]:
    if labels.stale:
        yield f"not counted: {counted(labels.stale, 'label')} of an answer that the run does not have any more"
    if labels.unjudged:
        yield f"not counted: {counted(labels.unjudged, 'label')} of cases without a score"
    if labels.not_drawn:
        yield (
            f"not counted: {counted(labels.not_drawn, 'label')} given outside the draw, which do not stand for other "
            "cases"
        )
    for name, count in labels.elsewhere.items():
        of = "whole cases" if name is None else f"evaluator {plain(name, _NAME)}"
        yield f"not counted: {counted(count, 'label')} for {of}"


def limit_lines(card: JudgeCard) -> tuple[str, ...]:
    """Say which limits of the suite are met."""
    return tuple(f"{'✓ met' if limit.ok else '✗ missed'}: {limit.words}" for limit in card.limits)


def rate_lines(card: JudgeCard) -> Iterator[str]:
    """Say what the judge says of all cases, and what people would say."""
    yield _or_why("the judge passes {} of all judged cases", "pass rate", card.judge_rate)
    yield from _corrected_lines(card.corrected, "people would pass", "a corrected pass rate")
    if isinstance(card.labels_only, Rate):
        yield f"labels alone: {rate_text(card.labels_only)}"
    if card.scores:
        yield f"the judge's mean score of all cases is {score_text(card.judge_mean)}"
        yield from _corrected_lines(card.corrected_mean, "the mean score by people would be", "a corrected mean")


def _corrected_lines(found: Corrected | Refused, says: str, what: str) -> Iterator[str]:
    if isinstance(found, Refused):
        yield f"no {what.removeprefix('a ')}: {found.reason}"
        return
    worth = ""
    if found.worth is not None and found.method != "labels_only":
        worth = f", worth {counted(round(found.worth), 'label')} without the judge"
    yield (
        f"{says} {score_text(found.value)} {interval_text(found.interval)}: this rests on {_RESTS_ON[found.method]} "
        f"({counted(found.labels, 'label')}{worth})"
    )
    if found.note:
        yield found.note


def agreement_lines(card: JudgeCard) -> Iterator[str]:
    """Say how often the judge is right, and to which side it errs."""
    yield _or_why("judge and people agree on {} of the labelled cases", "agreement", card.agreement)
    yield kappa_line(card.kappa)
    yield _or_why("of what people pass, the judge passes {} (sensitivity)", "sensitivity", card.sensitivity)
    yield _or_why("of what people fail, the judge does not pass {} (specificity)", "specificity", card.specificity)
    yield bias_line(card)
    if isinstance(card.auc, Refused):
        yield f"no AUC: {card.auc.reason}"
    else:
        yield (
            f"of two cases, one that people pass and one that they fail, the judge gives the first a higher score with "
            f"a chance of {card.auc:.2f} (AUC; 0.5 is chance)"
        )
    if not isinstance(card.score_difference, Refused):
        found = card.score_difference
        yield (
            f"the judge's scores differ from people's by {found.absolute:.2f} on average; judge minus people is "
            f"{found.mean:+z.2f}"
        )


def kappa_line(found: Kappa | Refused) -> str:
    """Say the agreement beyond chance."""
    if isinstance(found, Refused):
        return f"no kappa: {found.reason}"
    if isinstance(found.interval, Refused):
        return f"kappa {found.value:z.2f}, without an interval: {found.interval.reason}"
    return f"kappa is {found.value:z.2f} {interval_text(found.interval)} (1 is full agreement, 0 is chance)"


def bias_line(card: JudgeCard) -> str:
    """Say to which side the judge errs."""
    found = card.bias
    if isinstance(found, Refused):
        return f"no bias: {found.reason}"
    around = f"[{found.interval.low:+z.2f}, {found.interval.high:+z.2f}], p {p_text(found.p)}"
    points = f"{abs(100 * found.value):.0f} points"
    if found.p >= _SURE_P:
        return f"no bias shown: the judge's pass rate minus that of people is {found.value:+z.2f} {around}"
    side, more = ("lenient", "more") if found.value > 0 else ("strict", "less")
    return f"the judge is too {side}: it passes {points} {more} than people do ({found.value:+z.2f} {around})"


def confusion(card: JudgeCard) -> Grid:
    """Return how many cases people and the judge passed."""
    found = card.counts
    rows = (("pass", str(found.tp), str(found.fn)), ("fail", str(found.fp), str(found.tn)))
    return Grid(title="What people and the judge said", headings=TABLE_HEADINGS, rows=rows)


def mark_lines(card: JudgeCard) -> Iterator[str]:
    """Say which pass mark is best, and how good it is on labels that it was not chosen on."""
    found: ProposedMark | Refused = card.proposed_mark
    if isinstance(found, Refused):
        yield f"no proposal: {found.reason}"
        return
    same = abs(found.mark - card.pass_mark) < 1e-9
    yield (
        f"the pass mark {found.mark:g} tells people's passes from their fails best"
        f"{', as the one in use does' if same else f'; in use is {card.pass_mark:g}'}"
    )
    yield (
        f"sensitivity plus specificity minus 1 is {found.honest:z.2f} on labels that the mark was not chosen on, "
        f"{found.apparent:z.2f} on its own ones (optimism {found.optimism:z.2f}); now it is {found.current:z.2f}"
    )
    if len(set(found.by_fold)) > 1:
        marks = ", ".join(f"{mark:g}" for mark in sorted(set(found.by_fold)))
        yield f"parts of the labels propose {marks}: the further apart, the more the mark is a matter of luck"


def sure_lines(card: JudgeCard) -> Iterator[str]:
    """Say from which scores on verdicts are sure."""
    found: SureMarks | Refused = card.sure
    if isinstance(found, Refused):
        yield f"no thresholds: {found.reason}"
        return
    yield (
        f"a score above {found.pass_above:g} is a sure pass and one below {found.fail_below:g} a sure fail: at most "
        f"{found.alpha:.0%} of people's fails pass, and of their passes fail; what lies between is borderline"
    )
    yield f"of all cases, {found.passed:,} would pass, {found.borderline:,} be borderline and {found.failed:,} fail"
    if isinstance(found.thresholds, Thresholds):
        marks = found.thresholds
        yield f"in a suite: thresholds: {{pass: {marks.pass_at:g}, borderline: {marks.borderline_at:g}}}"
    else:
        yield f"not for a suite: {found.thresholds.reason}"


def alone_lines(card: JudgeCard) -> Iterator[str]:
    """Say from which confidence on the judge may decide alone."""
    if isinstance(card.alone, Refused):
        yield card.alone.reason
    else:
        last = next(row for row in card.alone.tested if row.confidence == card.alone.confidence)
        yield (
            f"from a confidence of {card.alone.confidence:.2f} on the judge may decide alone: it was wrong in "
            f"{last.errors:,} of {last.cases:,} such labelled cases, and errs in at most 10% of all with 90% certainty"
        )


def people_lines(card: JudgeCard) -> Iterator[str]:
    """Say how people agree with each other, and with the judge as one more rater."""
    found: PeopleAgreement | Refused = card.people
    if isinstance(found, Refused):
        yield found.reason
        return
    yield f"on {counted(found.people.cases, 'case')} that several people labelled, {_alpha(found.people)}"
    yield f"with the judge as one more rater, {_alpha(found.with_judge)}"


def _alpha(found: JuryAgreement) -> str:
    if found.alpha is None:
        return "Krippendorff's alpha is not defined, since all said the same"
    return f"Krippendorff's alpha is {found.alpha:z.2f} {_around(found.interval)}".rstrip()


def _around(interval: Interval | None) -> str:
    return "" if interval is None else interval_text(interval)


def rater_table(card: JudgeCard) -> Grid:
    """Return each person with how they agree with the judge."""
    rows = tuple(
        (
            plain(one.rater, _NAME),
            f"{one.labels:,}",
            f"{one.passes:,}",
            NONE if isinstance(one.agreement, Refused) else rate_text(one.agreement),
            NONE if isinstance(one.kappa, Refused) else score_text(one.kappa.value),
        )
        for one in card.raters
    )
    return Grid(headings=("person", "labels", "pass", "agrees with the judge", "kappa"), rows=rows)


def difference_table(card: JudgeCard) -> Grid:
    """Return the cases where judge and people differ most."""
    listed = len(card.differences)
    of = f"the {listed} that differ most, of {card.differing:,}" if listed < card.differing else f"{listed:,}"
    rows = tuple(
        (
            plain(one.case, _NAME),
            f"{score_text(one.judge)} {'pass' if one.judge_passes else 'no pass'}",
            f"{score_text(one.people)} {'pass' if one.people_pass else 'fail'}",
            plain(one.question, _NAME),
        )
        for one in card.differences
    )
    headings = ("case", "judge", "people", "question")
    return Grid(title=f"Where judge and people differ: {of}", headings=headings, rows=rows, words=headings[1:])


def rate_text(rate: Rate) -> str:
    """Write a share with its interval."""
    return f"{score_text(rate.value)} {_around(rate.interval)}".rstrip()


def _or_why(words: str, name: str, found: Rate | Refused) -> str:
    return f"no {name}: {found.reason}" if isinstance(found, Refused) else words.format(rate_text(found))
