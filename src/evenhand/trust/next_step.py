"""What to do next, in one sentence: of all that labels leave open, what matters most."""

from __future__ import annotations

import math
import shlex
from typing import Final

from evenhand.domain.run import RunRecord
from evenhand.domain.summary import Corrected
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
    of = "" if evaluator is None else f" --evaluator {shlex.quote(evaluator)}"
    return (
        _labels_first(run, evidence, of)
        or _more_of_a_class(run, evidence, counts, of)
        or _judge_first(evidence, kappa, mark)
        or _narrower(run, evidence, corrected, of)
    )


def _labels_first(run: RunRecord, evidence: Evidence, of: str) -> str | None:
    """Say how to come to labels that stand for all cases."""
    labels, judged = evidence.counts, len(evidence.views)
    draw = f"evenhand label {run.id} --sample {min(_USUAL, max(judged, 1))}{of}"
    if not judged:
        return "Nothing can be labelled: no case of the run has an answer and a score."
    if evidence.basis is Basis.NONE and labels.elsewhere:
        return _elsewhere(evidence)
    if evidence.basis in (Basis.NONE, Basis.NOT_DRAWN) and not labels.drawn:
        return f"Draw cases at random and label them, so that the labels stand for all cases: {draw}"
    if labels.unlabelled:
        return f"Label the {_more(labels.unlabelled)} of the draw: evenhand label {run.id}{of}"
    if labels.cases < min(_FEWEST, judged):
        return f"Label more cases; {labels.cases} say little: {draw}"
    return None


def _more_of_a_class(run: RunRecord, evidence: Evidence, counts: JudgedLabels, of: str) -> str | None:
    """Say how many labels more would hold enough passes, or fails, by people."""
    labels, left = evidence.counts, len(evidence.views) - evidence.counts.cases
    fails = counts.n - counts.human_passes
    few, rare = (counts.human_passes, "pass") if counts.human_passes < fails else (fails, "fail")
    if few >= FEWEST_OF_A_CLASS or not left:
        return None
    more = min(left, _tens(counts.n * (FEWEST_OF_A_CLASS / few - 1))) if few else left
    return (
        f"Label {more:,} more: people said {rare} {few} times only, and at least {FEWEST_OF_A_CLASS} tell how the "
        f"judge treats such answers (evenhand label {run.id} --sample {labels.drawn + more}{of})"
    )


def _judge_first(evidence: Evidence, kappa: Kappa | Refused, mark: ProposedMark | Refused) -> str | None:
    """Say what is to be changed about the judge before more labels are worth their while."""
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
    return None


def _narrower(run: RunRecord, evidence: Evidence, corrected: Corrected | Refused, of: str) -> str:
    """Say how many labels more would make the interval as narrow as is worth aiming at."""
    labels, left = evidence.counts, len(evidence.views) - evidence.counts.cases
    if isinstance(corrected, Refused):
        return f"The corrected pass rate needs more: {corrected.reason}."
    half = (corrected.interval.high - corrected.interval.low) / 2
    aim = next((aim for aim in _AIMS if aim < half), None)
    if aim is None or not left:
        return (
            f"Nothing more is needed for now: the corrected pass rate is known to ±{100 * half:.0f} points. Label "
            "again when the judge, its criteria or the kind of answers change."
        )
    # Widths shrink with the root of the number of labels.
    more = _tens(labels.cases * ((half / aim) ** 2 - 1))
    command = f"evenhand label {run.id} --sample {labels.drawn + min(more, left)}{of}"
    if more >= left:
        return (
            f"Label the {_more(left)}: even all of them bring the interval to about ±{100 * aim:g} points ({command})"
        )
    return f"Label {more:,} more to bring the interval under ±{100 * aim:g} points ({command})"


def _elsewhere(evidence: Evidence) -> str:
    name, count = max(evidence.counts.elsewhere.items(), key=lambda item: item[1])
    there = "for whole cases: leave --evaluator out" if name is None else f"for the evaluator {name!r:.80}: name it"
    are = "1 label is" if count == 1 else f"{count:,} labels are"
    return f"Choose what is to be checked: {are} {there}."


def _more(count: int) -> str:
    return "case that is left" if count == 1 else f"{count:,} cases that are left"


def _tens(number: float) -> int:
    return max(10, math.ceil(number / 10 - 1e-9) * 10)
