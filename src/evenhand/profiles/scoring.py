"""Scoring profiles: each one alone, by the same criteria, as a run like any other (SPEC-K1)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase
from evenhand.domain.scale import is_finite_number
from evenhand.engine.identity import describe
from evenhand.engine.job import Job
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS
from evenhand.evaluators.scoring import PROFILE_SCORE
from evenhand.models.prices import PriceBook
from evenhand.profiles.reading import ProfilesLike, profiles_from

# The key of a run's definition that says that it is about profiles, and how they are evaluated.
PROFILES: Final = "profiles"
SCORING: Final = "scoring"
# By this key a stored evaluator is known as one that only a program can make again.
_MADE_IN_PYTHON: Final = "python"
_EVALUATOR: Final = "score"
_NAME: Final = "profiles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scoring:
    """What is to be scored, by which criteria, by whom.

    ``kept`` is what the run keeps of ``judge``, a name or a mapping without secrets; None where the judge is an object
    that only the program has, which then is the only one that can go on with the run.
    """

    profiles: ProfilesLike
    criteria: str
    judge: object = None
    kept: str | Mapping[str, Any] | None = None
    max_attempts: int = DEFAULT_ATTEMPTS
    name: str | None = None
    prices: Mapping[str, Any] | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise ConfigError(f"name must be text, not {self.name!r:.80}")
        if self.timeout is not None and (not is_finite_number(self.timeout) or self.timeout <= 0):
            raise ConfigError(f"timeout is {self.timeout!r:.80}; it must be a number of seconds above 0")

    def job(self) -> Job:
        """Make the job that the engine does; profiles are read, and their mistakes told, when it is planned."""
        own: dict[str, Any] = {
            "name": _EVALUATOR,
            "type": PROFILE_SCORE,
            "criteria": self.criteria,
            "max_attempts": self.max_attempts,
        }
        client = registry.judge(self.judge)
        evaluators = (registry.evaluator({**own, "judge": client}),)
        definition: dict[str, Any] = {"name": self._called, PROFILES: {"mode": SCORING}, "evaluators": [own]}
        if self.kept is not None:
            definition["judge"] = self.kept
        elif self.judge is not None:
            own[_MADE_IN_PYTHON] = definition["judge"] = describe(client)
        definition |= {
            key: value for key, value in (("prices", self.prices), ("timeout", self.timeout)) if value is not None
        }
        return Job(
            name=self._called,
            definition=definition,
            cases=self._cases,
            evaluators_for=lambda _: evaluators,
            prices=PriceBook(self.prices),
            timeout=self.timeout,
        )

    @property
    def _called(self) -> str:
        if self.name:
            return self.name
        return Path(self.profiles).resolve().name if isinstance(self.profiles, str | os.PathLike) else _NAME

    def _cases(self) -> Iterator[PlannedCase]:
        for position, profile in enumerate(profiles_from(self.profiles)):
            yield PlannedCase(position=position, case=profile.case)


def is_scoring(definition: Mapping[str, Any]) -> bool:
    """Tell whether a run's definition is that of scoring profiles."""
    about = definition.get(PROFILES)
    return isinstance(about, Mapping) and about.get("mode") == SCORING
