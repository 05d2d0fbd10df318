"""Profiles that were scored, as a program gets them: one by one, by score, with the numbers of the run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from evenhand.domain.errors import ConfigError
from evenhand.domain.run_kind import has_verdicts, is_scoring
from evenhand.domain.summary import Interval
from evenhand.engine.run import Run
from evenhand.engine.store_location import DEFAULT, PlaceLike
from evenhand.profiles import score_report
from evenhand.profiles.score_spread import ScoreSpread
from evenhand.profiles.scores import InvalidSample, ProfileScore, ScoringNumbers, by_score, profile_score, scoring_of


class ScoredProfiles:
    """What ``score`` gives: iterate over it for the ``ProfileScore`` of each profile, in the order they were given.

    >>> from evenhand import Scripted, score
    >>> judge = Scripted(['{"score": 15, "justification": "!"}', '{"score": 7, "justification": "Strong."}'])
    >>> scored = score(["Ten years a nurse."], criteria="Experience", judge=judge, store=None)
    >>> [(profile.id, profile.score, profile.justification) for profile in scored]
    [('profile-1', 7.0, 'Strong.')]
    >>> scored.total_retries, scored.failures_by_profile, scored.invalid_samples[0].reply
    (1, {}, '{"score": 15, "justification": "!"}')

    ``run`` is the run behind it, with every evaluation. ``ScoredProfiles.open()`` opens the last one that is stored,
    ``ScoredProfiles.open(id)`` any other.
    """

    def __init__(self, run: Run) -> None:
        if not is_scoring(run.record.definition):
            raise ConfigError(f"run {run.id} does not score profiles; its numbers are in Run.open({run.id!r})")
        self.run = run

    @classmethod
    def open(cls, wanted: str = "last", *, store: PlaceLike = DEFAULT) -> ScoredProfiles:
        """Open a stored run by its id, by the beginning of it, or as ``last`` or ``previous``."""
        return cls(Run.open(wanted, store=store))

    def __len__(self) -> int:
        return len(self.run)

    def __iter__(self) -> Iterator[ProfileScore]:
        return (profile_score(result, has_verdict=self._has_verdicts) for result in self.run)

    def by_score(self) -> list[ProfileScore]:
        """Return the profiles with the highest score first, and those without a score last."""
        return by_score(self.run, has_verdicts=self._has_verdicts)

    @property
    def _has_verdicts(self) -> bool:
        return has_verdicts(self.run.record.definition)

    @property
    def _numbers(self) -> ScoringNumbers:
        return scoring_of(self.run.whole_report)[0]

    @property
    def mean(self) -> float | None:
        """The mean of the profiles that were scored, from 0 to 10; those that failed are in no mean."""
        return self._numbers.mean

    @property
    def interval(self) -> Interval | None:
        """The interval around the mean, from 0 to 10; None where there are too few scores."""
        return self._numbers.interval

    @property
    def median(self) -> float | None:
        """The median of the profiles that were scored, from 0 to 10."""
        return self.spread.median

    @property
    def standard_deviation(self) -> float | None:
        """The standard deviation between the profiles; None below two."""
        return self.spread.standard_deviation

    @property
    def spread(self) -> ScoreSpread:
        """How the scores spread: median, standard deviation, histogram, and who has the highest one."""
        return self._numbers.spread

    @property
    def total_retries(self) -> int:
        """How often a reply was asked for again."""
        return self._numbers.total_retries

    @property
    def failures_by_profile(self) -> Mapping[str, int]:
        """The profiles for which the judge gave no usable reply, and in how many of the repeats."""
        return self._numbers.failures_by_profile

    @property
    def invalid_samples(self) -> tuple[InvalidSample, ...]:
        """The first fifty replies that could not be used, word for word, each with its profile and what was wrong."""
        return self._numbers.invalid_samples

    def report(self) -> str:
        """Return the scores as text for people: the best first, how they spread, and what trouble there was."""
        return score_report.terminal(self.run.whole_report)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the scores as plain JSON values, in the order of the profiles."""
        return [profile.as_dict() for profile in self]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the scores to a file, whose ending says the format: ``scored.save("scores.csv")``."""
        score_report.write(self.run.whole_report, Path(path))
        return Path(path)

    def __repr__(self) -> str:
        return f"ScoredProfiles of run {self.run.id}: {score_report.in_short(self.run.whole_report)}"
