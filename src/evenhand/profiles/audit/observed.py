"""What came of the profiles of an audit: for each its levels and its scores, read from the stored run."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from evenhand.domain.errors import ConfigError
from evenhand.domain.evaluation import Evaluation
from evenhand.domain.failure import Failure
from evenhand.domain.run import CaseResult
from evenhand.domain.summary import Interval
from evenhand.evaluators.profile_score import SCALE
from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.factorial import Cell
from evenhand.profiles.scores import profile_score
from evenhand.stats.regression import Estimate, Fit

# A provider that filters what it was asked for did not fail to answer.
_FILTERED: Final = "filtered"


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """A profile: ``score`` is the mean of ``scores``, and None where none of its calls gave one, or some are to come.

    Of the ``failures``, the calls that gave no score, ``unanswered`` brought no reply at all, and ``errors`` says why
    they failed. ``cluster`` is what it shares with others: its base profile, or itself where there is none. Where
    ``score`` is the difference to another audit, ``other_scores`` are those it had there.
    """

    id: str
    cell: Cell
    cluster: str
    scores: tuple[float, ...] = ()
    score: float | None = None
    failures: int = 0
    unanswered: int = 0
    errors: tuple[str, ...] = ()
    pending: bool = False
    other_scores: tuple[float, ...] = ()

    @property
    def refused(self) -> int:
        """How many of its calls were answered without a score."""
        return self.failures - self.unanswered

    @property
    def is_judged(self) -> bool:
        """Whether the judge replied, with a score or without, and no call is to come."""
        return self.score is not None or (self.refused > 0 and not self.pending)

    @property
    def answered(self) -> float:
        """The share of its answered calls that gave a score."""
        return len(self.scores) / (len(self.scores) + self.refused) if self.refused else 1.0

    @property
    def samples(self) -> tuple[tuple[float, ...], ...]:
        """The scores of which the score is a mean, or the two sets of which it is a difference."""
        return (self.scores, self.other_scores) if self.other_scores else (self.scores,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """How the profiles of one level came out.

    ``missing`` says that none of them has a score: then nothing is known of the level, which is not a zero.
    """

    factor: str
    level: str
    is_group: bool
    profiles: int
    scored: int
    calls: int
    failed: int
    mean: float | None
    interval: Interval | None

    @property
    def missing(self) -> bool:
        """Whether nothing is known of the level."""
        return not self.scored

    def as_dict(self) -> dict[str, Any]:
        """Return the level as plain JSON values."""
        return asdict(self) | {"missing": self.missing}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far the judge is from agreeing with itself: the standard deviation over repetitions of the same profile.

    ``mean`` is over the ``profiles`` that were scored twice or more; ``largest`` is that of the profile ``widest``.
    """

    profiles: int = 0
    mean: float | None = None
    interval: Interval | None = None
    largest: float | None = None
    widest: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the spread as plain JSON values."""
        return asdict(self)


def observed(design: AuditDesign, results: Iterable[CaseResult]) -> list[Observed]:
    """Read the profiles of a run, in its order."""
    places = [{level: place for place, level in enumerate(factor.names)} for factor in design.factors]
    profiles = []
    for result in results:
        try:
            cell = tuple(
                level_places[str(result.case.metadata[factor.name])]
                for level_places, factor in zip(places, design.factors, strict=True)
            )
        except KeyError as error:
            raise ConfigError(f"profile {result.id} does not fit the design of its run: no {error}") from None
        scored = profile_score(result)
        evaluations = [judgment.evaluation for judgment in result.judgments]
        profiles.append(
            Observed(
                id=result.id,
                cell=cell,
                cluster=result.id if scored.cluster is None else scored.cluster,
                scores=scored.scores,
                score=scored.score,
                failures=scored.failures,
                unanswered=sum(map(_is_unanswered, evaluations)),
                errors=tuple(evaluation.error for evaluation in evaluations if evaluation.error is not None),
                pending=result.pending,
            )
        )
    return profiles


def _is_unanswered(evaluation: Evaluation) -> bool:
    """Return whether a call failed without a reply, so that nobody judged the profile."""
    if evaluation.error is None or Failure.of(evaluation.error).kind == _FILTERED:
        return False
    return not evaluation.attempts or evaluation.attempts[-1].kind == "transport"


def levels(design: AuditDesign, profiles: Iterable[Observed]) -> tuple[Level, ...]:
    """Return how each level of each factor came out."""
    several = list(profiles)
    return tuple(
        _level(design, factor.name, name, [profile for profile in several if profile.cell[place] == number])
        for place, factor in enumerate(design.factors)
        for number, name in enumerate(factor.names)
    )


def spread(profiles: Iterable[Observed]) -> Spread:
    """Return how far repetitions lie apart."""
    several = [
        (profile, statistics.stdev(profile.scores))
        for profile in profiles
        if profile.score is not None and profile.scores[1:]
    ]
    if not several:
        return Spread()
    around = mean_of(several)
    widest, largest = max(several, key=lambda pair: pair[1])
    return Spread(
        profiles=len(several),
        mean=around.value,
        interval=_within(around.interval, math.inf),
        largest=largest,
        widest=widest.id if largest > 0 else None,
    )


def _level(design: AuditDesign, factor: str, name: str, mine: list[Observed]) -> Level:
    scored = [(profile, profile.score) for profile in mine if profile.score is not None]
    around = mean_of(scored) if scored else None
    return Level(
        factor=factor,
        level=name,
        is_group=factor in design.groups,
        profiles=len(mine),
        scored=len(scored),
        calls=sum(len(profile.scores) + profile.failures for profile in mine),
        failed=sum(profile.failures for profile in mine),
        mean=None if around is None else around.value,
        interval=None if around is None else _within(around.interval, SCALE.high),
    )


def _within(interval: Interval | None, most: float) -> Interval | None:
    """Return an interval that ends where scores and spreads do."""
    return interval and replace(interval, low=max(interval.low, 0.0), high=min(interval.high, most))


def mean_of(several: list[tuple[Observed, float]]) -> Estimate:
    """Return the mean of a number over profiles, with an error that allows for clusters; there must be some."""
    fit = Fit([[1.0]] * len(several), [value for _, value in several], [profile.cluster for profile, _ in several])
    mean = fit.estimate([1.0])
    assert mean is not None  # noqa: S101 - nothing else is in the model
    return mean
