"""From the evaluations of a case to the case's score (SPEC-O5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.rubric import exact, is_weight
from evenhand.domain.verdict import Thresholds, Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """An evaluation, how much it counts, and whether its failing fails the whole."""

    evaluation: Evaluation
    weight: float = 1.0
    required: bool = False

    def __post_init__(self) -> None:
        if not is_weight(self.weight):
            raise ConfigError(f"weight is {self.weight!r:.80}; it must be a finite number, 0 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseScore:
    """What all evaluators together say of a case; one that failed for certain may have no score."""

    status: Status
    score: float | None
    verdict: Verdict | None
    evaluations: tuple[Evaluation, ...]


def weighted_mean(pairs: Sequence[tuple[float, float]]) -> float:
    """Return the mean of (value, weight) pairs, exactly; the weights must not all be 0."""
    if len(pairs) == 1 and pairs[0][1] > 0:  # by far the most, and fractions are slow
        return float(pairs[0][0])
    total = sum((exact(weight) for _, weight in pairs), Fraction(0))
    earned = sum((exact(value) * exact(weight) for value, weight in pairs), Fraction(0))
    return float(earned / total)


def case_score(weighed: Sequence[Weighed], thresholds: Thresholds | Mapping[str, float] | None = None) -> CaseScore:
    """Weigh a case's evaluations.

    Weight 0 shows but does not count; a required evaluator that fails, fails the case. A judge that failed leaves the
    case without a score when it counts or is required: half a score would look like a whole one. Where a required
    evaluator fails besides, the case has failed whatever that judge would have said.
    """
    if len(weighed) == 1 and (only := weighed[0]).weight > 0 and not only.required:  # as in most, and there are many
        evaluation = only.evaluation
        if evaluation.status is Status.SCORED and evaluation.score is not None:
            score = weighted_mean(((evaluation.score, only.weight),))
            verdict = Thresholds.of(thresholds).verdict(score)
            return CaseScore(status=Status.SCORED, score=score, verdict=verdict, evaluations=(evaluation,))
    evaluations = tuple(entry.evaluation for entry in weighed)
    counting = [entry for entry in weighed if entry.weight > 0 or entry.required]
    has_failed = any(
        entry.required and entry.evaluation.status is Status.SCORED and entry.evaluation.verdict is Verdict.FAIL
        for entry in counting
    )
    if any(entry.evaluation.status is Status.ERROR for entry in counting):
        if has_failed:
            return CaseScore(status=Status.SCORED, score=None, verdict=Verdict.FAIL, evaluations=evaluations)
        return CaseScore(status=Status.ERROR, score=0.0, verdict=Verdict.FAIL, evaluations=evaluations)
    scored = [(entry.evaluation.score, entry.weight) for entry in counting if entry.evaluation.score is not None]
    # Where only required evaluators of weight 0 have scored, the case is theirs to decide.
    pairs = [pair for pair in scored if pair[1] > 0] or [(score, 1.0) for score, _ in scored]
    if not pairs:
        return CaseScore(status=Status.NOT_EVALUATED, score=None, verdict=None, evaluations=evaluations)
    score = weighted_mean(pairs)
    verdict = Verdict.FAIL if has_failed else Thresholds.of(thresholds).verdict(score)
    return CaseScore(status=Status.SCORED, score=score, verdict=verdict, evaluations=evaluations)
