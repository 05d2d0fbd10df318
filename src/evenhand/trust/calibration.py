"""Make the judge card of a run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from evenhand.domain.label import Draw, Label
from evenhand.domain.run import CaseResult, RunRecord
from evenhand.domain.summary import Rate
from evenhand.stats.corrected import labels_only
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.refusal import Refused
from evenhand.stats.score_difference import ScoreDifference, score_difference
from evenhand.stats.shares import share
from evenhand.trust.card import Basis, CurvePoint, Differing, JudgeCard
from evenhand.trust.correction import mean_by_people, rate_by_labels, rate_by_people
from evenhand.trust.evidence import Evidence, LabelledCase, definition_of, gather
from evenhand.trust.limits import TrustLimits
from evenhand.trust.marks import decides_alone, proposed_mark, separation, sure_marks
from evenhand.trust.next_step import next_step
from evenhand.trust.people import people_agreement, raters

MOST_DIFFERENCES: Final = 20
_BINS: Final = 10


def judge_card(
    results: Iterable[CaseResult],
    run: RunRecord,
    labels: Iterable[Label],
    draw: Draw | None = None,
    *,
    evaluator: str | None = None,
) -> JudgeCard:
    """Return what labels by people say of the judge: of one evaluator, or of the cases as a whole.

    The results are gone through once.
    """
    evidence = gather(results, run, labels, draw, evaluator)
    counts = JudgedLabels.of((case.passes, case.view.passes) for case in evidence.cases)
    views = list(evidence.views.values())
    passed = sum(view.passes for view in views)
    kappa, corrected, mark = counts.kappa(), rate_by_people(evidence, counts), proposed_mark(evidence, counts)
    differing = _differing(evidence)
    agreement, sensitivity, specificity = counts.agreement(), counts.sensitivity(), counts.specificity()
    wanted = TrustLimits.of(run.definition.get("trust"))
    found = {"agreement": agreement, "kappa": kappa, "sensitivity": sensitivity, "specificity": specificity}
    return JudgeCard(
        run=run.id,
        name=run.name,
        evaluator=evaluator,
        definition=definition_of(run, evaluator),
        pass_mark=evidence.pass_mark,
        judged=len(views),
        left_out=evidence.left_out,
        judge_passes=passed,
        judge_rate=share(passed, len(views), "judged cases"),
        judge_mean=math.fsum(view.score for view in views) / len(views) if views else None,
        basis=evidence.basis,
        scores=evidence.has_scores,
        labels=evidence.counts,
        counts=counts,
        agreement=agreement,
        kappa=kappa,
        sensitivity=sensitivity,
        specificity=specificity,
        bias=counts.bias(),
        auc=separation(evidence),
        score_difference=_score_difference(evidence),
        labels_only=rate_by_labels(evidence),
        corrected=corrected,
        corrected_mean=mean_by_people(evidence),
        proposed_mark=mark,
        sure=sure_marks(evidence),
        alone=decides_alone(evidence),
        people=people_agreement(evidence),
        raters=raters(evidence),
        curve=tuple(_curve(evidence)),
        differences=tuple(differing[:MOST_DIFFERENCES]),
        differing=len(differing),
        limits=wanted.check(found) if wanted.evaluator == evaluator else (),
        notes=tuple(_notes(evidence)),
        next_step=next_step(run, evidence, counts, evaluator=evaluator, kappa=kappa, corrected=corrected, mark=mark),
    )


def _score_difference(evidence: Evidence) -> ScoreDifference | Refused:
    if not evidence.has_scores:
        return Refused("people said pass or fail, and gave no scores")
    return score_difference([case.score for case in evidence.cases], [case.view.score for case in evidence.cases])


def _curve(evidence: Evidence) -> Iterator[CurvePoint]:
    """Yield what people said of cases by the judge's score, in tenths of the scale."""
    bins: dict[int, list[LabelledCase]] = {}
    for case in evidence.cases:
        # 0.7 * 10 is 7.000000000000001 for some sevens, and 6.999999999999999 for others.
        bins.setdefault(min(int(case.view.score * _BINS + 1e-9), _BINS - 1), []).append(case)
    for number, cases in sorted(bins.items()):
        said = [case.score if evidence.has_scores else float(case.passes) for case in cases]
        people = labels_only(said)
        yield CurvePoint(
            low=number / _BINS,
            high=(number + 1) / _BINS,
            cases=len(cases),
            judge=math.fsum(case.view.score for case in cases) / len(cases),
            people=Rate(value=said[0]) if isinstance(people, Refused) else people,
        )


def _differing(evidence: Evidence) -> list[Differing]:
    """Return the cases where judge and people come to another verdict, those that differ most first."""
    differing = [case for case in evidence.cases if case.passes != case.view.passes]
    differing.sort(key=lambda case: (-abs(case.view.score - case.score), case.position))
    return [
        Differing(
            case=case.case,
            position=case.position,
            judge=case.view.score,
            judge_passes=case.view.passes,
            people=case.score,
            people_pass=case.passes,
            labels=len(case.labels),
            question=case.question,
        )
        for case in differing
    ]


def _notes(evidence: Evidence) -> Iterator[str]:
    counts = evidence.counts
    if evidence.basis is Basis.NOT_DRAWN:
        yield (
            "The labels were not drawn at random: agreement, sensitivity and specificity are those of the labelled "
            "cases, and the corrected rate assumes that the judge errs as often on the others."
        )
    if evidence.basis is Basis.UNEQUAL:
        yield (
            "More cases were drawn where the judge is unsure: agreement, kappa, sensitivity and specificity are those "
            "of the labelled cases, and are probably better over all cases. The corrected rate allows for the chances."
        )
    if counts.unlabelled and evidence.basis in (Basis.DRAWN, Basis.UNEQUAL):
        yield (
            f"{counts.unlabelled:,} of {counts.drawn:,} drawn cases have no label. That is no harm as long as they "
            "come last in the queue; if they were skipped because they are hard, the card flatters the judge."
        )
    if counts.eligible is not None and counts.eligible != len(evidence.views) and evidence.basis is not Basis.NOT_DRAWN:
        yield (
            f"The draw was made among {counts.eligible:,} cases, and {len(evidence.views):,} are judged by now: the "
            "labels do not stand for those that had no chance of being drawn."
        )
    if evidence.has_scores:
        yield f"A score by a person counts as pass from the pass mark {evidence.pass_mark:g} on."
    if any(len(case.labels) > 1 for case in evidence.cases):
        yield "Where several people labelled a case, the majority counts, and a tie is a fail; of scores, the mean."
