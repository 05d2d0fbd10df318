"""Work on profiles as a job: where they come from, by which criteria, by whom; and the modes of such runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from evenhand import registry
from evenhand.domain.errors import ConfigError
from evenhand.domain.run import PlannedCase, RunRecord
from evenhand.domain.run_kind import PASS_MARK, PROFILES, SCORING, is_ranking, mode_of
from evenhand.domain.scale import is_finite_number
from evenhand.engine.identity import describe
from evenhand.engine.job import Following, Job
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS
from evenhand.evaluators.profile_score import PROFILE_SCORE, SCALE
from evenhand.evaluators.reading import ASK_AGAIN
from evenhand.models.prices import PriceBook
from evenhand.profiles.sources import ProfilesLike, profiles_from

# This key marks a stored evaluator that only a program can make again.
_MADE_IN_PYTHON: Final = "python"
_NAME: Final = "profiles"
_ANY_SCORE: Final = {"pass": 0, "borderline": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileJob:
    """Which profiles, by which criteria, by whom.

    ``kept`` is what the run keeps of ``judge``, a name or a mapping without secrets; None where the judge is an object
    that only the program has, which then is the only one that can go on with the run.
    """

    profiles: ProfilesLike
    criteria: str
    judge: object = None
    kept: str | Mapping[str, Any] | None = None
    max_attempts: int = DEFAULT_ATTEMPTS
    ambiguous: str = ASK_AGAIN
    name: str | None = None
    prices: Mapping[str, Any] | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.name is not None and not isinstance(self.name, str):
            raise ConfigError(f"name must be text, not {self.name!r:.80}")
        if self.timeout is not None and (not is_finite_number(self.timeout) or self.timeout <= 0):
            raise ConfigError(f"timeout is {self.timeout!r:.80}; it must be a number of seconds above 0")

    def job_with(
        self,
        *,
        mode: Mapping[str, Any],
        evaluator: Mapping[str, Any],
        cases: Callable[[], Iterable[PlannedCase]],
        following: Following | None = None,
        has_verdicts: bool = False,
        pass_at: float = 0,
    ) -> Job:
        """Make the job that the engine does; profiles are read, and their mistakes reported, when it is planned.

        Without ``has_verdicts`` no profile passes or fails: a low score, or a lost pair, is no failure. With it, those
        from ``pass_at`` on pass, which is from 0 to 1.
        """
        thresholds = {"pass": pass_at, "borderline": pass_at} if has_verdicts else _ANY_SCORE
        own: dict[str, Any] = {**evaluator, "criteria": self.criteria, "max_attempts": self.max_attempts}
        if self.ambiguous != ASK_AGAIN:  # what is usual is not written down: older runs are the same
            own["ambiguous"] = self.ambiguous
        own["thresholds"] = thresholds
        client = registry.judge(self.judge)
        evaluators = (registry.evaluator({**own, "judge": client}),)
        definition: dict[str, Any] = {
            "name": self.called, PROFILES: dict(mode), "evaluators": [own], "thresholds": thresholds,
        }  # fmt: skip
        if self.kept is not None:
            definition["judge"] = self.kept
        elif self.judge is not None:
            own[_MADE_IN_PYTHON] = definition["judge"] = describe(client)
        definition |= {
            key: value for key, value in (("prices", self.prices), ("timeout", self.timeout)) if value is not None
        }
        return Job(
            name=self.called,
            definition=definition,
            cases=cases,
            evaluators_for=lambda _: evaluators,
            prices=PriceBook(self.prices),
            timeout=self.timeout,
            following=following,
        )

    @property
    def called(self) -> str:
        """The name of the run."""
        if self.name:
            return self.name
        return Path(self.profiles).resolve().name if isinstance(self.profiles, str | os.PathLike) else _NAME


def require_scores(run: RunRecord) -> None:
    """Refuse to compare a ranking by scores: a group has none."""
    if is_ranking(run.definition):
        raise ConfigError(
            f"run {run.id} ranks profiles, and a rank is not a score, so it cannot be compared; view the reports of "
            "both rankings side by side: evenhand report RUN -o ranking.html"
        )


def require_suite(run: RunRecord) -> None:
    """Refuse a run over profiles, where cases with verdicts are needed."""
    if (mode := mode_of(run.definition)) is not None:
        raise ConfigError(f"run {run.id} is one over profiles ({mode}); name a run of a suite or a prompt")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoringJob(ProfileJob):
    """Profiles that are to be scored; with a ``pass_mark``, those with so many points pass, and the others fail."""

    pass_mark: float | None = None

    def __post_init__(self) -> None:
        ProfileJob.__post_init__(self)
        mark = self.pass_mark
        if mark is not None and (not is_finite_number(mark) or not SCALE.low <= mark <= SCALE.high):
            raise ConfigError(f"pass_mark is {mark!r:.80}; it must be a number from {SCALE.low:g} to {SCALE.high:g}")

    def job(self) -> Job:
        """Make the job that the engine does."""
        mark = self.pass_mark
        return self.job_with(
            mode={"mode": SCORING} | ({} if mark is None else {PASS_MARK: mark}),
            evaluator={"name": "score", "type": PROFILE_SCORE},
            cases=self._cases,
            has_verdicts=mark is not None,
            pass_at=0 if mark is None else SCALE.unit(mark),
        )

    def _cases(self) -> Iterator[PlannedCase]:
        for position, profile in enumerate(profiles_from(self.profiles)):
            yield PlannedCase(position=position, case=profile.case)
