"""What to do next, in one sentence: of all that labels leave open, what matters most."""

from __future__ import annotations

import math
from typing import Final

from evenhand.domain.run import RunRecord
from evenhand.stats.corrected import Corrected
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.kappa import Kappa
from evenhand.stats.pass_mark import FEWEST_OF_A_CLASS
from evenhand.stats.refusal import Refused
from evenhand.trust.card import Basis, ProposedMark
from evenhand.trust.evidence import Evidence

# So many labels are a beginning.
_USUAL: Final = 100
_FEWEST: Final = 20
# Intervals that are worth aiming at, as half their width.
_AIMS: Final = (0.1, 0.05, 0.03)
# By so much a pass mark must be better to be worth a change.
_WORTH: Final = 0.05


def next_step(
    run: RunRecord,
    evidence: Evidence,
    counts: JudgedLabels,
    *,
    evaluator: str | None,
    kappa: Kappa | Refused,
    corrected: Corrected | Refused,
    mark: ProposedMark | Refused,
) -> str:
    """Say what to do next."""
    labels, judged = evidence.counts, len(evidence.views)
    of = "" if evaluator is None else " --evaluator NAME"
    draw = f"evenhand label {run.id} --sample {min(_USUAL, max(judged, 1))}{of}"
    if not judged:
        return "Nothing can be labelled: no case of the run has an answer and a score."
    if evidence.basis is Basis.NONE:
        if labels.elsewhere:
            return _elsewhere(evidence)
        if labels.drawn and not (labels.stale or labels.unjudged):
            return f"Label the {labels.drawn:,} cases that were drawn: evenhand label {run.id}{of}"
        return f"Draw cases at random and label them: {draw}"
    if evidence.basis is Basis.NOT_DRAWN:
        return f"Draw cases at random and label them, so that the labels stand for all cases: {draw}"
    if labels.unlabelled:
        return f"Label the {_more(labels.unlabelled)} of the draw: evenhand label {run.id}{of}"
    if labels.cases < min(_FEWEST, judged):
        return f"Label more cases; {labels.cases} say little: {draw}"
    few = min(counts.human_passes, counts.n - counts.human_passes)
    if few < FEWEST_OF_A_CLASS and labels.cases < judged:
        rare = "pass" if counts.human_passes < counts.n - counts.human_passes else "fail"
        share = counts.human_passes / counts.n if rare == "pass" else 1 - counts.human_passes / counts.n
        more = judged - labels.cases
        if share:
            more = min(more, _tens(FEWEST_OF_A_CLASS / share - counts.n))
        return (
            f"Label {more:,} more cases: people said {rare} of {few} only, and at least {FEWEST_OF_A_CLASS} tell how "
            f"the judge treats those (evenhand label {run.id} --sample {labels.drawn + more}{of})"
        )
    if isinstance(kappa, Kappa) and not isinstance(kappa.interval, Refused) and kappa.interval.low <= 0:
        return (
            "Do not rely on this judge yet: its agreement with people may be chance. Read the cases where they differ, "
            "and make its criteria more exact."
        )
    if isinstance(mark, ProposedMark) and mark.honest - mark.current > _WORTH:
        return (
            f"Try the pass mark {mark.mark:g} instead of {evidence.pass_mark:g}: sensitivity plus specificity minus 1 "
            f"would be {mark.honest:.2f} instead of {mark.current:.2f}, on labels that it was not chosen on."
        )
    return _narrower(run, evidence, corrected, of)


def _narrower(run: RunRecord, evidence: Evidence, corrected: Corrected | Refused, of: str) -> str:
    """Say how many labels more would make the interval as narrow as is worth aiming at."""
    labels, left = evidence.counts, len(evidence.views) - evidence.counts.cases
    if isinstance(corrected, Refused):
        return f"The corrected pass rate needs more: {corrected.reason}."
    half = (corrected.interval.high - corrected.interval.low) / 2
    aim = next((aim for aim in _AIMS if aim < half), None)
    if aim is None or not left:
        return (
            f"Nothing more is needed for now: the corrected pass rate is known to ±{100 * half:.0f} points. Label again "
            "when the judge, its criteria or the kind of answers change."
        )
    # Widths shrink with the root of the number of labels.
    more = _tens(labels.cases * ((half / aim) ** 2 - 1))
    command = f"evenhand label {run.id} --sample {labels.drawn + min(more, left)}{of}"
    if more >= left:
        return f"Label the {_more(left)}: even all of them bring the interval to about ±{100 * aim:g} points ({command})"
    return f"Label {more:,} more to bring the interval under ±{100 * aim:g} points ({command})"


def _elsewhere(evidence: Evidence) -> str:
    name, count = max(evidence.counts.elsewhere.items(), key=lambda item: item[1])
    there = "for whole cases: leave --evaluator out" if name is None else f"for the evaluator {name!r:.80}: name it"
    return f"Choose what is to be checked: {count:,} labels are {there}."


def _more(count: int) -> str:
    return "case that is left" if count == 1 else f"{count:,} cases that are left"


def _tens(number: float) -> int:
    return max(10, math.ceil(number / 10 - 1e-9) * 10)
