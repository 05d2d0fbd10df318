"""What came of scoring profiles: a score from 0 to 10 for each, and what it took to get them (SPEC-K1)."""

from __future__ import annotations

import copy
import math
import statistics
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final, cast

from evenhand.domain.evaluation import Evaluation, Status
from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval, Summary, Tally
from evenhand.evaluators.profile_score import SCALE
from evenhand.profiles.score_spread import DIGITS, ScoreCounts, ScoreSpread
from evenhand.reports.json import outcome_row
from evenhand.reports.report import Report

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
    ``verdict`` is ``pass`` or ``fail`` where a pass mark was set, else None.
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
    verdict: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the score as plain JSON values; without a pass mark, it has no verdict."""
        # asdict would copy each value, and take five times as long.
        row: dict[str, Any] = {name: getattr(self, name) for name in self.__slots__}
        row |= {"scores": list(self.scores), "attributes": copy.deepcopy(dict(self.attributes))}
        if self.verdict is None:
            del row["verdict"]
        return row


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
    """The numbers of a whole run: mean, interval and spread from 0 to 10, and how much trouble the judge made.

    ``failures_by_profile`` has the profiles with failed repeats, and how many. ``invalid_samples`` are the first of
    the ``invalid_replies``.
    """

    mean: float | None
    interval: Interval | None
    spread: ScoreSpread
    total_retries: int
    failures_by_profile: Mapping[str, int]
    invalid_replies: int
    invalid_samples: tuple[InvalidSample, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the numbers as plain JSON values."""
        samples = [asdict(sample) for sample in self.invalid_samples]
        return asdict(self) | {"spread": self.spread.as_dict(), "invalid_samples": samples}


def profile_score(result: CaseResult, *, has_verdict: bool = False) -> ProfileScore:
    """Return the score of a profile from the result of its case; ``has_verdict`` where a pass mark was set."""
    evaluations = _evaluations(result)
    scored = [evaluation for evaluation in evaluations if evaluation.status is Status.SCORED]
    raws = [_raw(evaluation) for evaluation in scored]
    # While repeats are still to come, nothing is decided.
    mean = None if result.pending else _mean(scored)
    errors = [evaluation.error for evaluation in evaluations if evaluation.error is not None]
    outcome = outcome_row(result)
    return ProfileScore(
        id=result.id,
        status=str(outcome["status"]),
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
        verdict=outcome["verdict"] if has_verdict and mean is not None else None,
    )


def by_score(results: Iterable[CaseResult], *, has_verdicts: bool = False) -> list[ProfileScore]:
    """Return the scores of all profiles, the highest first; equal ones by id, and those without a score last."""
    return sorted((profile_score(result, has_verdict=has_verdicts) for result in results), key=_from_the_top)


def _from_the_top(profile: ProfileScore) -> tuple[bool, float, str]:
    return profile.score is None, -round(profile.score or 0.0, DIGITS), profile.id


class Scoring:
    """Takes in the results of a scoring one by one: its numbers, and the positions of the profiles, the best first.

    Of each profile it keeps the id, the score and the position; all else is read again where it is shown.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._scores = array("d")
        self._positions = array("q")
        self._counts = ScoreCounts()
        self._failures: dict[str, int] = {}
        self._samples: list[InvalidSample] = []
        self._invalid = 0

    def add(self, result: CaseResult) -> None:
        """Take in the result of a profile."""
        evaluations = _evaluations(result)
        score = None if result.pending else _mean(evaluations)
        self._ids.append(result.id)
        self._scores.append(-math.inf if score is None else round(score, DIGITS))
        self._positions.append(result.position)
        if score is not None:
            self._counts.add(result.id, score)
        for sample in _invalid_samples(result):
            self._invalid += 1
            if len(self._samples) < MOST_SAMPLES:
                self._samples.append(sample)
        if failed := sum(evaluation.status is Status.ERROR for evaluation in evaluations):
            self._failures[result.id] = failed

    def order(self) -> Sequence[int]:
        """Return the positions, the highest score first; equal ones by id, and those without a score last."""
        best = sorted(range(len(self._ids)), key=lambda place: (-self._scores[place], self._ids[place]))
        return array("q", (self._positions[place] for place in best))

    def numbers(self, summary: Summary) -> ScoringNumbers:
        """Return the numbers of the run with such a summary."""
        tally = from_0_to_10(summary.cases)
        return ScoringNumbers(
            mean=tally.mean,
            interval=tally.interval,
            spread=self._counts.spread(),
            total_retries=summary.retries,
            failures_by_profile=self._failures,
            invalid_replies=self._invalid,
            invalid_samples=tuple(self._samples),
        )


def numbers_of(summary: Summary, results: Iterable[CaseResult]) -> ScoringNumbers:
    """Return the numbers of a run from its summary and the results of its cases."""
    scoring = Scoring()
    for result in results:
        scoring.add(result)
    return scoring.numbers(summary)


def scoring_of(report: Report) -> tuple[ScoringNumbers, Sequence[int]]:
    """Return the numbers of a run, and the positions of its profiles, the best first: read once and shared."""
    return report.once(_read_scoring)


def _read_scoring(report: Report) -> tuple[ScoringNumbers, Sequence[int]]:
    scoring = Scoring()
    for result in report.results():
        scoring.add(result)
    return scoring.numbers(report.summary), scoring.order()


def best_first(report: Report, most: int | None = None) -> Iterable[CaseResult]:
    """Return the results of a run, or of so ``most`` of its profiles, the highest score first."""
    wanted = scoring_of(report)[1][:most]
    if report.at is not None:
        return report.at(wanted)
    places = {position: place for place, position in enumerate(wanted)}
    return sorted(
        (result for result in report.results() if result.position in places), key=lambda one: places[one.position]
    )


def from_0_to_10(tally: Tally) -> Tally:
    """Return the numbers of cases as profiles are scored."""
    return tally.scaled(SCALE.high)


def _evaluations(result: CaseResult) -> list[Evaluation]:
    return [judgment.evaluation for judgment in result.judgments]


def _mean(evaluations: Iterable[Evaluation]) -> float | None:
    raws = [_raw(evaluation) for evaluation in evaluations if evaluation.status is Status.SCORED]
    return statistics.fmean(raws) if raws else None


def _raw(evaluation: Evaluation) -> float:
    return float(cast("float", evaluation.score_raw))


def _invalid_samples(result: CaseResult) -> Iterator[InvalidSample]:
    for judgment in result.judgments:
        for attempt in judgment.evaluation.attempts:
            if (error := attempt.reply_error) is not None:
                reply = attempt.raw or ""
                yield InvalidSample(
                    profile=result.id,
                    repeat=judgment.sample + 1,
                    error=error,
                    reply=reply[:LONGEST_SAMPLE],
                    cut=len(reply) > LONGEST_SAMPLE,
                )
