"""Whether more cases follow in a run over profiles."""

from __future__ import annotations

from dataclasses import replace

from evenhand.domain.run_kind import is_ranking
from evenhand.engine.job import Job


def with_next_rounds(job: Job) -> Job:
    """Let the job of a stored ranking continue with its next rounds; other jobs stay as they are."""
    if not is_ranking(job.definition):
        return job
    from evenhand.profiles.ranking.job import Rounds, design_of  # noqa: PLC0415 - loads numpy

    return replace(job, following=Rounds(design_of(job.definition)))
