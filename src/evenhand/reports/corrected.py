"""What people would say of a run's cases, by the labels that they gave to some: in sentences and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from evenhand.domain.summary import Corrected, Summary, Tally
from evenhand.reports.phrases import counted, interval_text, score_text
from evenhand.reports.safe_text import plain

if TYPE_CHECKING:
    from evenhand.domain.comparison import Comparison

_DRAWN: Final = {
    "drawn": "drawn at random",
    "unequal": "drawn at random with unequal chances",
    "not_drawn": "not drawn at random",
}
_MOST_NAMES: Final = 3
_NAME: Final = 60


Written: TypeAlias = Callable[[str, int], str]


def corrected_sentences(summary: Summary, *, written: Written = plain) -> list[str]:
    """Say what people would say of the cases, and of evaluators that they labelled, and what that rests on.

    Nothing where nobody has labelled a case. ``written`` makes names safe for where they are shown.
    """
    sentences = list(tally_sentences(summary.cases, written))
    for name, tally in summary.evaluators.items():
        sentences += [f"{written(name, _NAME)}: {sentence}" for sentence in tally_sentences(tally, written)]
    return sentences


def tally_sentences(tally: Tally, written: Written = plain) -> Iterator[str]:
    """Say the corrected pass rate and mean of a set of cases.

    >>> from evenhand.domain.summary import CorrectedNumbers, Interval
    >>> around = Interval(low=0.67, high=0.8, method="mover")
    >>> rate = Corrected(value=0.74, interval=around, method="post_stratified", labels=100, worth=140.8)
    >>> numbers = CorrectedNumbers(judged=200, labels=100, raters=("Ann",), basis="drawn", pass_rate=rate)
    >>> print(*tally_sentences(Tally(corrected=numbers)))
    corrected pass rate 0.74 [0.67, 0.80]: what people would pass, by the labels of Ann for 100 of 200 cases, drawn at \
random (worth 141 labels without the judge)
    """
    found = tally.corrected
    if found is None:
        return
    people, of = raters_text(found.raters, written), f"{found.labels:,} of {counted(found.judged, 'case')}"
    chosen = _DRAWN.get(found.basis, found.basis)
    numbers = [("pass rate", "what people would pass", found.pass_rate, found.pass_rate_problem)]
    if found.mean is not None or found.mean_problem:
        numbers.append(("mean", "the score that people would give", found.mean, found.mean_problem))
    for what, means, number, problem in numbers:
        if number is None:
            yield f"no corrected {what}, with {counted(found.labels, 'case')} labelled by people: {problem}"
        else:
            alone = " alone" if number.method == "labels_only" else ""
            around = f"{score_text(number.value)} {interval_text(number.interval)}"
            by = f"by the labels of {people}{alone} for {of}, {chosen}{'' if alone else _worth(number)}"
            yield f"corrected {what} {around}: {means}, {by}"


def compared_sentences(comparison: Comparison) -> tuple[str, ...]:
    """Say what people would say of both runs of a comparison, and plainly which of them nobody has labelled.

    Nothing where neither is labelled.
    """
    sides = ((comparison.a, comparison.corrected_a), (comparison.b, comparison.corrected_b))
    if not any(found for _, found in sides):
        return ()
    lines: list[str] = []
    for letter, (run, found) in zip("AB", sides, strict=True):
        if found is None:
            lines.append(
                f"{letter}: no labels that count, so nothing is known of what people would say of run {run.id}"
            )
        else:
            lines += [f"{letter}: {sentence}" for sentence in tally_sentences(Tally(corrected=found))]
    return (*lines, "the test is on the judge's scores: labels correct the numbers of each run by itself")


def _worth(number: Corrected) -> str:
    return "" if number.worth is None else f" (worth {counted(round(number.worth), 'label')} without the judge)"


def raters_text(raters: tuple[str, ...], written: Written = plain) -> str:
    """Name the people who labelled, or how many they are.

    >>> raters_text(("Ann", "Ben")), raters_text(("a", "b", "c", "d"))
    ('Ann and Ben', '4 people')
    """
    if len(raters) > _MOST_NAMES:
        return f"{len(raters):,} people"
    *first, last = [written(name, _NAME) for name in raters] or ["people"]
    return f"{', '.join(first)} and {last}" if first else last


def corrected_row(tally: Tally) -> dict[str, Any]:
    """Return the corrected numbers of a set of cases as plain JSON values; nothing where there are none."""
    if tally.corrected is None:
        return {}
    row = asdict(tally.corrected)
    return {"corrected": row | {"raters": list(tally.corrected.raters)}}
