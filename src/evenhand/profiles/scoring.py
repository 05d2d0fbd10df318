"""Scoring profiles: each one alone, by the same criteria, as a run like any other (SPEC-K1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evenhand.domain.run import PlannedCase
from evenhand.engine.job import Job
from evenhand.evaluators.scoring import PROFILE_SCORE
from evenhand.profiles.reading import profiles_from
from evenhand.profiles.undertaken import SCORING, ProfileWork


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring(ProfileWork):
    """Profiles that are to be scored."""

    def job(self) -> Job:
        """Make the job that the engine does."""
        evaluator = {"name": "score", "type": PROFILE_SCORE}
        return self.job_with(mode={"mode": SCORING}, evaluator=evaluator, cases=self._cases)

    def _cases(self) -> Iterator[PlannedCase]:
        for position, profile in enumerate(profiles_from(self.profiles)):
            yield PlannedCase(position=position, case=profile.case)
