"""What came of scoring profiles: a score from 0 to 10 for each, and what it took to get them (SPEC-K1)."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final, cast

from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.evaluators.profile_score import SCALE
from evenhand.reports.json import outcome_row

MOST_SAMPLES: Final = 50
# The beginning of a long reply is enough to see what kind of reply it was.
LONGEST_SAMPLE: Final = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileScore:
    """The score of one profile.

    ``score`` is the mean of ``scores``, those of all repeats that scored, from 0 to 10; None where none did.
    ``spread`` is their standard deviation, None below two. The justification is that of the repeat nearest to the
    mean. ``status`` is ``scored``, ``error``, ``not_evaluated``, or ``pending`` in a run that has not finished.
    ``failures`` counts the repeats in which the judge gave no usable reply, and ``error`` is the last one's.
    """

    id: str
    status: str
    score: float | None = None
    spread: float | None = None
    scores: tuple[float, ...] = ()
    justification: str = ""
    retry_count: int = 0
    failures: int = 0
    error: str | None = None
    cluster: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON values."""
        return {**asdict(self), "scores": list(self.scores), "attributes": dict(self.attributes)}


@dataclass(frozen=True, slots=True, kw_only=True)
class InvalidSample:
    """A reply that could not be used, word for word, and why; ``cut`` where only its beginning is kept here."""

    profile: str
    repeat: int
    error: str
    reply: str
    cut: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringNumbers:
    """The numbers of a whole run: mean and interval from 0 to 10, and how much trouble the judge made.

    ``failures_by_profile`` has the profiles with failed repeats, and how many. ``invalid_samples`` are the first of
    the ``invalid_replies``.
    """

    mean: float | None
    interval: Interval | None
    total_retries: int
    failures_by_profile: Mapping[str, int]
    invalid_replies: int
    invalid_samples: tuple[InvalidSample, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        return asdict(self) | {"invalid_samples": [asdict(sample) for sample in self.invalid_samples]}


def profile_score(result: CaseResult) -> ProfileScore:
    """Return the score of a profile from the result of its case."""
    evaluations = _evaluations(result)
    scored = [evaluation for evaluation in evaluations if evaluation.status is Status.SCORED]
    raws = [_raw(evaluation) for evaluation in scored]
    # While repeats are still to come, nothing is decided.
    mean = statistics.fmean(raws) if raws and not result.pending else None
    errors = [evaluation.error for evaluation in evaluations if evaluation.error is not None]
    return ProfileScore(
        id=result.id,
        status=str(outcome_row(result)["status"]),
        score=mean,
        spread=statistics.stdev(raws) if mean is not None and len(raws) > 1 else None,
        scores=tuple(raws),
        justification=""
        if mean is None
        else min(scored, key=lambda evaluation: abs(_raw(evaluation) - mean)).reasoning,
        retry_count=sum(evaluation.retry_count for evaluation in evaluations),
        failures=len(errors),
        error=errors[-1] if errors else None,
        cluster=result.case.cluster,
        attributes=result.case.metadata,
    )


def by_score(results: Iterable[CaseResult]) -> list[ProfileScore]:
    """Return the scores of all profiles, the highest first; equal ones by id, and those without a score last."""
    return sorted(map(profile_score, results), key=_from_the_top)


def _from_the_top(profile: ProfileScore) -> tuple[bool, float, str]:
    return profile.score is None, -(profile.score or 0.0), profile.id


def scores_and_numbers(summary: Summary, results: Iterable[CaseResult]) -> tuple[list[ProfileScore], ScoringNumbers]:
    """Return what ``by_score`` and ``numbers_of`` do, from one pass over the results."""
    scores: list[ProfileScore] = []

    def noted() -> Iterator[CaseResult]:
        for result in results:
            scores.append(profile_score(result))
            yield result

    numbers = numbers_of(summary, noted())
    return sorted(scores, key=_from_the_top), numbers


def numbers_of(summary: Summary, results: Iterable[CaseResult]) -> ScoringNumbers:
    """Return the numbers of a run from its summary and the results of its cases."""
    failures: dict[str, int] = {}
    samples: list[InvalidSample] = []
    invalid = 0
    for result in results:
        for sample in _invalid_samples(result):
            invalid += 1
            if len(samples) < MOST_SAMPLES:
                samples.append(sample)
        if failed := sum(evaluation.status is Status.ERROR for evaluation in _evaluations(result)):
            failures[result.id] = failed
    tally = from_0_to_10(summary.cases)
    return ScoringNumbers(
        mean=tally.mean,
        interval=tally.interval,
        total_retries=summary.retries,
        failures_by_profile=failures,
        invalid_replies=invalid,
        invalid_samples=tuple(samples),
    )


def from_0_to_10(tally: Tally) -> Tally:
    """Return the numbers of cases as profiles are scored."""
    around = tally.interval
    return replace(
        tally,
        mean=_times_ten(tally.mean),
        mean_if_errors_zero=_times_ten(tally.mean_if_errors_zero),
        interval=around and replace(around, low=around.low * SCALE.high, high=around.high * SCALE.high),
    )


def _times_ten(score: float | None) -> float | None:
    return None if score is None else score * SCALE.high


def _evaluations(result: CaseResult) -> list[Evaluation]:
    return [judgment.evaluation for judgment in result.judgments]


def _raw(evaluation: Evaluation) -> float:
    return float(cast("float", evaluation.score_raw))


def _invalid_samples(result: CaseResult) -> Iterator[InvalidSample]:
    for judgment in result.judgments:
        for attempt in judgment.evaluation.attempts:
            if attempt.kind == "reply" and attempt.error is not None:
                reply = attempt.raw or ""
                yield InvalidSample(
                    profile=result.id,
                    repeat=judgment.sample + 1,
                    error=attempt.error,
                    reply=reply[:LONGEST_SAMPLE],
                    cut=len(reply) > LONGEST_SAMPLE,
                )
