"""The judge card: everything that labels by people say of a judge, and what they do not say, with the reasons."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from evenhand.domain.gates import GateResult
from evenhand.domain.summary import Corrected, JuryAgreement, Rate
from evenhand.domain.verdict import Thresholds
from evenhand.stats.judged_labels import Bias, JudgedLabels
from evenhand.stats.kappa import Kappa
from evenhand.stats.refusal import Refused
from evenhand.stats.score_difference import ScoreDifference
from evenhand.stats.selective import Alone
from evenhand.trust.anchors import AnchorSet


class Basis(StrEnum):
    """What the labels stand for.

    ``drawn`` at random with equal chances, they stand for all cases; ``unequal`` are drawn with chances that differ;
    ``not_drawn`` ones were chosen by somebody, and stand for themselves.
    """

    NONE = "none"
    DRAWN = "drawn"
    UNEQUAL = "unequal"
    NOT_DRAWN = "not_drawn"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelCounts:
    """How many labels there are, and what became of them.

    ``counted`` labels on ``cases`` cases count, given by ``raters``. ``not_drawn`` are those outside the draw, which do
    not count beside drawn ones. ``stale`` labels are of an answer that the run does not have any more, ``unjudged``
    ones of cases without a score, ``elsewhere`` how many there are for other evaluators (None: whole cases). Of
    ``drawn`` cases with the ``seed``, ``unlabelled`` have no label that counts; ``eligible`` cases could be drawn.
    """

    counted: int = 0
    cases: int = 0
    raters: tuple[str, ...] = ()
    not_drawn: int = 0
    stale: int = 0
    unjudged: int = 0
    elsewhere: Mapping[str | None, int] = field(default_factory=dict)
    drawn: int = 0
    unlabelled: int = 0
    eligible: int | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterAgreement:
    """How one person agrees with the judge, over ``labels`` of theirs."""

    rater: str
    labels: int
    passes: int
    agreement: Rate | Refused
    kappa: Kappa | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class PeopleAgreement:
    """How people agree on the cases that several of them labelled, and how they do with the judge as one more rater."""

    people: JuryAgreement
    with_judge: JuryAgreement


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedMark:
    """The pass mark that tells people's passes from their fails best.

    ``apparent`` is its sensitivity + specificity - 1 on the labels that it was chosen on, ``honest`` the same on labels
    that it was not chosen on (over ``by_fold`` marks), ``current`` that of the verdicts now. ``agreement`` is honest.
    """

    mark: float
    apparent: float
    honest: float
    optimism: float
    current: float
    by_fold: tuple[float, ...]
    agreement: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class SureMarks:
    """From which scores on verdicts are sure: at most a share ``alpha`` of people's fails passes, and of passes fails.

    A score above ``pass_above`` passes and one below ``fail_below`` fails; ``passed``, ``borderline`` and ``failed``
    count all judged cases by that. ``thresholds`` are the same for a suite.
    """

    pass_above: float
    fail_below: float
    alpha: float
    passed: int
    borderline: int
    failed: int
    thresholds: Thresholds | Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePoint:
    """Labelled cases with scores from ``low`` to ``high``: the judge's mean, and the share, or mean, by people."""

    low: float
    high: float
    cases: int
    judge: float
    people: Rate


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """A case where judge and people differ; ``people`` is the mean of their labels, ``question`` its first words."""

    case: str
    position: int
    judge: float
    judge_passes: bool
    people: float
    people_pass: bool
    labels: int
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCard:
    """What labels by people say of the judge of a run: of one evaluator, or of its cases as a whole.

    ``definition`` is that evaluator as the run defines it, with its judge; None where it is not one of the run's list.
    A number that the labels do not support is ``Refused``, with the reason. ``judge_rate`` is the share of all judged
    cases that the judge passes, ``corrected`` what people would say of them, ``corrected_mean`` the same for scores.
    ``scores`` says whether people gave scores. ``sure`` has the thresholds for borderline, ``alone`` the confidence
    from which on the judge may decide alone. ``differences`` has the cases where judge and people differ most, of
    ``differing`` in all. ``limits`` are those of the suite. ``notes`` say what to know of the numbers, and
    ``next_step`` what to do. ``anchors`` are the labelled cases, for the judge to be asked about again.
    """

    run: str
    name: str
    evaluator: str | None
    definition: Mapping[str, Any] | None
    pass_mark: float
    judged: int
    left_out: Mapping[str, int]
    judge_passes: int
    judge_rate: Rate | Refused
    judge_mean: float | None
    basis: Basis
    scores: bool
    labels: LabelCounts
    counts: JudgedLabels
    agreement: Rate | Refused
    kappa: Kappa | Refused
    sensitivity: Rate | Refused
    specificity: Rate | Refused
    bias: Bias | Refused
    auc: float | Refused
    score_difference: ScoreDifference | Refused
    labels_only: Rate | Refused
    corrected: Corrected | Refused
    corrected_mean: Corrected | Refused
    proposed_mark: ProposedMark | Refused
    sure: SureMarks | Refused
    alone: Alone | Refused
    people: PeopleAgreement | Refused
    raters: tuple[RaterAgreement, ...]
    curve: tuple[CurvePoint, ...]
    differences: tuple[Differing, ...]
    differing: int
    limits: tuple[GateResult, ...] = ()
    notes: tuple[str, ...]
    next_step: str
    anchors: AnchorSet | None = None

    @property
    def trusted(self) -> bool:
        """Whether the judge reaches all limits that the suite sets under ``trust``."""
        return all(limit.ok for limit in self.limits)

    def as_dict(self) -> dict[str, Any]:
        """Return the card as plain JSON values; what is refused is a mapping with the reason under ``refused``."""
        return {each.name: plain_values(getattr(self, each.name)) for each in dataclasses.fields(self)}


def plain_values(value: Any) -> Any:
    """Return a value as plain JSON values; what is refused is a mapping with the reason."""
    match value:
        case Refused(reason=reason):
            return {"refused": reason}
        case GateResult():
            return value.as_dict()
        case Mapping():
            return {"" if key is None else str(key): plain_values(each) for key, each in value.items()}
        case tuple() if hasattr(value, "_asdict"):
            return {name: plain_values(each) for name, each in value._asdict().items()}
        case list() | tuple():
            return [plain_values(each) for each in value]
    if dataclasses.is_dataclass(value):
        return {each.name: plain_values(getattr(value, each.name)) for each in dataclasses.fields(value)}
    return value.value if isinstance(value, StrEnum) else value
