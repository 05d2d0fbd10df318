"""How people agree: with each other, with the judge as one more rater, and each of them with the judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evenhand.domain.label import Label
from evenhand.stats.agreement import Rating, Ratings
from evenhand.stats.judged_labels import JudgedLabels
from evenhand.stats.refusal import Refused
from evenhand.trust.card import PeopleAgreement, RaterAgreement
from evenhand.trust.evidence import Evidence, LabelledCase, passes

# No person can have this name.
_JUDGE: Final = "\n"


def people_agreement(evidence: Evidence) -> PeopleAgreement | Refused:
    """Return how people agree on the cases that several of them labelled."""
    several = [case for case in evidence.cases if len(case.labels) > 1]
    if not several:
        return Refused("no case was labelled by two people; let a second person label some of the same cases")
    people, with_judge = Ratings(), Ratings()
    for case in several:
        ratings = [Rating(label.rater, label.score) for label in case.labels]
        people.add([(ratings, 0)])
        with_judge.add([([*ratings, Rating(_JUDGE, _said_by_judge(case, evidence))], 0)])
    return PeopleAgreement(people=people.agreement(), with_judge=with_judge.agreement())


def _said_by_judge(case: LabelledCase, evidence: Evidence) -> float:
    """Return what the judge said, as people were to say it: a score, or pass or fail."""
    return case.view.score if evidence.has_scores else float(case.view.passes)


def raters(evidence: Evidence) -> tuple[RaterAgreement, ...]:
    """Return how each person agrees with the judge."""
    said: dict[str, list[tuple[Label, LabelledCase]]] = {}
    for case in evidence.cases:
        for label in case.labels:
            said.setdefault(label.rater, []).append((label, case))
    return tuple(_rater(name, said[name], evidence.pass_mark) for name in sorted(said))


def _rater(name: str, said: Sequence[tuple[Label, LabelledCase]], mark: float) -> RaterAgreement:
    counts = JudgedLabels.of((passes(label, mark), case.view.passes) for label, case in said)
    return RaterAgreement(
        rater=name,
        labels=counts.n,
        passes=counts.human_passes,
        agreement=counts.agreement(),
        kappa=counts.kappa(),
    )
