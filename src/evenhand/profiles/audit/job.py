"""From a design to the job that the engine does: the scoring of the profiles that the design makes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.domain.run import PlannedCase
from evenhand.domain.run_kind import AUDIT
from evenhand.engine.job import Job
from evenhand.evaluators.asking import DEFAULT_ATTEMPTS
from evenhand.evaluators.profile_score import PROFILE_SCORE
from evenhand.evaluators.reading import ASK_AGAIN
from evenhand.profiles.audit.design import AuditDesign
from evenhand.profiles.audit.factorial import Factorial
from evenhand.profiles.audit.result import aliases_of
from evenhand.profiles.job import ProfileJob
from evenhand.reports.phrases import counted

MOST_ALIASES = 20
_NAME = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditJob:
    """An audit that is to be made: its profiles are chosen, and no judge was asked yet.

    ``judge`` and ``kept`` are as in ``ProfileJob``; ``source`` is the design's file, from whose folder paths are seen.
    """

    factorial: Factorial
    judge: object = None
    kept: str | Mapping[str, Any] | None = None
    source: str | None = None
    max_attempts: int = DEFAULT_ATTEMPTS
    ambiguous: str = ASK_AGAIN
    timeout: float | None = None

    @property
    def design(self) -> AuditDesign:
        """The design."""
        return self.factorial.design

    def job(self) -> Job:
        """Make the job."""
        design = self.design
        work = ProfileJob(
            profiles=(),
            criteria=design.criteria,
            judge=self.judge,
            kept=self.kept,
            max_attempts=self.max_attempts,
            ambiguous=self.ambiguous,
            name=design.name or (Path(self.source).name if self.source else _NAME),
            prices=design.prices,
            timeout=self.timeout,
        )
        job = work.job_with(
            mode={"mode": AUDIT, "design": design.as_dict()},
            evaluator={"name": "score", "type": PROFILE_SCORE},
            cases=self._cases,
            has_verdicts=False,
        )
        # The limit on profiles without a score is a gate of every run, and is kept where runs look for it.
        gates = {"gates": design.gates.of_every_run} if design.gates.of_every_run else {}
        return replace(job, source=self.source, definition={**job.definition, **gates})

    def _cases(self) -> Iterator[PlannedCase]:
        for position, profile in enumerate(self.factorial.profiles()):
            yield PlannedCase(position=position, case=profile.case)

    def plan(self) -> list[str]:
        """Return what the audit is made of, and what it will not be able to tell apart."""
        factorial, design = self.factorial, self.design
        size = " × ".join(str(len(factor.levels)) for factor in design.factors)
        cells = f"{size} = {design.cells:,}" if len(design.factors) > 1 else size
        taken = f"full factorial design: {cells} combinations of levels"
        if not factorial.is_whole:
            taken = f"fractional design: {len(factorial.cells):,} of {cells} combinations of levels"
            taken += f", since max_profiles is {design.max_profiles:,}"
        if factorial.bases:
            taken += f", each in {counted(len(factorial.bases), 'base profile')}"
        scores = counted(len(factorial) * design.repetitions, "score")
        each = counted(design.repetitions, "repetition")
        lines = [taken, f"{counted(len(factorial), 'profile')}, {each} each: {scores}"]
        if not factorial.is_whole:
            mixed = aliases_of(design, list(factorial.cells))
            lines += [alias.words for alias in mixed[:MOST_ALIASES]]
            if len(mixed) > MOST_ALIASES:
                lines.append(f"and {len(mixed) - MOST_ALIASES:,} more confounded effects; the report lists them")
        return lines


def audit_job(
    design: AuditDesign,
    *,
    source: str | os.PathLike[str] | None = None,
    repetitions: int | None = None,
    **options: Any,
) -> AuditJob:
    """Choose the profiles of a design; ``options`` are those of ``AuditJob``."""
    if repetitions is not None:
        design = replace(design, repetitions=repetitions)
    path = None if source is None else Path(source).absolute()
    factorial = Factorial.of(design, Path() if path is None else path.parent)
    return AuditJob(factorial=factorial, source=None if path is None else str(path), **options)
