"""Marks on the judge's scale: the best pass mark, scores that make a verdict sure, and when the judge decides alone."""

from __future__ import annotations

import math
from collections import Counter
from typing import Final

from evenhand.domain.verdict import FLOAT_NOISE, Verdict
from evenhand.stats.conformal import sure_verdicts
from evenhand.stats.correlation import auc
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.pass_mark import pass_mark
from evenhand.stats.refusal import Refused
from evenhand.stats.selective import Alone, accepted, alone_from
from evenhand.trust.card import Basis, ProposedMark, SureMarks
from evenhand.trust.correction import NO_LABELS
from evenhand.trust.evidence import Evidence

# Verdicts called sure are wrong in at most this share, and so is a judge that decides alone.
ALPHA: Final = 0.1
# The parts of all judged cases, by confidence, that are tested one after the other; fewer would hold too few labels.
_PARTS: Final = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
_NOT_EXCHANGEABLE: Final = (
    "this holds for cases that were drawn as the labelled ones were, and these labels were {how}; draw with equal "
    "chances (evenhand label RUN --sample 100)"
)
_HOW: Final = {Basis.UNEQUAL: "drawn with unequal chances", Basis.NOT_DRAWN: "not drawn at random"}


def separation(evidence: Evidence) -> float | Refused:
    """Return how often a case that people passed has a higher score than one that they failed."""
    if (refused := _one_score(evidence)) is not None:
        return refused
    return auc([case.view.score for case in evidence.cases], [case.passes for case in evidence.cases])


def proposed_mark(evidence: Evidence, counts: JudgedLabels) -> ProposedMark | Refused:
    """Return the pass mark that tells people's passes from their fails best."""
    if (refused := _one_score(evidence)) is not None:
        return refused
    scores, people = [case.view.score for case in evidence.cases], [case.passes for case in evidence.cases]
    found = pass_mark(scores, people, current=evidence.pass_mark)
    if isinstance(found, Refused):
        return found
    fails = counts.n - counts.human_passes
    return ProposedMark(
        mark=found.mark,
        apparent=found.apparent,
        honest=found.honest,
        optimism=found.optimism,
        current=counts.tp / counts.human_passes + counts.tn / fails - 1,
        by_fold=found.by_fold,
        agreement=found.agreement,
    )


def sure_marks(evidence: Evidence) -> SureMarks | Refused:
    """Return from which scores on verdicts are sure, and what that would make of all judged cases."""
    if (refused := _one_score(evidence) or _not_alike(evidence)) is not None:
        return refused
    found = sure_verdicts([case.view.score for case in evidence.cases], [case.passes for case in evidence.cases], ALPHA)
    if isinstance(found, Refused):
        return found
    verdicts = Counter(found.verdict(view.score) for view in evidence.views.values())
    return SureMarks(
        pass_above=found.pass_above,
        fail_below=found.fail_below,
        alpha=found.alpha,
        passed=verdicts[Verdict.PASS],
        borderline=verdicts[Verdict.BORDERLINE],
        failed=verdicts[Verdict.FAIL],
        thresholds=found.thresholds,
    )


def decides_alone(evidence: Evidence) -> Alone | Refused:
    """Return from which confidence on the judge may decide alone."""
    sure = [view.confidence for view in evidence.views.values() if view.confidence is not None]
    if not evidence.cases:
        return NO_LABELS
    if not sure:
        return Refused(
            "the judge gives no confidence: of several evaluators nobody knows how sure they are together, so make the "
            "card of one (--evaluator NAME)"
        )
    if (refused := _not_alike(evidence)) is not None:
        return refused
    sure.sort(reverse=True)
    # Chosen by the confidences of all cases, before any label is looked at.
    steps = {sure[math.ceil(part * len(sure)) - 1] for part in _PARTS}
    rated = [(case.view.confidence, case.view.passes != case.passes) for case in evidence.cases]
    known = [(confidence, wrong) for confidence, wrong in rated if confidence is not None]
    rows = accepted([confidence for confidence, _ in known], [wrong for _, wrong in known], steps)
    return alone_from(rows, errors=ALPHA)


def _one_score(evidence: Evidence) -> Refused | None:
    scores = [case.view.score for case in evidence.cases]
    if not scores:
        return NO_LABELS
    if max(scores) - min(scores) <= FLOAT_NOISE:
        return Refused(f"the judge gave all labelled cases the score {scores[0]:.2f}, which tells none from another")
    return None


def _not_alike(evidence: Evidence) -> Refused | None:
    how = _HOW.get(evidence.basis)
    return None if how is None else Refused(_NOT_EXCHANGEABLE.format(how=how))
