"""What people would say of all judged cases: which formula may be used depends on how the labels were drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

from evenhand.domain.summary import Corrected, Rate
from evenhand.stats.corrected import labels_only
from evenhand.stats.corrected_mean import corrected_mean
from evenhand.stats.corrected_rate import corrected_rate
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.refusal import Refused
from evenhand.stats.rogan_gladen import by_error_rates
from evenhand.stats.unequal_chances import Drawn, by_chances
from evenhand.trust.card import Basis
from evenhand.trust.evidence import Evidence, LabelledCase, View

NO_LABELS: Final = Refused("there are no labels that count")
_NOT_ALL: Final = Refused(
    "the labels were not drawn at random with equal chances, so they alone say nothing about all cases"
)
_NO_MEAN: Final = Refused(
    "the labels were not drawn at random, so they do not stand for the others; draw cases with evenhand label RUN "
    "--sample 100"
)
# The chance of a case without a label enters no sum.
_ANY: Final = 0.5


def rate_by_labels(evidence: Evidence) -> Rate | Refused:
    """Return the share of cases that people pass, from labels alone."""
    if evidence.basis is Basis.NONE:
        return NO_LABELS
    return labels_only([float(case.passes) for case in evidence.cases]) if evidence.basis is Basis.DRAWN else _NOT_ALL


def rate_by_people(evidence: Evidence, counts: JudgedLabels) -> Corrected | Refused:
    """Return the share of all judged cases that people would pass."""
    judged, passed = len(evidence.views), sum(view.passes for view in evidence.views.values())
    match evidence.basis:
        case Basis.NONE:
            return NO_LABELS
        case Basis.DRAWN:
            return corrected_rate(passed, judged, counts)
        case Basis.UNEQUAL:
            return _by_chances(evidence, lambda view: float(view.passes), lambda case: float(case.passes))
        case Basis.NOT_DRAWN:
            return by_error_rates(passed, judged, counts)


def mean_by_people(evidence: Evidence) -> Corrected | Refused:
    """Return the mean score that people would give to all judged cases."""
    if evidence.basis is Basis.NONE:
        return NO_LABELS
    if not evidence.has_scores:
        return Refused("people said pass or fail, and gave no scores")
    if evidence.basis is Basis.NOT_DRAWN:
        return _NO_MEAN
    if evidence.basis is Basis.UNEQUAL:
        return _by_chances(evidence, lambda view: view.score, lambda case: case.score)
    return corrected_mean(
        [case.score for case in evidence.cases],
        [case.view.score for case in evidence.cases],
        [view.score for view in evidence.views.values()],
    )


def _by_chances(
    evidence: Evidence, by_judge: Callable[[View], float], by_people: Callable[[LabelledCase], float]
) -> Corrected | Refused:
    chances = _chances(evidence)
    if isinstance(chances, Refused):
        return chances
    labelled = {case.position: case for case in evidence.cases}
    drawn = []
    for position, view in evidence.views.items():
        case = labelled.get(position)
        if case is None or case.chance is None:
            drawn.append(Drawn(by_judge(view), _ANY))
        else:
            drawn.append(Drawn(by_judge(view), chances[case.chance], by_people(case)))
    return by_chances(drawn)


def _chances(evidence: Evidence) -> dict[float, float] | Refused:
    """Return, by the chance of being drawn, that of being labelled: of each group, a random part is labelled so far."""
    drawn = Counter(one.p for one in evidence.draw.cases) if evidence.draw is not None else Counter[float]()
    labelled = Counter(case.chance for case in evidence.cases if case.chance is not None)
    for chance, size in drawn.items():
        if not labelled[chance]:
            return Refused(f"none of the {size} cases that were drawn with the chance {chance:.3g} is labelled yet")
    return {chance: chance * count / drawn.get(chance, count) for chance, count in labelled.items()}
